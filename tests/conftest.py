"""Small models that every test can share: random weights, so that nothing holds by accident of training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.classifier import Vocabulary

NUMERICAL = (
    "explainers",
    "explanation/test_reliability.py",
    "explanation/test_significance.py",
    "numbers",
    "statistics",
    "theory",
    "training",
    "evaluation/test_inference.py",
    "evaluation/test_measures.py",
    "models/test_attention.py",
    "models/test_precision.py",
    "models/test_transformer.py",
)
"""The rooms and files whose numbers another kind of processor rounds otherwise: `-m numerical`."""

# The tests' models are tiny: waking a second thread for them costs more than it saves.
torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = item.path.relative_to(Path(__file__).parent).as_posix()
        if any(path == own or path.startswith(f"{own}/") for own in NUMERICAL):
            item.add_marker("numerical")


WORDS = "the film was great but too long and end is bad . , ! ' it s a café 我 not very good".split()


def small_model(seed: int = 0, labels: tuple[str, ...] = ("negative", "neutral", "positive")) -> AttentionClassifier:
    """Float64, three classes, weights large enough for attention far from uniform."""
    config = AttentionConfig(T_max=24, d_e=12, d_att=6, d_out=5, K=3)
    model = AttentionClassifier(config, Vocabulary(WORDS), labels).double()
    model.initialise(seed, embedding=1.0, heads=1.2)
    return model


@pytest.fixture
def model() -> AttentionClassifier:
    return small_model()
