"""The paper's model looking at a document: two numbers per position and head, from which every explanation follows.

Everything is computed in float64 with NumPy: the arrays are small, and starting torch's threads would take longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.core.threads import one_thread
from limelight.inputs.document import Document
from limelight.inputs.features import Features
from limelight.models.interface import (
    ROUNDING,
    Attentions,
    Attentive,
    Differentiable,
    FoldedView,
    Game,
    GameFacts,
    Gradients,
    Memo,
    Perturbable,
    RatioView,
    Removal,
    SeenAlong,
    ViewFacts,
)
from limelight.models.outputs import OUTPUTS, Kind
from limelight.models.words.classifier import sinusoidal_positions
from limelight.theory.deletion import ROWS_AT_ONCE as DELETED_AT_ONCE
from limelight.theory.deletion import DeletionTables, present_words
from limelight.theory.folding import (
    FoldedDocument,
    FoldedHeads,
    FoldedVocabulary,
    GradientTerms,
    attention_of_scores,
    gradient_terms,
    theorem_4_1,
)
from limelight.theory.ratio_game import RatioGame, directed

if TYPE_CHECKING:
    from limelight.models.words.attention import AttentionClassifier

_ROWS_AT_ONCE = 8192
"""Coalitions answered between two steps of the progress."""
_CLASS_BYTES = 2**28
"""What the tables of the classes that a game holds at once may take, where there are many."""


_OF_FLOAT64 = 1e-12
"""How far sums over the words of a document are rounded, as a part of the largest."""


Answers = Callable[[Coalitions], Floats]
"""From coalitions (n, d) to logits (n, C)."""


class AttentionView(ViewFacts, Perturbable, Attentive, Differentiable, RatioView, FoldedView, SeenAlong):
    """What methods see: attentions, gradients, games, and the exact values that a single layer has."""

    removals: tuple[Removal, ...] = ("mask", "delete")
    cheap = True
    kind: Kind = "classes"
    outputs = OUTPUTS["classes"]

    def __init__(
        self,
        model: AttentionClassifier,
        document: Document,
        together: ReadTogether | None = None,
        classes: slice | Floats = slice(None),
    ) -> None:
        """`classes`: those that are folded and answered, all of them unless it says which; or a direction (C,), whose
        one class has the logit Σ_c direction_c · logit_c."""
        self._model, self.document, self._together, self._classes = model, document, together, classes
        self.labels = model.labels[classes] if isinstance(classes, slice) else ("along a direction",)
        self._memo = Memo()

    @property
    def has_many_classes(self) -> bool:
        """Whether a question should be put to `seen_along`: a table of all classes would be C times as large."""
        return self._model.has_many_classes and len(self.labels) > 1

    def seen_along(self, direction: Floats) -> AttentionView:
        """This document with one class, whose logit is a sum of logits; itself where there are few classes."""
        if not self.has_many_classes:
            return self
        return self._memo.get(("seen along", direction.tobytes()), lambda: self._of_classes(direction))

    def _seen_by_first(self) -> AttentionView:
        """For what all classes see alike, such as scores."""
        return self.seen_along(np.eye(1, len(self.labels))[0])

    def _of_classes(self, classes: slice | Floats) -> AttentionView:
        """Some of all classes, in a view of their own; what is no matter of classes is shared."""
        view = AttentionView(self._model, self.document, None, classes)
        view._memo.get("rows", lambda: self._rows)
        return view

    @property
    def device(self) -> str:
        """Where the model lives, and where many documents are best computed."""
        return str(self._model.W_e.device)

    @property
    def logits(self) -> Floats:
        if self._together is not None:
            return self._together.logits(self.document)
        return self._memo.get("logits", self._ask)

    def _ask(self) -> Floats:
        logits = self._model.logits_of_ids(self._model.encode_document(self.document)[None])[0]
        return logits[self._classes] if isinstance(self._classes, slice) else np.array([logits @ self._classes])

    @property
    def rounding(self) -> float:
        """Whatever the precision of the weights, what methods see is computed in float64."""
        return _OF_FLOAT64

    def unknown_words(self) -> frozenset[int]:
        unknown = self._model.vocabulary.unknown_id
        return self._memo.get("unknown", lambda: frozenset(np.flatnonzero(self._ids == unknown).tolist()))

    @property
    def _ids(self) -> Integers:
        """The token number of each word."""
        if self._together is not None:
            return self._together.ids(self.document)
        return self._memo.get("ids", lambda: self._model.ids_of(self.document))

    # ── folded ────────────────────────────────────────────────────────────────────────────────────────────────────

    def folded(self) -> FoldedDocument:
        """Scores and values of every token."""
        return self._memo.get("folded", self._fold)

    def _fold(self) -> FoldedDocument:
        if self._folded_together is not None:
            return self._folded_together.vocabulary.document(self._ids)
        with one_thread():
            scores, values = self._heads.score_and_value(self._rows)
            position_scores, position_values = self._heads.score_and_value(positions64(self._model))
        return FoldedDocument(
            scores[2:], values[2:], scores[0], values[0], scores[1], values[1], position_scores, position_values
        )

    @property
    def _folded_together(self) -> ReadTogether | None:
        """Many classes are not folded into all words of all documents."""
        return None if self.has_many_classes else self._together

    @property
    def _heads(self) -> FoldedHeads[npt.NDArray[Any]]:
        if self._folded_together is not None:
            return self._folded_together.heads
        return self._memo.get("heads", lambda: heads64(self._model, self._classes))

    @property
    def _rows(self) -> Floats:
        """W_e of [CLS], [UNK] and each word."""
        special = [self._model.vocabulary.cls_id, self._model.vocabulary.unknown_id]
        return self._memo.get("rows", lambda: rows64(self._model, [*special, *self._ids]))

    @property
    def _attention(self) -> Floats:
        """α of every position (T_max, K)."""
        return self._memo.get("attention", lambda: attention_of_scores(self._seen_by_first().folded().scores))

    # ── capabilities ──────────────────────────────────────────────────────────────────────────────────────────────

    def attentions(self) -> Sequence[Attentions]:
        """α^{(i)}_t of Eq. 8 for the words."""
        return [Attentions(self._attention[self._words].T[None].copy(), np.arange(len(self.document.words)))]

    def gradients(self, direction: Floats) -> Gradients:
        """Theorem 4.1 for the words, u and w taken along `direction`."""
        return self._memo.get(("gradients", direction.tobytes()), lambda: self._gradients(direction))

    def _gradients(self, direction: Floats) -> Gradients:
        gradients = theorem_4_1(self._attention, *self._folded_along(direction))
        embeddings = self._rows[2:] + positions64(self._model)[self._words]
        return Gradients(gradients[self._words], embeddings, np.arange(len(self.document.words)))

    def gradient_terms(self, direction: Floats) -> GradientTerms:
        """Both terms of Theorem 4.1, for every head and each word."""
        terms = gradient_terms(self._attention, *self._folded_along(direction))
        return GradientTerms(terms.value_term[:, self._words], terms.deviation_term[:, self._words])

    def _folded_along(self, direction: Floats) -> tuple[Floats, Floats, Floats]:
        """w (T_max, K), u (K, d_e) and r (K, d_e) of Eq. 14 for one direction in logit space."""
        if self.has_many_classes:  # first along the direction, then through W_v: no array has both d_e and C
            along = np.einsum("kco,c->ko", _final_layers64(self._model, self._classes), direction)
            u = (along[:, None, :] @ _array64(self._model.W_v))[:, 0]
            return self._vectors @ u.T, u, self._seen_by_first()._heads.r
        u = np.einsum("kcd,c->kd", self._heads.u, direction)
        return self.folded().values @ direction, u, self._heads.r

    @property
    def _vectors(self) -> Floats:
        """e_t of every position: (T_max, d_e)."""
        cls, unknown, words = self._rows[:1], self._rows[1:2], self._rows[2:]
        padding = self._model.T_max - 1 - len(words)
        return np.concatenate([cls, words, np.repeat(unknown, padding, axis=0)]) + positions64(self._model)

    def ratio_game(self, features: Features) -> RatioGame:
        """The game of masking features, from which exact values follow."""
        return self._memo.get(("ratio game", features.owned), lambda: self.folded().masking(features.owned))

    def ratio_game_along(self, features: Features, direction: Floats) -> RatioGame:
        """The same game with one class, whose logit is Σ_c direction_c · logit_c: only that is folded."""
        key = ("ratio game along", features.owned, direction.tobytes())
        return self._memo.get(key, lambda: self.folded().along(direction).masking(features.owned))

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> AttentionGame:
        """Features removed by [UNK] in place, or deleted so that the rest moves up."""
        return AttentionGame(self, features, removal, progress)

    def deletion_tables(self) -> DeletionTables:
        def build() -> DeletionTables:
            with one_thread():
                return DeletionTables(self.folded(), self._model.W_e.dtype)

        return self._memo.get("deletion tables", build)

    def parts_of_classes(self, rows: int, removal: Removal) -> Iterator[tuple[slice, AttentionView]]:
        """All classes in parts whose tables, and answers to so many coalitions, fit the memory that they may take."""
        K, T, words = self._model.config.K, self._model.T_max, len(self.document.words)
        tables = 6 * T if removal == "mask" else 2 * words * words
        size = max(1, _CLASS_BYTES // (8 * K * (tables + 3 * min(rows, DELETED_AT_ONCE))))
        for start in range(0, len(self.labels), size):
            classes = slice(start, min(start + size, len(self.labels)))
            yield classes, self._of_classes(classes)

    @property
    def _words(self) -> slice:
        """The positions of the words."""
        return slice(1, 1 + len(self.document.words))


class AttentionGame(Game):
    """Logits of the document with features removed, from folded tables alone: no string is rebuilt.

    Many classes are answered a part at a time, so that memory does not grow with their number.
    """

    asked = 0
    step = 2048
    """Coalitions that are asked for between two looks at the clock: a few milliseconds."""

    def __init__(self, view: AttentionView, features: Features, removal: Removal, progress: Progress) -> None:
        self._view, self._features, self._removal = view, features, removal
        self._progress = progress
        self._answers = None if view.has_many_classes else self._answers_of(view)

    @property
    def facts(self) -> GameFacts:
        """Deleted words are summed in the precision of the weights."""
        return GameFacts(rounding=_OF_FLOAT64 if self._removal == "mask" else ROUNDING)

    def __call__(self, kept: Coalitions) -> Floats:
        kept = np.asarray(kept, dtype=bool)
        if self._answers is not None:
            return self._in_blocks(self._answers, kept)
        logits = np.empty((len(kept), len(self._view.labels)))
        parts = self._view.parts_of_classes(len(kept), self._removal)
        for i, (classes, part) in enumerate(parts):
            logits[:, classes] = self._in_blocks(self._answers_of(part), kept, counted=i == 0)
        return logits

    def _in_blocks(self, answers: Answers, kept: Coalitions, counted: bool = True) -> Floats:
        blocks = []
        for start in range(0, max(len(kept), 1), _ROWS_AT_ONCE):
            rows = kept[start : start + _ROWS_AT_ONCE]
            with one_thread():
                blocks.append(answers(rows))
            if counted:
                self.asked += len(rows)
                self._progress.advance(len(rows))
        return np.concatenate(blocks)

    def _answers_of(self, view: AttentionView) -> Answers:
        """From coalitions to the logits of a view's classes."""
        if self._removal == "mask":
            return view.ratio_game(self._features).evaluate
        tables, owners = view.deletion_tables(), self._features.owners
        return lambda kept: tables.logits_of_arrays(present_words(kept, owners))


class ReadTogether:
    """What the views of many documents share: every word is folded once, and logits come from common forwards."""

    def __init__(self, model: AttentionClassifier, documents: Sequence[Document]) -> None:
        self._model, self._memo = model, Memo()
        self._read, self._documents = list(documents), {id(document): i for i, document in enumerate(documents)}
        self._ids = [model.ids_of(document) for document in documents]

    @property
    def views(self) -> list[AttentionView]:
        """A new view of each document: they hold this, and this holds none of them, so that all goes when they go."""
        return [AttentionView(self._model, document, self) for document in self._read]

    @property
    def heads(self) -> FoldedHeads[npt.NDArray[Any]]:
        return self._memo.get("heads", lambda: heads64(self._model))

    @property
    def vocabulary(self) -> FoldedVocabulary:
        """Every word of all documents, folded."""
        return self._memo.get("vocabulary", self._fold)

    def _fold(self) -> FoldedVocabulary:
        special = [self._model.vocabulary.cls_id, self._model.vocabulary.unknown_id]
        numbers: Integers = np.unique(np.concatenate([special, *self._ids]))
        rows, positions = rows64(self._model, numbers), positions64(self._model)
        return FoldedVocabulary(self.heads, numbers, rows, positions, *special)

    def ids(self, document: Document) -> Integers:
        """The token numbers of one of the documents."""
        return self._ids[self._documents[id(document)]]

    def logits(self, document: Document) -> Floats:
        """Of one of the documents; the first to be asked for brings all others along."""
        return self._memo.get("logits", self._logits)[self._documents[id(document)]]

    def _logits(self) -> Floats:
        size = self._model.documents_at_once
        return np.concatenate(
            [
                self._model.logits_of_ids(self._model.pad(self._ids[start : start + size]))
                for start in range(0, len(self._ids), size)
            ]
        )


# ── a model's weights as float64 arrays ───────────────────────────────────────────────────────────────────────────────


def heads64(model: AttentionClassifier, classes: slice | Floats = slice(None)) -> FoldedHeads[npt.NDArray[Any]]:
    """The folded heads, for all classes, some of them, or a direction."""
    e_cls = rows64(model, [model.vocabulary.cls_id])[0] + positions64(model)[0]
    W_q, W_k, W_v = (_array64(w) for w in (model.W_q, model.W_k, model.W_v))
    return FoldedHeads.fold(e_cls, W_q, W_k, W_v, _final_layers64(model, classes))


def _final_layers64(model: AttentionClassifier, classes: slice | Floats) -> Floats:
    """W_ℓ of some classes, or along a direction: (K, C, d_out)."""
    if isinstance(classes, slice):
        return _array64(model.W_l[:, classes])
    chosen = np.flatnonzero(classes)
    return directed(_array64(model.W_l[:, chosen]).mT, classes[chosen]).mT


def rows64(model: AttentionClassifier, ids: Sequence[int] | Integers) -> Floats:
    """W_e of these token numbers."""
    return _array64(model.W_e.detach()[ids])


def positions64(model: AttentionClassifier) -> Floats:
    """Positions as exact as float64 has them, whatever the precision of the weights: explanations do not round."""
    positions: Floats = sinusoidal_positions(model.config.T_max, model.config.d_e).numpy()
    return positions


def _array64(weights: torch.Tensor) -> Floats:
    return weights.detach().cpu().numpy().astype(np.float64)
