"""The paper's approximations of LIME (Section 5.2, Appendix B), as methods: to be compared, not to be relied on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limelight.explainers.exact import MASKED_LOGIT
from limelight.explainers.method import Floats, Outcome, Request, method
from limelight.theory.lime_theorem import lime_proposition, theorem_5_1


def _approximation(request: Request, formula: Callable[..., Floats], corrected: bool) -> Outcome:
    folded = request.model.fold_document(request.document)
    owners = [[i + 1 for i in group] for group in request.features.owned]
    views = (folded.scores, folded.values, folded.removed_scores, folded.removed_values)
    return Outcome(formula(*views, owners, request.target, corrected=corrected))


@method(
    "lime-theorem",
    label="Theorem 5.1",
    summary="The paper's approximation of LIME for long documents (Eq. 19)",
    needs=("folded attention",),
    exact=False,
    only=MASKED_LOGIT,
    uses=("removal", "output"),
)
def lime_theorem(request: Request, *, corrected: bool = False) -> Outcome:
    return _approximation(request, theorem_5_1, corrected)


@method(
    "lime-proposition",
    label="Prop. B.1",
    summary="The finite sums behind Theorem 5.1, before its last approximations",
    needs=("folded attention",),
    exact=False,
    only=MASKED_LOGIT,
    uses=("removal", "output"),
)
def lime_prop(request: Request, *, corrected: bool = False) -> Outcome:
    if len(request.features) == 1:  # Eq. 17 compares a word with the mean over all words, which is the word itself
        return Outcome(np.zeros(1))
    return _approximation(request, lime_proposition, corrected)
