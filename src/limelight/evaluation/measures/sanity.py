"""Sanity: a method's weights must change when the model's parameters are randomised, from the top layer down.

The rank correlation of the weights with those of the randomised copy, for the same label: near 0 is as it should be,
near 1 the method does not look at what was learnt (Adebayo et al. 2018). The first texts of an evaluation are enough
for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from limelight.attribution.run import explanations
from limelight.evaluation.case import Case
from limelight.evaluation.explainer import CANNOT
from limelight.evaluation.measure import Score, measure
from limelight.evaluation.randomised import STAGES, has_parameters, randomised
from limelight.evaluation.similarity import rank_correlation
from limelight.models.interface import Classifier, View

TEXTS = 20

sanity = measure(
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
        model = randomised(case.explainer.model, stage, 1000 * case.seed + case.number)
        view = model.view(case.text)
        if not np.isfinite(view.logits).all():
            continue
        try:
            resolved = case.explainer.resolve(view, case.prediction.labels[case.target])
        except CANNOT:
            continue
        for judged in case.judged.values():
            if judged.explanation is None:
                continue
            try:
                (other,) = explanations(resolved.only(judged.name))
            except CANNOT:
                continue
            value = rank_correlation(judged.weights, other.weights)
            if math.isfinite(value):
                yield Score(case.key("sanity", stage, method=judged.name), value)
