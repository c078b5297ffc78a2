"""The error of a sum of exponentials, measured and bounded."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from limelight.core.arrays import Floats
from limelight.theory.quadrature import ExponentialSum


def measured_error(rule: ExponentialSum, points_per_step: int = 8) -> float:
    """What `ExponentialSum.error` bounds: the largest relative error of 1/D seen on a grid of D over [1, ratio]."""
    # The step's error is periodic in log D with the period of the step, about a third: the grid follows it.
    points = 2 + int(points_per_step * math.log(rule.ratio) / 0.2)
    D = np.exp(np.linspace(0.0, math.log(rule.ratio), points))
    return float(np.abs(D * (np.exp(-np.multiply.outer(D, rule.nodes)) @ rule.weights) - 1.0).max())


_DEGREE, _POINTS, _LENGTH, _RHO = 20, 200, 0.5, 6.4


def certified_error(nodes: Floats, weights: Floats, ratio: float) -> float:
    """A bound on |D Σ w exp(-λD) - 1| for 1 <= D <= ratio, up to the rounding of its own evaluation.

    In x = log D the error e is analytic. On a piece of length 1/2, Bernstein's ellipse with ρ = 6.4 reaches 0.79 = π/4
    into the complex plane and 0.57 to either side: there Re D >= 0.4 and |D Σ w exp(-λD)| <= √2 Re D Σ w exp(-λ Re D),
    which bounds e by some B. So a polynomial of degree n = 20 is within δ = 4 B ρ^-n / (ρ - 1) of e, and a polynomial
    is nowhere larger than 1 / cos(πn / 2N) times the largest of its values at N Chebyshev points (Ehlich and Zeller).
    """

    def error(D: Floats) -> Floats:
        values: Floats = D * (np.exp(-np.multiply.outer(D, nodes)) @ weights) - 1.0
        return values

    pieces = max(1, math.ceil(math.log(ratio) / _LENGTH))
    ends = np.linspace(0.0, math.log(ratio), pieces + 1).tolist()
    chebyshev = 0.5 - 0.5 * np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)
    largest = max(
        float(np.abs(error(np.exp(start + (end - start) * chebyshev))).max()) for start, end in pairwise(ends)
    )
    # Re D Σ w exp(-λ Re D) is at most Σ w exp(-0.4 λ) below D = 1, and e^0.57 (1 + largest) from there on.
    B = 1.0 + math.sqrt(2.0) * max(float(np.exp(-0.4 * nodes) @ weights), math.exp(0.57) * (1.0 + largest))
    delta = 4.0 * B * _RHO**-_DEGREE / (_RHO - 1.0)
    return (largest + delta) / math.cos(math.pi * _DEGREE / (2 * _POINTS)) + delta
