"""Means over documents of many numbers at once, with intervals: for description, not for decisions."""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.statistics.sign_flips import ends

LEVEL = 0.95
FLIPS = 2000
"""Fewer than decisions rest on: these means are descriptive."""
_COLUMNS_AT_ONCE = 256
_RESAMPLES = 1000
_RESAMPLES_AT_ONCE = 50


def many_means(values: Floats, same: Integers | None = None) -> tuple[Floats, Floats, Floats]:
    """Mean, low and high end of each column (N, m), from flipped signs; documents without a value (NaN) are left out.

    The ends are NaN where fewer than six documents have a value. `same` (N,): equal for copies of one document, which
    count as one of several values.
    """
    known = np.isfinite(values)
    sums, counts = (summed_copies(own, same) for own in (np.where(known, values, 0.0), known.astype(np.float64)))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums.sum(axis=0) / counts.sum(axis=0)
    low, high = np.full(len(mean), np.nan), np.full(len(mean), np.nan)
    if len(values):
        for i in range(0, values.shape[1], _COLUMNS_AT_ONCE):
            own = slice(i, i + _COLUMNS_AT_ONCE)
            low[own], high[own] = ends(sums[:, own], counts[:, own], LEVEL, flips=FLIPS)
    return mean, low, high


def summed_copies(values: Floats, same: Integers | None) -> Floats:
    """Sums over the copies of each document, in the order in which documents first come: (documents, ...)."""
    if same is None:
        return values
    first, place = np.unique(same, return_inverse=True)
    sums = np.zeros((len(first), *values.shape[1:]))
    np.add.at(sums, place, values)
    return sums


def bootstrap_mean(values: Floats, seed: int) -> tuple[Floats, Floats, Floats]:
    """Mean over documents of each column (n, m), and its interval from resampled documents; NaNs are left out."""
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    rng, n = np.random.default_rng(seed), len(values)
    means = []
    for start in range(0, _RESAMPLES, _RESAMPLES_AT_ONCE):
        size = min(_RESAMPLES_AT_ONCE, _RESAMPLES - start)
        counts = rng.multinomial(n, np.full(n, 1.0 / n), size=size).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            means.append((counts @ filled) / (counts @ known))
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = filled.sum(axis=0) / known.sum(axis=0)
    edge = (1.0 - LEVEL) / 2.0
    low, high = np.nanquantile(np.concatenate(means), [edge, 1.0 - edge], axis=0)
    return centre, low, high


def mean_and_spread(values: Floats) -> dict[str, float]:
    """As the paper reports: mean and standard deviation over documents; and quartiles."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return {
        "mean": float(values.mean()),
        "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        "quartile_1": float(low),
        "median": float(middle),
        "quartile_3": float(high),
        "largest": float(values.max()),
    }
