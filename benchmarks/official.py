"""What the benchmarks share: documents as both sides read them, and the official `lime` on one of our models."""

from __future__ import annotations

import platform
from datetime import date
from typing import Any

import numpy as np
from lime.lime_text import LimeTextExplainer

from limelight.data import read_labelled
from limelight.document import word_forms


def machine() -> str:
    """What a figure must say of where and when it was measured."""
    name = platform.processor() or platform.machine()
    return f"{date.today()}, {name}, Python {platform.python_version()}, {platform.system()}"


def sample_documents(model: Any, path: str, n: int, seed: int) -> list[str]:
    """n texts of a data file at random, as the words that the model reads, apart: the same text for both sides."""
    texts = read_labelled(path).texts
    chosen = np.random.default_rng(seed).choice(len(texts), size=n, replace=False)
    return [" ".join(word.form for word in model.read(texts[i]).words) for i in chosen]


def official_lime(model: Any, text: str, removal: str, seed: int, n_samples: int = 5000) -> np.ndarray:
    """Official weights for label 1, all features, in the order of ours: occurrences when masking, words when deleting.

    It calls our `predict_logits` and splits by our word rule, so that both sides explain the same features.
    """
    explainer = LimeTextExplainer(
        class_names=model.labels,
        split_expression=word_forms,
        bow=removal == "delete",
        mask_string=None if removal == "delete" else "[UNK]",
        random_state=seed,
    )
    explained = explainer.explain_instance(
        text, model.predict_logits, labels=(1,), num_features=10**6, num_samples=n_samples
    )
    weights = dict(explained.local_exp[1])
    return np.array([weights[j] for j in range(len(weights))])
