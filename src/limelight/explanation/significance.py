"""Significance: which weights of an explanation their own error does not explain, and how wide their intervals are.

A weight is significant where its error does not explain it: for sampled weights with the false discoveries
among a text's features held at 5 % (Benjamini and Hochberg, 1995), for the others where it exceeds rounding and the
proven bound. Every view draws the rest as not distinguishable from 0.

Readers look at the significant words, and a 95 % interval of a word that was picked for being far from
zero misses more often than 5 %. The intervals of a text are therefore as wide as keeps the fraction of misses among the
picked at 5 % (the false coverage rate of Benjamini and Yekutieli, 2005): with R of d features picked they leave out
5 % · R/d each. The same rule picks and draws, so that an interval excludes 0 exactly where its feature is picked. A
standard error is never widened for that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Floats
from limelight.statistics.student import INTERVAL as INTERVAL
from limelight.statistics.student import as_normal, half_width

FALSE_DISCOVERIES = 0.05
"""The expected fraction of features that are called significant and are not, and of intervals of such features that
miss their weight."""

_QUANTILE = 1e-12
"""Relative error of a quantile of the normal distribution, with room to spare."""
ABOUT_INTERVALS = "± is an interval: of those of the coloured words 95 % hold the true weight"
"""For legends."""


@dataclass(frozen=True)
class Significance:
    """For each feature of an explanation: whether its weight is significant, and half of its interval.

    `half_width` holds sampling and rounding, and is None where nothing was sampled. A weight without an interval (NaN)
    is never significant. `level` is that of each single interval: 95 % where every feature is significant, and more
    where few are.
    """

    significant: npt.NDArray[np.bool_]
    half_width: Floats | None
    level: float = 1.0 - FALSE_DISCOVERIES

    @property
    def is_empty(self) -> bool:
        """Whether no weight at all is significant."""
        return not self.significant.any()


def significance_of(
    weights: Floats, stderr: Floats | None, rounding: float, freedom: int | None = None
) -> Significance:
    """`rounding`: how far a weight may be off without sampling, in its own units. `freedom`: from how many samples the
    standard errors are, where they are few."""
    beyond = np.maximum(np.abs(weights) - rounding, 0.0)
    if stderr is None:
        return Significance(beyond > 0.0, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(beyond == 0.0, 0.0, beyond / stderr)
    found = discovered(z if freedom is None else as_normal(z, freedom), FALSE_DISCOVERIES)
    tail = FALSE_DISCOVERIES * max(int(found.sum()), 1) / max(len(found), 1)
    sampling = half_width(tail, freedom) * stderr
    # An interval that ends at 0, but for the last digits of the quantile, holds it.
    return Significance(found & (beyond > sampling * (1.0 + _QUANTILE)), sampling + rounding, 1.0 - tail)


def discovered(z: Floats, level: float) -> npt.NDArray[np.bool_]:
    """Benjamini and Hochberg's step-up rule for two-sided normal statistics; NaN is never discovered."""
    p = np.array([math.erfc(value / math.sqrt(2.0)) if value == value else 1.0 for value in z])
    order = np.argsort(p, kind="stable")
    passed = np.flatnonzero(p[order] <= level * np.arange(1, len(p) + 1) / len(p))
    found = np.zeros(len(p), dtype=bool)
    if len(passed):
        found[order[: passed[-1] + 1]] = True
    return found
