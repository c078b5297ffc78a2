"""What the benchmarks share: documents as both sides read them, and the official `lime` on one of our models."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import numpy as np

from limelight.inputs.document import word_forms
from limelight.storage.labelled_texts import read_labelled


def machine() -> str:
    """What a figure must say of where and when it was measured."""
    name = platform.processor() or platform.machine()
    return f"{date.today()}, {name}, Python {platform.python_version()}, {platform.system()}"


def sample_documents(model: Any, path: str, n: int, seed: int) -> list[str]:
    """n texts of a data file at random, as the words that the model reads, apart: the same text for both sides."""
    texts = read_labelled(path).texts
    chosen = np.random.default_rng(seed).choice(len(texts), size=n, replace=False)
    return [" ".join(word.form for word in model.read(texts[i]).words) for i in chosen]


def lime_weights(
    text: str,
    logits: Callable[[Sequence[str]], np.ndarray],
    words: Callable[[str], list[str]],
    *,
    bow: bool,
    mask: str | None,
    seed: int,
    n_samples: int,
) -> np.ndarray:
    """Official weights of label 1 for all the words that `words` finds in a text, in their order."""
    from lime.lime_text import LimeTextExplainer

    explainer = LimeTextExplainer(split_expression=words, bow=bow, mask_string=mask, random_state=seed)
    found = explainer.explain_instance(text, logits, labels=(1,), num_features=10**6, num_samples=n_samples)
    weights = dict(found.local_exp[1])
    return np.array([weights[j] for j in range(len(weights))])


def official_lime(model: Any, text: str, removal: str, seed: int, n_samples: int = 5000) -> np.ndarray:
    """On one of our models, with features as ours: occurrences when masking, words when deleting.

    It calls our `predict_logits` and splits by our word rule, so that both sides explain the same features.
    """
    bow = removal == "delete"
    mask = None if bow else "[UNK]"
    return lime_weights(text, model.predict_logits, word_forms, bow=bow, mask=mask, seed=seed, n_samples=n_samples)


def lime_on_transformer(
    model: Any, text: str, logits: Callable[[Sequence[str]], np.ndarray], *, bow: bool, mask: str, seed: int,
    n_samples: int,
) -> np.ndarray:  # fmt: skip
    """On a Hugging Face model, asked through `logits`, with the words of our reading."""

    def words(raw: str) -> list[str]:
        return [raw[word.start : word.end] for word in model.view(raw).document.words]

    return lime_weights(text, logits, words, bow=bow, mask=mask, seed=seed, n_samples=n_samples)
