"""How good and how bad an order of removal can be: features go one after the other, and the output is read each time.

An order o_1, …, o_d passes through the sets S_0 ⊂ S_1 ⊂ … ⊂ S_d of removed features, S_k = {o_1, …, o_k}. Its area over
the perturbation curve is

    AOPC = f(S_0) - (1/d) Σ_{k=1..d} f(S_k)

Comprehensiveness is the AOPC of the order of the weights. Sufficiency adds features instead of removing them: its sets
are those of the reversed order. So a chain of sets with the lowest outputs is the best order for comprehensiveness, and
one with the highest outputs, read backwards, the best for sufficiency.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers, whole_number
from limelight.errors import NumericalError, ParameterError

MOST_ENUMERATED = 12
"""Features of which all 2^d coalitions may be asked for the exact limits: 4,096 of them."""


@dataclass(frozen=True)
class Ranking:
    """An order of removal and what it reaches. `bound`: no order has a higher AOPC (of a worst one: a lower one).

    It is infinite where nothing is known of the other orders, and the AOPC itself where the order is proved best.
    """

    order: Integers  # (d,): the first goes first
    outputs: Floats  # (d + 1,): with 0, 1, …, d features removed
    bound: float

    @property
    def aopc(self) -> float:
        return aopc(self.outputs)

    @property
    def gap(self) -> float:
        """By how much another order may still be better (worse)."""
        return abs(self.bound - self.aopc)


def aopc(outputs: Floats) -> float:
    """f(S_0) less the mean of f(S_1), …, f(S_d)."""
    return float(outputs[0] - outputs[1:].mean())


def sets_of_ranking(order: Integers) -> Coalitions:
    """Sets that an order keeps after 0, 1, …, d removals: (d + 1, d)."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    kept: Coalitions = place[None, :] >= np.arange(len(order) + 1)[:, None]
    return kept


def sets_removing_first(ranked: Integers, sizes: Integers) -> Coalitions:
    """Sets that remove the first `sizes` (n,) of the features in each row of `ranked` (..., n, d)."""
    kept = np.empty(ranked.shape, dtype=np.bool_)
    np.put_along_axis(kept, ranked, np.arange(ranked.shape[-1]) >= sizes[:, None], axis=-1)
    return kept


def all_coalitions(d: int) -> Coalitions:
    """Every coalition once, in the order that `limits_by_enumeration` expects: row i keeps the bits of i."""
    d = whole_number("the number of features", d, 1)
    if d > MOST_ENUMERATED:
        raise ParameterError(
            f"{d} features have {2**d:,} coalitions: up to {MOST_ENUMERATED} features can be enumerated; "
            "search for more by beam_search"
        )
    bits: Coalitions = (np.arange(2**d)[:, None] >> np.arange(d)) & 1 == 1
    return bits


def limits_by_enumeration(outputs: Floats, d: int) -> tuple[Ranking, Ranking]:
    """The rankings with the best and the worst AOPC of all d!, from the outputs of `all_coalitions(d)`.

    The lowest sum of outputs on a chain from the whole document to a set is that set's output plus the lowest of the
    chains to the sets that keep one feature more: 2^d sets, each with at most d predecessors.
    """
    kept = all_coalitions(d)
    outputs = np.asarray(outputs, dtype=np.float64)
    if outputs.shape != (2**d,):
        raise ParameterError(f"outputs have shape {outputs.shape}: {d} features have {2**d} coalitions, so ({2**d},)")
    if not np.isfinite(outputs).all():
        raise NumericalError("an output of a coalition is not finite: there is no best order of such outputs")
    removed = d - kept.sum(axis=1)
    by_size = [np.flatnonzero(removed == k) for k in range(d + 1)]
    return _best_chain(outputs, by_size, 1.0), _best_chain(outputs, by_size, -1.0)


def _best_chain(outputs: Floats, by_size: list[Integers], sign: float) -> Ranking:
    """The order whose sum of `sign` times outputs is lowest, by dynamic programming over sets."""
    d = len(by_size) - 1
    total, last = np.full(2**d, np.inf), np.zeros(2**d, dtype=np.int64)
    total[-1] = 0.0
    bit = 1 << np.arange(d)
    for rows in by_size[1:]:
        gone = rows[:, None] & bit == 0
        before = np.where(gone, total[rows[:, None] | bit], np.inf)
        last[rows] = before.argmin(axis=1)
        total[rows] = before.min(axis=1) + sign * outputs[rows]
    order, row = np.empty(d, dtype=np.int64), 0
    for k in range(d - 1, -1, -1):
        order[k] = last[row]
        row |= int(bit[order[k]])
    chain = [2**d - 1]
    for j in order:
        chain.append(chain[-1] & ~int(bit[j]))
    along = outputs[chain]
    return Ranking(order, along, aopc(along))


def beam_search(ask: Callable[[Coalitions], Floats], d: int, width: int = 5, worst: bool = False) -> Ranking:
    """A good order of any game by beam search: at each size the `width` sets with the lowest sum of outputs so far.

    `ask` gives one output for each row of a matrix of kept features (n, d). It is asked d times, of at most width · d
    coalitions each, none twice. Nothing is proved of other orders: the AOPC is a lower bound of the best one's (an
    upper bound of the worst one's), and the bound is infinite.
    """
    d, width = whole_number("the number of features", d, 1), whole_number("the width of a beam", width, 1)
    sign = -1.0 if worst else 1.0
    kept = np.ones((1, d), dtype=np.bool_)
    orders, along = np.empty((1, 0), dtype=np.int64), _asked(ask, kept)[:, None]
    for _ in range(d):
        parents, removed = np.nonzero(kept)
        children = kept[parents]
        children[np.arange(len(children)), removed] = False
        # A set reached from several parents is the same set: the parent with the lowest sum leads to it.
        so_far = sign * along[:, 1:].sum(axis=1)
        cheapest = np.argsort(so_far[parents], kind="stable")
        _, first = np.unique(np.packbits(children[cheapest], axis=1), axis=0, return_index=True)
        chosen = np.sort(cheapest[first])
        parents, removed, children = parents[chosen], removed[chosen], children[chosen]
        outputs = _asked(ask, children)
        best = np.argsort(so_far[parents] + sign * outputs, kind="stable")[:width]
        kept = children[best]
        orders = np.concatenate([orders[parents[best]], removed[best, None]], axis=1)
        along = np.concatenate([along[parents[best]], outputs[best, None]], axis=1)
    return Ranking(orders[0], along[0], -np.inf if worst else np.inf)


def _asked(ask: Callable[[Coalitions], Floats], kept: Coalitions) -> Floats:
    outputs = np.asarray(ask(kept.copy()), dtype=np.float64)
    if outputs.shape != (len(kept),):
        raise ParameterError(
            f"the game answered with shape {outputs.shape} for {len(kept)} coalitions: one output each is needed, so "
            f"({len(kept)},)"
        )
    if not np.isfinite(outputs).all():
        raise NumericalError("an output of a coalition is not finite: there is no best order of such outputs")
    return outputs
