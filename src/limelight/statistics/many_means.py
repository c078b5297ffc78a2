"""Means over documents of many numbers at once: for description, not for decisions.

Their intervals are those of flipped signs (`limelight.statistics.sign_flips`), from fewer signs than decisions take.
"""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.statistics.sign_flips import ends

FLIPS = 2000
"""Fewer than decisions rest on: these means are descriptive."""
_COLUMNS_AT_ONCE = 256


def many_means(
    values: Floats, seed: int = 0, level: float = 0.95, same: Integers | None = None
) -> tuple[Floats, Floats, Floats]:
    """Mean, low and high end of each column (N, m); documents without a value (NaN) are left out.

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
            low[own], high[own] = ends(sums[:, own], counts[:, own], level, seed, FLIPS)
    return mean, low, high


def summed_copies(values: Floats, same: Integers | None) -> Floats:
    """Sums over the copies of each document, in the order in which documents first come: (documents, ...)."""
    if same is None:
        return values
    first, place = np.unique(same, return_inverse=True)
    sums = np.zeros((len(first), *values.shape[1:]))
    np.add.at(sums, place, values)
    return sums
