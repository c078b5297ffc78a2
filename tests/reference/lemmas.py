"""The lemmas of the paper's Appendix D as functions. `s` of `n` elements are removed, uniformly at random."""

from __future__ import annotations

import math

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import ParameterError

# Below this, (a - log(1 + a)) / a² loses digits faster than its series does.
SERIES_BELOW = 1e-2


def lemma_d_1_bound(C: float, c: float, n: float, variance: float) -> float:
    """|E[X/Y] - E[X]/E[Y]| is at most this when |X| <= C, cn <= Y <= Cn and Var(Y) = variance.

    The paper has C² in the second term. Its proof gives √(Var X · Var Y)/(cn)² there, with √Var X <= C: that is C, and
    C² is too small a bound when C < 1.
    """
    return C * variance / (c * n) ** 3 + C * math.sqrt(variance) / (c * n) ** 2


def lemma_d_1_bound_as_printed(C: float, c: float, n: float, variance: float) -> float:
    """The bound with the paper's C²: true for C >= 1, false in general."""
    return C * variance / (c * n) ** 3 + C**2 * math.sqrt(variance) / (c * n) ** 2


def lemma_d_2_integral(a: float) -> float:
    """∫_0^1 x/(1 + ax) dx = (a - log(1 + a)) / a², for every a > -1 (the paper asks for a > 0 and uses both signs)."""
    if not a > -1.0:
        raise ParameterError(f"∫ x/(1 + ax) over [0, 1] exists for a > -1: got {a}")
    if abs(a) < SERIES_BELOW:
        return sum((-a) ** k / (k + 2) for k in range(9))  # Σ_k (-a)^k / (k + 2)
    return (a - math.log1p(a)) / a**2


def lemma_d_2_series(a: float) -> float:
    """1/2 - a/3, which is the integral up to O(a²)."""
    return 0.5 - a / 3.0


def lemma_d_3_mean(a: Floats, b: Floats, ell: int, s: int) -> float:
    """E_s[H_S | ℓ ∉ S] for H_S = Σ_i (a_i 1{i ∉ S} + b_i 1{i ∈ S}), s = 1..n-1."""
    n = len(a)
    _check_size(n, s, smallest=2)
    kept, removed = (n - 1 - s) / (n - 1), s / (n - 1)
    return float(kept * np.sum(a) + removed * np.sum(b) + removed * (a[ell] - b[ell]))


def lemma_d_3_variance(a: Floats, b: Floats, ell: int, s: int) -> float:
    """Var_s(H_S | ℓ ∉ S), n >= 3. The empirical variance is the one that divides by n."""
    n = len(a)
    _check_size(n, s, smallest=3)
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    own = (difference[ell] - difference.mean()) ** 2 / (n - 1)
    return float(n * s * (n - s - 1) / ((n - 1) * (n - 2)) * (difference.var() - own))


def lemma_d_4(n: int, s: int) -> dict[str, float]:
    """Eq. 37. Keys name distinct elements: "a" is kept (not in S), "B" is removed; "aB" is a kept and b removed."""
    _check_size(n, s, smallest=3, lowest_s=0)
    pairs, triples = n * (n - 1), n * (n - 1) * (n - 2)
    return {
        "a": (n - s) / n,
        "ab": (n - s) * (n - 1 - s) / pairs,
        "aB": s * (n - s) / pairs,
        "abc": (n - s) * (n - s - 1) * (n - s - 2) / triples,
        "aBc": s * (n - s - 1) * (n - s) / triples,
    }


def lemma_d_5(n: int, s: int) -> dict[str, float]:
    """Eq. 38: the same given that another element ℓ is kept, s <= n - 1."""
    _check_size(n, s, smallest=3, lowest_s=0)
    return {
        "a": (n - 1 - s) / (n - 1),
        "A": s / (n - 1),
        "ab": (n - s - 1) * (n - s - 2) / ((n - 1) * (n - 2)),
    }


def _check_size(n: int, s: int, smallest: int, lowest_s: int = 1) -> None:
    if n < smallest or not lowest_s <= s <= n - 1:
        raise ParameterError(f"this lemma needs n >= {smallest} and {lowest_s} <= s <= n - 1: got n={n}, s={s}")
