"""The paper's approximations of LIME (Section 5.2, Appendix B), as methods: to be compared, not to be relied on."""

from __future__ import annotations

import numpy as np

from limelight.explainers.exact import folded_document, ratio_game, size_of_outputs
from limelight.explainers.method import Approximate, Question, Weights, method
from limelight.models.interface import FoldedView, RatioView
from limelight.theory.lime_theorem import lime_proposition, theorem_5_1

_LONG = Approximate("holds for long documents in which no word dominates")
_ROUNDING = 1e-12
"""Rounding of sums over the words of a document in float64, as a fraction of the largest output."""

lime_theorem = method(
    "lime-theorem", label="Theorem 5.1", summary="The paper's approximation of LIME for long documents (Eq. 19)"
)
lime_prop = method(
    "lime-proposition", label="Prop. B.1", summary="The finite sums behind Theorem 5.1, before its last approximations"
)


@lime_theorem.implementation(FoldedView, removal="mask", linear=True)
def eq_19(question: Question[FoldedView], *, corrected: bool = False) -> Weights:
    folded = folded_document(question)
    positions = [[i + 1 for i in group] for group in question.features.owned]
    seen = (folded.scores, folded.values, folded.removed_scores, folded.removed_values)
    rounding = _ROUNDING * float(np.abs(folded.values).max())
    return Weights(theorem_5_1(*seen, positions, 0, corrected=corrected), _LONG, rounding=rounding)


@lime_prop.implementation(RatioView, removal="mask", linear=True)
def finite_sums(question: Question[RatioView], *, corrected: bool = False) -> Weights:
    if len(question.features) == 1:  # Eq. 17 compares a word with the mean over all words, which is the word itself
        return Weights(np.zeros(1), _LONG)
    game = ratio_game(question)
    return Weights(lime_proposition(game, 0, corrected=corrected), _LONG, rounding=_ROUNDING * size_of_outputs(game))
