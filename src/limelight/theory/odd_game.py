"""Odd games that are cheap to know everything of: the control variate of Shapley values.

Shapley values see only the odd part of a game, o(x) = (f(x) - f(-x)) / 2, with x_j = 1 where feature j is kept and -1
where it is removed. An odd guess of it is

    g(x) = l·x + Σ_k p^k a_k(m) + p² v·x + m p w·x,      p = c·x,  k = 0..3,

where m = mean(x) is a function of the number of kept features, and a_1, a_3 are even in m while a_0, a_2 are odd. Means
over the subsets of a size follow from r_k(s) = E[x_1 … x_k], since x_j² = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Floats
from limelight.theory.polynomial_game import inclusion_chances


def inner_sizes(d: int) -> Floats:
    """The numbers of removed features that a proper subset has: 1..d-1."""
    return np.arange(1.0, d)


def size_weights(d: int) -> Floats:
    """The kernel of Shapley values by size, 1 / (s (d - s)), in parts of 1: (d - 1,)."""
    s = inner_sizes(d)
    weights = 1.0 / (s * (d - s))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def sign_moments(d: int) -> Floats:
    """r_k(s) for k = 0..4 and s = 1..d-1 removed features: (5, d - 1)."""
    q = inclusion_chances(d, 4)[:, 1:-1]
    return np.stack([sum(math.comb(k, i) * 2.0**i * (-1.0) ** (k - i) * q[i] for i in range(k + 1)) for k in range(5)])


@dataclass(frozen=True)
class OddGame:
    """One output; a (4,) are the coefficients of a_0 = a[0] m + a[1] m³, a_1 = a[2] m², a_2 = a[3] m, a_3 = a[4]."""

    l: Floats  # (d,)
    c: Floats  # (d,)
    a: Floats  # (5,)
    v: Floats  # (d,)
    w: Floats  # (d,)

    def of(self, x: Floats) -> Floats:
        """g of signs (n, d)."""
        p, m, a = x @ self.c, x.mean(axis=1), self.a
        own = a[0] * m + a[1] * m**3 + a[2] * m**2 * p + a[3] * m * p**2 + a[4] * p**3
        value: Floats = x @ self.l + own + p * p * (x @ self.v) + m * p * (x @ self.w)
        return value

    def means_with_sign(self, weights: Floats) -> Floats:
        """Σ_s weights_s E[x_j g | s removed] for each feature j: (d,)."""
        d, c = len(self.c), self.c
        r, m = sign_moments(d), 1.0 - 2.0 * inner_sizes(d) / d

        def mean(k: int, factor: Floats | float = 1.0) -> float:
            return float((weights * factor) @ r[k])

        one = float(weights.sum())
        e1, e2 = float(c.sum()), float((c**2).sum())
        E1, E2, E3 = (float((c**k).sum()) - c**k for k in (1, 2, 3))  # over all other features than j
        total = self.l * one + (float(self.l.sum()) - self.l) * mean(2)
        total += mean(1, self.a[0] * m + self.a[1] * m**3)
        total += self.a[2] * (c * mean(0, m**2) + E1 * mean(2, m**2))
        r1, r3 = mean(1, m), mean(3, m)
        total += self.a[3] * (c**2 * r1 + 2.0 * c * E1 * r1 + E2 * r1 + (E1**2 - E2) * r3)
        r2, r4 = mean(2), mean(4)
        total += self.a[4] * (
            c**3 * one
            + 3.0 * c**2 * E1 * r2
            + 3.0 * c * (E2 * one + (E1**2 - E2) * r2)
            + (3.0 * E1 * E2 - 2.0 * E3) * r2
            + (E1**3 - 3.0 * E1 * E2 + 2.0 * E3) * r4
        )
        for k in np.flatnonzero((self.v != 0.0) | (self.w != 0.0)):
            F1, F2 = e1 - c - c[k], e2 - c**2 - c[k] ** 2  # without j and k
            square = (c**2 + c[k] ** 2) * r2 + 2.0 * c * c[k] * one + 2.0 * (c + c[k]) * F1 * r2
            square += F2 * r2 + (F1**2 - F2) * r4
            square[k] = e2 * one + (e1**2 - e2) * r2
            single = (c + c[k]) * r1 + F1 * r3
            single[k] = e1 * r1
            total += self.v[k] * square + self.w[k] * single
        return np.asarray(total, dtype=np.float64)
