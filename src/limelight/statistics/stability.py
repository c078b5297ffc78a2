"""Which of several estimated weights are settled: the k strongest, with their signs, all at once at a level.

The k strongest are settled when every one of them is shown to be stronger than every other weight, and to have its
sign. Each such claim is that a contrast is positive: s_i w_i - w_j > 0 and s_i w_i + w_j > 0 for i among the strongest
(s_i its sign) and j among the others, and s_i w_i > 0. Two weights that differ by less than a part `tie` of the largest
are as good as equal: a contrast that is shown to be smaller than that is a tie, and no number of samples settles it.

Claims are made one after the other (Holm; Romano and Wolf, 2005): what is clear beside all others goes first, and the
limit for the rest is the quantile of the largest error among the rest alone, from normal errors with the estimate's own
covariance. The chance of one wrong claim or more is then at most the level.

How many samples make a ranking stable: weights estimated from n samples have standard errors that fall as 1/sqrt(n).
The k features of largest absolute weight stay the same k, but for chance δ, once

    Σ_{i in top k} Σ_{j not} Φ( -(|β_i| - |β_j|) / sqrt(σ_i² + σ_j²) · sqrt(n'/n) )  <=  δ

with σ the standard errors at n samples: a union bound over the pairs that could change places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Floats, Integers

TOP = 5
"""The strongest words, which people read."""
TIE = 0.05
"""Of the largest weight: a smaller difference is not worth telling."""
NEAR = 0.25
"""Of the largest weight: a difference that is shown to be smaller, and seems to be a tie, is not worth many samples."""
_DRAWS = 4000
_MOST_SIMULATED = 400
"""Open contrasts from which nothing is near being settled, and the simulation is left out."""

Truths = npt.NDArray[np.bool_]
State = Literal["settled", "tied", "open"]


@dataclass(frozen=True)
class Settled:
    """`words`: those of the strongest for which all claims are made; `of` is how many there are to settle.

    `apart`: percent of the largest weight that two weights which are called tied differ by at most.
    """

    state: State
    words: tuple[int, ...]
    of: int
    apart: int = round(100 * TIE)


@dataclass(frozen=True)
class _Contrasts:
    """Claims s_i w_i - sign · w_j > 0: `strong` (c,) is i, `other` (c,) is j, `sign` (c,) is 0 for a claim of s_i."""

    strong: Integers
    other: Integers
    sign: Floats

    def of(self, own: Floats, weights: Floats) -> Floats:
        """Of weights (..., d), whose strong ones are multiplied with the signs `own` (d,)."""
        return own[self.strong] * weights[..., self.strong] - self.sign * weights[..., self.other]

    def at(self, rows: Truths) -> _Contrasts:
        return _Contrasts(self.strong[rows], self.other[rows], self.sign[rows])


def settled(
    weights: Floats, covariance: Floats, level: float, k: int = TOP, tie: float = TIE, *, times: float | None = None
) -> Settled:
    """Of weights (d,) whose errors have this covariance (d, d); `level` is the chance of a wrong claim.

    Where an error is not known (NaN), nothing is settled. `times`: what is left open is a tie too where it seems to
    be one, so many times the samples would not tell it apart, and it is shown to be less than `NEAR` of the largest.
    """
    k = min(k, len(weights))
    if not np.isfinite(covariance).all():
        return Settled("open", (), k)
    order = np.argsort(-np.abs(weights), kind="stable")
    own, largest = np.where(weights < 0.0, -1.0, 1.0), float(np.abs(weights).max())
    claims = _contrasts(order[:k], order[k:])
    estimate, error = claims.of(own, weights), np.sqrt(np.maximum(_variance(claims, own, covariance), 0.0))
    limit = _limit_of_all(len(estimate), level)
    shown, tied = _claimed(estimate, error, limit, tie * largest)
    while 0 < (open_now := int((~shown & ~tied).sum())) <= _MOST_SIMULATED:
        lower = min(limit, _limit(claims.at(~shown & ~tied), own, covariance, level), _limit_of_all(open_now, level))
        more_shown, more_tied = _claimed(estimate, error, lower, tie * largest)
        if not ((more_shown & ~shown) | (more_tied & ~tied & ~shown)).any():
            break
        shown, tied, limit = shown | more_shown, (tied | more_tied) & ~(shown | more_shown), lower
    apart, left = tie, ~shown & ~tied
    seems_tied = np.abs(estimate) < np.minimum(tie * largest, limit * error / math.sqrt(times or 1.0))
    if times is not None and left.any() and seems_tied[left].all():
        bound = float((np.abs(estimate) + limit * error)[left].max()) / largest
        if bound < NEAR:
            apart, tied = bound, tied | left
    state: State = "open" if not (shown | tied).all() else "tied" if not shown.all() else "settled"
    words = tuple(int(i) for i in order[:k] if shown[claims.strong == i].all())
    return Settled(state, words, k, math.ceil(100 * apart - 1e-9))


def _contrasts(strong: Integers, others: Integers) -> _Contrasts:
    """Every strong weight against every other with either sign, and against zero."""
    i, j = (grid.ravel() for grid in np.meshgrid(strong, others, indexing="ij"))
    plus, none = np.ones(len(i)), np.zeros(len(strong))
    return _Contrasts(
        np.concatenate([i, i, strong]), np.concatenate([j, j, strong]), np.concatenate([plus, -plus, none])
    )


def _variance(claims: _Contrasts, own: Floats, covariance: Floats) -> Floats:
    i, j, sign = claims.strong, claims.other, claims.sign
    variance, both = np.diagonal(covariance), covariance[i, j]
    return variance[i] + sign**2 * variance[j] - 2.0 * own[i] * sign * both


def _claimed(estimate: Floats, error: Floats, limit: float, least: float) -> tuple[Truths, Truths]:
    """Which contrasts are shown to be positive, and which to be smaller than the least that is worth telling."""
    return estimate > limit * error, np.abs(estimate) + limit * error < least


def _limit_of_all(contrasts: int, level: float) -> float:
    """Bonferroni's, for claims on both sides."""
    return NormalDist().inv_cdf(1.0 - level / (2.0 * max(contrasts, 1)))


def _limit(claims: _Contrasts, own: Floats, covariance: Floats, level: float) -> float:
    """The quantile of the largest of the standardised errors of these contrasts."""
    involved, places = np.unique(np.concatenate([claims.strong, claims.other]), return_inverse=True)
    half = len(places) // 2
    within = _Contrasts(places[:half], places[half:], claims.sign)
    part = covariance[np.ix_(involved, involved)]
    values, vectors = np.linalg.eigh(part)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    errors = within.of(own[involved], np.random.default_rng(0).standard_normal((_DRAWS, len(involved))) @ root.T)
    scale = np.sqrt(np.maximum(_variance(within, own[involved], part), 0.0))
    standard = np.abs(np.divide(errors, scale, out=np.zeros_like(errors), where=scale > 0.0))
    return float(np.quantile(standard.max(axis=1), 1.0 - level))


# ── how many samples it takes ─────────────────────────────────────────────────────────────────────────────────────────


_NEVER = 8.0
"""Standard errors by which features do not change places, however many they are: Φ(-8) is 6e-16."""
LIMIT = 1e12
"""Beyond this many samples two weights count as tied."""


def samples_for_stable_top(weights: Floats, stderr: Floats, n: int, k: int = 5, level: float = 0.95) -> float:
    """Samples with which the top k stay the top k in a share `level` of runs; inf for a tie, 0 if d <= k."""
    if len(weights) <= k:
        return 0.0
    gap, noise = _gaps(weights, stderr, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(noise > 0, gap / noise, np.where(gap > 0, np.inf, 0.0))

    # Where the closest pair is safe, pairs four times as far apart cannot change places (Φ(-6.5) is 4e-11).
    close = (z[z <= 4 * z.min()] / math.sqrt(2 * n)).tolist()

    def chance_of_change(samples: float) -> float:
        return sum(math.erfc(x * math.sqrt(samples)) for x in close) / 2

    low, high = 0.0, math.log(LIMIT)
    if chance_of_change(math.exp(high)) > 1.0 - level:
        return math.inf
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if chance_of_change(math.exp(middle)) <= 1.0 - level else (middle, high)
    return float(math.ceil(math.exp(high)))


def chance_of_other_top(weights: Floats, stderr: Floats, k: int) -> float:
    """A bound on the chance that another run of as many samples has other k strongest features than this one.

    The gap of two features in another run is off from the one seen here by the noise of both runs. Where nothing was
    left to chance, or there are no others, nothing changes.
    """
    if len(weights) <= k:
        return 0.0
    gap, noise = _gaps(weights, stderr, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(noise > 0, gap / (math.sqrt(2.0) * noise), np.inf)
    return sum(math.erfc(own / math.sqrt(2.0)) for own in z[z < _NEVER].tolist()) / 2.0


def _gaps(weights: Floats, stderr: Floats, k: int) -> tuple[Floats, Floats]:
    """(k, d - k): how much more each of the top k weighs than each of the others, and the standard error of that."""
    size = np.abs(weights)
    order = np.argsort(-size, kind="stable")
    top, rest = order[:k], order[k:]
    return size[top][:, None] - size[rest], np.hypot(stderr[top][:, None], stderr[rest])
