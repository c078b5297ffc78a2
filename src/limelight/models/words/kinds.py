"""The kinds of classifier that are trained, saved and loaded: each is known by its sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from limelight.errors import ParameterError
from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig
from limelight.models.words.vocabulary import Vocabulary

Config = AttentionConfig | TransformerConfig
Model = AttentionClassifier | TransformerClassifier
Shape = tuple[int, ...]

CONFIGS: dict[str, type[Config]] = {config.kind: config for config in (AttentionConfig, TransformerConfig)}
"""The sizes of each kind, by the name that a checkpoint calls it."""

LARGEST_SIZE = 2**31
"""Of any size in a configuration: far beyond what can be computed with, and a product of three still has a meaning."""
LARGEST_POSITIONS = 2**24
"""T_max · d_e, the numbers in the table of positions: the one part of a model that its weights say nothing about."""


def build(sizes: Config, vocabulary: Vocabulary, labels: Sequence[str]) -> Model:
    """A classifier of these sizes, without weights yet."""
    check_largest(asdict(sizes))
    check_positions(sizes)
    if isinstance(sizes, TransformerConfig):
        return TransformerClassifier(sizes, vocabulary, labels)
    return AttentionClassifier(sizes, vocabulary, labels)


def check_largest(sizes: Mapping[str, object]) -> None:
    """Refuse numbers that no model has, some of which no memory address has."""
    for name, value in sizes.items():
        if isinstance(value, int) and value > LARGEST_SIZE:
            shown = f"{value:,}" if value < 2**64 else f"a number of {value.bit_length():,} bits"
            raise ParameterError(f"{name} must be at most {LARGEST_SIZE:,}: got {shown}")


def check_positions(sizes: Config) -> None:
    """Refuse a table of positions that is too large, before memory is taken for it."""
    if sizes.T_max * sizes.d_e > LARGEST_POSITIONS:
        raise ParameterError(
            f"T_max · d_e, the table of positions, must be at most {LARGEST_POSITIONS:,} numbers: "
            f"got T_max = {sizes.T_max:,} and d_e = {sizes.d_e:,}; lower T_max"
        )


# ── the weights that a model of some sizes has ────────────────────────────────────────────────────────────────────────


def weight_count(sizes: Config) -> int:
    """How many tensors, without naming them: a configuration may ask for a million layers."""
    return 5 if isinstance(sizes, AttentionConfig) else 2 + sizes.layers * len(_layer_shapes(sizes))


def weight_shapes(sizes: Config, words: int, labels: int) -> dict[str, Shape]:
    """Names and shapes of the weights of `build`, without building anything."""
    if isinstance(sizes, AttentionConfig):
        return {
            "W_e": (words, sizes.d_e),
            "W_q": (sizes.K, sizes.d_att, sizes.d_e),
            "W_k": (sizes.K, sizes.d_att, sizes.d_e),
            "W_v": (sizes.K, sizes.d_out, sizes.d_e),
            "W_l": (sizes.K, labels, sizes.d_out),
        }
    layer = _layer_shapes(sizes)
    return {
        "W_e": (words, sizes.d_e),
        "W_l": (labels, sizes.d_e),
        **{f"layers.{i}.{name}": shape for i in range(sizes.layers) for name, shape in layer.items()},
    }


def _layer_shapes(sizes: TransformerConfig) -> dict[str, Shape]:
    d_e, norm = sizes.d_e, (sizes.d_e,)
    shapes: dict[str, Shape] = {
        "W_q": (sizes.K, sizes.d_att, d_e),
        "W_k": (sizes.K, sizes.d_att, d_e),
        "W_v": (sizes.K, sizes.d_out, d_e),
        "W_o": (d_e, sizes.K * sizes.d_out),
    }
    if sizes.layer_norm:
        shapes |= {"norm.weight": norm, "norm.bias": norm}
    if sizes.mlp != "none":
        shapes |= {"W_1": (sizes.d_mlp, d_e), "b_1": (sizes.d_mlp,), "W_2": (d_e, sizes.d_mlp), "b_2": norm}
        if sizes.layer_norm:
            shapes |= {"mlp_norm.weight": norm, "mlp_norm.bias": norm}
    return shapes
