"""The paper's model: one layer of K attention heads and a linear layer, read at [CLS] (Section 2, Eqs. 1 to 9)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limelight.document import Document, Features, word_forms
from limelight.errors import InputError, ParameterError
from limelight.models.deletion import deletion_game
from limelight.models.protocol import Attentions, Game, Gradients, Removal, probabilities
from limelight.models.vocabulary import Vocabulary
from limelight.theory.folding import FoldedDocument, FoldedHeads, attention_of_scores, folded_logits
from limelight.theory.gradient import GradientTerms, theorem_4_1
from limelight.theory.ratio_game import Coalitions, RatioGame
from limelight.threads import one_thread

Floats = npt.NDArray[np.float64]

_FEW_TEXTS = 8
"""Up to here a prediction is too small for a second thread."""
_PREDICTION_BATCH = 512
"""Documents in one forward: large enough to amortise the calls, small enough to stay in the cache."""


@dataclass(frozen=True)
class AttentionConfig:
    """The sizes of an AttentionClassifier, named as in the paper; the defaults are those of Appendix F."""

    T_max: int = 256
    d_e: int = 128
    d_att: int = 64
    d_out: int = 64
    K: int = 6

    def __post_init__(self) -> None:
        for name in ("T_max", "d_e", "d_att", "d_out", "K"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(f"{name} must be a whole number of at least 1: got {value!r}")
        if self.T_max < 2:
            raise ParameterError(f"T_max must leave room for [CLS] and a word, so at least 2: got {self.T_max}")
        if self.d_e % 2:
            raise ParameterError(f"d_e must be even, because positions come in sine and cosine pairs: got {self.d_e}")


@cache
def sinusoidal_positions(T_max: int, d_e: int) -> Tensor:
    """W_p(t) of Eq. 3 for t = 1..T_max, in float64; read it only.

    The paper counts coordinates from 1: its 2i-1 is our even index.
    """
    t = torch.arange(1, T_max + 1, dtype=torch.float64)[:, None]
    i = torch.arange(1, d_e // 2 + 1, dtype=torch.float64)
    angle = t / T_max ** (2 * i / d_e)
    return torch.stack([angle.sin(), angle.cos()], dim=2).reshape(T_max, d_e)


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


class AttentionClassifier(nn.Module):
    """Text in, logits out. Word i of a document stands at position i + 1; position 0 is [CLS]; the rest is [UNK]."""

    W_p: Tensor

    def __init__(self, config: AttentionConfig, vocabulary: Vocabulary, labels: Sequence[str]) -> None:
        super().__init__()
        if len(labels) < 2 or len(set(labels)) != len(labels):
            raise ParameterError(f"a classifier needs at least two labels, all different: got {list(labels)!r}")
        self.config = config
        self.vocabulary = vocabulary
        self.labels = tuple(labels)
        D, K, d_e, C = len(vocabulary), config.K, config.d_e, len(labels)
        self.W_e = nn.Parameter(torch.zeros(D, d_e))
        self.W_q = nn.Parameter(torch.zeros(K, config.d_att, d_e))
        self.W_k = nn.Parameter(torch.zeros(K, config.d_att, d_e))
        self.W_v = nn.Parameter(torch.zeros(K, config.d_out, d_e))
        self.W_l = nn.Parameter(torch.zeros(K, C, config.d_out))
        # A fixed function of the sizes: not part of a checkpoint.
        self.register_buffer("W_p", sinusoidal_positions(config.T_max, d_e).float(), persistent=False)

    def __repr__(self) -> str:
        c = self.config
        return (
            f"AttentionClassifier({len(self.vocabulary):,} words, T_max={c.T_max}, d_e={c.d_e}, d_att={c.d_att}, "
            f"d_out={c.d_out}, K={c.K}, labels={self.labels})"
        )

    def double(self) -> AttentionClassifier:
        """Float64 throughout; positions are computed anew rather than rounded twice."""
        super().double()
        self.W_p.copy_(sinusoidal_positions(self.config.T_max, self.config.d_e))
        return self

    def initialise(self, seed: int, embedding: float = 1.0, heads: float = 0.1) -> None:
        """Random weights: embeddings normal with this standard deviation, heads uniform in ± `heads`."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.W_e.copy_(torch.randn(self.W_e.shape, generator=generator) * embedding)
            for weight in (self.W_q, self.W_k, self.W_v, self.W_l):
                weight.copy_((torch.rand(weight.shape, generator=generator) * 2 - 1) * heads)

    # ── from text to token numbers ────────────────────────────────────────────────────────────────────────────────

    def read(self, text: str) -> Document:
        """The words of a text that this model reads: all of them, or the first T_max - 1."""
        return Document.read(text, limit=self.config.T_max - 1)

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Token numbers (n, T_max): [CLS], the words, then [UNK] up to T_max (Eq. 4). An empty text is all [UNK]."""
        return self._pad([self.vocabulary.ids(word_forms(text)) for text in texts])

    def encode_document(self, document: Document) -> Tensor:
        """Token numbers (T_max,) of a document that was read already."""
        return self._pad([self.vocabulary.ids([word.form for word in document.words])])[0]

    def _pad(self, rows: list[list[int]]) -> Tensor:
        ids = np.full((len(rows), self.config.T_max), self.vocabulary.unknown_id, dtype=np.int64)
        ids[:, 0] = self.vocabulary.cls_id
        for i, row in enumerate(rows):
            row = row[: self.config.T_max - 1]
            ids[i, 1 : 1 + len(row)] = row
        return torch.from_numpy(ids).to(self.W_e.device)

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

    def distinct_rows(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The distinct token numbers and, for each position, which of them stands there. Linear, unlike a sort."""
        present = torch.zeros(len(self.vocabulary), dtype=torch.bool, device=ids.device)
        present[ids.reshape(-1)] = True
        slot = present.cumsum(0) - 1
        return present.nonzero().squeeze(1), slot[ids]

    def logits_of_rows(self, rows: Tensor, slots: Tensor, heads: FoldedHeads[Tensor]) -> Tensor:
        """The folded forward: only the words that occur are folded, then looked up for each position."""
        word_scores, word_values = heads.score_and_value(rows)
        position_scores, position_values = heads.score_and_value(self.W_p[: slots.shape[1]])
        # embedding() rather than indexing: its backward adds in a fixed order, so that training is reproducible.
        scores = nn.functional.embedding(slots, word_scores)
        values = nn.functional.embedding(slots, word_values.flatten(1)).reshape(*slots.shape, *word_values.shape[1:])
        return folded_logits(scores + position_scores, values + position_values)

    # ── the public contract ───────────────────────────────────────────────────────────────────────────────────────

    def predict_logits(self, texts: Sequence[str]) -> Floats:
        """The f of the paper for each text: (n, classes)."""
        if isinstance(texts, str):
            raise InputError("predict_logits takes a list of texts: got one string; write predict_logits([text])")
        batches = [self._logits(batch) for batch in _batches(texts, _PREDICTION_BATCH)]
        return np.concatenate(batches) if batches else np.zeros((0, len(self.labels)))

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """The softmax of the logits: (n, classes), rows sum to 1."""
        return probabilities(self.predict_logits(texts))

    @torch.no_grad()
    def _logits(self, texts: Sequence[str]) -> Floats:
        with one_thread() if len(texts) <= _FEW_TEXTS else contextlib.nullcontext():
            return self(self.encode(texts)).double().cpu().numpy()

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


def _batches(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]
