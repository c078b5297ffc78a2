"""Sanity: a method's weights must change when the model's parameters are randomised, from the top layer down.

The rank correlation of the weights with those of the randomised copy, for the same label: near 0 is as it should be,
near 1 the method does not look at what was learnt (Adebayo et al. 2018). The first texts of an evaluation are enough
for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from limelight.evaluation.case import Case
from limelight.evaluation.measure import Measure, Score, score
from limelight.evaluation.randomised import STAGES, has_parameters, randomised
from limelight.models.interface import Classifier, View
from limelight.statistics.correlation import rank_correlation

TEXTS = 20

sanity = Measure(
    "sanity",
    label="Sanity",
    summary="How much of a method's ranking stays when the model's parameters are randomised, from the top down",
    better="lower",
    default=False,
)


@sanity.unfit
def without_parameters(model: Classifier, view: View, texts: int) -> str | None:
    return None if has_parameters(model) else "the parameters of this model are not known, so none can be randomised"


@sanity.scores
def of_methods(case: Case) -> Iterator[Score]:
    if case.number >= TEXTS or case.d < 2:
        return
    for stage in STAGES:
        view = randomised(case.plan.model, stage, 1000 * case.seed + case.number).view(case.text)
        resolved = case.resolve(view) if np.isfinite(view.logits).all() else None
        if resolved is None:
            continue
        for entry, other in case.again(resolved, case.explained):
            value = rank_correlation(entry.weights, other.weights)
            if math.isfinite(value):
                yield score(stage, value, method=entry.name)
