"""Contrasts and all labels at once: every method, and how often a model is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.attribution.request import Request
from limelight.errors import InputError, ParameterError, UnknownNameError
from reference.opaque import Opaque

TEXT = "the film was great, but the end is bad"
ROUNDING = 1e-12
LINEAR = (
    "lime",
    "lime-limit",
    "shapley",
    "banzhaf",
    "gxi",
    "g-avg",
    "leave-one-out",
    "integrated-gradients",
    "alpha-value",
)
LINEAR_THEORY = ("lime-theorem", "lime-proposition", "lime-mean-field")
OF_NO_LABEL = ("alpha-avg", "alpha-max", "rollout")
FEW = {"lime": {"n_samples": 300, "sampling": "official"}, "shapley": {}, "integrated-gradients": {"steps": 32}}


def explained(model: Any, method: str, target: Any, **arguments: Any) -> Any:
    return limelight.explain(model, TEXT, method, target=target, **FEW.get(method, {}), **arguments)


def test_every_method_of_the_house_is_in_one_of_the_lists() -> None:
    known = {*LINEAR, *LINEAR_THEORY, *OF_NO_LABEL, "g-l1", "g-l2"}
    assert {method.id for method in Request().applicable(small_model().view(TEXT))} == known


@pytest.mark.parametrize("removal", ["mask", "delete"])
@pytest.mark.parametrize("method", [*LINEAR, *LINEAR_THEORY])
def test_a_contrast_is_the_difference_of_two_labels(method: str, removal: Any) -> None:
    if removal == "delete" and method in LINEAR_THEORY:
        pytest.skip("for masking alone")
    model = small_model()
    both = explained(model, method, ("positive", "neutral"), removal=removal)
    one, other = (explained(model, method, label, removal=removal) for label in ("positive", "neutral"))
    difference = one.weights - other.weights
    assert np.abs(both.weights - difference).max() <= ROUNDING * np.abs(one.weights).max()
    assert np.abs(difference).max() > 1e-3
    assert (both.target, both.against) == ("positive", "neutral")
    assert both.accuracy == one.accuracy
    reverse = explained(model, method, ("neutral", "positive"), removal=removal)
    assert np.abs(both.weights + reverse.weights).max() <= ROUNDING * np.abs(one.weights).max()


@pytest.mark.parametrize("output", ["probability", "log-odds"])
@pytest.mark.parametrize("method", ["lime", "shapley", "leave-one-out", "gxi"])
def test_a_contrast_of_other_outputs_is_a_difference_too(method: str, output: Any) -> None:
    both = explained(small_model(), method, ("positive", "neutral"), output=output)
    one, other = (explained(small_model(), method, label, output=output) for label in ("positive", "neutral"))
    np.testing.assert_allclose(both.weights, one.weights - other.weights, rtol=0, atol=ROUNDING)


def test_attention_knows_no_label_and_a_norm_is_that_of_the_difference() -> None:
    model = small_model()
    for method in OF_NO_LABEL:
        np.testing.assert_array_equal(
            explained(model, method, ("positive", "neutral")).weights, explained(model, method, "positive").weights
        )
    view = model.view(TEXT)
    gradient = view.gradients(np.array([0.0, -1.0, 1.0]))
    expected = np.zeros(len(explained(model, "g-l2", "positive").weights))
    features = explained(model, "g-l2", ("positive", "neutral"))
    names = list(features.features)
    for word, own in zip(view.document.words, np.linalg.norm(gradient.gradients, axis=1), strict=True):
        expected[names.index(word.form)] += own
    np.testing.assert_allclose(features.weights, expected, rtol=1e-12)


def test_log_odds_of_two_labels_are_exact_and_mirror_each_other() -> None:
    model = small_model(labels=("no", "yes"))
    for method in ("shapley", "lime-limit", "banzhaf"):
        yes, no = (explained(model, method, label, output="log-odds") for label in ("yes", "no"))
        assert yes.accuracy == "bounded"
        np.testing.assert_allclose(yes.weights, -no.weights, rtol=0, atol=ROUNDING)
        contrast = explained(model, method, ("yes", "no"))
        np.testing.assert_array_equal(yes.weights, contrast.weights)
    of_three = limelight.explain(small_model(), TEXT, "shapley", target="positive", output="log-odds", n_samples=99)
    assert of_three.accuracy == "sampled"


# ── all labels ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["lime", "shapley", "leave-one-out"])
def test_all_labels_cost_the_forwards_of_one_and_say_the_same(method: str) -> None:
    asked: list[int] = []

    class Counting(Opaque):
        def view(self, text: str) -> Any:
            view = super().view(text)
            inner = view.game

            def game(*arguments: Any) -> Any:
                answered = inner(*arguments)

                class Game:
                    asked = property(lambda self: answered.asked)

                    def __call__(self, kept: np.ndarray) -> np.ndarray:
                        asked.append(len(kept))
                        return answered(kept)

                return Game()

            view.game = game
            return view

    options = {"n_samples": 200} if method != "leave-one-out" else {}
    everything = limelight.explain(Counting(), TEXT, method, target="all", **options)
    cost_of_all = sum(asked)
    assert isinstance(everything, limelight.Comparison)
    assert [e.target for e in everything] == ["negative", "neutral", "positive"]
    for label in ("negative", "neutral", "positive"):
        asked.clear()
        alone = limelight.explain(Counting(), TEXT, method, target=label, **options)
        assert sum(asked) == cost_of_all
        np.testing.assert_allclose(everything[label].weights, alone.weights, rtol=0, atol=ROUNDING)
        assert everything[label].evaluations == alone.evaluations == cost_of_all
        if alone.stderr is not None:
            np.testing.assert_allclose(everything[label].stderr, alone.stderr, rtol=1e-4, atol=ROUNDING)


def test_all_labels_of_several_methods_and_of_several_texts() -> None:
    model = small_model()
    comparison = limelight.compare(model, TEXT, ["shapley", "gxi"], target="all")
    assert [(e.method, e.target) for e in comparison] == [
        (method, label) for method in ("shapley", "gxi") for label in model.labels
    ]
    assert comparison.of("gxi", "neutral") == comparison[4]
    with pytest.raises(KeyError, match="lime"):
        comparison.of("lime", "neutral")
    many = limelight.explain(model, [TEXT, "great film"], "shapley", target="all")
    assert [[e.target for e in own] for own in many] == [list(model.labels)] * 2
    assert many[1] == limelight.explain(model, "great film", "shapley", target="all")
    again = limelight.Comparison.from_dict(many[0].to_dict())
    assert again == many[0]
    assert "neutral" in again.to_html()


def test_a_label_that_is_called_all_is_that_label() -> None:
    model = small_model(labels=("all", "some", "none"))
    assert limelight.explain(model, TEXT, "gxi", target="all").target == "all"


@pytest.mark.parametrize(
    ("target", "error", "said"),
    [
        (("positive", "positive"), InputError, "compares a label with itself"),
        (("positive", "sad"), UnknownNameError, "unknown label 'sad'"),
        (("positive",), ParameterError, "a label, two labels, or 'all'"),
        (("positive", "neutral", "negative"), ParameterError, "a label, two labels, or 'all'"),
        (("positive", 3), UnknownNameError, "unknown label 3"),
        (3, UnknownNameError, "unknown label 3"),
    ],
)
def test_targets_that_are_none_are_refused(target: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        limelight.explain(small_model(), TEXT, "gxi", target=target)


def test_an_output_that_a_model_does_not_have_is_refused() -> None:
    with pytest.raises(limelight.LimelightError, match="no output 'value': use 'logit' or 'log-odds' or 'probability'"):
        limelight.explain(small_model(), TEXT, "gxi", output="value")
    with pytest.raises(limelight.LimelightError, match=r"linear in the logits.*got output='probability'"):
        limelight.explain(small_model(), TEXT, "lime-limit", output="probability")


def test_a_contrast_is_stored() -> None:
    e = limelight.explain(small_model(), TEXT, "gxi", target=("positive", "neutral"))
    again = limelight.Explanation.from_dict(e.to_dict())
    assert again == e
    assert again.against == "neutral"
    assert "rather than 'neutral'" in repr(e)
