"""The paper's model: one layer of K attention heads and a linear layer, read at [CLS] (Section 2, Eqs. 1 to 9)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from limelight.core.arrays import Floats
from limelight.core.threads import one_thread
from limelight.errors import InputError
from limelight.inputs.document import Document
from limelight.models.words.attention_view import AttentionView, ReadTogether
from limelight.models.words.classifier import Sizes, Vocabulary, WordClassifier
from limelight.theory.folding import FoldedHeads, folded_logits, pooled_logits, score_directions

_FEW_TEXTS = 8
"""Up to here a prediction is too small for a second thread."""


@dataclass(frozen=True)
class AttentionConfig(Sizes):
    """The sizes of an AttentionClassifier."""

    kind = "attention-classifier"


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
        super().__init__(config, vocabulary, labels)
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

    @property
    def has_many_classes(self) -> bool:
        """More classes than a head has values: folding them into every word would cost more than it saves."""
        return len(self.labels) > self.config.d_out

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (n, C) of token numbers (n, T), by the folded forward. T may be below T_max only in tests."""
        rows, slots = self.distinct_rows(ids)
        return self.logits_of_rows(self.W_e[rows], slots, self.W_e[self.vocabulary.cls_id])

    def logits_of_rows(self, rows: Tensor, slots: Tensor, cls_row: Tensor | None = None) -> Tensor:
        """The folded forward: only the words that occur are folded, then looked up for each position.

        Without `cls_row` the first row is that of [CLS]: it has the lowest number. Many classes are not folded into
        words: attention is summed over embeddings, and W_v and W_l come last.
        """
        cls_row = rows[0] if cls_row is None else cls_row
        if self.has_many_classes:
            positions = self.W_p[: slots.shape[1]]
            r = score_directions(cls_row + self.W_p[0], self.W_q, self.W_k)
            scores = nn.functional.embedding(slots, rows @ r.T) + positions @ r.T
            return pooled_logits(scores, nn.functional.embedding(slots, rows) + positions, self.W_v, self.W_l)
        heads = self.heads(cls_row)
        word_scores, word_values = heads.score_and_value(rows)
        position_scores, position_values = heads.score_and_value(self.W_p[: slots.shape[1]])
        # embedding() rather than indexing: its backward adds in a fixed order, so that training is reproducible.
        scores = nn.functional.embedding(slots, word_scores)
        values = nn.functional.embedding(slots, word_values.flatten(1)).reshape(*slots.shape, *word_values.shape[1:])
        return folded_logits(scores + position_scores, values + position_values)

    def logits_of_ids(self, ids: Tensor) -> Floats:
        with one_thread() if len(ids) <= _FEW_TEXTS else contextlib.nullcontext():
            return super().logits_of_ids(ids)

    # ── what methods see ──────────────────────────────────────────────────────────────────────────────────────────

    def view(self, text: str) -> AttentionView:
        return AttentionView(self, self.read(text))

    def views_or_errors(self, texts: Sequence[str]) -> list[AttentionView | InputError]:
        """Many texts, whose words are folded together: far cheaper than one after the other.

        In the place of a text that cannot be read stands the error.
        """
        read: list[Document | InputError] = []
        for text in texts:
            try:
                read.append(self.read(text))
            except InputError as error:
                read.append(error)
        views = iter(ReadTogether(self, [own for own in read if isinstance(own, Document)]).views)
        return [next(views) if isinstance(own, Document) else own for own in read]
