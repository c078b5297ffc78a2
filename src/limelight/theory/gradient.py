"""Theorem 4.1 (Eq. 14): the gradient of the model by a token's embedding, from the parameters and in two terms.

    ∇_{e_t} f = (1/K) Σ_i [ α_t W_vᵀ W_ℓᵀ  +  (α_t / √d_att) · W_ℓ (v_t - Σ_s α_s v_s) · W_kᵀ q ]

The first is what the token's *value* would do if attention stood still; the second is what moving attention towards
the token would do. In folded form (`limelight.theory.folding`), u = W_vᵀ W_ℓᵀ, r = W_kᵀ q / √d_att and w_t = W_ℓ v_t:

    ∇_{e_t} f = (1/K) Σ_i α_t [ u + (w_t - Σ_s α_s w_s) r ]

The theorem holds the query fixed. For the [CLS] position itself the query is W_q e_[CLS] and moves as well:
tests/theory/test_gradient.py has what is to be added there.

Arrays are NumPy's or torch's, on any device; axes before those that are named stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from limelight.core.arrays import Floats

AnyArray = TypeVar("AnyArray", bound=Any)


def theorem_4_1(alpha: AnyArray, w: AnyArray, u: AnyArray, r: AnyArray) -> AnyArray:
    """∇_{e_t} f (Eq. 13 and 14), (..., T, d_e), of all positions, padding included where `alpha` and `w` include it.

    `alpha` and `w` are (..., T, K), attention and value of each position and head; `u` and `r` are (K, d_e).
    """
    gradient: AnyArray = (alpha @ u + (alpha * _deviation(alpha, w)) @ r) / len(r)
    return gradient


@dataclass(frozen=True)
class GradientTerms:
    """The two terms of Eq. 14 for every head and position."""

    value_term: Floats  # (K, T, d_e): α_t u
    deviation_term: Floats  # (K, T, d_e): α_t (w_t - Σ_s α_s w_s) r


def gradient_terms(alpha: Floats, w: Floats, u: Floats, r: Floats) -> GradientTerms:
    """The parts whose sum, averaged over heads, `theorem_4_1` is."""
    return GradientTerms(
        value_term=alpha.T[:, :, None] * u[:, None, :],
        deviation_term=(alpha * _deviation(alpha, w)).T[:, :, None] * r[:, None, :],
    )


def _deviation(alpha: AnyArray, w: AnyArray) -> AnyArray:
    """w_t - Σ_s α_s w_s, (..., T, K)."""
    mean: Any = (alpha * w).sum(-2)
    deviation: AnyArray = w - mean[..., None, :]
    return deviation
