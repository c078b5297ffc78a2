"""Games that are cheap to know everything of: what a sampled game is compared with (a control variate).

    g(z) = Σ_k a_k(s) t^k,        t = t_0 + c·z,   k = 0..3

with s the number of removed features and z the kept ones. A polynomial in one direction bends as a model does that
saturates. Means over the subsets of a size follow from inclusion chances q_k(s) = P(k given features are all kept),
since z_j² = z_j: no sampling, O(d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from limelight.core.arrays import Floats


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
