"""What an explanation shows beyond its own error, and what has to be said of it in words.

A weight counts as told from zero where its error does not explain it: for sampled weights with the false discoveries
among a text's features held at 5 % (Benjamini and Hochberg, 1995), for the others where it exceeds rounding and the
proven bound. Every view draws the rest as not distinguishable from 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from limelight.arrays import Floats
from limelight.explanation import Explanation

FALSE_DISCOVERIES = 0.05
"""The expected share of features that are called told from zero and are not."""
INTERVAL = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""


@dataclass(frozen=True)
class Evidence:
    """For each feature of an explanation: whether its weight is told from zero, and its 95 % interval.

    `half_width` is None where nothing was sampled.
    """

    told: npt.NDArray[np.bool_]
    half_width: Floats | None

    @property
    def is_empty(self) -> bool:
        """Whether no weight at all is told from zero."""
        return not self.told.any()


def evidence(explanation: Explanation) -> Evidence:
    """Of the weights of features; groups have their own, by `evidence_of`."""
    return evidence_of(explanation.weights, explanation.stderr, rounding_of(explanation))


def evidence_of(weights: Floats, stderr: Floats | None, rounding: float) -> Evidence:
    """`rounding`: how far a weight may be off without sampling, in its own units."""
    if stderr is None:
        return Evidence(np.abs(weights) > rounding, None)
    spread = np.hypot(stderr, rounding / INTERVAL)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(weights == 0.0, 0.0, np.abs(weights) / spread)
    return Evidence(_discovered(z, FALSE_DISCOVERIES), INTERVAL * stderr)


def _discovered(z: Floats, level: float) -> npt.NDArray[np.bool_]:
    """Benjamini and Hochberg's step-up rule for two-sided normal statistics; NaN is never discovered."""
    p = np.array([math.erfc(value / math.sqrt(2.0)) if value == value else 1.0 for value in z])
    order = np.argsort(p, kind="stable")
    passed = np.flatnonzero(p[order] <= level * np.arange(1, len(p) + 1) / len(p))
    told = np.zeros(len(p), dtype=bool)
    if len(passed):
        told[order[: passed[-1] + 1]] = True
    return told


def rounding_of(explanation: Explanation) -> float:
    """The error of a weight that is not sampling: what its method states, and its proven bound."""
    stated = [explanation.diagnostics.get(name) for name in ("rounding", "error")]
    return sum(float(value) for value in stated if isinstance(value, int | float) and math.isfinite(value))
