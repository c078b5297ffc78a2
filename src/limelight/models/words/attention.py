"""The paper's model: one layer of K attention heads and a linear layer, read at [CLS] (Section 2, Eqs. 1 to 9)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limelight.document import Document, Features
from limelight.models.words.classifier import WordClassifier, check_sizes
from limelight.models.words.classifier import sinusoidal_positions as sinusoidal_positions  # known from here, too
from limelight.models.words.vocabulary import Vocabulary
from limelight.theory.deletion import deletion_game
from limelight.theory.folding import FoldedDocument, FoldedHeads, attention_of_scores, folded_logits
from limelight.theory.gradient import GradientTerms, theorem_4_1
from limelight.theory.ratio_game import Coalitions, RatioGame
from limelight.threads import one_thread
from limelight.view import Attentions, Game, Gradients, Removal

Floats = npt.NDArray[np.float64]

_FEW_TEXTS = 8
"""Up to here a prediction is too small for a second thread."""


@dataclass(frozen=True)
class AttentionConfig:
    """The sizes of an AttentionClassifier, named as in the paper; the defaults are those of Appendix F."""

    kind: ClassVar[str] = "attention-classifier"
    T_max: int = 256
    d_e: int = 128
    d_att: int = 64
    d_out: int = 64
    K: int = 6

    def __post_init__(self) -> None:
        check_sizes(self, ("T_max", "d_e", "d_att", "d_out", "K"))


@dataclass(frozen=True)
class ReferenceForward:
    """Every quantity of Section 2 for one document, under the paper's names; tensors carry gradients."""

    e: Tensor  # (T_max, d_e)           Eq. 2
    q: Tensor  # (K, T_max, d_att)      Eq. 6
    k: Tensor  # (K, T_max, d_att)      Eq. 5
    v: Tensor  # (K, T_max, d_out)      Eq. 7
    attention: Tensor  # (K, T_max, T_max)  Eq. 8 for every query: row s of head i is α(q_s)
    v_tilde: Tensor  # (K, d_out)       Eq. 9, for the query of [CLS]
    logits: Tensor  # (C,)              Eq. 1


class AttentionClassifier(WordClassifier):
    """Text in, logits out. Word i of a document stands at position i + 1; position 0 is [CLS]; the rest is [UNK]."""

    def __init__(self, config: AttentionConfig, vocabulary: Vocabulary, labels: Sequence[str]) -> None:
        super().__init__(config.T_max, config.d_e, vocabulary, labels)
        self.config = config
        K, d_e, C = config.K, config.d_e, len(labels)
        self.W_q = nn.Parameter(torch.zeros(K, config.d_att, d_e))
        self.W_k = nn.Parameter(torch.zeros(K, config.d_att, d_e))
        self.W_v = nn.Parameter(torch.zeros(K, config.d_out, d_e))
        self.W_l = nn.Parameter(torch.zeros(K, C, config.d_out))

    def __repr__(self) -> str:
        c = self.config
        return (
            f"AttentionClassifier({len(self.vocabulary):,} words, T_max={c.T_max}, d_e={c.d_e}, d_att={c.d_att}, "
            f"d_out={c.d_out}, K={c.K}, labels={self.labels})"
        )

    def initialise(self, seed: int, embedding: float = 1.0, heads: float = 0.1) -> None:
        """Random weights: embeddings normal with this standard deviation, heads uniform in ± `heads`."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.W_e.copy_(torch.randn(self.W_e.shape, generator=generator) * embedding)
            for weight in (self.W_q, self.W_k, self.W_v, self.W_l):
                weight.copy_((torch.rand(weight.shape, generator=generator) * 2 - 1) * heads)

    # ── the two forwards ──────────────────────────────────────────────────────────────────────────────────────────

    def reference(self, ids: Tensor) -> ReferenceForward:
        """Section 2 line by line for one document of token numbers (T_max,): slow, clear, differentiable."""
        e = self.W_e[ids] + self.W_p
        q, k, v = e @ self.W_q.mT, e @ self.W_k.mT, e @ self.W_v.mT
        attention = (q @ k.mT / math.sqrt(self.config.d_att)).softmax(dim=-1)
        v_tilde = torch.einsum("kt,kto->ko", attention[:, 0], v)
        logits = torch.einsum("kco,ko->kc", self.W_l, v_tilde).mean(dim=0)
        return ReferenceForward(e, q, k, v, attention, v_tilde, logits)

    def heads(self, cls_row: Tensor | None = None) -> FoldedHeads[Tensor]:
        """The folded heads; `cls_row` stands in for W_e[CLS] where training has taken rows out of the table."""
        row = self.W_e[self.vocabulary.cls_id] if cls_row is None else cls_row
        return FoldedHeads.fold(row + self.W_p[0], self.W_q, self.W_k, self.W_v, self.W_l)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (n, C) of token numbers (n, T), by the folded forward. T may be below T_max only in tests."""
        rows, slots = self.distinct_rows(ids)
        return self.logits_of_rows(self.W_e[rows], slots, self.heads())

    def logits_of_rows(self, rows: Tensor, slots: Tensor, heads: FoldedHeads[Tensor] | None = None) -> Tensor:
        """The folded forward: only the words that occur are folded, then looked up for each position.

        Without `heads` they are folded with the first row, which is that of [CLS]: it has the lowest number.
        """
        heads = self.heads(cls_row=rows[0]) if heads is None else heads
        word_scores, word_values = heads.score_and_value(rows)
        position_scores, position_values = heads.score_and_value(self.W_p[: slots.shape[1]])
        # embedding() rather than indexing: its backward adds in a fixed order, so that training is reproducible.
        scores = nn.functional.embedding(slots, word_scores)
        values = nn.functional.embedding(slots, word_values.flatten(1)).reshape(*slots.shape, *word_values.shape[1:])
        return folded_logits(scores + position_scores, values + position_values)

    # ── the public contract ───────────────────────────────────────────────────────────────────────────────────────

    @torch.no_grad()
    def _logits(self, texts: Sequence[str]) -> Floats:
        with one_thread() if len(texts) <= _FEW_TEXTS else contextlib.nullcontext():
            return super()._logits(texts)

    # ── what methods ask for ──────────────────────────────────────────────────────────────────────────────────────

    def fold_document(self, document: Document) -> FoldedDocument:
        """Scores and values in float64, from which every explanation of this model follows."""
        with one_thread():
            heads = self._heads64()
            scores, values = heads.score_and_value(self._rows64(document))
            position_scores, position_values = heads.score_and_value(self._W_p64())
        return FoldedDocument(
            scores[2:], values[2:], scores[0], values[0], scores[1], values[1], position_scores, position_values
        )

    def perturb(self, document: Document, features: Features, removal: Removal) -> Game:
        """Logits of the document with features removed: by [UNK] in place, or deleted so that the rest moves up."""
        if removal == "mask":
            game: Game = self.ratio_game(document, features).evaluate
        else:
            with one_thread():
                game = deletion_game(self.fold_document(document), features, self.W_e.dtype)

        def logits(kept: Coalitions) -> Floats:
            with one_thread():
                return game(kept)

        return logits

    def ratio_game(self, document: Document, features: Features) -> RatioGame:
        """The game of masking features, from which exact values follow."""
        folded = self.fold_document(document)
        owners = [[i + 1 for i in group] for group in features.owned]
        return RatioGame.from_positions(
            folded.scores, folded.values, folded.removed_scores, folded.removed_values, owners
        )

    def attentions(self, document: Document) -> Attentions:
        """α^{(i)}_t of Eq. 8 for the words of a document."""
        alpha = attention_of_scores(self.fold_document(document).scores)
        words = np.arange(len(document.words))
        return Attentions(alpha[1 : 1 + len(words)].T.copy(), words)

    def gradients(self, document: Document, direction: Floats) -> Gradients:
        """Theorem 4.1 in folded form, for the words of a document:

        ∇_{e_t} f = (1/K) Σ_heads α_t [ u + (w_t - Σ_s α_s w_s) r ],   u and w taken along `direction`.
        """
        folded, heads = self.fold_document(document), self._heads64()
        alpha, w = attention_of_scores(folded.scores), folded.values @ direction  # both (T_max, K)
        u = np.einsum("kcd,c->kd", heads.u, direction)
        deviation = w - (alpha * w).sum(axis=0)
        gradients = (alpha @ u + (alpha * deviation) @ heads.r) / self.config.K
        words = np.arange(len(document.words))
        embeddings = self._rows64(document)[2:] + self._W_p64()[1 : 1 + len(words)]
        return Gradients(gradients[1 : 1 + len(words)], embeddings, words)

    def gradient_terms(self, document: Document, target: int) -> GradientTerms:
        """Theorem 4.1 from the parameters: both of its terms, for every head and each word of a document."""
        W_q, W_k, W_v, W_l = self._weights64()
        ids = self.encode_document(document).cpu()
        e = _array64(self.W_e.detach()[ids]) + self._W_p64()
        alpha = attention_of_scores(self.fold_document(document).scores).T  # (K, T_max)
        terms = theorem_4_1(alpha, W_v, W_k, W_l, e @ W_v.transpose(0, 2, 1), W_q @ e[0], target)
        words = slice(1, 1 + len(document.words))
        return GradientTerms(terms.value_term[:, words], terms.deviation_term[:, words])

    # Explanations are computed with NumPy: the arrays are small, and starting torch's threads would take longer.

    def _rows64(self, document: Document) -> Floats:
        """W_e of [CLS], [UNK] and each word of a document."""
        vocabulary = self.vocabulary
        ids = [vocabulary.cls_id, vocabulary.unknown_id, *vocabulary.ids([word.form for word in document.words])]
        return _array64(self.W_e.detach()[ids])

    def _W_p64(self) -> Floats:
        """Positions as exact as float64 has them, whatever the precision of the weights: explanations do not round."""
        return sinusoidal_positions(self.config.T_max, self.config.d_e).numpy()

    def _weights64(self) -> tuple[Floats, Floats, Floats, Floats]:
        return _array64(self.W_q), _array64(self.W_k), _array64(self.W_v), _array64(self.W_l)

    def _heads64(self) -> FoldedHeads[npt.NDArray[Any]]:
        e_cls = _array64(self.W_e.detach()[self.vocabulary.cls_id]) + self._W_p64()[0]
        return FoldedHeads.fold(e_cls, *self._weights64())


def _array64(weights: Tensor) -> Floats:
    return weights.detach().cpu().numpy().astype(np.float64)
