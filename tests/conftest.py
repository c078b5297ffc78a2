"""Small models that every test can share: random weights, so that nothing holds by accident of training."""

from __future__ import annotations

import pytest
import torch

from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.vocabulary import Vocabulary

# The tests' models are tiny: waking a second thread for them costs more than it saves.
torch.set_num_threads(1)

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
