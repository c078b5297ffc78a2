"""Correlations, and means over documents with their intervals."""

from __future__ import annotations

import numpy as np
import torch

from limelight.core.arrays import Floats
from limelight.evaluation.agreement import pearson

_RESAMPLES = 1000
_RESAMPLES_AT_ONCE = 50


def correlation(rows: Floats) -> Floats:
    """Pearson's correlation of all pairs of rows (m, d): (m, m), NaN where a row is constant."""
    correlations: Floats = pearson(torch.from_numpy(rows)).numpy()
    return correlations


def ranks(rows: Floats) -> Floats:
    """Ranks from 1 in each row; ties share the mean of theirs."""
    ranked = np.empty(rows.shape)
    for i, row in enumerate(rows):
        _, inverse, counts = np.unique(row, return_inverse=True, return_counts=True)
        ranked[i] = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranked


def bootstrap_mean(values: Floats, seed: int, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
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
    edge = (1.0 - level) / 2.0
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
