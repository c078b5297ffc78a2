"""Attention rollout (Abnar & Zuidema, 2020): attention followed through all layers down to the words.

With A_l the mean over the heads of layer l, and the residual connection counted as half of what a position passes on,

    Ā_l = (A_l + I) / 2,        R = Ā_L … Ā_2 Ā_1,

the weight of a token is the entry of R in the row that the classifier reads.
"""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Array, Floats, Integers
from limelight.explainers.attention import rounding_of_attention
from limelight.explainers.method import Exact, Question, Weights, method
from limelight.models.interface import Attentive, Layered

rollout = method(
    "rollout",
    label="Rollout",
    summary="Attention multiplied through all layers, with the residual connections (Abnar & Zuidema)",
    signed=False,
)


@rollout.implementation(Layered)
def through_all_layers(question: Question[Layered]) -> Weights:
    total = np.zeros(len(question.features))
    windows = question.view.attention_layers()
    for window in windows:
        reached = rolled_out(window.weights, window.reader)[window.positions] * window.token_parts
        total += window.part * question.per_feature(reached, window.words)
    forwards = sum(window.forwards for window in windows)
    return Weights(total, Exact(), evaluations=forwards, rounding=rounding_of_attention(question.view))


@rollout.implementation(Attentive)
def of_one_layer(question: Question[Attentive]) -> Weights:
    """A layer without others below it: half of α-avg."""
    total = np.zeros(len(question.features))
    windows = question.view.attentions()
    for window in windows:
        total += window.part * question.per_feature(window.weights[-1].mean(axis=0) / 2, window.words)
    forwards = sum(window.forwards for window in windows)
    return Weights(total, Exact(), evaluations=forwards, rounding=rounding_of_attention(question.view))


def rolled_out(attention: Array, reader: int | Integers) -> Floats:
    """The row `reader` of R (T,), for attention (layers, heads, T, T): a vector passed down, no product of matrices.

    Several readers have the mean of their rows.
    """
    row = np.zeros(attention.shape[-1])
    row[reader] = 1.0 / np.size(reader)
    for layer in attention[::-1]:
        row = (row @ layer.astype(np.float64).mean(axis=0) + row) / 2
    return row
