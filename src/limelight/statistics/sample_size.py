"""How many samples make a ranking stable.

Weights estimated from n samples have standard errors that fall as 1/sqrt(n). The k features of largest absolute weight
stay the same k, but for chance δ, once

    Σ_{i in top k} Σ_{j not} Φ( -(|β_i| - |β_j|) / sqrt(σ_i² + σ_j²) · sqrt(n'/n) )  <=  δ

with σ the standard errors at n samples: a union bound over the pairs that could change places.
"""

from __future__ import annotations

import math

import numpy as np

from limelight.core.arrays import Floats

_NEVER = 8.0
"""Standard errors by which features do not change places, however many they are: Φ(-8) is 6e-16."""
LIMIT = 1e12
"""Beyond this many samples two weights count as tied."""


def samples_for_stable_top(weights: Floats, stderr: Floats, n: int, k: int = 5, level: float = 0.95) -> float:
    """Samples with which the top k stay the top k in a share `level` of runs; inf for a tie, 0 if d <= k."""
    if len(weights) <= k:
        return 0.0
    gap, noise = _gaps(weights, stderr, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(noise > 0, gap / noise, np.where(gap > 0, np.inf, 0.0))

    # Where the closest pair is safe, pairs four times as far apart cannot change places (Φ(-6.5) is 4e-11).
    close = (z[z <= 4 * z.min()] / math.sqrt(2 * n)).tolist()

    def chance_of_change(samples: float) -> float:
        return sum(math.erfc(x * math.sqrt(samples)) for x in close) / 2

    low, high = 0.0, math.log(LIMIT)
    if chance_of_change(math.exp(high)) > 1.0 - level:
        return math.inf
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if chance_of_change(math.exp(middle)) <= 1.0 - level else (middle, high)
    return float(math.ceil(math.exp(high)))


def chance_of_other_top(weights: Floats, stderr: Floats, k: int) -> float:
    """A bound on the chance that another run of as many samples has other k strongest features than this one.

    The gap of two features in another run is off from the one seen here by the noise of both runs. Where nothing was
    left to chance, or there are no others, nothing changes.
    """
    if len(weights) <= k:
        return 0.0
    gap, noise = _gaps(weights, stderr, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(noise > 0, gap / (math.sqrt(2.0) * noise), np.inf)
    return sum(math.erfc(own / math.sqrt(2.0)) for own in z[z < _NEVER].tolist()) / 2.0


def _gaps(weights: Floats, stderr: Floats, k: int) -> tuple[Floats, Floats]:
    """(k, d - k): how much more each of the top k weighs than each of the others, and the standard error of that."""
    size = np.abs(weights)
    order = np.argsort(-size, kind="stable")
    top, rest = order[:k], order[k:]
    return size[top][:, None] - size[rest], np.hypot(stderr[top][:, None], stderr[rest])
