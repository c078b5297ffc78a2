"""Shapley and Banzhaf values: exact for a ratio game, else by sampling.

Where nothing is known of a model they are estimated (`sampling.shapley_samplers`): by a regression on pairs of
complementary coalitions, or, from few samples and for features of two levels, by random permutations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from limelight.core.arrays import whole_number
from limelight.core.memory import check_memory
from limelight.errors import ParameterError
from limelight.explainers.exact import (
    BySize,
    exact_weights,
    implement_by_size,
    ratio_game,
    too_many_repeated,
    weights_by_size,
)
from limelight.explainers.method import Exact, Question, Weights, method
from limelight.explainers.output_game import OutputGame, asked_together, by_game
from limelight.explainers.sampling.budget import Budget, Run, in_turn, sampled_weights
from limelight.explainers.sampling.sampler import Estimate
from limelight.explainers.sampling.shapley_samplers import PairedShapley, PermutedShapley, ShapleySampler
from limelight.models.interface import FoldedView, Perturbable, RatioView
from limelight.theory import values as theory
from limelight.theory.moments import DEFAULT_TOLERANCE
from limelight.theory.values import owen

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


def _by_size(*, precision: float) -> BySize:
    return BySize(theory.shapley_weights, theory.shapley_from, precision)


def exact(question: Question[RatioView | FoldedView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    groups = question.features.groups
    if groups is None or question.removal == "delete":
        return weights_by_size(question, _by_size(precision=precision))
    return exact_weights(owen(ratio_game(cast(Question[RatioView], question)), groups.members, precision))


implement_by_size(shapley, _by_size, exact, alone=lambda one: one.removal == "mask" and one.features.groups is not None)


@banzhaf.implementation(RatioView, removal="mask", linear=True)
def exact_banzhaf(question: Question[RatioView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    return exact_weights(theory.banzhaf(ratio_game(question), 0, precision))


@banzhaf.implementation(FoldedView, declines=too_many_repeated, removal="delete", linear=True)
def exact_banzhaf_deleting(question: Question[FoldedView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    return weights_by_size(question, BySize(theory.banzhaf_weights, theory.banzhaf_from, precision))


@shapley.implementation_of_many(Perturbable, uses=("removal", "output", "seed"))
def sampled(
    questions: Sequence[Question[Perturbable]],
    *,
    n_samples: int | None = None,
    until: Literal["stable"] | float | None = None,
    seconds: float | None = None,
    n_permutations: int | None = None,
    estimator: Literal["auto", "pairs", "permutations"] = "auto",
) -> list[Weights]:
    """Shapley values by sampling. `n_samples`: about so many texts the model is given, or as `n_permutations` says.

    They are 5,000, or 100,000 at most where `until` or `seconds` end the run: `until` "stable", when the five strongest
    words and their signs are stable, or a fraction of the largest weight that no standard error is to exceed. By
    default a model that is not limelight's own is asked 256 to 5,000 times, until either is so, with 5 %. Where
    fewer than six per word are given, eight are asked about. `estimator`: a regression on complementary pairs,
    permutations, or what is better for so many samples.
    """
    view = questions[0].view if n_permutations is None else None
    budget = Budget.of(n_samples, until, seconds, view)
    return in_turn(by_game(questions), lambda group: _together(group, budget, n_permutations, estimator))


def _together(
    questions: Sequence[Question[Perturbable]], budget: Budget, n_permutations: int | None, estimator: str
) -> list[Weights]:
    """Weights of questions that differ in their quantity alone: the same samples for all of them."""
    features, d = questions[0].features, len(questions[0].features)
    if n_permutations is not None or features.groups is not None:  # permutations of groups, or so many
        if estimator == "pairs":
            given = "n_permutations" if n_permutations is not None else "features of two levels"
            raise ParameterError(f"estimator='pairs' does not go with {given}: leave one of them out")
        return _by_permutations(questions, budget, n_permutations)
    if estimator == "auto":
        budget = _as_many_as_permutations(budget, d)
        estimator = "pairs" if budget.limit >= min(_PER_WORD * d, 2 ** min(d, 60)) else "permutations"
    return _by_pairs(questions, budget) if estimator == "pairs" else _by_permutations(questions, budget, None)


def _as_many_as_permutations(budget: Budget, d: int) -> Budget:
    """Budget with what the fewest permutations would ask for anyway, where that is better spent.

    Few features have no more coalitions than that. For many it is enough for pairs, with half the error.
    """
    fewest = 2 + _LEAST_PAIRS * 2 * (d - 1)
    if d < 60 and 2**d <= fewest:
        return replace(budget, limit=max(budget.limit, 2**d, 4))
    return replace(budget, limit=fewest) if d >= _MANY_WORDS and budget.limit < _PER_WORD * d else budget


def _by_pairs(questions: Sequence[Question[Perturbable]], budget: Budget) -> list[Weights]:
    """Shapley values by a regression on pairs of complementary coalitions."""
    first, d = questions[0], len(questions[0].features)
    n = whole_number("n_samples", budget.limit, 4)
    memory = n * (d + 5 * 8 * d)
    check_memory(memory, f"Shapley values with n_samples={n} and {d} features", "ask less")
    game = asked_together(questions, min(n, 2 ** min(d, 60)))
    sampler = PairedShapley(game, d, first.seed, lambda: game.noise)

    def described(estimate: Estimate, run: Run, i: int) -> Weights:
        name = "all coalitions" if sampler.is_complete else "regression on pairs"
        reached = {"n_samples": max(run.n, 4), "estimator": "pairs"} if run.was_cut else {}
        return _described(sampler, game, estimate, i, estimate.n, {"estimator": name}, {"n_samples": n, **reached})

    return sampled_weights(
        questions,
        game,
        sampler,
        budget,
        described,
        usable=_USABLE_PER_WORD * d,
        first_check=_PER_WORD * d,
        memory=memory,
    )


def _by_permutations(
    questions: Sequence[Question[Perturbable]], budget: Budget, n_permutations: int | None
) -> list[Weights]:
    """Shapley values by random permutations, each followed forwards and backwards."""
    first, features, d = questions[0], questions[0].features, len(questions[0].features)
    if budget.is_open and n_permutations is not None:
        raise ParameterError("n_permutations does not go with until or seconds: leave it out")
    pairs = _pairs(d, budget.limit, n_permutations)
    check_memory(4 * d * d, f"one order of {d} features, forwards and backwards,", "explain a shorter text")
    game = asked_together(questions, 2 + pairs * 2 * (d - 1))
    with_covariance = budget.until == "stable" or budget.ends_itself
    sampler = PermutedShapley(game, features, first.seed, with_covariance, lambda: game.noise)
    usable = 2 + _LEAST_PAIRS * sampler.per_pair

    def described(estimate: Estimate, run: Run, i: int) -> Weights:
        count, reached = 2 * sampler.pairs, {}
        if run.was_cut:
            reached = {"n_samples": run.n, "n_permutations": count, "estimator": "permutations"}
        known = {"estimator": "paired permutations", "permutations": count}
        return _described(sampler, game, estimate, i, count, known, {"n_samples": budget.limit, **reached})

    return sampled_weights(
        questions,
        game,
        sampler,
        replace(budget, limit=2 + pairs * sampler.per_pair),
        described,
        usable=usable,
        first_check=2 * usable,
        least_step=sampler.per_pair + 2,
    )


def _described(
    sampler: ShapleySampler,
    game: OutputGame,
    estimate: Estimate,
    i: int,
    outputs: int,
    diagnostics: dict[str, Any],
    settings: dict[str, Any],
) -> Weights:
    """Weights of question i; each is a difference of means over so many `outputs`."""
    ends = {"intercept": float(sampler.nothing[i]), "model_prediction": float(sampler.everything[i])}
    return Weights(
        estimate.values[:, i].copy(),
        Exact(),
        diagnostics={**diagnostics, **ends},
        rounding=float(game.rounding_of_mean(outputs, len(estimate.values))[i]),
        settings={"until": None, "seconds": None, **settings},
    )


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
