"""Student's distribution beside the normal one.

Wallace's transformation (1959) takes Student's t with ν degrees of freedom to a normal number of the same rarity:

    z = (8ν + 1) / (8ν + 3) · sqrt(ν log(1 + t²/ν))

Its 95 % limit is too wide by 1 % with three degrees of freedom, by 4 % with two, and never too narrow. Unlike SciPy's
quantiles it is a formula that arrays and tensors on any device take.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

INTERVAL = 1.959963984540054
"""Standard errors on each side of a 95 % interval of the normal distribution."""


def widening(freedom: Any) -> Any:
    """How much wider Student's 95 % interval is: of a number, or of each element of an array or tensor."""
    return _students(INTERVAL, freedom) / INTERVAL


def half_width(tail: float, freedom: int | None = None) -> float:
    """Standard errors on each side of an interval that leaves out `tail`; the inverse of `as_normal` with few samples.

    Standard errors from few samples are widened for 95 % already, so that 5 % is 1.96 of them whatever the freedom.
    """
    z = -NormalDist().inv_cdf(tail / 2.0)
    return z if freedom is None else float(_students(z, freedom) / widening(freedom))


def as_normal(ratios: Any, freedom: int) -> Any:
    """Weights over standard errors that are widened for 95 %, as normal numbers of the same rarity: 1.96 stays 1.96."""
    with np.errstate(over="ignore"):
        return np.sqrt(freedom * np.log1p((ratios * widening(freedom)) ** 2 / freedom)) / _scale(freedom)


def _students(z: float, freedom: Any) -> Any:
    """Student's t that is as rare as the normal number z."""
    exponent = (z * _scale(freedom)) ** 2 / freedom
    if isinstance(freedom, int | float):
        return math.sqrt(freedom * math.expm1(exponent))
    expm1 = np.expm1 if isinstance(exponent, np.ndarray | np.floating) else type(exponent).expm1
    return (freedom * expm1(exponent)) ** 0.5


def _scale(freedom: Any) -> Any:
    return (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0)
