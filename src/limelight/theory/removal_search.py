"""Sets and orders of removed features that make the output of a ratio game low, found by local search.

What is found is only as good as it is: `removal_bounds` says how much better any other can be. Every output that leaves
this file is the game's own, evaluated on the set that comes with it.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_rankings import sets_of_ranking, sets_removing_first

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
