"""Theorem 4.1 (Eq. 14): the gradient of the model by a token's embedding, from the parameters and in two terms.

    ∇_{e_t} f = (1/K) Σ_i [ α_t W_vᵀ W_ℓᵀ  +  (α_t / √d_att) · W_ℓ (v_t - Σ_s α_s v_s) · W_kᵀ q ]

The first is what the token's *value* would do if attention stood still; the second is what moving attention towards
the token would do. The theorem holds the query fixed. For the [CLS] position itself the query is W_q e_[CLS] and moves
as well: `query_term` is what has to be added there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.errors import ParameterError
from limelight.theory.ratio_game import Floats


@dataclass(frozen=True)
class GradientTerms:
    """The two terms of Eq. 14 for every head and position."""

    value_term: Floats  # (K, T, d_e): α_t W_vᵀ W_ℓᵀ
    deviation_term: Floats  # (K, T, d_e)

    @property
    def per_head(self) -> Floats:
        """∇_{e_t} f_i, (K, T, d_e)."""
        return self.value_term + self.deviation_term

    @property
    def averaged(self) -> Floats:
        """∇_{e_t} f (Eq. 13), (T, d_e)."""
        mean: Floats = self.per_head.mean(axis=0)
        return mean


def theorem_4_1(
    alpha: Floats,  # (K, T)
    W_v: Floats,  # (K, d_out, d_e)
    W_k: Floats,  # (K, d_att, d_e)
    W_l: Floats,  # (K, C, d_out)
    v: Floats,  # (K, T, d_out)
    q: Floats,  # (K, d_att)
    target: int,
) -> GradientTerms:
    """Eq. 14 for one class, all T positions, padding included where `alpha` and `v` include it."""
    W_target = _row_of_class(W_l, target)
    direction = np.einsum("koe,ko->ke", W_v, W_target)  # W_vᵀ W_ℓᵀ
    towards = np.einsum("kae,ka->ke", W_k, q) / np.sqrt(W_k.shape[1])  # W_kᵀ q / √d_att
    return GradientTerms(
        value_term=alpha[:, :, None] * direction[:, None, :],
        deviation_term=(alpha * _deviation(alpha, v, W_target))[:, :, None] * towards[:, None, :],
    )


def query_term(
    alpha: Floats,  # (K, T)
    W_q: Floats,  # (K, d_att, d_e)
    W_l: Floats,  # (K, C, d_out)
    v: Floats,  # (K, T, d_out)
    k: Floats,  # (K, T, d_att)
    target: int,
) -> Floats:
    """(K, d_e): what Eq. 14 leaves out at t = [CLS], where e_t also sets the query.

    (1/√d_att) Σ_s α_s W_ℓ (v_s - Σ_u α_u v_u) · W_qᵀ k_s
    """
    deviation = _deviation(alpha, v, _row_of_class(W_l, target))
    term: Floats = np.einsum("kt,kta,kae->ke", alpha * deviation, k, W_q) / np.sqrt(W_q.shape[1])
    return term


def _row_of_class(W_l: Floats, target: int) -> Floats:
    if not 0 <= target < W_l.shape[1]:
        raise ParameterError(f"class {target} does not exist: W_l of shape {W_l.shape} has {W_l.shape[1]} classes")
    row: Floats = W_l[:, target]
    return row


def _deviation(alpha: Floats, v: Floats, W_target: Floats) -> Floats:
    """W_ℓ (v_t - Σ_s α_s v_s), (K, T)."""
    seen: Floats = np.einsum("kto,ko->kt", v, W_target)
    deviation: Floats = seen - (alpha * seen).sum(axis=1, keepdims=True)
    return deviation
