"""LIME's kernel (Eq. 15): the weight of a sample depends only on how many features it removes.

    π_s = exp(-c_s² / 2ν²),   c_s = 1 - sqrt(1 - s/d)

One minus the cosine similarity to the document is computed as (s/d) / (1 + sqrt(1 - s/d)), and c/ν is squared rather
than ν: nothing cancels, and nothing overflows for ν from 5e-324 to infinity.
"""

from __future__ import annotations

import math

import numpy as np

from limelight.core.arrays import Floats

LEAST_KERNEL_LOG = -690.0
"""log π_1 below which no sample but the document itself has a weight that float64 can hold with all its digits."""
_LEAST_RELATIVE = 1e-280
"""Relative weights below it are 0: they would have lost digits, and weigh nothing beside those that are kept."""


def distances(d: int) -> Floats:
    """c_s for s = 0..d removed of d features."""
    fraction = np.arange(d + 1) / d
    gone: Floats = fraction / (1.0 + np.sqrt((d - np.arange(d + 1)) / d))
    return gone


def kernel_by_size(d: int, kernel_width: float) -> Floats:
    """π_s for s = 0..d removed of d features. An infinite width makes all weights 1."""
    with np.errstate(over="ignore", under="ignore"):  # a width of 1e-200 has weights of 0, which is what they are
        weights: Floats = np.exp(-0.5 * (distances(d) / kernel_width) ** 2)
    return weights


def kernel_log_of_one(d: int, kernel_width: float) -> float:
    """log π_1, the largest of all samples but the document itself."""
    scaled = float(distances(d)[1]) / kernel_width
    return -0.5 * scaled * scaled if scaled < 1e150 else -math.inf


def kernel_beside_one(d: int, kernel_width: float) -> tuple[Floats, Floats]:
    """π_s / π_1 for s = 1..d, and the exponents -log(π_s / π_1), to full relative precision for any ν.

    c_s² - c_1² = (c_s - c_1)(c_s + c_1), and c_s - c_1 = ((s-1)/d) / (sqrt(1 - 1/d) + sqrt(1 - s/d)).
    """
    s = np.arange(1, d + 1)
    roots, gone = np.sqrt((d - s) / d), distances(d)[1:]
    gaps = (s - 1) / d / np.maximum(roots[0] + roots, np.finfo(np.float64).tiny)  # d = 1 has 0/0
    with np.errstate(over="ignore", under="ignore"):
        exponents: Floats = 0.5 * (gaps / kernel_width) * ((gone + gone[0]) / kernel_width)
        beside = np.exp(-exponents)
    return np.where(beside < _LEAST_RELATIVE, 0.0, beside), exponents
