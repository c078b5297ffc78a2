"""The kinds of classifier that are trained, saved and loaded: each is known by its sizes."""

from __future__ import annotations

from collections.abc import Sequence

from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig
from limelight.models.words.vocabulary import Vocabulary

Config = AttentionConfig | TransformerConfig
Model = AttentionClassifier | TransformerClassifier
Shape = tuple[int, ...]

CONFIGS: dict[str, type[Config]] = {config.kind: config for config in (AttentionConfig, TransformerConfig)}
"""The sizes of each kind, by the name that a checkpoint calls it."""


def build(sizes: Config, vocabulary: Vocabulary, labels: Sequence[str]) -> Model:
    """A classifier of these sizes, without weights yet."""
    if isinstance(sizes, TransformerConfig):
        return TransformerClassifier(sizes, vocabulary, labels)
    return AttentionClassifier(sizes, vocabulary, labels)


# ── the weights that a model of some sizes has ────────────────────────────────────────────────────────────────────────


def weight_count(sizes: Config) -> int:
    """How many tensors, without naming them: a configuration may ask for a million layers."""
    return 5 if isinstance(sizes, AttentionConfig) else 2 + sizes.layers * len(_layer_shapes(sizes))


def weight_shapes(sizes: Config, words: int, labels: int) -> dict[str, Shape]:
    """Names and shapes of the weights of `build`, without building anything."""
    if isinstance(sizes, AttentionConfig):
        return {"W_e": (words, sizes.d_e), **_head_shapes(sizes), "W_l": (sizes.K, labels, sizes.d_out)}
    layer = _layer_shapes(sizes)
    return {
        "W_e": (words, sizes.d_e),
        "W_l": (labels, sizes.d_e),
        **{f"layers.{i}.{name}": shape for i in range(sizes.layers) for name, shape in layer.items()},
    }


def _head_shapes(sizes: Config) -> dict[str, Shape]:
    keys = (sizes.K, sizes.d_att, sizes.d_e)
    return {"W_q": keys, "W_k": keys, "W_v": (sizes.K, sizes.d_out, sizes.d_e)}


def _layer_shapes(sizes: TransformerConfig) -> dict[str, Shape]:
    d_e, norm = sizes.d_e, (sizes.d_e,)
    shapes: dict[str, Shape] = {**_head_shapes(sizes), "W_o": (d_e, sizes.K * sizes.d_out)}
    if sizes.layer_norm:
        shapes |= {"norm.weight": norm, "norm.bias": norm}
    if sizes.mlp != "none":
        shapes |= {"W_1": (sizes.d_mlp, d_e), "b_1": (sizes.d_mlp,), "W_2": (d_e, sizes.d_mlp), "b_2": norm}
        if sizes.layer_norm:
            shapes |= {"mlp_norm.weight": norm, "mlp_norm.bias": norm}
    return shapes
