"""How good and how bad an order of removal can be: features go one after the other, and the output is read each time.

An order o_1, …, o_d passes through the sets S_0 ⊂ S_1 ⊂ … ⊂ S_d of removed features, S_k = {o_1, …, o_k}. Its area over
the perturbation curve is

    AOPC = f(S_0) - (1/d) Σ_{k=1..d} f(S_k)

Comprehensiveness is the AOPC of the order of the weights. Sufficiency adds features instead of removing them: its sets
are those of the reversed order. So a chain of sets with the lowest outputs is the best order for comprehensiveness, and
one with the highest outputs, read backwards, the best for sufficiency.

Of a ratio game, sets and orders that make the output low are found by local search. What is found is only as good as it
is: `removal_bounds` says how much better any other can be. Every output that leaves
this file is the game's own, evaluated on the set that comes with it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers, whole_number
from limelight.errors import NumericalError, ParameterError
from limelight.theory.ratio_game import RatioGame

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


def aopc(outputs: Floats) -> float:
    """f(S_0) less the mean of f(S_1), …, f(S_d)."""
    return float(outputs[0] - outputs[1:].mean())


def sets_of_ranking(order: Integers) -> Coalitions:
    """Sets that an order keeps after 0, 1, …, d removals: (d + 1, d)."""
    return sets_removing_first(order, np.arange(len(order) + 1))


def sets_removing_first(ranked: Integers, sizes: Integers) -> Coalitions:
    """Sets that remove the first `sizes` (n,) features of a ranking (d,), or of those in the rows of (..., n, d)."""
    kept: Coalitions = np.argsort(ranked, axis=-1) >= sizes[:, None]
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


# ── search ────────────────────────────────────────────────────────────────────────────────────────────────────────────


ENUMERATED = 20_000
"""Sets of one size that are all tried: the lowest of them is exact."""
_CANDIDATES = 48
"""Removed and kept features that are tried for a swap, the most promising of each."""
_ROUNDS = 50
_BETTER = 1e-12
"""A step counts if it lowers the output by this part of the largest there may be: rounding must not go in circles."""


def all_sets(d: int, size: int) -> Coalitions:
    """All sets that remove `size` of d features."""
    fewer = min(size, d - size)  # either the removed or the kept ones are listed
    count = math.comb(d, fewer)
    chosen = itertools.chain.from_iterable(itertools.combinations(range(d), fewer))
    listed = np.fromiter(chosen, dtype=np.int64, count=count * fewer).reshape(count, fewer)
    kept = np.full((count, d), fewer == size, dtype=np.bool_)
    np.put_along_axis(kept, listed, fewer != size, axis=1)
    return kept


def few_enough(d: int, size: int) -> bool:
    """All sets of this size are tried."""
    return math.comb(d, size) <= ENUMERATED


def lowest_found(game: RatioGame, sizes: Integers, starts: Coalitions) -> tuple[Floats, Coalitions]:
    """Lowest output found for each size of a game of one class, and what is kept: (n,), (n, d).

    `starts` (m, n, d) are sets to begin with: the optima of single heads are good ones.
    """
    d = game.n_features
    everything = np.ones((len(sizes), d), dtype=np.bool_)
    best, kept = np.full(len(sizes), np.inf), everything.copy()
    every = np.array([few_enough(d, int(size)) for size in sizes])
    for row in np.flatnonzero(every):
        sets = all_sets(d, int(sizes[row]))
        outputs = game.evaluate(sets)[:, 0]
        best[row], kept[row] = outputs.min(), sets[outputs.argmin()]
    unit = _BETTER * float(game.largest_output()[0])
    # From the best set of one head the search may end in a valley of its own.
    valleys = [_descended(game, sizes, start) for start in (everything, *starts)]
    for row in np.flatnonzero(~every):
        tried: set[bytes] = set()
        for outputs, sets in valleys:
            if sets[row].tobytes() not in tried:
                tried.add(sets[row].tobytes())
                reached, near = _swapped(game, float(outputs[row]), sets[row], unit)
                if reached < best[row] - unit or not np.isfinite(best[row]):
                    best[row], kept[row] = reached, near
    # A good set of one size is a good start for the next.
    rows = list(range(len(sizes)))
    for walk in (rows, rows[::-1]):
        for here, there in itertools.pairwise(walk):
            if abs(int(sizes[here]) - int(sizes[there])) == 1 and not every[there]:
                near = _one_step(game, kept[here], removing=bool(sizes[there] > sizes[here]))
                output = float(game.evaluate(near[None])[0, 0])
                if output < best[there] - unit:
                    best[there], kept[there] = _swapped(game, output, near, unit)
    return best, kept


def _descended(game: RatioGame, sizes: Integers, start: Coalitions) -> tuple[Floats, Coalitions]:
    """Remove what lowers the output most to first order, seen from the set at hand, while that helps; for all sizes.

    Nothing of `start` is taken over but the slopes there: it may be of other sizes.
    """
    best, kept, point = np.full(len(sizes), np.inf), start, start
    for _ in range(_ROUNDS):
        point = sets_removing_first(np.argsort(_slopes(game, point), axis=1, kind="stable"), sizes)
        outputs = game.evaluate(point)[:, 0]
        better = outputs < best
        if not better.any():
            break
        best, kept = np.where(better, outputs, best), np.where(better[:, None], point, kept)
    return best, kept


def _sums(game: RatioGame, kept: Coalitions) -> tuple[Floats, Floats]:
    """D and N of each head: (n, K) each."""
    sums = game.tables().sums(kept.astype(np.float64))
    return sums[:, : game.n_heads], sums[:, game.n_heads :]


def _steps(game: RatioGame) -> tuple[Floats, Floats]:
    """Steps of D and N when each feature is removed: (K, d) each."""
    return game.b - game.a, (game.B - game.A)[:, :, 0]


def _slopes(game: RatioGame, kept: Coalitions) -> Floats:
    """Change of the output when a feature is removed, to first order, at each set: (n, d)."""
    D, N = _sums(game, kept)
    step_D, step_N = _steps(game)
    slopes: Floats = ((1.0 / D) @ step_N - (N / D**2) @ step_D) / game.n_heads
    return slopes


def _moved(D: Floats, N: Floats, step_D: Floats, step_N: Floats) -> Floats:
    """The output after steps, heads along the first axis of all; infinite where rounding has eaten the denominator."""
    denominator = D + step_D
    with np.errstate(divide="ignore", invalid="ignore"):
        output: Floats = ((N + step_N) / denominator).mean(axis=0)
    return np.where((denominator > 0.0).all(axis=0), output, np.inf)


def _swapped(game: RatioGame, output: float, kept: Coalitions, unit: float) -> tuple[float, Coalitions]:
    """Swap a removed feature for a kept one, the best swap each time, while that lowers the output."""
    step_D, step_N = _steps(game)
    for _ in range(4 * _ROUNDS):
        slopes = _slopes(game, kept[None])[0]
        removed, still = np.flatnonzero(~kept), np.flatnonzero(kept)
        removed = removed[np.argsort(-slopes[removed], kind="stable")[:_CANDIDATES]]
        still = still[np.argsort(slopes[still], kind="stable")[:_CANDIDATES]]
        if not len(removed) or not len(still):
            break
        D, N = (own.T[:, None] for own in _sums(game, kept[None]))
        swap_D, swap_N = (step[:, None, still] - step[:, removed, None] for step in (step_D, step_N))
        outputs = _moved(D, N, swap_D, swap_N)
        back, out = np.unravel_index(outputs.argmin(), outputs.shape)
        candidate = kept.copy()
        candidate[removed[back]], candidate[still[out]] = True, False
        reached = float(game.evaluate(candidate[None])[0, 0])
        if not reached < output - unit:
            break
        output, kept = reached, candidate
    return output, kept


def _one_step(game: RatioGame, kept: Coalitions, removing: bool) -> Coalitions:
    """The set with one feature more, or fewer, removed: the one that makes the output lowest."""
    D, N = (own.T for own in _sums(game, kept[None]))
    step_D, step_N = _steps(game)
    sign = 1.0 if removing else -1.0
    outputs = np.where(kept == removing, _moved(D, N, sign * step_D, sign * step_N), np.inf)
    near = kept.copy()
    near[int(outputs.argmin())] = not removing
    return near


# ── orders ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def greedy_ranking(game: RatioGame) -> Integers:
    """Remove at each step the feature without which the output is lowest."""
    kept = np.ones(game.n_features, dtype=np.bool_)
    order = []
    for _ in range(game.n_features):
        after = _one_step(game, kept, removing=True)
        order.append(int(np.flatnonzero(kept & ~after)[0]))
        kept = after
    return np.array(order, dtype=np.int64)


def improved_ranking(game: RatioGame, orders: list[Integers]) -> tuple[Integers, Floats]:
    """The best of these orders after moving one feature at a time to where it lowers the sum of outputs most.

    With x at place p of an order moved back to place q > p, the sets between lose x and gain the feature behind:
    S'_i = S_{i+1} ∖ {x}; moved forward, they gain x: S'_i = S_{i-1} ∪ {x}. So two tables, of every f(S_i ∖ {x}) and
    every f(S_i ∪ {x}), hold all d² moves: O(K d²) for the best of them.
    """
    unit = _BETTER * float(game.largest_output()[0]) * game.n_features
    best_ranking, best_outputs = orders[0], _along(game, orders[0])
    for start in orders:
        order, outputs = start.copy(), _along(game, start)
        for _ in range(4 * game.n_features):
            moved = _best_move(game, order, outputs)
            reached = _along(game, moved)
            if not reached.sum() < outputs.sum() - unit:
                break
            order, outputs = moved, reached
        if outputs.sum() < best_outputs.sum():
            best_ranking, best_outputs = order, outputs
    return best_ranking, best_outputs


def _along(game: RatioGame, order: Integers) -> Floats:
    return game.evaluate(sets_of_ranking(order))[:, 0]


def _best_move(game: RatioGame, order: Integers, outputs: Floats) -> Integers:
    """The order after the one move that lowers the sum of outputs most."""
    d = game.n_features
    if d == 1:
        return order
    D, N = (np.ascontiguousarray(own.T)[:, None] for own in _sums(game, sets_of_ranking(order)))  # (K, 1, d + 1)
    step_D, step_N = (step[:, order, None] for step in _steps(game))  # by place
    without = _moved(D, N, -step_D, -step_N)  # [p, i]: f(S_i ∖ {x_p})
    joined = _moved(D, N, step_D, step_N)  # [p, i]: f(S_i ∪ {x_p})
    place, at = np.arange(d)[:, None], np.arange(1, d)[None, :]
    # Back to place q > p: sets i = p + 1 … q change. Forward to q < p: sets i = q + 1 … p.
    back = np.cumsum(np.where(at > place, without[:, 2:] - outputs[1:-1], 0.0), axis=1)
    forward = np.cumsum(np.where(at <= place, joined[:, :-2] - outputs[1:-1], 0.0)[:, ::-1], axis=1)[:, ::-1]
    p_back, q_back = np.unravel_index(np.argmin(back), back.shape)
    p_forward, q_forward = np.unravel_index(np.argmin(forward), forward.shape)
    if back[p_back, q_back] <= forward[p_forward, q_forward]:
        p, q = int(p_back), int(q_back) + 1
    else:
        p, q = int(p_forward), int(q_forward)
    moved = np.delete(order, p)
    return np.insert(moved, q, order[p])
