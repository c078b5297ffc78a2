"""Shapley values by paired permutations: efficiency, enumeration, honest errors, and when they stand in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.errors import NumericalError, ParameterError, UnknownNameError
from limelight.explainers.sampling.designs import arrivals
from limelight.explainers.sampling.shapley_samplers import stderr_of_pairs, student_factor
from limelight.inputs.features import features_of
from reference.opaque import Answering, Opaque
from reference.sampling_and_paths import shapley_of_game
from reference.small_transformers import small_transformer

TEXT = "The film was not very good, it's a bad film and too long!"
SHORT = "the film was great but bad"
ROUNDING = 1e-9


def transformer() -> Any:
    model, own = small_transformer("bert")
    return limelight.wrap(model.double(), own)


@pytest.mark.parametrize("make", [Opaque, transformer])
@pytest.mark.parametrize("removal", ["mask", "delete"])
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_values_add_up_exactly_however_few_were_drawn(make: Any, removal: Any, output: Any) -> None:
    model = make()
    e = limelight.explain(model, TEXT, "shapley", removal=removal, output=output, n_samples=2, target="positive")
    view = model.view(TEXT)
    game = view.game(features_of(view.document, "words"), removal)
    logits = game(np.array([[True] * len(e), [False] * len(e)]))
    values = logits if output == "logit" else np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert e.weights.sum() == pytest.approx(values[0, 2] - values[1, 2], abs=ROUNDING)


@pytest.mark.parametrize("make", [Opaque, transformer])
@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_values_approach_those_of_enumeration(make: Any, removal: Any) -> None:
    model = make()
    view = model.view(SHORT)
    game = view.game(features_of(view.document, "words"), removal)
    table: dict[bytes, float] = {}

    def value(kept: np.ndarray) -> float:
        if kept.tobytes() not in table:
            table[kept.tobytes()] = float(game(kept[None])[0, 1])
        return table[kept.tobytes()]

    exact = shapley_of_game(value, 6)
    orders = {"estimator": "permutations", "n_samples": 3000}
    e = limelight.explain(model, SHORT, "shapley", removal=removal, target="neutral", seed=1, **orders)
    every = limelight.explain(model, SHORT, "shapley", removal=removal, target="neutral")
    assert every.diagnostics["complete"]
    np.testing.assert_allclose(every.weights, exact, atol=1e-5)  # float32 rounds otherwise in other batches
    assert e.stderr is not None
    assert np.abs((e.weights - exact) / np.maximum(e.stderr, 1e-12)).max() < 4
    assert e.stderr.max() < 0.1 * np.abs(exact).max()


def test_the_exact_way_is_taken_where_there_is_one_and_said() -> None:
    model = small_model()
    exact = limelight.explain(model, TEXT, "shapley")
    assert (exact.exact, exact.stderr) == (True, None)
    assert "n_samples" not in exact.parameters
    for arguments in ({"removal": "delete"}, {"output": "probability"}):
        sampled = limelight.explain(model, TEXT, "shapley", n_samples=100, **arguments)
        assert not sampled.exact
        assert sampled.stderr is not None
        assert sampled.diagnostics["estimator"] == "regression on pairs"
        assert sampled.parameters["n_samples"] == 100
        few = limelight.explain(model, TEXT, "shapley", n_samples=20, **arguments)
        assert few.diagnostics["estimator"] == "paired permutations"
    with pytest.raises(UnknownNameError, match="precision"):
        limelight.explain(model, TEXT, "shapley", output="probability", precision=1e-4)
    assert "shapley" not in limelight.compare(model, TEXT, output="probability", n_samples=9)


def test_sampled_values_approach_the_exact_ones() -> None:
    exact = limelight.explain(small_model(), TEXT, "shapley", target="positive").weights
    spreads = []
    for n_permutations in (16, 256):
        runs = [
            limelight.explain(Opaque(), TEXT, "shapley", target="positive", n_permutations=n_permutations, seed=s)
            for s in range(40)
        ]
        assert runs[0].diagnostics["permutations"] == n_permutations
        spreads.append(np.sqrt(np.mean([np.sum((run.weights - exact) ** 2) for run in runs])))
        mean = np.mean([run.weights for run in runs], axis=0)
        noise = np.std([run.weights for run in runs], axis=0, ddof=1) / math.sqrt(len(runs))
        assert np.abs((mean - exact) / noise).max() < 4.5
    assert spreads[0] / spreads[1] == pytest.approx(4, rel=0.25)


@pytest.mark.parametrize("n_permutations", [8, 24, 60])
def test_95_percent_intervals_cover_95_percent(n_permutations: int) -> None:
    """Also with four pairs, whose spread is a guess: the errors are widened for it."""
    inside = total = 0
    for model_seed in range(4):
        exact = limelight.explain(small_model(model_seed), TEXT, "shapley", target="positive").weights
        for seed in range(60):
            e = limelight.explain(
                Opaque(model_seed),
                TEXT,
                "shapley",
                target="positive",
                n_permutations=n_permutations,
                seed=seed,
            )
            assert e.stderr is not None
            inside += int((np.abs(e.weights - exact) < 1.96 * e.stderr).sum())
            total += len(exact)
    assert 0.93 < inside / total < 0.98


def _pairs_of_words(kept: np.ndarray) -> np.ndarray:
    """An additive game plus a product of each word with the next: (n, 3) logits."""
    z = kept.astype(float)
    value = z @ np.arange(kept.shape[1]) + (z[:, :-1] * z[:, 1:]).sum(axis=1)
    return np.stack([0 * value, value, 2 * value], axis=1)


def test_an_order_and_its_reverse_leave_no_error_in_a_game_of_pairs() -> None:
    """A product of two words goes to the later one: half of it to each over an order and its reverse. One order alone,
    and a pair of independent ones, miss that by chance."""
    e = limelight.explain(Answering(_pairs_of_words), TEXT, "shapley", target="neutral", n_samples=10)
    d = len(e)
    neighbours = np.array([(j > 0) + (j < d - 1) for j in range(d)])
    np.testing.assert_allclose(e.weights, np.arange(d) + neighbours / 2, atol=ROUNDING)
    assert e.stderr is not None
    np.testing.assert_allclose(e.stderr, 0, atol=ROUNDING)


def test_the_typical_deviation_is_the_mean_of_deviations() -> None:
    """Each word's variance counts it as one pair more; the mean of variances would belong to the strongest word."""
    pairs, deviations = 5, np.array([10.0, 1.0, 1.0, 0.0])
    squares = deviations**2 * (pairs - 1)
    typical = deviations.mean()
    expected = np.sqrt((squares + typical**2) / pairs / pairs) * student_factor(pairs)
    np.testing.assert_allclose(stderr_of_pairs(squares, pairs), expected, rtol=1e-12)
    assert stderr_of_pairs(squares, pairs)[3] < 0.7 * np.sqrt((deviations**2).mean() / pairs / pairs) * student_factor(
        5
    )


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = limelight.explain(Opaque(), TEXT, "shapley", n_samples=300, estimator="permutations")
    monkeypatch.setattr("limelight.explainers.sampling.shapley_samplers._ROWS_AT_ONCE", 1)
    blocks = limelight.explain(Opaque(), TEXT, "shapley", n_samples=300, estimator="permutations")
    np.testing.assert_allclose(blocks.weights, whole.weights, atol=ROUNDING)
    assert whole.stderr is not None
    np.testing.assert_allclose(blocks.stderr, whole.stderr, atol=ROUNDING)


def test_one_and_two_words_are_exact() -> None:
    model = Opaque()
    e = limelight.explain(model, "great", "shapley", target="neutral", estimator="permutations")
    f = model.predict_logits(["great", "[UNK]"])[:, 1]
    assert e.weights == pytest.approx([f[0] - f[1]], abs=ROUNDING)
    assert e.stderr is not None
    assert e.stderr.tolist() == [0.0]
    two = limelight.explain(model, "great film", "shapley", target="neutral", n_samples=2, estimator="permutations")
    exact = limelight.explain(small_model(), "great film", "shapley", target="neutral")
    np.testing.assert_allclose(two.weights, exact.weights, atol=ROUNDING)
    assert two.stderr is not None
    assert two.stderr.tolist() == [0.0, 0.0]


def test_arrivals_are_one_more_each_time() -> None:
    there = arrivals(np.array([[2, 0, 1], [1, 2, 0]]))
    expected = [[0, 0, 1], [1, 0, 1], [0, 1, 0], [0, 1, 1]]
    assert there.astype(int).tolist() == expected


def test_student_factors_are_those_of_the_tables() -> None:
    tables = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 29: 2.045, 120: 1.980}
    for freedom, quantile in tables.items():
        assert student_factor(freedom) * 1.959964 == pytest.approx(quantile, abs=6e-4)
    assert student_factor(10**9) == pytest.approx(1)


def test_bad_options_and_bad_numbers_are_refused() -> None:
    for name, wrong in (("n_samples", 1), ("n_samples", 2.5), ("n_permutations", 0), ("n_permutations", True)):
        with pytest.raises(ParameterError, match=name):
            limelight.explain(Opaque(), TEXT, "shapley", **{name: wrong})

    broken = Answering(lambda kept: np.full((len(kept), 3), np.nan))
    with pytest.raises(NumericalError, match="not finite"):
        limelight.explain(broken, TEXT, "shapley", n_samples=10)
