"""Exact values of a ratio game: they exist for masked and for deleted words, and for logits (docs/theory.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from limelight.core.arrays import Floats
from limelight.core.threads import one_thread
from limelight.explainers.method import Bounded, Method, Question, Weights
from limelight.explainers.output_game import narrowed
from limelight.inputs.features import Features
from limelight.models.interface import FoldedView, RatioView, RatioViewAlong
from limelight.theory.moments import MOST_REPEATED, Moments
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import ExactValues, moments_of_many, moments_of_one

if TYPE_CHECKING:  # it brings torch along, which a list of methods does without
    from limelight.theory.folding import FoldedDocument


def ratio_game(question: Question[RatioView]) -> RatioGame:
    """The game of masking features, with the quantity of the question as its one class."""
    question = narrowed(question)
    if isinstance(question.view, RatioViewAlong):
        return question.view.ratio_game_along(question.features, question.direction)
    return question.view.ratio_game(question.features).along(question.direction)


def folded_document(question: Question[FoldedView]) -> FoldedDocument:
    """Scores and values of the document, with the quantity of the question as its one class."""
    question = narrowed(question)
    return question.view.folded().along(question.direction)


def size_of_outputs(game: RatioGame) -> float:
    """The larger of the outputs for the text and for nothing: what a formula is rounded in parts of."""
    ends = np.stack([np.ones(game.n_features, dtype=bool), np.zeros(game.n_features, dtype=bool)])
    return float(np.abs(game.evaluate(ends)).max())


def exact_weights(values: ExactValues) -> Weights:
    """The bounds, of weights and intercept, cover quadrature and rounding; the model itself was not asked."""
    said = {"nodes": values.nodes, "intercept": values.intercept, "intercept_error": values.intercept_error}
    diagnostics = {name: value for name, value in said.items() if value is not None}
    return Weights(values.values, Bounded(values.error), diagnostics=diagnostics)


def too_many_repeated(features: Features) -> str | None:
    """Why exact values for deleted words are not for these features."""
    repeated = sum(len(words) > 1 for words in features.owned)
    if repeated <= MOST_REPEATED:
        return None
    return (
        f"for removal='delete' takes at most {MOST_REPEATED} words that stand in several places, and this text has "
        f"{repeated}: use features='occurrences', or removal='mask'"
    )


@dataclass(frozen=True)
class BySize:
    """Values that follow from means by size: the weights of the sizes for d features, and the values of the moments
    whose row of weights it is."""

    size_weights: Callable[[int], Floats]
    values_from: Callable[[Moments, int], ExactValues]
    precision: float


def weights_by_size(question: Question[RatioView | FoldedView], rule: BySize) -> Weights:
    """Weights of one text, with words masked or deleted as the question says."""
    size_weights = rule.size_weights(len(question.features))
    if question.removal == "delete":
        from limelight.theory.deletion import deletion_moments  # it brings torch along

        folded = folded_document(cast(Question[FoldedView], question))
        with one_thread():
            moments = deletion_moments(folded, 0, question.features.owned, size_weights, rule.precision)
    else:
        moments = moments_of_one(ratio_game(cast(Question[RatioView], question)), 0, size_weights, rule.precision)
    return exact_weights(rule.values_from(moments, 0))


def implement_by_size(
    method: Method,
    rule: Callable[..., BySize],
    run: Callable[..., Weights],
    alone: Callable[[Question[Any]], bool] = lambda question: False,
) -> None:
    """Register `run` for masked and for deleted words; `rule` says from its options what follows from the means.

    Many texts are computed together, but for those that `run` answers otherwise (`alone`).
    """

    def run_many(questions: Sequence[Question[Any]], **options: Any) -> list[Weights]:
        if any(map(alone, questions)):
            return [run(question, **options) for question in questions]
        if questions[0].removal == "delete":
            return _deleting_of_many(questions, rule(**options))
        return exact_weights_of_several(questions, [rule(**options)])[0]

    method.implementation(RatioView, default=True, run_many=run_many, by_size=rule, removal="mask", linear=True)(run)
    method.implementation(
        FoldedView,
        name=f"{run.__name__}_deleting",
        default=True,
        run_many=run_many,
        declines=too_many_repeated,
        removal="delete",
        linear=True,
    )(run)


def _deleting_of_many(questions: Sequence[Question[FoldedView]], rule: BySize) -> list[Weights]:
    """Many documents: together on a GPU where each word is a feature of its own, else one after the other."""
    device = questions[0].view.device
    single = all(len(words) == 1 for q in questions for words in q.features.owned)
    complete = all(len(q.features) == len(q.document.words) for q in questions)
    questions[0].progress.begin("exact values", len(questions))
    if device.startswith("cpu") or not (single and complete):
        found = []
        for question in questions:
            found.append(weights_by_size(question, rule))
            question.progress.advance()
        return found
    from limelight.theory.deletion import DeletionGame
    from limelight.theory.moments_torch import deletion_moments_of_many  # torch takes seconds to import

    games = [DeletionGame.of(folded_document(question), 0) for question in questions]
    weights = [rule.size_weights(len(question.features)) for question in questions]
    moments = deletion_moments_of_many(games, weights, rule.precision, device=device)
    questions[0].progress.advance(len(questions))
    return [exact_weights(rule.values_from(own, 0)) for own in moments]


def exact_weights_of_several(
    questions: Sequence[Question[RatioView]], rules: Sequence[BySize], memory_bytes: int | None = None
) -> list[list[Weights]]:
    """For each rule the weights of all documents: the rules share the recursion, at the finest of their precisions."""
    games = [ratio_game(question) for question in questions]
    sizes = {game.n_features for game in games}
    by_size = {d: np.stack([rule.size_weights(d) for rule in rules]) for d in sizes}
    precision = min(rule.precision for rule in rules)
    questions[0].progress.begin("exact values", len(questions))
    moments = moments_of_many(
        games,
        [0] * len(games),
        [by_size[game.n_features] for game in games],
        precision,
        questions[0].view.device,
        memory_bytes,
    )
    questions[0].progress.advance(len(questions))
    return [[exact_weights(rule.values_from(own, row)) for own in moments] for row, rule in enumerate(rules)]
