"""The kinds of classifier that are trained, saved and loaded: each is known by its sizes."""

from __future__ import annotations

from collections.abc import Sequence

from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig
from limelight.models.words.vocabulary import Vocabulary

Config = AttentionConfig | TransformerConfig
Model = AttentionClassifier | TransformerClassifier

CONFIGS: dict[str, type[Config]] = {config.kind: config for config in (AttentionConfig, TransformerConfig)}
"""The sizes of each kind, by the name that a checkpoint calls it."""


def build(sizes: Config, vocabulary: Vocabulary, labels: Sequence[str]) -> Model:
    """A classifier of these sizes, without weights yet."""
    if isinstance(sizes, TransformerConfig):
        return TransformerClassifier(sizes, vocabulary, labels)
    return AttentionClassifier(sizes, vocabulary, labels)
