"""Attention as an explanation: how much [CLS] looks at each word (paper, Section 3), and rollout through all layers.

A model with several layers has several answers. `layer` chooses: a layer's number (the last by default), or "mean" or
"max" over the layers, after each layer's heads were joined. `head` takes one head instead of all.

Rollout (Abnar & Zuidema, 2020) follows attention through all layers down to the words. With A_l the mean over the heads
of layer l, and the residual connection counted as half of what a position passes on,

    Ā_l = (A_l + I) / 2,        R = Ā_L … Ā_2 Ā_1,

the weight of a token is the entry of R in the row that the classifier reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from limelight.core.arrays import Array, Floats
from limelight.errors import ParameterError, shown
from limelight.explainers.method import Exact, Question, Weights, method
from limelight.models.interface import AttentionLayers, Attentions, Attentive, Layered, Reader, facts_of

LAST = -1
_ROUNDING = float(np.finfo(np.float32).eps)
"""Rounding of attention, which adds up to 1: less does not change that sum in single precision."""
Window = TypeVar("Window", Attentions, AttentionLayers)

alpha_avg = method(
    "alpha-avg", label="α-avg", summary="Attention from [CLS], mean over the heads (Eq. 10)", signed=False
)
alpha_max = method(
    "alpha-max", label="α-max", summary="Attention from [CLS], maximum over the heads (Eq. 11)", signed=False
)
rollout = method(
    "rollout",
    label="Rollout",
    summary="Attention multiplied through all layers, with the residual connections (Abnar & Zuidema)",
    signed=False,
)


@alpha_avg.implementation(Attentive)
def mean_over_heads(question: Question[Attentive], *, layer: int | str = LAST, head: int | None = None) -> Weights:
    return _summed(question, question.view.attentions(), lambda own: _joined(own.weights, layer, head, np.mean))


@alpha_max.implementation(Attentive)
def maximum_over_heads(question: Question[Attentive], *, layer: int | str = LAST, head: int | None = None) -> Weights:
    return _summed(question, question.view.attentions(), lambda own: _joined(own.weights, layer, head, np.max))


@rollout.implementation(Layered)
def through_all_layers(question: Question[Layered]) -> Weights:
    def reached(window: AttentionLayers) -> Floats:
        return rolled_out(window.weights, window.reader)[window.positions] * window.token_parts

    return _summed(question, question.view.attention_layers(), reached)


@rollout.implementation(Attentive)
def of_one_layer(question: Question[Attentive]) -> Weights:
    """Rollout of a layer without others below it: half of α-avg."""
    return _summed(question, question.view.attentions(), lambda own: own.weights[-1].mean(axis=0) / 2)


def _summed(question: Question[Any], windows: Sequence[Window], per_position: Callable[[Window], Floats]) -> Weights:
    """Weights from what each position of each window has, summed into features."""
    total = np.zeros(len(question.features))
    for window in windows:
        total += window.part * question.per_feature(per_position(window), window.words)
    # Many layers round more often than one: what a view knows of its logits holds for what they are made of.
    rounding = max(_ROUNDING, facts_of(question.view).rounding or 0.0)
    return Weights(total, Exact(), evaluations=sum(window.forwards for window in windows), rounding=rounding)


def _joined(weights: Floats, layer: int | str, head: int | None, over_heads: Callable[..., Any]) -> Floats:
    """Attention (layers, heads, P) joined over heads, then over layers: (P,)."""
    layers, heads, _ = weights.shape
    if head is not None:
        weights = weights[:, [index_of("head", head, heads)]]
    per_layer: Floats = over_heads(weights, axis=-2)
    if layer == "mean":
        return per_layer.mean(axis=0)
    if layer == "max":
        return per_layer.max(axis=0)
    return per_layer[index_of("layer", layer, layers, ' or "mean" or "max" over all of them')]


def index_of(name: str, given: int | str, count: int, others: str = "") -> int:
    if isinstance(given, str) or not -count <= given < count:
        raise ParameterError(f"{name} must be from 0 to {count - 1} (or -1 for the last){others}: got {shown(given)}")
    return given


def rolled_out(attention: Array, reader: Reader) -> Floats:
    """Row `reader` of R (T,), for attention (layers, heads, T, T): a vector passed down, no product of matrices.

    Several readers have the mean of their rows.
    """
    row = np.zeros(attention.shape[-1])
    row[reader] = 1.0 / np.size(reader)
    for layer in attention[::-1]:
        row = (row @ layer.astype(np.float64).mean(axis=0) + row) / 2
    return row
