"""The paper's approximations of LIME (Section 5.2, Appendix B), as methods: to be compared, not to be relied on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limelight.arrays import Floats
from limelight.explainers.method import Approximate, Question, Weights, method
from limelight.theory.lime_theorem import lime_proposition, theorem_5_1
from limelight.view import FoldedView

_LONG = Approximate("holds for long documents in which no word dominates")

lime_theorem = method(
    "lime-theorem", label="Theorem 5.1", summary="The paper's approximation of LIME for long documents (Eq. 19)"
)
lime_prop = method(
    "lime-proposition", label="Prop. B.1", summary="The finite sums behind Theorem 5.1, before its last approximations"
)


def _approximation(question: Question[FoldedView], formula: Callable[..., Floats], corrected: bool) -> Weights:
    folded = question.view.folded()
    positions = [[i + 1 for i in group] for group in question.features.owned]
    seen = (folded.scores, folded.values, folded.removed_scores, folded.removed_values)
    return Weights(formula(*seen, positions, question.target, corrected=corrected), _LONG)


@lime_theorem.way(FoldedView, removal="mask", output="logit")
def eq_19(question: Question[FoldedView], *, corrected: bool = False) -> Weights:
    return _approximation(question, theorem_5_1, corrected)


@lime_prop.way(FoldedView, removal="mask", output="logit")
def finite_sums(question: Question[FoldedView], *, corrected: bool = False) -> Weights:
    if len(question.features) == 1:  # Eq. 17 compares a word with the mean over all words, which is the word itself
        return Weights(np.zeros(1), _LONG)
    return _approximation(question, lime_proposition, corrected)
