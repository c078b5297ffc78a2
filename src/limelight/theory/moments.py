"""Exact means of a ratio game by coalition size.

With s the number of removed features and subsets of one size equally likely,

    F_s     = E[ f(z) | s removed ]
    G_{s,j} = E[ f(z) 1{j kept} | s removed ]

LIME, Shapley values and every other value whose weights depend on the coalition's size are linear in these: the first
needs F_s, the second only sums Σ_s w_s G_{s,j}. Both come from one recursion per head and quadrature node
(`limelight.theory.recursion`), O(K L d²) in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import NumericalError, ParameterError
from limelight.theory.quadrature import UNIT, ExponentialSum, exponential_sum
from limelight.theory.ratio_game import RatioGame

# Two digits beyond the 1e-9 that the values promise; still reachable with ten thousand features.
DEFAULT_TOLERANCE = 1e-11
MOST_REPEATED = 6
"""Features of several words that are conditioned on when words are deleted (`deletion`): 64 recursions, about a
second for 170 words."""


@dataclass(frozen=True)
class Moments:
    """Means by size of the classes that were asked for, with a bound on what the quadrature and rounding add.

    The computed numbers are the exact moments of a game f̃ whose heads differ from those of f by at most the relative
    amount `error`; so |f̃(z) - f(z)| <= error · largest_output for every coalition z.
    """

    F: Floats  # (C, d + 1)
    G: Floats  # (C, W, d): Σ_s w_s G_{s,j}
    error: float
    largest_output: Floats  # (C,)
    nodes: int  # quadrature nodes, all heads together

    @property
    def n_features(self) -> int:
        return self.F.shape[1] - 1

    @property
    def rounding(self) -> float:
        """Rounding of the sums themselves, relative to `largest_output`: the recursion, and a term per node."""
        return recursion_rounding(self.n_features) + UNIT * (self.nodes + 8.0)


def recursion_rounding(d: int) -> float:
    """Each of the d steps rounds a sum of positive terms at most four times."""
    return 4.0 * UNIT * d


def tolerance_of_rule(tolerance: float, d: int) -> float:
    """Tolerance of the quadrature: what rounding in d steps leaves of that of the moments."""
    if not 0.0 < tolerance < 1.0:
        raise ParameterError(f"the precision of exact values lies between 0 and 1: got {tolerance!r}")
    rounding = recursion_rounding(d)
    if tolerance < 2.0 * rounding:
        raise NumericalError(
            f"a relative tolerance of {tolerance:g} cannot be reached in float64 with {d} features: "
            f"ask for {2.0 * rounding:.2g} or more"
        )
    return tolerance - rounding


def head_rules(game: RatioGame, tolerance: float) -> list[ExponentialSum]:
    """One rule per head, for denominators in units of the head's smallest."""
    allowed = tolerance_of_rule(tolerance, game.n_features)
    lowest, highest = game.denominator_range()
    return [exponential_sum(float(high / low), allowed) for low, high in zip(lowest, highest, strict=True)]


def checked_weights(size_weights: Floats, d: int) -> Floats:
    """Size weights as (W, d + 1), finite."""
    weights = np.ascontiguousarray(np.atleast_2d(np.asarray(size_weights, dtype=np.float64)))
    if weights.ndim != 2 or weights.shape[1] != d + 1:
        raise ParameterError(
            f"size weights have shape {np.shape(size_weights)}: a game of {d} features needs one weight for each "
            f"number of removed features, 0 to {d}, so (..., {d + 1})"
        )
    if not np.isfinite(weights).all():
        raise ParameterError(f"size weights must be finite: got {weights[~np.isfinite(weights)][0]}")
    return weights


def checked_targets(game: RatioGame, targets: int | Sequence[int]) -> list[int]:
    """Class indices that the game has."""
    chosen = [int(t) for t in np.atleast_1d(np.asarray(targets, dtype=np.int64))]
    for target in chosen:
        if not 0 <= target < game.n_classes:
            raise ParameterError(f"class {target} does not exist: this game has classes 0 to {game.n_classes - 1}")
    return chosen


def size_moments(
    game: RatioGame,
    targets: int | Sequence[int],
    size_weights: Floats,
    tolerance: float = DEFAULT_TOLERANCE,
) -> Moments:
    """F_s and Σ_s w_s G_{s,j} for each target class and each row w of `size_weights` (W, d + 1).

    Releases the interpreter's lock, so that a caller may run documents in threads. Equal input gives equal bytes.
    """
    from limelight.theory.recursion import accumulate  # numba takes half a second to import

    d = game.n_features
    chosen = checked_targets(game, targets)
    weights = checked_weights(size_weights, d)
    rules = head_rules(game, tolerance)
    lowest, _ = game.denominator_range()
    F, kept = np.zeros((len(chosen), d + 1)), np.zeros((len(chosen), len(weights), d, d + 1))
    for head, (unit, rule) in enumerate(zip(lowest, rules, strict=True)):
        # In units of the smallest denominator, λD runs from nearly 0 to about 30 and exp() stays in range.
        accumulate(
            np.exp(-np.outer(rule.nodes, game.a[head] / unit)),
            np.exp(-np.outer(rule.nodes, game.b[head] / unit)),
            np.exp(-rule.nodes * (game.c0[head] / unit)),
            rule.weights / game.n_heads,
            np.ascontiguousarray(game.A[head][:, chosen] / unit),
            np.ascontiguousarray(game.B[head][:, chosen] / unit),
            game.C0[head][chosen] / unit,
            weights,
            F,
            kept,
        )
    return Moments(
        F=F,
        G=kept.sum(axis=-1),
        error=max(rule.error for rule in rules) + recursion_rounding(d),
        largest_output=game.largest_output()[chosen],
        nodes=sum(len(rule) for rule in rules),
    )
