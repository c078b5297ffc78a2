"""What the exact values of a ratio game share: they exist for masked words and for logits (docs/theory.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from limelight.arrays import Floats
from limelight.explainers.method import Bounded, Question, Weights
from limelight.theory.moments import Moments
from limelight.theory.values import ExactValues, moments_of_many
from limelight.view import RatioView


def exact_weights(values: ExactValues) -> Weights:
    """The bound covers quadrature and rounding; the model itself was not asked."""
    diagnostics: dict[str, float | int] = {"nodes": values.nodes}
    if values.intercept is not None:
        diagnostics["intercept"] = values.intercept
    return Weights(values.values, Bounded(values.error), diagnostics=diagnostics)


def exact_weights_of_many(
    questions: Sequence[Question[RatioView]],
    size_weights: Callable[[int], Floats],
    values_from: Callable[[Moments], ExactValues],
    precision: float,
) -> list[Weights]:
    """Many documents in one pass of the recursion, on the device that their model lives on.

    `size_weights` of a number of features; `values_from` the moments with these weights.
    """
    games = [question.view.ratio_game(question.features) for question in questions]
    weights = [size_weights(game.n_features) for game in games]
    targets = [question.target for question in questions]
    questions[0].progress.begin("exact values", len(questions))
    moments = moments_of_many(games, targets, weights, precision, questions[0].view.device)
    questions[0].progress.advance(len(questions))
    return [exact_weights(values_from(own)) for own in moments]
