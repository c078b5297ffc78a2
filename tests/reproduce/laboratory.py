"""A run on a tiny model and a few texts, for the tests of experiments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import torch
from threadpoolctl import threadpool_info

from conftest import small_model
from limelight.core.arrays import Floats
from limelight.core.progress import SILENT, Lines, Progress
from limelight.inputs.document import Document
from limelight.inputs.features import Features
from limelight.models.interface import Attentions, Game, Removal
from limelight.models.words.attention_view import AttentionView
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab, Texts

TEXTS = (
    "The film was great, but too long and the end is bad!",
    "It's a very good film: great, great and not too long.<br />The end?",
    "a bad film and a bad end, not good it was too long and bad",
)


class DeepStub:
    """A model whose views are perturbable and attentive, and nothing else: several layers, as an experiment sees it."""

    def __init__(self, seed: int = 7) -> None:
        self._inner = small_model(seed)
        self.labels = self._inner.labels

    def view(self, text: str) -> DeepView:
        return DeepView(self._inner.view(text))

    def predict_logits(self, texts: Sequence[str]) -> Floats:
        return self._inner.predict_logits(texts)

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        return self._inner.predict_proba(texts)


class DeepView:
    """What is left of a view of a single layer without its folded form."""

    def __init__(self, inner: AttentionView) -> None:
        self._inner = inner
        self.document: Document = inner.document
        self.labels, self.logits, self.removals = inner.labels, inner.logits, inner.removals
        self.kind, self.outputs = inner.kind, inner.outputs

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> Game:
        return self._inner.game(features, removal, progress)

    def attentions(self) -> Sequence[Attentions]:
        return self._inner.attentions()


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


@contextlib.contextmanager
def process_left_as_found() -> Iterator[None]:
    """Whatever happens inside: threads, random states, gradients and matplotlib's settings are as before afterwards.

    Two torch threads, where tests otherwise have one, so that a limit that stays is seen.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        before = _state_of_the_process()
        try:
            yield
        finally:
            after = _state_of_the_process()
            changed = {name: (state, after[name]) for name, state in before.items() if after[name] != state}
            assert not changed, changed
    finally:
        torch.set_num_threads(threads)


def _state_of_the_process() -> dict[str, Any]:
    return {
        "torch threads": torch.get_num_threads(),
        **{f"threads of {pool['filepath']}": pool["num_threads"] for pool in threadpool_info()},
        "NumPy's random state": str(np.random.get_state()),  # noqa: NPY002
        "torch's random state": torch.get_rng_state().tolist(),
        "gradients": torch.is_grad_enabled(),
        **{f"matplotlib's {name}": repr(value) for name, value in dict.items(matplotlib.rcParams)},
    }
