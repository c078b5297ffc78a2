"""Shapley and Banzhaf values: exact for a ratio game, else by sampling.

Where nothing is known of a model they are estimated: by a regression on pairs of complementary coalitions
(`shapley_pairs`), or, from few samples and for features of two levels, by random orders (`shapley_orders`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from limelight.core.arrays import whole_number
from limelight.core.memory import check_memory
from limelight.errors import NumericalError, ParameterError
from limelight.explainers.exact import (
    BySize,
    exact_deletion_of_many,
    exact_weights,
    exact_weights_of_many,
    moments_of_deletion,
    ratio_game,
    too_many_repeated,
)
from limelight.explainers.method import Exact, Question, Sampled, Weights, method
from limelight.explainers.output_game import NOISE_ALONE, asked_together, by_game
from limelight.explainers.sampling.budget import Plan, Run, draw_on, in_turn, watching
from limelight.explainers.sampling.estimate import Estimate
from limelight.explainers.sampling.shapley_pairs import PairedShapley
from limelight.explainers.sampling.shapley_permutations import PermutedShapley
from limelight.inputs.features import Features
from limelight.models.interface import FoldedView, Perturbable, RatioView
from limelight.theory import values as theory
from limelight.theory.moments import DEFAULT_TOLERANCE
from limelight.theory.owen import owen

MOST_TEXTS = 10**9
"""Texts that a model is asked about for one explanation: they are asked block by block, so time is the limit."""
_LEAST_PAIRS = 4
_USABLE_PER_WORD = 3
"""Samples per word that a regression on pairs needs to be one."""
_PER_WORD = 6
"""Samples per word from which a regression on pairs tells more than permutations do."""
_MANY_WORDS = 30
"""Words from which it does so with as many samples as the fewest permutations ask for (benchmarks/few_samples.py)."""

shapley = method(
    "shapley",
    label="Shapley",
    summary="Shapley values: they sum to f(text) - f(everything removed). Sampled where a model is no ratio game",
)
banzhaf = method(
    "banzhaf",
    label="Banzhaf",
    summary="Exact Banzhaf values: the mean effect of a word when each other one is kept or not by a fair coin",
)


def _shapley_of_many(questions: Sequence[Question[RatioView]], *, precision: float) -> list[Weights]:
    if any(question.features.groups is not None for question in questions):
        return [exact(question, precision=precision) for question in questions]
    return exact_weights_of_many(questions, _by_size(precision=precision))


def _by_size(*, precision: float) -> BySize:
    return BySize(theory.shapley_weights, theory.shapley_from, precision)


@shapley.implementation(
    RatioView, default=True, run_many=_shapley_of_many, by_size=_by_size, removal="mask", linear=True
)
def exact(question: Question[RatioView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    groups = question.features.groups
    if groups is None:
        return exact_weights(theory.shapley(ratio_game(question), 0, precision))
    return exact_weights(owen(ratio_game(question), groups.members, precision))


@banzhaf.implementation(RatioView, removal="mask", linear=True)
def exact_banzhaf(question: Question[RatioView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    return exact_weights(theory.banzhaf(ratio_game(question), 0, precision))


def _deleting_of_many(questions: Sequence[Question[FoldedView]], *, precision: float) -> list[Weights]:
    return exact_deletion_of_many(questions, theory.shapley_weights, theory.shapley_from, precision)


@shapley.implementation(
    FoldedView,
    default=True,
    run_many=_deleting_of_many,
    declines=too_many_repeated,
    removal="delete",
    linear=True,
)
def exact_deleting(question: Question[FoldedView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    weights = theory.shapley_weights(len(question.features))
    return exact_weights(theory.shapley_from(moments_of_deletion(question, weights, precision)))


@banzhaf.implementation(FoldedView, declines=too_many_repeated, removal="delete", linear=True)
def exact_banzhaf_deleting(question: Question[FoldedView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    weights = theory.banzhaf_weights(len(question.features))
    return exact_weights(theory.banzhaf_from(moments_of_deletion(question, weights, precision)))


def _sampled_of_many(questions: Sequence[Question[Perturbable]], **options: Any) -> list[Weights]:
    plan = Plan.of(options.pop("n_samples"), options.pop("until"), options.pop("seconds"))
    return in_turn(by_game(questions), lambda group: _together(group, plan, **options))


@shapley.implementation(Perturbable, uses=("removal", "output", "seed"), run_many=_sampled_of_many)
def sampled(
    question: Question[Perturbable],
    *,
    n_samples: int | None = None,
    until: Literal["stable"] | float | None = None,
    seconds: float | None = None,
    n_permutations: int | None = None,
    estimator: Literal["auto", "pairs", "permutations"] = "auto",
) -> Weights:
    """`n_samples`: texts that the model is asked about, about; `n_permutations`, where given, decides instead.

    They are 5,000, or 100,000 at most where `until` or `seconds` end the run: `until` "stable", when the five strongest
    words and their signs are settled, or a part of the largest weight that no standard error is to exceed. Where fewer
    than six per word are given, eight are asked about. `estimator`: a regression on complementary pairs, permutations,
    or what is better for so many samples.
    """
    plan = Plan.of(n_samples, until, seconds)
    return _together([question], plan, n_permutations=n_permutations, estimator=estimator)[0]


def _by_pairs(d: int, features: Features, n_samples: int, n_permutations: int | None, estimator: str) -> bool:
    """Whether pairs are asked for, or tell more; orders of groups are for permutations."""
    if n_permutations is not None or features.groups is not None:
        if estimator == "pairs":
            given = "n_permutations" if n_permutations is not None else "features of two levels"
            raise ParameterError(f"estimator='pairs' does not go with {given}: leave one of them out")
        return False
    return estimator == "pairs" or (estimator == "auto" and n_samples >= min(_PER_WORD * d, 2 ** min(d, 60)))


def _together(
    questions: Sequence[Question[Perturbable]], plan: Plan, *, n_permutations: int | None, estimator: str
) -> list[Weights]:
    """Questions that differ in their quantity: the same samples for all of them."""
    features = questions[0].features
    if estimator == "auto" and n_permutations is None and features.groups is None:
        plan = _with_as_many_as_orders(plan, len(features))
    if _by_pairs(len(features), features, plan.limit, n_permutations, estimator):
        return _from_pairs(questions, plan)
    return _from_orders(questions, plan, n_permutations)


def _with_as_many_as_orders(plan: Plan, d: int) -> Plan:
    """A plan with what the fewest orders would ask for anyway, where that is better spent.

    Of few features it is all coalitions. Of many it is enough for a regression on pairs, with half of the error.
    """
    orders = 2 + _LEAST_PAIRS * 2 * (d - 1)
    if d < 60 and 2**d <= orders:
        return replace(plan, limit=max(plan.limit, 2**d, 4))
    return replace(plan, limit=orders) if d >= _MANY_WORDS and plan.limit < _PER_WORD * d else plan


def _from_pairs(questions: Sequence[Question[Perturbable]], plan: Plan) -> list[Weights]:
    """By a regression on pairs of complementary coalitions."""
    first, d = questions[0], len(questions[0].features)
    whole_number("n_samples", plan.limit, 4)
    memory = plan.limit * (d + 5 * 8 * d)
    check_memory(memory, f"Shapley values with n_samples={plan.limit} and {d} features", "ask less")
    game = asked_together(questions, min(plan.limit, 2 ** min(d, 60)))
    samples = PairedShapley(game, d, first.seed, lambda: game.noise)

    def answers(done: Run) -> list[Weights]:
        estimate = samples.estimate()
        _check_finite(estimate)
        complete = {"complete": True} if estimate.complete else NOISE_ALONE if samples.is_complete else {}
        settings: dict[str, Any] = {"n_samples": plan.limit, "until": None, "seconds": None}
        if done.was_cut:
            settings |= {"n_samples": max(done.n, 4), "estimator": "pairs"}
        return [
            Weights(
                estimate.values[:, i].copy(),
                Exact() if estimate.complete else Sampled(estimate.stderr[:, i].copy(), freedom=estimate.freedom),
                diagnostics={
                    "estimator": "all coalitions" if samples.is_complete else "regression on pairs",
                    "intercept": float(samples.nothing[i]),
                    "model_prediction": float(samples.everything[i]),
                    **complete,
                    **game.noise_of(i),
                    **done.diagnostics(i),
                    **game.precision(i, d),
                },
                evaluations=game.asked,
                notices=(*game.notices, *done.notices(i)),
                rounding=float(game.rounding_of_mean(estimate.n, d)[i]),
                warnings=(*game.warnings_of(i), *done.warnings(i)),
                settings=settings,
            )
            for i in range(len(questions))
        ]

    done = draw_on(
        samples,
        plan,
        step=game.step,
        usable=_USABLE_PER_WORD * d,
        first_look=_PER_WORD * d,
        progress=first.progress,
        memory=memory,
        watch=watching(questions, answers),
    )
    return done.handed_over(answers(done))


def _from_orders(questions: Sequence[Question[Perturbable]], plan: Plan, n_permutations: int | None) -> list[Weights]:
    """By random orders, each followed forwards and backwards."""
    first, features = questions[0], questions[0].features
    d = len(features)
    if plan.is_open and n_permutations is not None:
        raise ParameterError("n_permutations does not go with until or seconds: leave it out")
    pairs = _pairs(d, plan.limit, n_permutations)
    check_memory(4 * d * d, f"one order of {d} features, forwards and backwards,", "explain a shorter text")
    game = asked_together(questions, 2 + pairs * 2 * (d - 1))
    samples = PermutedShapley(game, features, first.seed, plan.until == "stable", lambda: game.noise)
    whole, usable = replace(plan, limit=2 + pairs * samples.per_pair), 2 + _LEAST_PAIRS * samples.per_pair

    def answers(done: Run) -> list[Weights]:
        estimate, of_groups = samples.estimate(), samples.group_stderr()
        _check_finite(estimate)
        settings: dict[str, Any] = {"n_samples": plan.limit, "until": None, "seconds": None}
        if done.was_cut:
            settings |= {"n_samples": done.n, "n_permutations": 2 * samples.pairs, "estimator": "permutations"}
        return [
            Weights(
                estimate.values[:, i].copy(),
                Sampled(estimate.stderr[:, i].copy(), freedom=samples.pairs),
                diagnostics={
                    "estimator": "paired permutations",
                    "permutations": 2 * samples.pairs,
                    "intercept": float(samples.nothing[i]),
                    "model_prediction": float(samples.everything[i]),
                    **game.noise_of(i),
                    **done.diagnostics(i),
                    **game.precision(i, d),
                },
                evaluations=game.asked,
                notices=(*game.notices, *done.notices(i)),
                group_stderr=None if of_groups is None else of_groups[:, i].copy(),
                rounding=float(game.rounding_of_mean(2 * samples.pairs, d)[i]),
                warnings=(*game.warnings_of(i), *done.warnings(i)),
                settings=settings,
            )
            for i in range(len(questions))
        ]

    done = draw_on(
        samples,
        whole,
        step=max(game.step, samples.per_pair + 2),
        usable=usable,
        first_look=2 * usable,
        progress=first.progress,
        watch=watching(questions, answers),
    )
    return done.handed_over(answers(done))


def _check_finite(estimate: Estimate) -> None:
    if not np.isfinite(estimate.values).all():
        raise NumericalError("the model gave outputs that are not finite: check its weights")


def _pairs(d: int, n_samples: int, n_permutations: int | None) -> int:
    whole_number("n_samples", n_samples, 2)
    per_pair = 2 * max(d - 1, 1)
    if n_permutations is None:
        name, asked, pairs = "n_samples", n_samples, max(_LEAST_PAIRS, round(min(n_samples, 10**15) / per_pair))
    else:
        name, asked = "n_permutations", whole_number("n_permutations", n_permutations, 2)
        pairs = max(2, (asked + 1) // 2)
    if pairs * per_pair > max(MOST_TEXTS, _LEAST_PAIRS * per_pair):
        raise ParameterError(
            f"{name}={asked} asks the model about more than {MOST_TEXTS:,} texts of {d} features, which takes days and "
            "changes no digit that is shown: ask for less"
        )
    return pairs
