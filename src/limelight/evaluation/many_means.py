"""Means over documents of many numbers at once, on shared resamples: for description, not for decisions.

The intervals are the BCa bootstrap's, with Student's quantiles, whatever the number of documents; the way that
`inference.mean` has for fewer than 1,000 of them covers better, and takes longer.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from limelight.arrays import Floats
from limelight.evaluation.student import student_quantile

RESAMPLES = 2000
"""Fewer than decisions rest on: these means are descriptive."""
_COLUMNS_AT_ONCE = 256
_NORMAL = NormalDist()


def many_means(values: Floats, seed: int = 0, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Mean, low and high end of each column (N, m); documents without a value (NaN) are left out.

    The ends are NaN where fewer than two documents have a value.
    """
    n, m = values.shape
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES).astype(np.float64) if n else np.zeros((0, 0))
    ends = [_ends(values[:, i : i + _COLUMNS_AT_ONCE], counts, level) for i in range(0, m, _COLUMNS_AT_ONCE)]
    if not ends:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    mean, low, high = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    return mean, low, high


def _ends(values: Floats, counts: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    known = np.isfinite(values)
    filled, n = np.where(known, values, 0.0), known.sum(axis=0).astype(np.float64)
    total = filled.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        resampled = (counts @ filled) / (counts @ known)
        left_out = np.where(known, (total - filled) / (n - 1.0), np.nan)
        pull = np.where(known, np.nansum(left_out, axis=0) / n - left_out, 0.0)
        spread = (pull**2).sum(axis=0)
        acceleration = np.where(spread > 0.0, (pull**3).sum(axis=0) / (6.0 * np.maximum(spread, 1e-300) ** 1.5), 0.0)
    low, high = np.full(len(mean), np.nan), np.full(len(mean), np.nan)
    for j in np.flatnonzero(n >= 2):
        drawn = np.sort(resampled[np.isfinite(resampled[:, j]), j])
        low[j], high[j] = _interval(drawn, float(mean[j]), float(acceleration[j]), int(n[j]), level)
    return mean, low, high


def _interval(drawn: Floats, value: float, acceleration: float, n: int, level: float) -> tuple[float, float]:
    tie = 1e-12 * max(abs(value), float(np.abs(drawn).max()))
    below = np.searchsorted(drawn, value - tie) + np.searchsorted(drawn, value + tie, side="right")
    least = 0.5 / len(drawn)
    bias = _NORMAL.inv_cdf(min(max(float(below) / (2 * len(drawn)), least), 1.0 - least))
    quantile = _quantile((1.0 + level) / 2.0, n)
    ends = []
    for z in (-quantile, quantile):
        w = bias + z
        tilt = 1.0 - acceleration * w
        share = _NORMAL.cdf(bias + w / tilt) if tilt > 0.0 else float(w > 0.0)
        ends.append(float(np.quantile(drawn, share)))
    return ends[0], ends[1]


_quantiles: dict[tuple[float, int], float] = {}


def _quantile(chance: float, n: int) -> float:
    """Student's, stretched as in `bootstrap`."""
    if (chance, n) not in _quantiles:
        _quantiles[chance, n] = student_quantile(chance, n - 1) * (n / (n - 1)) ** 0.5
    return _quantiles[chance, n]
