"""Shapley and Banzhaf values: exact for a ratio game, else by sampling.

A word's Shapley value is what it adds when words arrive one by one in random order, on average over all orders. Where
nothing is known of a model, orders are drawn, and each is followed forwards and backwards: what is nearly additive
cancels between the two (antithetic sampling). Within an order the parts add up to f(text) - f(nothing), so the values
do too, exactly and whatever was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from limelight.arrays import Coalitions, Floats, Integers, whole_number
from limelight.errors import NumericalError, ParameterError
from limelight.explainers.exact import (
    exact_deletion_of_many,
    exact_weights,
    exact_weights_of_many,
    moments_of_deletion,
    ratio_game,
    too_many_repeated,
)
from limelight.explainers.method import Exact, Question, Sampled, Weights, asked_together, by_game, method
from limelight.explainers.sampling import arrivals
from limelight.explainers.shapley_pairs import PairedShapley
from limelight.features import Features
from limelight.memory import check_memory
from limelight.theory import values as theory
from limelight.theory.moments import DEFAULT_TOLERANCE
from limelight.theory.owen import owen
from limelight.view import FoldedView, Perturbable, RatioView

_ROWS_AT_ONCE = 8192
"""Coalitions asked for at once: bounds the memory for any number of permutations."""
MOST_TEXTS = 10**9
"""Texts that a model is asked about for one explanation: they are asked block by block, so time is the limit."""
_LEAST_PAIRS = 4
_PER_WORD = 6
"""Samples per word from which a regression on pairs tells more than permutations do."""
_INSIDE = 0.95
"""What an interval of ±1.96 standard errors is to cover."""

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
    return exact_weights_of_many(questions, theory.shapley_weights, theory.shapley_from, precision)


@shapley.way(RatioView, default=True, many=_shapley_of_many, removal="mask", linear=True)
def exact(question: Question[RatioView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    groups = question.features.groups
    if groups is None:
        return exact_weights(theory.shapley(ratio_game(question), 0, precision))
    return exact_weights(owen(ratio_game(question), groups.members, precision))


@banzhaf.way(RatioView, removal="mask", linear=True)
def exact_banzhaf(question: Question[RatioView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    return exact_weights(theory.banzhaf(ratio_game(question), 0, precision))


def _deleting_of_many(questions: Sequence[Question[FoldedView]], *, precision: float) -> list[Weights]:
    return exact_deletion_of_many(questions, theory.shapley_weights, theory.shapley_from, precision)


@shapley.way(
    FoldedView,
    default=True,
    many=_deleting_of_many,
    declines=too_many_repeated,
    removal="delete",
    linear=True,
)
def exact_deleting(question: Question[FoldedView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    weights = theory.shapley_weights(len(question.features))
    return exact_weights(theory.shapley_from(moments_of_deletion(question, weights, precision)))


@banzhaf.way(FoldedView, declines=too_many_repeated, removal="delete", linear=True)
def exact_banzhaf_deleting(question: Question[FoldedView], *, precision: float = DEFAULT_TOLERANCE) -> Weights:
    weights = theory.banzhaf_weights(len(question.features))
    return exact_weights(theory.banzhaf_from(moments_of_deletion(question, weights, precision)))


def _sampled_of_many(questions: Sequence[Question[Perturbable]], **options: Any) -> list[Weights]:
    return [weights for group in by_game(questions) for weights in _together(group, **options)]


@shapley.way(Perturbable, uses=("removal", "output", "seed"), many=_sampled_of_many)
def sampled(
    question: Question[Perturbable],
    *,
    n_samples: int = 5000,
    n_permutations: int | None = None,
    estimator: Literal["auto", "pairs", "permutations"] = "auto",
) -> Weights:
    """`n_samples`: texts that the model is asked about, about; `n_permutations`, where given, decides instead.

    `estimator`: a regression on complementary pairs, permutations, or what is better for so many samples.
    """
    return _together([question], n_samples=n_samples, n_permutations=n_permutations, estimator=estimator)[0]


def _by_pairs(d: int, features: Features, n_samples: int, n_permutations: int | None, estimator: str) -> bool:
    """Whether pairs are asked for, or tell more; orders of groups are for permutations."""
    if n_permutations is not None or features.groups is not None:
        if estimator == "pairs":
            given = "n_permutations" if n_permutations is not None else "features of two levels"
            raise ParameterError(f"estimator='pairs' does not go with {given}: leave one of them out")
        return False
    return estimator == "pairs" or (estimator == "auto" and n_samples >= min(_PER_WORD * d, 2 ** min(d, 60)))


def _from_pairs(questions: Sequence[Question[Perturbable]], n_samples: int) -> list[Weights]:
    """By a regression on pairs of complementary coalitions."""
    first, d = questions[0], len(questions[0].features)
    whole_number("n_samples", n_samples, 4)
    check_memory(n_samples * (d + 5 * 8 * d), f"Shapley values with n_samples={n_samples} and {d} features", "ask less")
    game = asked_together(questions, min(n_samples, 2 ** min(d, 60)))
    samples = PairedShapley(game, d, first.seed)
    samples.extend(n_samples)
    estimate = samples.estimate()
    if not np.isfinite(estimate.values).all():
        raise NumericalError("the model gave outputs that are not finite: check its weights")
    complete = {"complete": True} if estimate.complete else {}
    return [
        Weights(
            estimate.values[:, i].copy(),
            Exact() if estimate.complete else Sampled(estimate.stderr[:, i].copy()),
            diagnostics={
                "estimator": "all coalitions" if estimate.complete else "regression on pairs",
                "intercept": float(samples.nothing[i]),
                "model_prediction": float(samples.everything[i]),
                **complete,
            },
            evaluations=game.asked,
            notices=game.notices,
            rounding=float(game.rounding_of_mean(estimate.n, d)[i]),
            warnings=game.warnings,
        )
        for i in range(len(questions))
    ]


def _together(
    questions: Sequence[Question[Perturbable]], *, n_samples: int, n_permutations: int | None, estimator: str
) -> list[Weights]:
    """Questions that differ in their quantity: the same samples for all of them."""
    features, seed = questions[0].features, questions[0].seed
    d, groups = len(features), features.membership
    whole_number("n_samples", n_samples, 2)
    if _by_pairs(d, features, n_samples, n_permutations, estimator):
        return _from_pairs(questions, n_samples)
    pairs = _pairs(d, n_samples, n_permutations)
    check_memory(4 * d * d, f"one order of {d} features, forwards and backwards,", "explain a shorter text")
    game, rng = asked_together(questions, 2 + pairs * 2 * (d - 1)), np.random.default_rng(seed)
    nothing, everything = game(np.stack([np.zeros(d, dtype=bool), np.ones(d, dtype=bool)]))
    summed = np.zeros((d, 0)) if groups is None else groups
    mean, squares = (np.zeros((d + summed.shape[1], len(questions))) for _ in range(2))
    done = 0
    for block in paired_values(game, features, pairs, rng, nothing, everything):
        for own in block:  # Welford's recursion: no sum of squares that cancels
            value = np.concatenate([own, summed.T @ own])
            done += 1
            step = value - mean
            mean += step / done
            squares += step * (value - mean)
    if not np.isfinite(mean).all():
        raise NumericalError("the model gave outputs that are not finite: check its weights")
    return [
        Weights(
            mean[:d, i].copy(),
            Sampled(_stderr(squares[:d, i], pairs, d), freedom=pairs),
            diagnostics={
                "estimator": "paired permutations",
                "permutations": 2 * pairs,
                "intercept": float(nothing[i]),
                "model_prediction": float(everything[i]),
            },
            evaluations=game.asked,
            notices=game.notices,
            group_stderr=None if groups is None else _stderr(squares[d:, i], pairs, d),
            rounding=float(game.rounding_of_mean(2 * pairs, d)[i]),
            warnings=game.warnings,
        )
        for i in range(len(questions))
    ]


def _stderr(squares: Floats, pairs: int, d: int) -> Floats:
    """A pair holds all orders of two words."""
    return np.zeros(len(squares)) if d <= 2 else stderr_of_pairs(squares, pairs)


def stderr_of_pairs(squares: Floats, pairs: int) -> Floats:
    """From the sums of squared deviations of each word over the pairs, so that ±1.96 of it covers 95 %.

    Few pairs know their own spread badly: most may miss the one order in which a word matters. Each word's variance
    therefore counts the typical deviation of all words as one observation more, and is widened by Student's factor.
    Typical is the mean of standard deviations: the mean of variances belongs to a few strong words and makes the
    intervals of all others too wide (98 % covered with four pairs), the median too narrow where one word rules (91 %).
    """
    typical = np.sqrt(squares / (pairs - 1)).mean() ** 2
    variance = (squares + typical) / pairs
    return np.sqrt(variance / pairs) * student_factor(pairs)


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


Orders = Callable[[np.random.Generator, int], Integers]
"""Draws so many orders of the features: (n, d)."""


def orders_of(features: Features) -> Orders:
    """All orders alike; or, with groups, the groups in any order and the features of a group in any order within it.

    The mean over such orders is the Owen value: the values of a group's features add up to the group's own.
    """
    d, groups = len(features), features.groups
    if groups is None:
        return lambda rng, n: rng.permuted(np.broadcast_to(np.arange(d), (n, d)), axis=1)
    owners, count = groups.owners(d), len(groups.members)

    def nested(rng: np.random.Generator, n: int) -> Integers:
        places = rng.permuted(np.broadcast_to(np.arange(count), (n, count)), axis=1)
        return np.argsort(places[:, owners] + rng.random((n, d)), axis=1)

    return nested


def paired_values(
    game: Callable[[Coalitions], Floats],
    features: Features,
    pairs: int,
    rng: np.random.Generator,
    nothing: Floats,
    everything: Floats,
) -> Iterator[Floats]:
    """What each feature adds to m outputs, mean over an order and its reverse: (pairs of a block, d, m), by blocks.

    `game` answers coalitions (n, d) with outputs (n, m); `nothing` and `everything` (m,) are known.
    """
    d, m, draw = len(features), len(nothing), orders_of(features)
    at_once = max(1, _ROWS_AT_ONCE // (2 * max(d - 1, 1)))
    for start in range(0, pairs, at_once):
        count = min(at_once, pairs - start)
        orders = draw(rng, count)
        both = np.stack([orders, orders[:, ::-1]], axis=1).reshape(2 * count, d)
        outputs = np.empty((2 * count, d + 1, m))
        outputs[:, 0], outputs[:, d] = nothing, everything
        if d > 1:
            outputs[:, 1:d] = game(arrivals(both)).reshape(2 * count, d - 1, m)
        added = np.empty((2 * count, d, m))
        np.put_along_axis(added, both[:, :, None], np.diff(outputs, axis=1), axis=1)
        yield added.reshape(count, 2, d, m).mean(axis=1)


def student_factor(freedom: int) -> float:
    """How much wider Student's 95 % interval is than the normal one."""
    from scipy.special import ndtri, stdtrit  # only sampling needs it, and it takes a tenth of a second to import

    upper = (1.0 + _INSIDE) / 2.0
    return float(stdtrit(freedom, upper) / ndtri(upper))
