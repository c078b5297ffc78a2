"""Gradients as explanations (paper, Section 4.1): ∇_{e_t} f of Eq. 12, reduced to one number per position.

The gradient is taken with respect to e_t, the sum of word and position vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from limelight.core.arrays import Floats
from limelight.explainers.method import Exact, Question, Weights, method
from limelight.models.interface import Differentiable, Gradients, rounding_of

_VANISHES = (
    "G-avg is zero up to rounding: this model normalises its embeddings, so the coordinates of every gradient cancel; "
    "use g-l2 or gxi"
)

g_avg = method("g-avg", label="G-avg", summary="Mean of the gradient's coordinates", changes=False)
g_l1 = method("g-l1", label="G-l1", summary="L1 norm of the gradient", signed=False)
g_l2 = method("g-l2", label="G-l2", summary="L2 norm of the gradient", signed=False)
gxi = method("gxi", label="G×I", summary="Gradient times input: e_t · ∇_{e_t} f", changes=False)


def _reduced(
    question: Question[Differentiable], reduce: Callable[[Gradients], Floats], gain: Callable[[Gradients], float]
) -> Weights:
    """Weights from one number per position, summed into features.

    `gain`: how far a position's number moves if each coordinate of its gradient is off by 1.
    """
    g = question.view.gradients(question.direction)
    positions = question.per_feature(np.ones(len(g.words)), g.words).max(initial=1.0)
    coordinate = rounding_of(question.view) * float(np.abs(g.gradients).max(initial=0.0))
    return Weights(
        question.per_feature(reduce(g), g.words),
        Exact(),
        evaluations=g.forwards,
        rounding=coordinate * gain(g) * float(positions),
    )


@g_avg.implementation(Differentiable, uses=("output",))
def mean_of_coordinates(question: Question[Differentiable]) -> Weights:
    weights = _reduced(question, lambda g: g.gradients.mean(axis=1), lambda g: 1.0)
    # A constant added to all coordinates of e_t is taken out again by a layer normalisation: the mean is zero then.
    vanishes = np.abs(weights.values).max() <= weights.rounding
    return replace(weights, notices=(_VANISHES,) if vanishes else ())


@g_l1.implementation(Differentiable, uses=("output",))
def l1_norm(question: Question[Differentiable]) -> Weights:
    return _reduced(question, lambda g: np.abs(g.gradients).sum(axis=1), lambda g: float(g.gradients.shape[1]))


@g_l2.implementation(Differentiable, uses=("output",))
def l2_norm(question: Question[Differentiable]) -> Weights:
    return _reduced(
        question, lambda g: np.sqrt((g.gradients**2).sum(axis=1)), lambda g: math.sqrt(g.gradients.shape[1])
    )


@gxi.implementation(Differentiable, uses=("output",))
def times_input(question: Question[Differentiable]) -> Weights:
    return _reduced(
        question,
        lambda g: (g.gradients * g.embeddings).sum(axis=1),
        lambda g: float(np.linalg.norm(g.embeddings, axis=1).max(initial=0.0)),  # coordinates are rounded apart
    )
