"""How far the output of a ratio game can be moved by removing k of its features.

For one document of a single attention layer these are known, where other models can only be searched:

- what k features removed at random leave on average, exactly (`size_means`);
- the lowest and the highest output that k removed features can leave: found by search (`removal_rankings`), with a
  certificate of how far the truth may be from it (`removal_bounds`);
- the best and the worst order to remove them in, with a bound that no order exceeds;
- the fewest features that change the sign of the output.

`limelight.theory.removal_rankings` has what holds for any game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers, whole_number
from limelight.core.threads import one_thread
from limelight.errors import ParameterError
from limelight.theory.moments import DEFAULT_TOLERANCE, checked_targets
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_bounds import CLOSE_ENOUGH, EFFORT, LowestOutputs, head_optima
from limelight.theory.removal_rankings import (
    MOST_ENUMERATED,
    Ranking,
    all_coalitions,
    aopc,
    greedy_ranking,
    improved_ranking,
    limits_by_enumeration,
    lowest_found,
    sets_of_ranking,
)
from limelight.theory.values import moments_of_many


@dataclass(frozen=True)
class Flip:
    """The fewest features whose removal changes the sign of the output, as far as it is known.

    `size` and `kept` are None where no such set was found. No set of fewer than `at_least` features does it; that is
    d + 1 where it is certain that none does.
    """

    size: int | None
    kept: Coalitions | None  # (d,)
    at_least: int
    n_features: int

    @property
    def is_certified(self) -> bool:
        """No smaller set exists; or none at all, where none was found."""
        return self.at_least == (self.n_features + 1 if self.size is None else self.size)


def size_means(game: RatioGame, column: int, tolerance: float = DEFAULT_TOLERANCE) -> Floats:
    """F_k, the exact mean output over all coalitions with k features removed, k = 0 … d: that of random orders."""
    (chosen,) = checked_targets(game, column)
    no_weights = np.zeros(game.n_features + 1)
    return moments_of_many([game], [chosen], [no_weights], tolerance, "cpu")[0].F[0]


def means_by_word(game: RatioGame, column: int, tolerance: float = DEFAULT_TOLERANCE) -> tuple[float, Floats]:
    """E[f], and E[f where a feature is kept, 0 where not] for each, over sets of 1 to d removed features.

    Each number of features is removed as often as another, and each set of a size.
    """
    (chosen,), d = checked_targets(game, column), game.n_features
    uniform = np.full(d + 1, 1.0 / d)
    uniform[0] = 0.0
    moments = moments_of_many([game], [chosen], [uniform], tolerance, "cpu")[0]
    return float(uniform @ moments.F[0]), moments.G[0, 0]


def lowest_outputs(
    game: RatioGame, sizes: Sequence[int] | Integers | None = None, effort: int = EFFORT
) -> LowestOutputs:
    """The lowest output of a game of one class with exactly k features removed, for each k of `sizes` (all, if None).

    Where all sets of a size were tried, the bound is what was found. Else `effort` branches narrow the gap, until it is
    a thousandth of the range that the sizes span. The highest outputs are the lowest of the `negated` game.
    """
    chosen = checked_sizes(game, sizes)
    with one_thread():
        found, kept = lowest_found(game, chosen, head_optima(game, chosen)[1])
        outputs = LowestOutputs(game, chosen, found, kept)
        outputs.tighten(found - CLOSE_ENOUGH * float(found.max() - found.min()), checked_effort(effort))
    return outputs


def best_ranking(game: RatioGame, column: int, worst: bool = False, effort: int = EFFORT) -> Ranking:
    """An order of removal with a high AOPC, and a bound that no order's exceeds; or a low one's, and a lower bound.

    Up to 12 features it is proved best, by enumeration. Beyond, the bound adds up the lowest outputs of each size, as
    if sets need not be nested.
    """
    one, d = one_class(game, column), game.n_features
    if d <= MOST_ENUMERATED:
        best, lowest = limits_by_enumeration(one.evaluate(all_coalitions(d))[:, 0], d)
        return lowest if worst else best
    if worst:
        one = negated(one)
    found = lowest_outputs(one, effort=effort)
    # Features that good sets of most sizes remove go first.
    by_sets = np.argsort(found.kept.sum(axis=0), kind="stable")
    with one_thread():
        order, outputs = improved_ranking(one, [greedy_ranking(one), by_sets])
    highest = max(float(outputs[0] - found.bound[1:].mean()), aopc(outputs))
    return Ranking(order, -outputs, -highest) if worst else Ranking(order, outputs, highest)


def smallest_flip(game: RatioGame, column: int, effort: int = EFFORT) -> Flip:
    """The fewest features whose removal gives the output the other sign: of a contrast, the other label.

    One head changes its sign with its numerator, whatever the denominator: one sort. With several heads, no set of k
    features flips where the bound of that size does not. An output of 0 has no sign, and is not the other one.
    """
    one, d = one_class(game, column), game.n_features
    if float(one.evaluate(np.ones((1, d), dtype=np.bool_))[0, 0]) < 0.0:
        one = negated(one)
    if game.n_heads == 1:
        kept = sets_of_ranking(np.argsort((one.B - one.A)[0, :, 0], kind="stable"))
        flipped = np.flatnonzero(one.evaluate(kept)[:, 0] < 0.0)
        if not len(flipped):
            return Flip(None, None, d + 1, d)
        return Flip(int(flipped[0]), kept[flipped[0]], int(flipped[0]), d)
    sizes = np.arange(d + 1)
    with one_thread():
        lowest = LowestOutputs(one, sizes, *lowest_found(one, sizes, head_optima(one, sizes)[1]))
        # Only whether a size flips is asked, and only of those below the smallest that was found to.
        below = np.cumsum(lowest.found < 0.0) == 0
        lowest.tighten(np.where(below, 0.0, -np.inf), checked_effort(effort))
    flipped, possible = np.flatnonzero(lowest.found < 0.0), np.flatnonzero(lowest.bound < 0.0)
    at_least = int(possible[0]) if len(possible) else d + 1
    if not len(flipped):
        return Flip(None, None, at_least, d)
    return Flip(int(flipped[0]), lowest.kept[flipped[0]], at_least, d)


# ── a game of one class ───────────────────────────────────────────────────────────────────────────────────────────────


def one_class(game: RatioGame, column: int) -> RatioGame:
    """The game of one class alone."""
    (chosen,) = checked_targets(game, column)
    return game.along(np.eye(game.n_classes)[chosen])


def negated(game: RatioGame) -> RatioGame:
    """The game whose output has the other sign: its lowest outputs are the highest of the game."""
    return RatioGame(game.a, -game.A, game.b, -game.B, game.c0, -game.C0)


def checked_sizes(game: RatioGame, sizes: Sequence[int] | Integers | None) -> Integers:
    """Numbers of removed features that the game has."""
    d = game.n_features
    if sizes is None:
        return np.arange(d + 1)
    chosen = np.array([whole_number("a number of removed features", size, 0) for size in sizes], dtype=np.int64)
    if not len(chosen):
        raise ParameterError("no number of removed features was asked for: name one, or leave sizes out for all")
    if chosen.max() > d:
        raise ParameterError(f"{chosen.max()} features cannot be removed: this game has {d}")
    return chosen


def checked_effort(effort: int) -> int:
    """How many branches may be tried."""
    return whole_number("effort", effort, 0, " (branches that may be tried)")
