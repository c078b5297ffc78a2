"""LIME's kernel (Eq. 15): the weight of a sample depends only on how many features it removes."""

from __future__ import annotations

import numpy as np

from limelight.arrays import Floats


def kernel_by_size(d: int, kernel_width: float) -> Floats:
    """π for s = 0..d removed of d features: exp(-(1 - cos)² / 2ν²).

    The cosine similarity of such a sample to the document is sqrt((d - s) / d). An infinite width makes all weights 1.
    """
    similarity = np.sqrt((d - np.arange(d + 1)) / d)
    weights: Floats = np.exp(-((1.0 - similarity) ** 2) / (2.0 * kernel_width**2))
    return weights
