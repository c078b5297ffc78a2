"""Attention with its gradient: α × gradient, Chefer's relevance, AttCAT, value-weighted norms; and α-value.

With A_l the attention of layer l (heads, T, T), ∇A_l the gradient of the explained output with respect to it, h_l the
states between layers and s the position that the head reads:

    α × gradient            Σ_l Σ_h Σ_i A_l[h, i, t] ∇A_l[h, i, t]
    Chefer et al., 2021     row s of R, where R starts as the identity and R ← R + mean_h((A_l ⊙ ∇A_l)⁺) R
    Qiang et al., 2022      Σ_l (h_l · ∂f/∂h_l)[t] · mean over heads and positions of the attention that t receives
    Kobayashi et al., 2020  ‖Σ_h A_l[h, s, t] V_l[h, t] W_l[h]‖ of one layer

A single attention layer has weights α_t and values w_t whose products add up to its output over all positions: α-value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import CapabilityError
from limelight.explainers.attention import LAST, index_of
from limelight.explainers.method import Exact, Question, Weights, method
from limelight.explainers.output_game import rounded
from limelight.models.interface import FoldedView, Recorded, RecordedLayers, rounding_of

attention_gradient = method(
    "attention-gradient",
    label="α×gradient",
    summary="Attention times its gradient, over all layers, heads and readers",
    changes=False,
)
chefer = method(
    "chefer",
    label="Chefer",
    summary="Positive attention times gradient, multiplied through all layers (Chefer et al., 2021)",
    signed=False,
)
attcat = method(
    "attcat",
    label="AttCAT",
    summary="States times their gradient, weighted by the attention received (Qiang et al., 2022)",
    changes=False,
)
attention_norm = method(
    "attention-norm",
    label="α-norm",
    summary="Length of the vector that a word brings to the reader in one layer (Kobayashi et al., 2020)",
    signed=False,
)
alpha_value = method(
    "alpha-value",
    label="α-value",
    summary="Attention times the value that a word brings; adds up to the output over all positions",
    changes=False,
)


@attention_gradient.implementation(Recorded, uses=("output",))
def of_all_layers(question: Question[Recorded]) -> Weights:
    return _summed(question, lambda own: (own.attention * own.slopes).sum(axis=(0, 1, 2)))


@chefer.implementation(Recorded, uses=("output",))
def multiplied_through(question: Question[Recorded]) -> Weights:
    return _summed(question, _chefer)


@attcat.implementation(Recorded, uses=("output",))
def of_states(question: Question[Recorded]) -> Weights:
    return _summed(question, _attcat)


@attention_norm.implementation(Recorded)
def brought_to_the_reader(question: Question[Recorded], *, layer: int = LAST) -> Weights:
    def norms(own: RecordedLayers) -> Floats:
        if own.norms is None:
            raise CapabilityError(
                "this model joins the heads of a layer by more than a projection, so there are no vectors that words "
                "bring: use decomposition"
            )
        return own.part * own.norms[index_of("layer", layer, len(own.norms))]

    return _summed(question, norms)


@alpha_value.implementation(FoldedView, uses=("output",), default=False)
def of_one_layer(question: Question[FoldedView]) -> Weights:
    from limelight.theory.folding import attention_of_scores  # brings torch along, which a list of methods does without

    folded = question.view.folded()
    attention, values = attention_of_scores(folded.scores), folded.values @ question.direction
    contributions = (attention * values).mean(axis=1)
    words = np.arange(len(folded.word_scores))
    rounding = rounded(question.logits[None], question.quantity, rounding_of(question.view))
    return Weights(
        question.per_feature(contributions[1 + words], words),
        Exact(),
        diagnostics={"rest": float(contributions.sum() - contributions[1 + words].sum())},
        rounding=rounding,
    )


def _summed(question: Question[Recorded], per_position: Callable[[RecordedLayers], Floats]) -> Weights:
    total, largest = np.zeros(len(question.features)), 0.0
    windows = question.view.recorded(question.direction)
    for own in windows:
        weights = per_position(own)
        largest = max(largest, float(np.abs(weights).max(initial=0.0)))
        total += question.per_feature(weights[own.positions] * own.token_parts, own.words)
    return Weights(
        total,
        Exact(),
        evaluations=sum(own.forwards for own in windows),
        rounding=rounding_of(question.view) * largest * len(windows),
    )


def _chefer(own: RecordedLayers) -> Floats:
    row = np.zeros(own.attention.shape[-1])
    row[own.reader] = 1.0 / len(own.reader)
    start = row.copy()
    for attention, slopes in zip(own.attention[::-1], own.slopes[::-1], strict=True):
        row = row + row @ np.maximum(attention * slopes, 0.0).mean(axis=0)
    return row - start


def _attcat(own: RecordedLayers) -> Floats:
    received = own.attention.mean(axis=(1, 2))
    return (own.relevance[-len(received) :] * received[-len(own.relevance) :]).sum(axis=0)
