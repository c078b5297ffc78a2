"""What a sample of documents says of a score: intervals, differences, and what cannot be decided yet.

A score is a ratio of means over documents, Σ numerators / Σ denominators (a plain mean has denominators of 1). Its
interval and p-values come from resampled documents (`limelight.evaluation.bootstrap`).

Two methods are compared on the same resampled documents. "Equal" is a claim of its own, by two one-sided tests: the
difference is smaller than a margin. What is neither different nor equal is undecided, and `texts_needed` says about how
many documents would decide it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from limelight.arrays import Floats
from limelight.errors import ParameterError
from limelight.evaluation.bootstrap import NAMES, RESAMPLES, Bootstrap

MARGIN = 0.05
"""A difference of scores below this is none in practice."""
POWER = 0.8
"""The chance with which `texts_needed` documents decide, if the truth is what was seen."""
_NORMAL = NormalDist()

Verdict = Literal["better", "worse", "equal", "undecided"]


@dataclass(frozen=True)
class Interval:
    """A value with an interval that covers the truth with the chance `level`. NaN ends: nothing can be said."""

    value: float
    low: float
    high: float
    level: float
    method: str
    documents: int

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Comparison:
    """A score less another one, or less a constant, and what the documents say of it.

    `p` is two-sided, for no difference; `p_equal` is for a difference of the margin or more.
    """

    interval: Interval
    p: float
    p_equal: float
    standard_error: float
    margin: float

    @property
    def value(self) -> float:
        return self.interval.value


@dataclass(frozen=True)
class Decision:
    """What is claimed of a comparison. `told_apart`: the sign of the difference is known, also where it is so small
    that both are equal in practice. `texts_needed`: about how many documents would decide, where it is undecided."""

    verdict: Verdict
    told_apart: bool
    p: float
    p_equal: float
    texts_needed: int | None


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def mean(values: Floats, level: float = 0.95, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The mean over documents; documents without a value (NaN) are left out."""
    values = np.asarray(values, dtype=np.float64)
    return ratio_of_means(values, np.where(np.isnan(values), np.nan, 1.0), level, seed, resamples)


def ratio_of_means(
    numerators: Floats, denominators: Floats, level: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Σ numerators / Σ denominators over documents; those without both numbers (NaN) are left out."""
    check_level(level)
    return _interval(Bootstrap.of([(numerators, denominators)], seed, resamples), level)


def paired_difference(
    first: tuple[Floats, Floats],
    second: tuple[Floats, Floats],
    level: float = 0.95,
    seed: int = 0,
    margin: float = MARGIN,
    resamples: int = RESAMPLES,
) -> Comparison:
    """The first ratio of means less the second, each (numerators, denominators), on the same resampled documents."""
    check_level(level)
    return _compared(Bootstrap.of([first, second], seed, resamples), level, margin)


def against(
    numerators: Floats,
    denominators: Floats,
    constant: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
    margin: float = MARGIN,
    resamples: int = RESAMPLES,
) -> Comparison:
    """A ratio of means less a constant: 0 is chance for a score that is normalised so."""
    check_level(level)
    if not math.isfinite(constant):
        raise ParameterError(f"the constant that a score is compared with must be finite: got {constant!r}")
    return _compared(Bootstrap.of([(numerators, denominators)], seed, resamples, constant), level, margin)


def _compared(sample: Bootstrap, level: float, margin: float) -> Comparison:
    if not (math.isfinite(margin) and margin > 0.0):
        raise ParameterError(f"the margin of equivalence must be above 0: got {margin!r}")
    below = sample.chance_below(0.0)
    return Comparison(
        interval=_interval(sample, level),
        p=min(1.0, 2.0 * min(below, 1.0 - below)),
        p_equal=max(sample.chance_below(-margin), 1.0 - sample.chance_below(margin)),
        standard_error=sample.error,
        margin=margin,
    )


def _interval(sample: Bootstrap, level: float) -> Interval:
    low, high = sample.ends(level)
    method = NAMES[sample.way] if sample.documents > 1 else "none: fewer than two documents"
    return Interval(sample.value, low, high, level, method, sample.documents)


def check_level(level: float) -> None:
    """A chance that an interval can cover with."""
    if not 0.0 < level < 1.0:
        raise ParameterError(f"the level of an interval lies between 0 and 1: got {level!r}")


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def holm(p: Sequence[float] | Floats) -> Floats:
    """P-values adjusted so that all claims below a level are right together with the chance 1 - level (Holm 1979).

    The smallest is multiplied by the number of claims m, the next by m - 1, and so on; none falls below the one before.
    A NaN is no claim, and stays.
    """
    given = np.asarray(p, dtype=np.float64)
    if given.ndim != 1:
        raise ParameterError(f"p-values must be a list of numbers: got an array of shape {given.shape}")
    claims = np.flatnonzero(~np.isnan(given))
    if ((given[claims] < 0.0) | (given[claims] > 1.0)).any():
        raise ParameterError(f"p-values lie between 0 and 1: got {given.tolist()}")
    order = claims[np.argsort(given[claims], kind="stable")]
    adjusted = given.copy()
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1)))
    return adjusted


def verdict_of_difference(comparison: Comparison, alpha: float = 0.05, claims: int = 1) -> Decision:
    """What one comparison says. Its p-values count as they are; `claims` only makes `texts_needed` stricter."""
    if not 0.0 < alpha < 0.5:
        raise ParameterError(f"alpha must lie between 0 and 0.5: got {alpha!r}")
    told_apart, equal = comparison.p < alpha, comparison.p_equal < alpha
    verdict: Verdict
    if equal:
        verdict = "equal"
    elif told_apart:
        verdict = "better" if comparison.value > 0.0 else "worse"
    else:
        verdict = "undecided"
    needed = texts_needed(comparison, alpha / claims) if verdict == "undecided" else None
    return Decision(verdict, told_apart, comparison.p, comparison.p_equal, needed)


def verdicts_of_differences(comparisons: Sequence[Comparison], alpha: float = 0.05) -> list[Decision]:
    """The same for many comparisons at once: both families of p-values are corrected by Holm's method."""
    p, p_equal = holm([one.p for one in comparisons]), holm([one.p_equal for one in comparisons])
    return [
        verdict_of_difference(replace(one, p=float(own), p_equal=float(own_equal)), alpha, len(comparisons))
        for one, own, own_equal in zip(comparisons, p, p_equal, strict=True)
    ]


def texts_needed(comparison: Comparison, alpha: float = 0.05) -> int | None:
    """About how many documents decide, with the chance POWER, if the difference is the one that was seen.

    The standard error falls as 1/sqrt(N). Either the difference is told from 0, or it is shown to be below the margin:
    what needs fewer documents counts. None where the documents have no spread to judge by.
    """
    documents, error, size = comparison.interval.documents, comparison.standard_error, abs(comparison.value)
    if not (math.isfinite(error) and math.isfinite(size) and error > 0.0):
        return None
    room = comparison.margin - size
    factors = []
    if size > 0.0:
        factors.append((_NORMAL.inv_cdf(1.0 - alpha / 2.0) + _NORMAL.inv_cdf(POWER)) * error / size)
    if room > 0.0:
        # Both one-sided tests must succeed: near a difference of 0 each may fail half as often.
        either = (1.0 - POWER) / 2.0 if size < error else 1.0 - POWER
        factors.append((_NORMAL.inv_cdf(1.0 - alpha) + _NORMAL.inv_cdf(1.0 - either)) * error / room)
    return max(documents + 1, math.ceil(documents * min(factors) ** 2))
