"""Games that are cheap to know everything of: what a sampled game is compared with (a control variate).

    g(z) = Σ_k a_k(s) t^k + zᵀ W z + l·z + b,        t = t_0 + c·z,   k = 0..3

with s the number of removed features, z the kept ones, W symmetric. A polynomial in one direction bends as a model does
that saturates; W holds what pairs of words do to each other. Means over the subsets of a size follow from inclusion
chances q_k(s) = P(k given features are all kept), since z_j² = z_j: no sampling, O(d²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from limelight.arrays import Coalitions, Floats


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
class PolynomialGame:
    """Arrays as in the module's formula; a (..., 4, d + 1) holds a_k(s): axes before are games that share the rest."""

    a: Floats
    t_0: float
    c: Floats  # (d,)
    W: Floats  # (d, d)
    l: Floats  # (d,)
    b: float

    @property
    def n_features(self) -> int:
        return len(self.c)

    def of(self, kept: Coalitions) -> Floats:
        """g of coalitions (n, d): (..., n)."""
        z = kept.astype(np.float64)
        removed = self.n_features - kept.sum(axis=1)
        t, a = self.t_0 + z @ self.c, np.moveaxis(self.a[..., removed], -2, 0)
        bent = a[0] + t * (a[1] + t * (a[2] + t * a[3]))
        pairs = np.einsum("nj,nj->n", z @ self.W, z) if self.W.any() else 0.0
        value: Floats = bent + pairs + z @ self.l + self.b
        return value

    def means_by_size(self) -> Floats:
        """E[g | s removed] for s = 0..d: (..., d + 1)."""
        q = inclusion_chances(self.n_features, 3)
        e1, e2, e3 = (float((self.c**k).sum()) for k in (1, 2, 3))
        p = [q[0], e1 * q[1], e2 * q[1] + (e1**2 - e2) * q[2]]
        p.append(e3 * q[1] + 3.0 * (e1 * e2 - e3) * q[2] + (e1**3 - 3.0 * e1 * e2 + 2.0 * e3) * q[3])
        diagonal, every = float(np.trace(self.W)), float(self.W.sum())
        linear = diagonal + float(self.l.sum())
        means: Floats = sum(self._shifted(k, p) for k in range(4)) + linear * q[1] + (every - diagonal) * q[2] + self.b
        return means

    def _shifted(self, k: int, powers: list[Floats]) -> Floats:
        """a_k E[(t_0 + p)^k] from the means of the powers of p = c·z."""
        terms = [math.comb(k, r) * self.t_0 ** (k - r) * powers[r] for r in range(k + 1)]
        total: Floats = self.a[..., k, :] * np.sum(terms, axis=0)
        return total

    def means_with_feature(self, size_weights: Floats) -> Floats:
        """Σ_s w_s E[g 1{j kept} | s removed] for each feature j: (..., d)."""
        c, d = self.c, self.n_features
        q = inclusion_chances(d, 4)
        # The sums over all other features than j, of c, c² and c³.
        E1, E2, E3 = (float((c**k).sum()) - c**k for k in (1, 2, 3))
        total = np.zeros((*self.a.shape[:-2], d))
        for k in range(4):
            m1, m2, m3, m4 = (((size_weights * self.a[..., k, :]) @ q[i])[..., None] for i in (1, 2, 3, 4))
            # E[1{j kept} P^r], P = Σ_{i ≠ j} c_i z_i; then p = c_j + P where j is kept.
            P = [
                m1,
                E1 * m2,
                E2 * m2 + (E1**2 - E2) * m3,
                E3 * m2 + 3.0 * (E1 * E2 - E3) * m3 + (E1**3 - 3.0 * E1 * E2 + 2.0 * E3) * m4,
            ]
            start = self.t_0 + c
            total += sum(math.comb(k, r) * start ** (k - r) * P[r] for r in range(k + 1))
        m1, m2, m3 = (float(size_weights @ q[i]) for i in (1, 2, 3))
        linear = self.l + np.diag(self.W)
        beside = self.W.sum(axis=1) - np.diag(self.W)
        total += self.b * m1 + linear * m1 + (linear.sum() - linear) * m2
        total += 2.0 * beside * m2 + (beside.sum() - 2.0 * beside) * m3
        return total
