"""Models of which nothing is known but their answers: what only perturbation methods apply to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conftest import small_model
from limelight.core.progress import SILENT, Progress
from limelight.inputs.features import Features
from limelight.models.interface import Game, Removal


class OpaqueView:
    """A view that can only be asked."""

    removals: tuple[Removal, ...] = ("mask", "delete")

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.document, self.labels, self.logits = inner.document, inner.labels, inner.logits
        self.kind, self.outputs = inner.kind, inner.outputs

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> Game:
        return self._inner.game(features, removal, progress)


class Opaque:
    """A model, by default the tests' small one, without anything that it knows of itself."""

    def __init__(self, seed: int = 0, model: Any = None) -> None:
        self._model = small_model(seed) if model is None else model
        self.labels = self._model.labels
        self.predict_logits, self.predict_proba = self._model.predict_logits, self._model.predict_proba

    def view(self, text: str) -> Any:
        return OpaqueView(self._model.view(text))


class Answering(Opaque):
    """A model whose game is a given function of the coalitions: logits (n, 3)."""

    def __init__(self, answer: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__()
        self._answer = answer

    def view(self, text: str) -> Any:
        view, answer = super().view(text), self._answer

        class AnswerGame:
            asked = 0

            def __call__(self, kept: np.ndarray) -> np.ndarray:
                self.asked += len(kept)
                return answer(kept)

        view.game = lambda features, removal, progress=SILENT: AnswerGame()
        return view
