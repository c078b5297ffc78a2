"""LIME's weights as formulas (docs/theory.md): the mean field, where each word stands in the mean of the others; and
the paper's approximations (Section 5.2, Appendix B), to be compared, not to be relied on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.explainers.exact import folded_document, ratio_game, size_of_outputs
from limelight.explainers.method import Approximate, Question, Weights, method
from limelight.models.interface import FoldedView, RatioView
from limelight.theory.lime_theorem import lime_proposition, theorem_5_1

if TYPE_CHECKING:
    from limelight.theory.mean_field import MeanField


DEFAULT_DOMINANT = 2
"""Dominant words per head: enough for a median error of 4 % on the paper's trained model (docs/theory.md)."""

ENOUGH = 1.5
"""The first term that is left out is a typical error, exceeded on most texts. 1.5 times it was above the true one on
98 % of 400 reviews of IMDB's training set, which it was chosen on, and on 98 % of 400 of the test set (embedded model,
two dominant words per head, benchmarks/mean_field.py); with one dominant word on 88 %, with none on 55 %."""

lime_mean = method(
    "lime-mean-field",
    label="LIME, mean field",
    summary="A formula for LIME's weights: each word in the mean of the others, beside each head's dominant words",
)
_NOTE = Approximate("neglects how words vary together, but for the dominant words of each head")


@lime_mean.implementation(RatioView, removal="mask", linear=True)
def mean_field(
    question: Question[RatioView],
    *,
    n_samples: float = 5000,
    kernel_width: float = 0.25,
    ridge: float = 1.0,
    dominant: int = DEFAULT_DOMINANT,
) -> Weights:
    from limelight.theory.mean_field import INTERPOLATION, lime_mean_field  # a list of methods does without

    game = ratio_game(question)
    result = lime_mean_field(game, 0, n_samples, kernel_width, ridge, dominant)
    return Weights(
        result.values, _NOTE, diagnostics=_diagnostics(result), rounding=INTERPOLATION * size_of_outputs(game)
    )


def _diagnostics(result: MeanField) -> dict[str, Any]:
    """Numbers for the whole document; per feature they are fields of `MeanField`.

    `error_estimate`: `ENOUGH` times the first term that the formula leaves out, over the norm of LIME's limit: the
    distance from it is below that on nearly all texts, and it is no bound. `parts`: Σ_j part_j β_j / Σ_j β_j² for each
    part, which add up to 1. `others_beside_dominant`: how much the heads make of all other words while their first
    dominant word is kept, over the same while it is removed. None where there is nothing to divide by.
    """
    unit = float(np.abs(result.values).max()) or 1.0  # squares of extreme numbers are out of range
    beta, parts = result.values / unit, {"attention": result.attention, "value": result.value, "level": result.level}
    squares = float(beta @ beta)
    return {
        "error_estimate": _finite(ENOUGH * result.error_estimate),
        "parts": {name: _finite(_quotient(float(part / unit @ beta), squares)) for name, part in parts.items()},
        "others_beside_dominant": _finite(
            _quotient(_norm(result.beside_kept[:, :1]), _norm(result.beside_removed[:, :1]))
        ),
    }


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0.0 else math.nan


def _norm(values: Floats) -> float:
    """The norm, in units of the largest: squares of extreme numbers are out of range."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest * float(np.linalg.norm(values / largest)) if 0.0 < largest < math.inf else largest


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


# ── the paper's formulas ──────────────────────────────────────────────────────────────────────────────────────────────


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
