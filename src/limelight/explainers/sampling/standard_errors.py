"""Standard errors from what each sample moves, true also where samples are few.

An estimate is a sum over samples, Σ_i a_ij s_i for weight j: a_ij is how far output i moves the weight, s_i what that
output is off by, as leaving the sample out would find it (its residual over 1 - leverage: the jackknife, "HC3"). The
variance Σ a² s² assumes nothing of the residuals. From few samples it is a bad guess of itself, in three ways.

- It is decided by as many samples as move the weight by much: k = 3 (Σ a² s²)² / Σ a⁴ s⁴, which is their number for
  normal residuals that all weigh alike, and 3 where one sample decides. Student's factor for k is applied.
- Samples that would have shown more may be missing. `PRIOR` samples more are counted whose residual is typical of all
  words, Σ a² · mean s² / k: where a model does rare things, most runs see them of some words alone.
- A sample that decides its own fit has leverage 1 and residual 0. A weight that such samples move has no interval, and
  neither has a weight that no sample tells anything of.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from limelight.core.arrays import Array, Floats
from limelight.explainers.sampling.nondeterminism import AnswerNoise
from limelight.statistics.student import widening

PRIOR = 6.0
"""Chosen on games of 5 to 30 words (benchmarks/stress_settings.py): with half of it intervals cover 1–3 % less."""
DECIDES = 1e-6
"""1 - leverage below which a sample decides its own fit."""
_DECIDED = 1e-9
"""Fraction of a weight's Σ a² that samples which decide their own fit may have."""
MANY = 100
"""Effective samples from which a normal distribution says the same."""
ALL_DETERMINED = 1.0 - 1e-6
"""Fraction of a weight that samples determine where they determine all of it, but for rounding."""


def effective_samples(squares: Any, fourths: Any) -> Any:
    """Number of samples k that decide a variance, from Σ a² s² and Σ a⁴ s⁴ in any units; 3 where nothing moved."""
    squared = squares**2
    return (3.0 * squared / (fourths + 1e-12 * squared + 1e-300)).clip(3.0)


def stderr_of_sums(squares: Any, effective: Any, reach: Any, scale: Any, decided: Any, prior: float = PRIOR) -> Any:
    """Standard errors from sums over samples: NaN where there is no interval; 0 where no sample moved anything.

    Of arrays or tensors, with weights along the axis before the last and outputs along the last, (..., d, m): `squares`
    is Σ a² s², `effective` is k, `reach` is Σ a² (..., d, 1), `scale` is the mean of s² (..., 1, m), and `decided` is
    Σ a² of the samples that decide their own fit, (..., d, 1).
    """
    variance = squares + prior * reach * scale / effective
    stderr = variance**0.5 * widening(effective)
    no_interval = (decided > _DECIDED * reach) & (scale >= 0.0)
    if isinstance(stderr, np.ndarray):
        return np.where(no_interval, np.nan, stderr)
    return stderr.masked_fill(no_interval, np.nan)


@dataclass(frozen=True)
class Moves:
    """Influence of each sample on d weights of one output: `per_unit` (n, d) float32 is a, `off` (n,) is s.

    `noise` (n,): that of the answers themselves, as far as `off` does not hold it.
    """

    per_unit: Array
    off: Floats
    decides: Array | None = None  # (n,), of truths
    noise: AnswerNoise | None = None
    prior: float = PRIOR

    def _known_from(self, per_unit: Array) -> tuple[Floats, Floats]:
        """Standard errors (d,) and effective samples (d,) from these rows a.

        Sums are in float32: all are brought to 1 first, as fourth powers leave its range.
        """
        most, unit = (float(np.abs(own).max(initial=0.0)) or 1.0 for own in (per_unit, self.off))
        s2 = ((self.off / unit) ** 2).astype(np.float32)
        a2 = per_unit / np.float32(most)
        a2 *= a2
        squares, reach = s2 @ a2, a2.sum(axis=0)
        decided = np.zeros_like(reach) if self.decides is None else self.decides.astype(np.float32) @ a2
        a2 *= a2
        squares, fourths, reach, decided = (own.astype(np.float64) for own in (squares, (s2 * s2) @ a2, reach, decided))
        scale, effective = float(s2.mean(dtype=np.float64)) * unit**2, effective_samples(squares, fourths)
        squares, reach, decided = squares * (most * unit) ** 2, reach * most**2, decided * most**2
        return stderr_of_sums(squares, effective, reach, scale, decided, self.prior), effective

    @cached_property
    def _own(self) -> tuple[Floats, Floats]:
        return self._known_from(self.per_unit)

    @property
    def gain(self) -> float:
        """How far outputs that are off by at most 1 may move a weight, in first order."""
        return float(np.abs(self.per_unit).sum(axis=0, dtype=np.float64).max())

    @property
    def effective(self) -> Floats:
        """Number of samples that decide each variance: (d,)."""
        return self._own[1]

    def stderr(self, groups: Floats | None = None) -> Floats:
        """Standard errors of the weights, or of sums of them over groups (d, g) of zeros and ones."""
        a = self.per_unit if groups is None else np.asarray(self.per_unit @ groups.astype(np.float32))
        stderr = self._own[0] if groups is None else self._known_from(a)[0]
        if self.noise is not None:
            stderr = np.hypot(stderr, np.sqrt(self.noise.variance @ np.float64(a) ** 2) * self.noise.widened)
        return stderr

    def covariance(self) -> Floats:
        """Covariance (d, d): correlated as the samples move the weights, with the standard errors that are stated."""
        moved = self.per_unit * self.off[:, None].astype(np.float32)
        return with_stderr(np.asarray(moved.T @ moved, dtype=np.float64), self.stderr())


@dataclass(frozen=True)
class Fit:
    """Weights (d,) of one output, and how each sample moves them, which their errors are known from."""

    values: Floats
    moves: Moves


def with_stderr(covariance: Floats, stderr: Floats) -> Floats:
    """Covariance (d, d) with the correlations of another one and these standard errors (d,)."""
    own = np.sqrt(np.diagonal(covariance))
    scale = np.divide(stderr, own, out=np.zeros_like(stderr), where=own > 0.0)
    changed: Floats = covariance * scale[:, None] * scale
    # What no sample moves is correlated with nothing.
    changed[np.diag_indices_from(changed)] = stderr**2
    return changed


def few(effective: Floats) -> int | None:
    """Degrees of freedom to state of weights (d,), or those of the output with the fewest (d, m); None for many."""
    typical = float(np.median(effective, axis=0).min()) if effective.size else MANY
    return None if not typical < MANY else max(int(typical), 3)
