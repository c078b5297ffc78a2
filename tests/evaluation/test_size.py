"""Size of weights: against its definition over every set, and on weights of a known wrong size."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.evaluation.measure import Key
from limelight.evaluation.measures.size import exact_slope, line
from limelight.inputs.features import features_of
from reference.opaque import Opaque

TEXT = "the film was great but too long"
STORED = 1e-6
"""Eight digits are stored."""


def by_definition(model: Any, text: str, weights: np.ndarray, removal: str) -> tuple[float, float]:
    """Every set of 1 to d removed words, each number of words as likely as another."""
    view = model.view(text)
    game, target, d = view.game(features_of(view.document), removal), int(np.argmax(view.logits)), len(weights)
    whole = game(np.ones((1, d), dtype=bool))[0, target]
    sums, changes, chances = [], [], []
    for size in range(1, d + 1):
        sets = list(combinations(range(d), size))
        for removed in sets:
            kept = np.array([[j not in removed for j in range(d)]])
            changes.append(whole - game(kept)[0, target])
            sums.append(weights[list(removed)].sum())
            chances.append(1.0 / d / len(sets))
    covariance = np.cov(sums, changes, aweights=chances)
    slope = covariance[0, 1] / covariance[0, 0]
    return slope, covariance[0, 1] ** 2 / (covariance[0, 0] * covariance[1, 1])


def judged(model: Any, text: str, weights: np.ndarray, **options: Any) -> limelight.Evaluation:
    words = model.view(text).document.words
    given = [((word.start, word.end), float(weight)) for word, weight in zip(words, weights, strict=True)]
    return limelight.evaluate(model, [text], [], elsewhere={"mine": [given]}, **options)


def sizes(evaluation: limelight.Evaluation, removal: str, method: str = "mine") -> tuple[float, float]:
    place = {"method": method, "removal": removal, "output": evaluation.summary.output}
    return tuple(float(evaluation.of(Key("size", part, **place))[0]) for part in ("slope", "variance explained"))


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_few_words_are_exact(removal: str) -> None:
    weights = np.random.default_rng(0).normal(size=7)
    found = sizes(judged(Opaque(), TEXT, weights), removal)
    assert found == pytest.approx(by_definition(Opaque(), TEXT, weights, removal), abs=STORED)


def test_a_single_layer_has_an_exact_slope_however_few_orders_are_drawn() -> None:
    weights = np.random.default_rng(1).normal(size=7)
    slope, _ = sizes(judged(small_model(), TEXT, weights, chance_orders=2, limits="found"), "mask")
    assert slope == pytest.approx(by_definition(small_model(), TEXT, weights, "mask")[0], abs=STORED)
    drawn, _ = sizes(judged(Opaque(), TEXT, weights, chance_orders=2, limits="found"), "mask")
    many, explained = sizes(judged(Opaque(), TEXT, weights, chance_orders=2000, limits="found"), "mask")
    expected = by_definition(Opaque(), TEXT, weights, "mask")
    assert abs(drawn - expected[0]) > abs(many - expected[0])
    assert (many, explained) == pytest.approx(expected, abs=0.05)


def test_weights_of_half_the_size_have_a_slope_of_two_and_explain_the_same() -> None:
    weights = np.random.default_rng(2).normal(size=7)
    whole, half = (judged(Opaque(), TEXT, own) for own in (weights, weights / 2.0))
    for removal in ("mask", "delete"):
        slope, explained = sizes(whole, removal)
        assert sizes(half, removal) == pytest.approx((2.0 * slope, explained), abs=STORED)
    scores = [one.summary.standings("signed")[0].score.value for one in (whole, half)]
    assert scores[0] == scores[1]  # an order does not see it


def test_the_true_weights_of_a_sum_explain_everything() -> None:
    def rule(texts: Any) -> Any:
        return np.array([3.0 * text.count("great") - 2.0 * text.count("long") for text in texts])

    model = limelight.wrap(rule, kind="regression")
    evaluation = judged(model, TEXT, np.array([0.0, 0.0, 0.0, 3.0, 0.0, 0.0, -2.0]))
    assert sizes(evaluation, "delete") == pytest.approx((1.0, 1.0), abs=STORED)


def test_what_has_no_size_has_no_number() -> None:
    nothing = judged(Opaque(), TEXT, np.zeros(7))
    unsigned = judged(Opaque(), TEXT, np.arange(7.0))  # no negative weight: sizes alone
    one_word = limelight.evaluate(small_model(), ["great"], ["gxi"])
    assert not any(key.measure == "size" for own in (nothing, unsigned, one_word) for key in own.keys)


def test_a_line_without_spread_is_none_and_moments_are_those_of_sets() -> None:
    chances = np.full(4, 0.25)
    assert np.isnan(line(np.ones(4), np.arange(4.0), chances)).all()
    assert line(np.arange(4.0), 2.0 * np.arange(4.0) + 7.0, chances) == pytest.approx((2.0, 1.0))
    # f = 5 - 2 · (words removed of the first two), of three words: kept means by hand over sizes 1 to 3.
    weights, rows = np.array([2.0, 2.0, 0.0]), []
    for size in (1, 2, 3):
        sets = list(combinations(range(3), size))
        rows += [(1.0 / 3 / len(sets), removed, 5.0 - weights[list(removed)].sum()) for removed in sets]
    mean = sum(p * f for p, _, f in rows)
    kept = np.array([sum(p * f for p, removed, f in rows if j not in removed) for j in range(3)])
    assert exact_slope(weights, mean, kept) == pytest.approx(1.0)


def test_the_verdict_names_weights_of_the_wrong_size() -> None:
    texts = [f"the film was great {word} but too long" for word in ("the", "end", "bad", "very", "good", "not")]
    model = small_model()
    shapley = [limelight.explain(model, text, "shapley") for text in texts]
    tenth = [[(word, float(w) / 10.0) for word, w in zip(own.features, own.weights, strict=True)] for own in shapley]
    evaluation = limelight.evaluate(model, texts, ["shapley"], elsewhere={"tenth": tenth})
    said = [line for line in evaluation.verdict if "times as far" in line]
    assert len(said) == 1
    assert "tenth" in said[0]
    assert "shapley" not in said[0]
