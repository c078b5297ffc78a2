"""Student's distribution, without SciPy: for the rule of version 0.2 (`evaluation_bootstrap.py`)."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def student_chance(t: float, freedom: int) -> float:
    """The chance that Student's t with so many degrees of freedom is below t."""
    if math.isinf(t):
        return float(t > 0.0)
    if freedom % 2:  # finite sums (Abramowitz and Stegun 26.7.3 and 26.7.4)
        angle = math.atan(t / math.sqrt(freedom))
        term, total = math.cos(angle), 0.0
        for i in range(1, (freedom - 1) // 2 + 1):
            total += term
            term *= math.cos(angle) ** 2 * (2 * i) / (2 * i + 1)
        return 0.5 + (angle + math.sin(angle) * total) / math.pi
    square = freedom / (freedom + t * t)
    term, total = 1.0, 0.0
    for i in range(1, freedom // 2 + 1):
        total += term
        term *= square * (2 * i - 1) / (2 * i)
    return 0.5 + 0.5 * (t / math.sqrt(freedom + t * t)) * total


def student_quantile(chance: float, freedom: int) -> float:
    """Its inverse, by bisection; the normal one's beyond ten thousand degrees of freedom."""
    if freedom > 10_000:
        return _NORMAL.inv_cdf(chance)
    low, high = -1.0, 1.0
    while student_chance(low, freedom) > chance:
        low *= 2.0
    while student_chance(high, freedom) < chance:
        high *= 2.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if student_chance(middle, freedom) < chance else (low, middle)
    return (low + high) / 2.0
