"""A run on a tiny model and a few texts, for the tests of experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from conftest import small_model
from limelight.document import Document, Features
from limelight.progress import Lines
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab
from limelight.reproduce.texts import Texts
from limelight.view import Attentions, Game, Removal

TEXTS = (
    "The film was great, but too long and the end is bad!",
    "It's a very good film: great, great and not too long.<br />The end?",
    "a bad film and a bad end, not good it was too long and bad",
)


class DeepStub:
    """Perturbable and attentive, and nothing else: what a model of several layers looks like to an experiment."""

    def __init__(self, seed: int = 7) -> None:
        self._inner = small_model(seed)
        self.labels = self._inner.labels

    def read(self, text: str) -> Document:
        return self._inner.read(text)

    def predict_logits(self, texts: Any) -> Any:
        return self._inner.predict_logits(texts)

    def predict_proba(self, texts: Any) -> Any:
        return self._inner.predict_proba(texts)

    def perturb(self, document: Document, features: Features, removal: Removal) -> Game:
        return self._inner.perturb(document, features, removal)

    def attentions(self, document: Document) -> Attentions:
        return self._inner.attentions(document)


def laboratory(folder: Path, **changes: Any) -> Lab:
    """Three documents, the target is "positive"."""
    folder.mkdir(exist_ok=True)
    texts = Texts(TEXTS, np.array([2, 2, 0]), "three texts", "0" * 16)
    arguments: dict[str, Any] = {
        "folder": RunFolder(folder),
        "texts": texts,
        "model": small_model(),
        "deep_model": None,
        "documents_asked": len(TEXTS),
        "seed": 0,
        "device": "cpu",
        "progress": Lines(),
    }
    return Lab(**{**arguments, **changes})
