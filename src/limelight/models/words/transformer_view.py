"""The deep model over words looking at a document: by forward passes and automatic differentiation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.inputs.document import Document
from limelight.inputs.features import Features
from limelight.models.interface import (
    AttentionLayers,
    Attentions,
    Attentive,
    Differentiable,
    Game,
    Gradients,
    Layered,
    Memo,
    Perturbable,
    Removal,
    ViewFacts,
)
from limelight.models.outputs import OUTPUTS, Kind
from limelight.theory.deletion import present_words

if TYPE_CHECKING:
    from limelight.models.words.transformer import TransformerClassifier


class TransformerView(ViewFacts, Perturbable, Attentive, Layered, Differentiable):
    """What methods see: attention of every layer, gradients, and games by forward passes."""

    removals: tuple[Removal, ...] = ("mask", "delete")
    cheap = True
    kind: Kind = "classes"
    outputs = OUTPUTS["classes"]

    def __init__(self, model: TransformerClassifier, document: Document) -> None:
        self._model, self.document, self.labels = model, document, model.labels
        self._memo = Memo()

    @property
    def logits(self) -> Floats:
        return self._memo.get("logits", lambda: self._model.logits_of_ids(self._ids[None])[0])

    def unknown_words(self) -> frozenset[int]:
        return self._model.unknown_words(self.document)

    @property
    def _ids(self) -> Tensor:
        return self._memo.get("ids", lambda: self._model.encode_document(self.document))

    @property
    def _words(self) -> Integers:
        return np.arange(len(self.document.words))

    def attention_layers(self) -> Sequence[AttentionLayers]:
        """α of every layer and head, between all positions."""
        return self._memo.get("attention layers", self._attention_layers)

    def _attention_layers(self) -> Sequence[AttentionLayers]:
        weights, words = self._model.attention_of_layers(self._ids).cpu().numpy(), self._words
        return [AttentionLayers(weights, 0, words + 1, words, np.ones(len(words)))]

    def attentions(self) -> Sequence[Attentions]:
        return [layers.paid_by_reader() for layers in self.attention_layers()]

    def gradients(self, direction: Floats) -> Gradients:
        """With respect to the vectors e_t that the first layer reads, in the precision of the weights."""
        return self._memo.get(("gradients", direction.tobytes()), lambda: self._gradients(direction))

    def _gradients(self, direction: Floats) -> Gradients:
        with torch.enable_grad():
            e = self._model.states(self._ids[None]).detach().requires_grad_()
            output = self._model.logits_of_states(e)[0] @ torch.from_numpy(direction).to(e)
            (gradient,) = torch.autograd.grad(output, e)
        at_words = slice(1, 1 + len(self._words))
        gradients, vectors = (tensor.detach()[0, at_words].double().cpu().numpy() for tensor in (gradient, e))
        return Gradients(gradients, vectors, self._words, forwards=1)

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> TransformerGame:
        """Features removed by [UNK] in place, or deleted so that the rest moves up."""
        return TransformerGame(self._model, self._model.ids_of(self.document), features, removal, progress)


@dataclass(eq=False)
class TransformerGame(Game):
    """Logits of the document with features removed, by forward passes over token numbers."""

    model: TransformerClassifier
    words: Integers
    features: Features
    removal: Removal
    progress: Progress
    asked: int = 0

    def __call__(self, kept: Coalitions) -> Floats:
        kept = np.asarray(kept, dtype=bool)
        logits, size = np.zeros((len(kept), len(self.model.labels))), self.model.documents_at_once
        for start in range(0, len(kept), size):
            rows = slice(start, start + size)
            ids = torch.from_numpy(self._token_numbers(present_words(kept[rows], self.features.owners)))
            logits[rows] = self.model.logits_of_ids(ids.to(self.model.W_e.device))
            self.asked += len(ids)
            self.progress.advance(len(ids))
        return logits

    def _token_numbers(self, there: Coalitions) -> Integers:
        """Token numbers (n, T_max) of the documents whose words `there` are left, [CLS] before and padding behind."""
        ids = np.full((len(there), self.model.T_max), self.model.vocabulary.unknown_id, dtype=np.int64)
        ids[:, 0] = self.model.vocabulary.cls_id
        row, word = there.nonzero()
        ids[row, word + 1 if self.removal == "mask" else there.cumsum(axis=1)[row, word]] = self.words[word]
        return ids
