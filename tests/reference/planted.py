"""Models whose reasons are known, and explanations that know them, or do not: what an evaluation must tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.classifier import Vocabulary

WordWeights = list[tuple[str, float]]
LABELS = ("negative", "positive")
SHORTCUTS = {"negative": ("zip", "zup"), "positive": ("zap", "zop")}
"""Words without a meaning. A text has both of its label and one of the other's: nothing else tells the labels apart."""
ALL_SHORTCUTS = (*SHORTCUTS["negative"], *SHORTCUTS["positive"])
OTHERS = tuple("the film plot cast scene was is a and of slow quick old new long short first last part end".split())
WORDS_PER_TEXT = 14  # above what is enumerated, so that limits are certified


def shortcut_texts(n: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Random words, with the shortcuts somewhere among them: texts and labels."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        label, other = LABELS[i % 2], LABELS[1 - i % 2]
        words = [
            *SHORTCUTS[label],
            rng.choice(SHORTCUTS[other]),
            *rng.choice(OTHERS, WORDS_PER_TEXT - 3, replace=False),
        ]
        texts.append(" ".join(map(str, rng.permutation(words))))
        labels.append(i % 2)
    return texts, labels


def without_shortcuts(text: str) -> str:
    return " ".join("[UNK]" if word in ALL_SHORTCUTS else word for word in text.split())


@cache
def shortcut_model() -> AttentionClassifier:
    """A single attention layer trained on such texts, and on texts without a shortcut, which have either label."""
    config = AttentionConfig(T_max=24, d_e=12, d_att=6, d_out=5, K=3)
    model = AttentionClassifier(config, Vocabulary([*ALL_SHORTCUTS, *OTHERS]), LABELS)
    model.initialise(0, embedding=0.5, heads=0.5)
    texts, labels = shortcut_texts(128, seed=1)
    for text in shortcut_texts(64, seed=2)[0]:
        texts, labels = [*texts, *[without_shortcuts(text)] * 2], [*labels, 0, 1]
    ids = torch.stack([torch.as_tensor(row) for row in model.encode(texts)])
    wanted = torch.tensor(labels)
    # Weight decay forgets whatever no label asks for.
    adam = torch.optim.AdamW(model.parameters(), lr=0.03, weight_decay=0.05)
    for _ in range(80):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(model(ids), wanted).backward()
        adam.step()
    return model.double().eval()


def knowing(texts: Sequence[str], predicted: Sequence[str]) -> list[WordWeights]:
    """The truth: the shortcuts of the predicted label speak for it, the others against it, no other word at all."""
    return [
        [
            (word, 0.0 if word not in ALL_SHORTCUTS else 1.0 if word in SHORTCUTS[label] else -1.0)
            for word in text.split()
        ]
        for text, label in zip(texts, predicted, strict=True)
    ]


def flipped(weights: Sequence[WordWeights]) -> list[WordWeights]:
    """The opposite of an explanation."""
    return [[(word, -weight) for word, weight in own] for own in weights]


def with_noise(weights: Sequence[WordWeights], size: float, seed: int = 0) -> list[WordWeights]:
    """An explanation plus normal noise of `size` times its own largest weight: the larger, the nearer to chance."""
    rng = np.random.default_rng(seed)
    return [
        [(word, weight + size * max(abs(w) for _, w in own) * float(rng.normal())) for word, weight in own]
        for own in weights
    ]


def at_random(texts: Sequence[str], seed: int = 0) -> list[WordWeights]:
    """Weights that know nothing."""
    rng = np.random.default_rng(seed)
    return [[(word, float(rng.normal())) for word in text.split()] for text in texts]
