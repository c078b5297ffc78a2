"""Gradients as explanations (paper, Section 4.1): ∇_{e_t} f of Eq. 12, reduced to one number per position.

The gradient is taken with respect to e_t, the sum of word and position vector.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limelight.explainers.method import Floats, Outcome, Request, method
from limelight.view import Gradients

_ROUNDING = 1e-6
_VANISHES = (
    "G-avg is zero up to rounding: this model normalises its embeddings, so the coordinates of every gradient cancel; "
    "use g-l2 or gxi"
)


def _reduced(request: Request, reduce: Callable[[Gradients], Floats]) -> Outcome:
    gradients = request.model.gradients(request.document, request.direction)
    return Outcome(request.per_feature(reduce(gradients), gradients.words))


@method("g-avg", label="G-avg", summary="Mean of the gradient's coordinates", needs=("gradient",), uses=("output",))
def g_avg(request: Request) -> Outcome:
    gradients = request.model.gradients(request.document, request.direction)
    weights = request.per_feature(gradients.gradients.mean(axis=1), gradients.words)
    # A constant added to all coordinates of e_t is taken out again by a layer normalisation: the mean is zero then.
    if np.abs(weights).max() <= _ROUNDING * np.abs(gradients.gradients).max():
        return Outcome(weights, notices=(_VANISHES,))
    return Outcome(weights)


@method("g-l1", label="G-l1", summary="L1 norm of the gradient", needs=("gradient",), uses=("output",), signed=False)
def g_l1(request: Request) -> Outcome:
    return _reduced(request, lambda g: np.abs(g.gradients).sum(axis=1))


@method("g-l2", label="G-l2", summary="L2 norm of the gradient", needs=("gradient",), uses=("output",), signed=False)
def g_l2(request: Request) -> Outcome:
    return _reduced(request, lambda g: np.sqrt((g.gradients**2).sum(axis=1)))


@method("gxi", label="G×I", summary="Gradient times input: e_t · ∇_{e_t} f", needs=("gradient",), uses=("output",))
def gxi(request: Request) -> Outcome:
    return _reduced(request, lambda g: (g.gradients * g.embeddings).sum(axis=1))
