"""Attention as an explanation (paper, Section 3): how much [CLS] looks at each word, over the heads.

A model with several layers has several answers. `layer` chooses: a layer's number (the last by default), or "mean" or
"max" over the layers, after each layer's heads were joined. `head` takes one head instead of all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import ParameterError, shown
from limelight.explainers.method import Exact, Question, Weights, method
from limelight.models.interface import Attentive, Rounded, rounding_of

LAST = -1
_ROUNDING = float(np.finfo(np.float32).eps)
"""Of attention, which adds up to 1: what is less does not change that sum in single precision."""

alpha_avg = method(
    "alpha-avg", label="α-avg", summary="Attention from [CLS], mean over the heads (Eq. 10)", signed=False
)
alpha_max = method(
    "alpha-max", label="α-max", summary="Attention from [CLS], maximum over the heads (Eq. 11)", signed=False
)


@alpha_avg.implementation(Attentive)
def mean_over_heads(question: Question[Attentive], *, layer: int | str = LAST, head: int | None = None) -> Weights:
    return _attention(question, layer, head, lambda weights: weights.mean(axis=-2))


@alpha_max.implementation(Attentive)
def maximum_over_heads(question: Question[Attentive], *, layer: int | str = LAST, head: int | None = None) -> Weights:
    return _attention(question, layer, head, lambda weights: weights.max(axis=-2))


def _attention(
    question: Question[Attentive], layer: int | str, head: int | None, over_heads: Callable[[Floats], Floats]
) -> Weights:
    """What the reader pays to each position, joined over heads, then over layers, then summed into features."""
    total = np.zeros(len(question.features))
    windows = question.view.attentions()
    for window in windows:
        joined = _joined(window.weights, layer, head, over_heads)
        total += window.part * question.per_feature(joined, window.words)
    forwards = sum(window.forwards for window in windows)
    return Weights(total, Exact(), evaluations=forwards, rounding=rounding_of_attention(question.view))


def rounding_of_attention(view: object) -> float:
    """Many layers round more often than one: what a view knows of its logits holds for what they are made of."""
    return max(_ROUNDING, rounding_of(view)) if isinstance(view, Rounded) else _ROUNDING


def _joined(weights: Floats, layer: int | str, head: int | None, over_heads: Callable[[Floats], Floats]) -> Floats:
    """(layers, heads, P) to (P,)."""
    layers, heads, _ = weights.shape
    if head is not None:
        weights = weights[:, [_index("head", head, heads)]]
    per_layer = over_heads(weights)
    if layer == "mean":
        return per_layer.mean(axis=0)
    if layer == "max":
        return per_layer.max(axis=0)
    return per_layer[_index("layer", layer, layers, ' or "mean" or "max" over all of them')]


def _index(name: str, given: int | str, count: int, others: str = "") -> int:
    if isinstance(given, str) or not -count <= given < count:
        raise ParameterError(f"{name} must be from 0 to {count - 1} (or -1 for the last){others}: got {shown(given)}")
    return given
