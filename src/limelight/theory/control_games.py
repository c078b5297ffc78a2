"""Games that are cheap to know everything of: what a sampled game is compared with (a control variate).

    g(z) = Σ_k a_k(s) t^k,        t = t_0 + c·z,   k = 0..3

with s the number of removed features and z the kept ones. A polynomial in one direction bends as a model does that
saturates. Means over the subsets of a size follow from inclusion chances q_k(s) = P(k given features are all kept),
since z_j² = z_j: no sampling, O(d).

Shapley values see only the odd part of a game, o(x) = (f(x) - f(-x)) / 2, with x_j = 1 where feature j is kept and -1
where it is removed. Odd guesses of it, with p = c·x and m = mean(x), a function of the number of kept features, are

    m³,   m² p,   m p²,   p³,   and for some features k   p² x_k,   m p x_k.

Means over the subsets of a size follow from r_k(s) = E[x_1 … x_k], since x_j² = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from limelight.core.arrays import Floats, Integers


@lru_cache(maxsize=16)
def inclusion_chances(d: int, most: int) -> Floats:
    """q_k(s) for k = 0..most and s = 0..d removed features: (most + 1, d + 1)."""
    kept = d - np.arange(d + 1.0)
    chances = [np.ones(d + 1)]
    for k in range(most):
        chances.append(chances[-1] * np.maximum(kept - k, 0.0) / max(d - k, 1))
    stacked = np.stack(chances)
    stacked.flags.writeable = False
    return stacked


@dataclass(frozen=True)
class PolynomialGames:
    """Every polynomial a_k(s) (m, 4, d + 1) along every line t_0 (f,) and c (f, d): f · m games."""

    a: Floats
    t_0: Floats
    c: Floats

    def means_by_size(self) -> Floats:
        """E[g | s removed] for s = 0..d: (f, m, d + 1)."""
        q = inclusion_chances(self.c.shape[1], 3)
        sums = [(self.c**k).sum(axis=1, keepdims=True) for k in (1, 2, 3)]
        means = [sum(own * q[i] for i, own in enumerate(power)) for power in _powers(*sums)]
        shifted = np.stack([_shifted(k, self.t_0[:, None], means) for k in range(4)], axis=1)
        return np.einsum("mks,fks->fms", self.a, shifted)

    def means_with_feature(self, size_weights: Floats) -> Floats:
        """Σ_s w_s E[g 1{j kept} | s removed] for each feature j: (f, m, d)."""
        q, c = inclusion_chances(self.c.shape[1], 4), self.c
        # Where j is kept, t = t_0 + c_j + P, and P is a sum over all other features.
        others = [(c**k).sum(axis=1, keepdims=True) - c**k for k in (1, 2, 3)]
        start, total = self.t_0[:, None] + c, np.zeros((len(c), len(self.a), c.shape[1]))
        weighed = (size_weights * self.a) @ q[1:].T  # (m, k, i): each power with j and i others kept
        for k in range(4):
            for i in range(k + 1):
                parts = [power[i] if i < len(power) else np.zeros_like(c) for power in _powers(*others)]
                total += weighed[:, k, i, None] * _shifted(k, start, parts)[:, None, :]
        return total


def _powers(e1: Floats, e2: Floats, e3: Floats) -> list[list[Floats]]:
    """Coefficients of E[P^r], r = 0..3, by how many distinct features must be kept: P = Σ c_i z_i, e_k = Σ c_i^k."""
    none = np.zeros_like(e1)
    return [
        [none + 1.0],
        [none, e1],
        [none, e2, e1**2 - e2],
        [none, e3, 3.0 * (e1 * e2 - e3), e1**3 - 3.0 * e1 * e2 + 2.0 * e3],
    ]


def _shifted(k: int, t: Floats, powers: list[Floats]) -> Floats:
    """E[(t + P)^k] from the means of the powers of P."""
    terms: Floats = sum((math.comb(k, r) * t ** (k - r) * powers[r] for r in range(k + 1)), np.zeros(()))
    return terms


# ── odd games ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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


def means_with_sign(c: Floats, strong: Integers, weights: Floats, bend: float = 1.0) -> Floats:
    """Σ_s weights_s E[x_j g | s removed] for each feature j, of each of these games g: (4 + 2 strong, d).

    The first four, times `bend`; then p² x_k for each k of `strong`, and m p x_k for each.
    """
    d = len(c)
    r, m = sign_moments(d), 1.0 - 2.0 * inner_sizes(d) / d

    def mean(k: int, factor: Floats | float = 1.0) -> float:
        return float((weights * factor) @ r[k])

    one, r1, r2, r3, r4 = float(weights.sum()), mean(1, m), mean(2), mean(3, m), mean(4)
    e1, e2 = float(c.sum()), float((c**2).sum())
    E1, E2, E3 = (float((c**k).sum()) - c**k for k in (1, 2, 3))  # over all other features than j
    games = [
        np.full(d, mean(1, bend * m**3)),
        bend * (c * mean(0, m**2) + E1 * mean(2, m**2)),
        bend * (c**2 * r1 + 2.0 * c * E1 * r1 + E2 * r1 + (E1**2 - E2) * r3),
        bend
        * (
            c**3 * one
            + 3.0 * c**2 * E1 * r2
            + 3.0 * c * (E2 * one + (E1**2 - E2) * r2)
            + (3.0 * E1 * E2 - 2.0 * E3) * r2
            + (E1**3 - 3.0 * E1 * E2 + 2.0 * E3) * r4
        ),
    ]
    squares, singles = np.empty((2, len(strong), d))
    for square, single, k in zip(squares, singles, strong, strict=True):
        F1, F2 = e1 - c - c[k], e2 - c**2 - c[k] ** 2  # without j and k
        square[:] = (c**2 + c[k] ** 2) * r2 + 2.0 * c * c[k] * one + 2.0 * (c + c[k]) * F1 * r2
        square += F2 * r2 + (F1**2 - F2) * r4
        square[k] = e2 * one + (e1**2 - e2) * r2
        single[:] = (c + c[k]) * r1 + F1 * r3
        single[k] = e1 * r1
    return np.concatenate([games, squares, singles])
