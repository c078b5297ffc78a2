"""Folding: what a single attention layer knows of a token is one score and C values per head.

The query is always the one of [CLS], so with e_t = W_e[token] + W_p(t)

    r   = W_k^T q / sqrt(d_att)        s_t = r . e_t      (log attention score, Eq. 8)
    u_c = W_v^T (W_l)_c^T              w_t = u_c . e_t    (value that class c sees, Eqs. 1 and 9)

    f_c(x) = (1/K) Σ_heads Σ_t α_t w_t,      α = softmax(s)

Both are linear in e_t, a sum of a word's and a position's vector: so they are a table over words plus a table over
positions, and neither keys nor T x T attention matrices are ever built.

Theorem 4.1 (Eq. 14): the gradient of the model by a token's embedding, from the parameters and in two terms.

    ∇_{e_t} f = (1/K) Σ_i [ α_t W_vᵀ W_ℓᵀ  +  (α_t / √d_att) · W_ℓ (v_t - Σ_s α_s v_s) · W_kᵀ q ]

The first is what the token's *value* would do if attention stood still; the second is what moving attention towards
the token would do. In folded form u = W_vᵀ W_ℓᵀ, r = W_kᵀ q / √d_att and w_t = W_ℓ v_t:

    ∇_{e_t} f = (1/K) Σ_i α_t [ u + (w_t - Σ_s α_s w_s) r ]

The theorem holds the query fixed. For the [CLS] position itself the query is W_q e_[CLS] and moves as well:
tests/theory/test_gradient.py has what is to be added there.

Its arrays are NumPy's or torch's, on any device; axes before those that are named stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.core.arrays import Floats, Integers
from limelight.theory.ratio_game import RatioGame, directed

Array = TypeVar("Array", Tensor, npt.NDArray[Any])


def score_directions(e_cls: Array, W_q: Array, W_k: Array) -> Array:
    """r (K, d_e) of all heads, from the embedding of [CLS], position included."""
    q = W_q @ e_cls  # (K, d_att)
    r: Array = (q[:, None, :] @ W_k)[:, 0] / math.sqrt(W_k.shape[1])
    return r


@dataclass(frozen=True)
class FoldedHeads(Generic[Array]):
    """The two kinds of direction that scores and values are read along. Tensors when training, arrays when explaining:
    only operators that both have are used."""

    r: Array  # (K, d_e)
    u: Array  # (K, C, d_e)

    @classmethod
    def fold(cls, e_cls: Array, W_q: Array, W_k: Array, W_v: Array, W_l: Array) -> FoldedHeads[Array]:
        """Fold the embedding of [CLS] (position included) and the stacked weights of the K heads."""
        return cls(score_directions(e_cls, W_q, W_k), W_l @ W_v)

    def score_and_value(self, vectors: Array) -> tuple[Array, Array]:
        """Scores (..., K) and values (..., K, C) of vectors (..., d_e)."""
        K, C, d_e = self.u.shape
        values = vectors @ self.u.reshape(K * C, d_e).T
        return vectors @ self.r.T, values.reshape(*vectors.shape[:-1], K, C)


def folded_logits(scores: Tensor, values: Tensor) -> Tensor:
    """f (n, C) from scores (n, T, K) and values (n, T, K, C): attention-weighted values, averaged over heads."""
    alpha = scores.softmax(dim=1)
    return torch.einsum("ntk,ntkc->nc", alpha, values) / scores.shape[2]


def pooled_logits(scores: Tensor, vectors: Tensor, W_v: Tensor, W_l: Tensor) -> Tensor:
    """f (n, C) of `folded_logits` from scores (n, T, K) and embeddings (n, T, d_e), for many classes.

    Eq. 9 is linear in e_t, so attention may be summed over positions before W_v and W_l are applied: (n, K, d_e)
    numbers instead of (n, T, K, C), and the classes appear in the last product alone.
    """
    n, K, C = len(scores), len(W_v), W_l.shape[1]
    pooled = scores.softmax(dim=1).mT @ vectors  # (n, K, d_e)
    v_tilde = (pooled.transpose(0, 1) @ W_v.mT).transpose(0, 1)  # (n, K, d_out)
    return v_tilde.reshape(n, -1) @ W_l.mT.reshape(-1, C) / K


@dataclass(frozen=True)
class FoldedDocument:
    """A document as the folded model sees it, in float64: words, [CLS], [UNK] and positions apart from each other.

    Word i stands at position i + 1, [CLS] at position 0, [UNK] at every position after the last word.
    """

    word_scores: Floats  # (words, K)
    word_values: Floats  # (words, K, C)
    cls_score: Floats  # (K,)
    cls_value: Floats  # (K, C)
    unknown_score: Floats  # (K,)
    unknown_value: Floats  # (K, C)
    position_scores: Floats  # (T_max, K)
    position_values: Floats  # (T_max, K, C)

    @property
    def scores(self) -> Floats:
        """s_t of every position: (T_max, K)."""
        return self._fill(self.cls_score, self.word_scores, self.unknown_score) + self.position_scores

    @property
    def values(self) -> Floats:
        """w_t of every position: (T_max, K, C)."""
        return self._fill(self.cls_value, self.word_values, self.unknown_value) + self.position_values

    @property
    def removed_scores(self) -> Floats:
        """log g_{h,t} (Eq. 18): the score of [UNK] at every position, (T_max, K)."""
        return self.unknown_score + self.position_scores

    @property
    def removed_values(self) -> Floats:
        """W_l v_{h,t}: the value of [UNK] at every position, (T_max, K, C)."""
        return self.unknown_value + self.position_values

    def of_class(self, target: int) -> FoldedDocument:
        """This document seen by one class alone: its number is 0 there."""
        return self.along(np.eye(self.cls_value.shape[-1])[target])

    def along(self, direction: Floats) -> FoldedDocument:
        """This document with one class, whose logit is Σ_c direction_c · logit_c."""
        return FoldedDocument(
            self.word_scores, directed(self.word_values, direction), self.cls_score,
            directed(self.cls_value, direction), self.unknown_score, directed(self.unknown_value, direction),
            self.position_scores, directed(self.position_values, direction),
        )  # fmt: skip

    def masking(self, owned: Sequence[Sequence[int]]) -> RatioGame:
        """The game of masking features, of which number j owns the words `owned[j]`."""
        return RatioGame.from_positions(
            self.scores, self.values, self.removed_scores, self.removed_values, [[i + 1 for i in own] for own in owned]
        )

    def _fill(self, cls: Floats, words: Floats, unknown: Floats) -> Floats:
        padding = len(self.position_scores) - 1 - len(words)
        return np.concatenate([cls[None], words, np.broadcast_to(unknown, (padding, *unknown.shape))])


def attention_of_scores(scores: Floats) -> Floats:
    """α of Eq. 8 for the query of [CLS], from scores (T, K). Returns (T, K); each column sums to 1."""
    g = np.exp(scores - scores.max(axis=0))
    return g / g.sum(axis=0)


class FoldedVocabulary:
    """Scores and values of the words of many documents, folded once: a document is then looked up in them.

    `word_scores` and `word_values` belong to the token numbers `numbers`, in increasing order; [CLS] and [UNK] are
    among them.
    """

    def __init__(
        self, heads: FoldedHeads[npt.NDArray[Any]], numbers: Integers, embeddings: Floats, positions: Floats,
        cls_id: int, unknown_id: int,
    ) -> None:  # fmt: skip
        self._numbers = numbers
        self._scores, self._values = heads.score_and_value(embeddings)
        self._positions = heads.score_and_value(positions)
        self._cls, self._unknown = np.searchsorted(numbers, [cls_id, unknown_id])

    def document(self, ids: Integers) -> FoldedDocument:
        """The document of these token numbers, [CLS] and padding left out."""
        rows, scores, values = np.searchsorted(self._numbers, ids), self._scores, self._values
        return FoldedDocument(
            scores[rows], values[rows], scores[self._cls], values[self._cls], scores[self._unknown],
            values[self._unknown], *self._positions,
        )  # fmt: skip


# ── the gradient ──────────────────────────────────────────────────────────────────────────────────────────────────────


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
