"""LIME's weights as a formula: each word in the mean of the others (docs/theory.md)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.explainers.exact import ratio_game, size_of_outputs
from limelight.explainers.method import Approximate, Question, Weights, method
from limelight.models.interface import RatioView

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
