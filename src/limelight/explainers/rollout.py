"""Attention rollout (Abnar & Zuidema, 2020): attention followed through all layers down to the words.

With A_l the mean over the heads of layer l, and the residual connection counted as half of what a position passes on,

    Ā_l = (A_l + I) / 2,        R = Ā_L … Ā_2 Ā_1,

the weight of a token is the entry of R in the row that the classifier reads.
"""

from __future__ import annotations

import numpy as np

from limelight.explainers.method import Floats, Outcome, Request, method


@method(
    "rollout",
    label="Rollout",
    summary="Attention multiplied through all layers, with the residual connections (Abnar & Zuidema)",
    needs=("attention layers",),
    signed=False,
)
def rollout(request: Request) -> Outcome:
    total = np.zeros(len(request.features))
    for window in request.model.attention_layers(request.document):
        reached = rolled_out(window.weights, window.reader)[window.positions] * window.shares
        total += window.share * request.per_feature(reached, window.words)
    return Outcome(total)


@method(
    "rollout",
    label="Rollout",
    summary="The same for one layer without a residual connection: half of α-avg",
    needs=("attention", "folded attention"),
    signed=False,
    otherwise=True,
)
def rollout_of_one_layer(request: Request) -> Outcome:
    attentions = request.model.attentions(request.document)
    return Outcome(request.per_feature(attentions.weights.mean(axis=0) / 2, attentions.words))


def rolled_out(attention: Floats, reader: int) -> Floats:
    """The row `reader` of R (T,), for attention (layers, heads, T, T): a vector passed down, no product of matrices."""
    row = np.zeros(attention.shape[-1])
    row[reader] = 1.0
    for layer in attention[::-1]:
        row = (row @ layer.mean(axis=0) + row) / 2
    return row
