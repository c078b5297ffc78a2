"""Attention as an explanation (paper, Section 3): how much [CLS] looks at each word, over the heads.

A model with several layers has several answers. `layer` chooses: a layer's number (the last by default), or "mean" or
"max" over the layers, after each layer's heads were joined. `head` takes one head instead of all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limelight.errors import ParameterError
from limelight.explainers.method import Floats, Outcome, Request, method
from limelight.view import Layered

Layer = int | str
LAST = -1


@method(
    "alpha-avg",
    label="α-avg",
    summary="Attention from [CLS], mean over the heads (Eq. 10)",
    needs=("attention",),
    signed=False,
)
def alpha_avg(request: Request, *, layer: Layer = LAST, head: int | None = None) -> Outcome:
    return _attention(request, layer, head, lambda weights: weights.mean(axis=-2))


@method(
    "alpha-max",
    label="α-max",
    summary="Attention from [CLS], maximum over the heads (Eq. 11)",
    needs=("attention",),
    signed=False,
)
def alpha_max(request: Request, *, layer: Layer = LAST, head: int | None = None) -> Outcome:
    return _attention(request, layer, head, lambda weights: weights.max(axis=-2))


def _attention(request: Request, layer: Layer, head: int | None, over_heads: Callable[[Floats], Floats]) -> Outcome:
    """What the reader pays to each position, joined over heads, then over layers, then summed into features."""
    if not isinstance(request.model, Layered):
        attentions = request.model.attentions(request.document)
        return Outcome(
            request.per_feature(_joined(attentions.weights[None], layer, head, over_heads), attentions.words)
        )
    total = np.zeros(len(request.features))
    for window in request.model.attention_layers(request.document):
        paid = window.weights[:, :, window.reader, window.positions] * window.shares
        total += window.share * request.per_feature(_joined(paid, layer, head, over_heads), window.words)
    return Outcome(total)


def _joined(weights: Floats, layer: Layer, head: int | None, over_heads: Callable[[Floats], Floats]) -> Floats:
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


def _index(name: str, given: object, count: int, others: str = "") -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not -count <= given < count:
        raise ParameterError(f"{name} must be from 0 to {count - 1} (or -1 for the last){others}: got {given!r}")
    return given
