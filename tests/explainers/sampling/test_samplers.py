"""Efficient samplers: the estimand of the official ones, smaller errors, told truly; any cut gives the same bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.errors import ParameterError
from limelight.explainers.sampling.control_variates import OddColumns
from limelight.explainers.sampling.lime_sampler import LimeSampler
from limelight.explainers.sampling.regression import augmented_fit
from limelight.explainers.sampling.shapley_samplers import PairedShapley
from limelight.theory.control_games import sign_moments, size_weights
from limelight.theory.lime_kernel import kernel_by_size
from limelight.theory.values import lime_limit, shapley
from reference.enumeration import random_game
from reference.opaque import Answering, Opaque

LONG = "the film was great but too long and the end is bad , it s a very good film not bad !"
COVERED = (0.925, 0.995)
"""Of 95 %. With as many columns as samples errors are told too large rather than too small."""


def saturating(d: int, seed: int = 0) -> Any:
    """A game that bends and in which words act together: (n, d) to (n, 1)."""
    rng = np.random.default_rng(seed)
    c, W = rng.normal(size=d) / np.sqrt(d) * 2.0, rng.normal(size=(d, d)) / d
    # Sums row by row: products of matrices round otherwise for other numbers of rows.
    return lambda kept: np.tanh((kept * c).sum(axis=1) + ((kept[:, :, None] & kept[:, None]) * W).sum((1, 2)) - 0.3)[
        :, None
    ]


def exact_lime(game: Any, d: int, kernel_width: float, ridge: float) -> np.ndarray:
    """By enumeration: LimeSampler asks all coalitions of a short text."""
    samples = LimeSampler(game, d, 0, kernel_width, ridge)
    samples.extend(2**d)
    return samples.estimate().values[:, 0]


@pytest.mark.parametrize(("n", "kernel_width", "ridge"), [(5000, 0.25, 1.0), (1500, 1.0, 0.0), (3000, 0.5, 10.0)])
def test_all_coalitions_of_a_short_text_give_the_limit(n: int, kernel_width: float, ridge: float) -> None:
    game = random_game(seed=2, d=10, heads=2, ratio=50.0).along(np.array([1.0, 0.0, -1.0]))
    samples = LimeSampler(game.evaluate, 10, 0, kernel_width, ridge, ridge_samples=n)
    samples.extend(2**10)
    estimate = samples.estimate()
    limit = lime_limit(game, 0, n, kernel_width, ridge).values
    np.testing.assert_allclose(estimate.values[:, 0], limit, rtol=0, atol=1e-9 * np.abs(limit).max())
    assert estimate.complete
    assert (estimate.stderr == 0).all()
    values = PairedShapley(game.evaluate, 10, 0)
    values.extend(n)
    np.testing.assert_allclose(values.estimate().values[:, 0], shapley(game, 0).values, rtol=0, atol=1e-9)


def test_odd_columns_have_the_values_of_enumeration() -> None:
    """Shapley values of every column, from all coalitions; LIME's are in test_cross_fitting.py."""
    rng, d = np.random.default_rng(0), 8
    kept = rng.random((200, d)) < 0.7
    signs = np.where(kept, 1.0, -1.0)
    odd = OddColumns.guessed(signs, saturating(d)(kept)[:, 0] - saturating(d)(~kept)[:, 0], np.ones(200))
    assert odd is not None
    assert np.ptp(odd.c, axis=0).max() > 1e-3, "all folds have the same line"
    odd = replace(odd, c=np.repeat(odd.c[:1], len(odd.c), axis=0))
    values = odd.values()
    for k in range(0, values.shape[0], 3):
        samples = PairedShapley(lambda rows, k=k: odd.of(np.where(rows, 1.0, -1.0))[:, [k]], d, 0)
        samples.extend(2**d)
        by_all = samples.estimate().values[:, 0]
        np.testing.assert_allclose(values[k], by_all - by_all.mean(), rtol=0, atol=1e-9)
    assert sign_moments(d).shape == (5, d - 1)
    assert size_weights(d).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("sampler", [LimeSampler, PairedShapley])
def test_the_same_total_gives_the_same_bytes_however_it_was_cut(sampler: Any) -> None:
    game = saturating(20)
    rest = (0.25, 1.0) if sampler is LimeSampler else ()
    whole, cut = (sampler(game, 20, 7, *rest) for _ in range(2))
    whole.extend(900)
    for n in (100, 101, 500, 500, 899, 900):
        cut.extend(n)
    assert whole.n == cut.n
    for one, other in ((whole.estimate(), cut.estimate()),):
        assert one.values.tobytes() == other.values.tobytes()
        assert one.stderr.tobytes() == other.stderr.tobytes()
        np.testing.assert_allclose(np.sqrt(np.diag(one.covariance(0))), one.stderr[:, 0], rtol=1e-4)


@pytest.mark.parametrize("n", [150, 600])
def test_errors_are_smaller_than_official_and_told_truly(n: int) -> None:
    """On a game of 13 words whose limits are known from all 8,192 coalitions."""
    d, game = 13, saturating(13, 4)
    model = Answering(lambda kept: np.tile(game(kept), (1, 3)) * np.array([0.0, 0.0, 1.0]))
    text = " ".join(f"w{i}" for i in range(d))
    exact = exact_lime(game, d, 0.25, 0.0)
    errors: dict[str, list[float]] = {"efficient": [], "official": []}
    inside = []
    for seed in range(40):
        for sampling in errors:
            e = limelight.explain(
                model, text, "lime", target="positive", sampling=sampling, n_samples=n, ridge=1e-9, seed=seed
            )
            errors[sampling].append(float(((e.weights - exact) ** 2).sum()))
            if sampling == "efficient":
                assert e.stderr is not None
                inside.append(np.mean(np.abs(e.weights - exact) <= 1.96 * e.stderr))
    assert np.mean(errors["efficient"]) < 0.6 * np.mean(errors["official"])
    assert COVERED[0] < np.mean(inside) < COVERED[1]


@pytest.mark.parametrize("n", [150, 600])
def test_shapley_values_by_pairs_beat_permutations_and_their_errors_are_true(n: int) -> None:
    d, game = 13, saturating(13, 5)
    model = Answering(lambda kept: np.tile(game(kept), (1, 3)) * np.array([0.0, 0.0, 1.0]))
    text = " ".join(f"w{i}" for i in range(d))
    every = PairedShapley(game, d, 0)
    every.extend(2**d)
    exact = every.estimate().values[:, 0]
    errors: dict[str, list[float]] = {"pairs": [], "permutations": []}
    inside = []
    for seed in range(40):
        for estimator in errors:
            e = limelight.explain(
                model, text, "shapley", target="positive", estimator=estimator, n_samples=n, seed=seed
            )
            errors[estimator].append(float(((e.weights - exact) ** 2).sum()))
            assert e.weights.sum() == pytest.approx(exact.sum(), abs=1e-9)
            if estimator == "pairs":
                assert e.stderr is not None
                assert e.evaluations is not None
                assert e.evaluations <= n
                inside.append(np.mean(np.abs(e.weights - exact) <= 1.96 * e.stderr))
    assert np.mean(errors["pairs"]) < 0.7 * np.mean(errors["permutations"])
    assert COVERED[0] < np.mean(inside) < COVERED[1]


@pytest.mark.parametrize(("words", "estimator"), [(29, "paired permutations"), (30, "regression on pairs")])
def test_few_samples_are_as_many_as_the_fewest_orders_ask_for(words: int, estimator: str) -> None:
    text, model = " ".join(f"w{j}" for j in range(words)), Opaque(model=limelight.load())
    e = limelight.explain(model, text, "shapley", features="occurrences", n_samples=2 * words)
    assert e.diagnostics["estimator"] == estimator
    assert e.evaluations == 2 + 8 * (words - 1)
    assert e.stderr is not None
    assert np.isfinite(e.stderr).all()
    again = limelight.explain(model, text, "shapley", features="occurrences", n_samples=e.parameters["n_samples"])
    assert (again.weights == e.weights).all()


def test_few_samples_have_few_columns_and_are_better_too() -> None:
    """As many columns as for thousands of samples, or none, had 2 to 4 times the squared error."""
    text = "The plot is thin and the end is weak , but what a wonderful cast , and the music is great"
    model, target, words = limelight.load(), ("positive", "negative"), {"features": "occurrences"}
    opaque = Opaque(model=model)
    limit, of_80 = (
        limelight.explain(model, text, "lime-limit", target=target, n_samples=n, **words).weights for n in (5000, 80)
    )
    values = limelight.explain(model, text, "shapley", target=target, **words).weights

    def error(method: str, truth: np.ndarray, **options: Any) -> float:
        asked = {"target": target, "output": "logit", **words, **options}
        found = [limelight.explain(opaque, text, method, seed=seed, **asked).weights for seed in range(12)]
        return float(np.mean([((own - truth) ** 2).sum() for own in found]))

    assert len(values) == 21
    few = error("lime", limit, n_samples=80)
    assert few < 0.4 * error("lime", of_80, n_samples=80, sampling="official")
    pairs = error("shapley", values, n_samples=162, estimator="pairs")
    assert pairs < 0.6 * error("shapley", values, n_permutations=8)  # asks for as many


def test_an_additive_game_is_found_to_the_last_digits() -> None:
    """Products in float32 are followed by steps that find the lost digits again."""
    c = np.random.default_rng(3).normal(size=30)
    lime = LimeSampler(lambda kept: (5.0 + kept @ c)[:, None], 30, 0, 0.25, 0.0)
    lime.extend(800)
    np.testing.assert_allclose(lime.estimate().values[:, 0], c, rtol=0, atol=1e-9)
    values = PairedShapley(lambda kept: (5.0 + kept @ c)[:, None], 30, 0)
    values.extend(800)
    np.testing.assert_allclose(values.estimate().values[:, 0], c, rtol=0, atol=1e-9)


def test_a_penalty_on_guessed_columns_leaves_residuals_orthogonal_to_words() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(300, 12))
    y = np.sin(columns.sum(axis=1))
    fit = augmented_fit(columns, y, np.ones(300), lambda u: u.copy(), free=5)
    moved = (fit.moves.per_unit * fit.moves.off[:, None]).sum(axis=0)
    residuals = y - columns @ (fit.values - moved)  # before the jackknife
    np.testing.assert_allclose(columns[:, :5].T @ residuals, 0.0, atol=1e-3)


def test_options_and_what_is_said() -> None:
    model = small_model()
    e = limelight.explain(model, LONG, "lime", target="positive", n_samples=400)
    assert e.parameters["sampling"] == "efficient"
    assert e.evaluations == 401  # the text without any words is beside the samples
    assert e.diagnostics["surrogate_prediction"] == pytest.approx(e.diagnostics["intercept"] + e.weights.sum())
    with pytest.raises(ParameterError, match="original_first=False is official LIME's"):
        limelight.explain(model, LONG, "lime", original_first=False)
    with pytest.raises(ParameterError, match="too narrow"):
        limelight.explain(model, LONG, "lime", kernel_width=1e-9)
    short = limelight.explain(model, "the film was great", "lime")
    assert short.evaluations == 16
    assert short.diagnostics["complete"]
    limit = limelight.explain(model, "the film was great", "lime-limit")
    np.testing.assert_allclose(short.weights, limit.weights, rtol=0, atol=1e-9)
    with pytest.raises(ParameterError, match=r"estimator='pairs' does not go with features of two levels"):
        limelight.explain(Opaque(), LONG, "shapley", estimator="pairs", features=("sentences", "words"))
    with pytest.raises(ParameterError, match="n_permutations"):
        limelight.explain(Opaque(), LONG, "shapley", estimator="pairs", n_permutations=10)


def test_the_kernel_is_where_samples_are() -> None:
    sizes: list[int] = []

    def ask(kept: np.ndarray) -> np.ndarray:
        sizes.extend((~kept).sum(axis=1).tolist())
        return kept.sum(axis=1, keepdims=True).astype(float)

    LimeSampler(ask, 30, 0, 0.25, 1.0).extend(3001)
    kernel = kernel_by_size(30, 0.25)[1:]
    due = 3000 * kernel / kernel.sum()
    assert np.abs(np.bincount(sizes[1:], minlength=31)[1:] - due).max() < 8


def test_samplers_have_no_bias_that_many_runs_would_show() -> None:
    """The document's weight in LIME, and Shapley's kernel, in games that no column describes."""
    game = random_game(seed=6, d=14, heads=2, ratio=200.0).along(np.array([1.0, -1.0, 0.0]))
    n, runs = 160, 150
    limit, beyond = (lime_limit(game, 0, own, 0.25, 1.0).values for own in (n, float("inf")))
    lime, values = [], []
    for seed in range(runs):
        samples = LimeSampler(game.evaluate, 14, seed, 0.25, 1.0, ridge_samples=n)
        samples.extend(n)
        lime.append(samples.estimate().values[:, 0])
        pairs = PairedShapley(lambda kept: kept[:, :3].all(axis=1, keepdims=True).astype(float), 14, seed)
        pairs.extend(1500)
        values.append(pairs.estimate().values[:, 0])
    error = np.std(lime, axis=0) / np.sqrt(runs)
    assert np.abs((np.mean(lime, axis=0) - limit) / error).max() < 4.5
    assert np.abs((beyond - limit) / error).max() > 9, "the document makes no difference here"
    exact = np.array([1 / 3] * 3 + [0.0] * 11)
    assert np.abs(np.mean(values, axis=0) - exact).max() < 0.5 * np.std(values, axis=0).max()


@pytest.mark.parametrize("n", [500, 1500])
def test_intervals_hold_where_answers_are_rare(n: int) -> None:
    """A line that has seen the rare answer itself bends towards it: coverage was 74 % then."""

    def any_of_three(kept: np.ndarray) -> np.ndarray:
        return kept[:, :3].any(axis=1, keepdims=True).astype(float)

    exact, inside = exact_lime(any_of_three, 14, 0.25, 1e-9), []
    for seed in range(40):
        samples = LimeSampler(any_of_three, 14, seed, 0.25, 1e-9)
        samples.extend(n)
        estimate = samples.estimate()
        inside.append(np.mean(np.abs(estimate.values[:3, 0] - exact[:3]) <= 1.96 * estimate.stderr[:3, 0]))
    assert np.mean(inside) > 0.88
