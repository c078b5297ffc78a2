"""LIME by torch, many documents at once, against the NumPy engine of a single one and against the exact value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import limelight
from conftest import small_model
from limelight.core.arrays import Floats
from limelight.core.progress import Silent
from limelight.errors import NumericalError
from limelight.explainers import lime, lime_on_device
from limelight.explainers.lime import kernel_weights, sampled_coefficients
from limelight.explainers.lime_on_device import LimeSettings, coefficients_of_runs, draw_and_ask
from limelight.explainers.method import Question
from limelight.explainers.sampling.designs import sample_coalitions_on
from limelight.explainers.surrogate import Surrogate, fit_surrogate
from limelight.inputs.features import features_of
from limelight.models.interface import Removal
from limelight.models.outputs import Quantity
from limelight.models.words.attention import AttentionClassifier
from limelight.models.words.attention_view import AttentionView

TEXTS = (
    "The film was great, but too long and the end is bad!",
    "It's not a very good film.",
    "great great great bad",
    "the film was great but too long and end is bad it s a not very good film the film was great but too long",
    "good",
)
REMOVALS: tuple[Removal, ...] = ("mask", "delete")
TARGET = 2
CPU = torch.device("cpu")
# Sums of perturbed outputs are in float32; everything after them is the same in float64.
SAME = 1e-5
# Standard errors are float32 on both sides, of residuals that differ as above.
SAME_ERRORS = 1e-3
# Documents of different lengths are solved together: another order of the same float64 operations.
TOGETHER = 1e-10
# Two recursions, compiled or by torch, of quadratures that are exact to 1e-11.
EXACT = 1e-9


def question(text: str, model: AttentionClassifier | None = None, kind: str = "words") -> Question[Any]:
    view: AttentionView = (model or small_model()).view(text)
    return Question(
        view, view.document, features_of(view.document, kind), Quantity(len(view.labels), TARGET), view.logits
    )


def fits_by_numpy(asked: Question[Any], settings: LimeSettings, runs: int, seed: int) -> list[list[Surrogate]]:
    """The NumPy engine on the coalitions that torch draws: [removal][run], outputs in float64."""
    d, n = len(asked.features), settings.n_samples
    kept = sample_coalitions_on(CPU, d, n, runs, seed, settings.original_first).numpy().reshape(runs, n, d)
    fits = []
    for removal in REMOVALS:
        game = asked.view.game(asked.features, removal)
        fits.append(
            [
                fit_surrogate(own, game(own)[:, [TARGET]], kernel_weights(own, settings.kernel_width), settings.ridge)
                for own in kept
            ]
        )
    return fits


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", ["words", "occurrences"])
@pytest.mark.parametrize(
    "settings",
    [LimeSettings(n_samples=300), LimeSettings(300, kernel_width=0.6, ridge=0.1, original_first=False)],
    ids=["default", "other settings"],
)
def test_the_same_coalitions_give_the_weights_of_the_numpy_engine(text: str, kind: str, settings: LimeSettings) -> None:
    asked, runs, seed = question(text, kind=kind), 3, 11
    (coefficients,) = coefficients_of_runs([asked], [seed], REMOVALS, settings, runs)
    assert coefficients.shape == (len(REMOVALS), runs, len(asked.features))
    for own, fits in zip(coefficients, fits_by_numpy(asked, settings, runs, seed), strict=True):
        np.testing.assert_allclose(own, [fit.coefficients[:, 0] for fit in fits], atol=SAME)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "settings",
    [LimeSettings(n_samples=400), LimeSettings(400, kernel_width=0.6, ridge=0.1, original_first=False)],
    ids=["default", "other settings"],
)
def test_errors_and_fidelity_are_those_of_the_numpy_engine(text: str, settings: LimeSettings) -> None:
    asked, seed = question(text), 12
    ((fit, of_document),) = lime_on_device.lime_on_device([asked], [seed], REMOVALS, settings)
    for i, (by_numpy,) in enumerate(fits_by_numpy(asked, settings, 1, seed)):
        np.testing.assert_allclose(fit.coefficients[:, i], by_numpy.coefficients[:, 0], atol=SAME)
        largest = by_numpy.stderr.max()
        np.testing.assert_allclose(fit.stderr[:, i], by_numpy.stderr[:, 0], rtol=0, atol=SAME_ERRORS * largest + SAME)
        assert fit.intercept[i] == pytest.approx(by_numpy.intercept[0], abs=SAME)
        assert fit.r2[i] == pytest.approx(by_numpy.r2[0], abs=SAME)
        assert fit.prediction[i] == pytest.approx(by_numpy.prediction[0], abs=SAME)
    np.testing.assert_allclose(of_document, asked.logits[TARGET], atol=SAME)


def test_without_ridge_a_feature_that_never_changes_has_weight_zero() -> None:
    asked, settings = question("good"), LimeSettings(n_samples=50, ridge=0.0, original_first=False)
    ((fit, _),) = lime_on_device.lime_on_device([asked], [0], REMOVALS, settings)  # its only word is always removed
    np.testing.assert_allclose(fit.coefficients, 0.0, atol=SAME)
    assert (fit.stderr == 0.0).all(), "all answers were the same"


@pytest.mark.parametrize("documents_at_once", [2, 64])
def test_a_document_s_result_depends_on_its_own_seed_alone(
    documents_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lime_on_device, "_SOLVED_AT_ONCE", documents_at_once)
    questions, seeds, settings = [question(text) for text in TEXTS], [3, 1, 4, 1, 5], LimeSettings(n_samples=200)
    together = coefficients_of_runs(questions, seeds, REMOVALS, settings, 2)
    fits = list(lime_on_device.lime_on_device(questions, seeds, REMOVALS, settings))
    for i, asked in enumerate(questions):
        (alone,) = coefficients_of_runs([asked], [seeds[i]], REMOVALS, settings, 2)
        np.testing.assert_allclose(together[i], alone, rtol=0, atol=TOGETHER)
        ((fit, of_document),) = lime_on_device.lime_on_device([asked], [seeds[i]], REMOVALS, settings)
        np.testing.assert_allclose(fits[i][0].coefficients, fit.coefficients, rtol=0, atol=TOGETHER)
        np.testing.assert_allclose(fits[i][0].stderr, fit.stderr, rtol=1e-5, atol=TOGETHER)
        np.testing.assert_array_equal(fits[i][1], of_document)
    (other,) = coefficients_of_runs(questions[:1], [99], REMOVALS, settings, 2)
    assert np.abs(other - together[0]).max() > 1e-4
    assert np.abs(together[0][:, 0] - together[0][:, 1]).max() > 1e-4  # two runs are not the same samples


def test_runs_scatter_around_the_exact_value_by_their_own_noise() -> None:
    asked, runs = question(TEXTS[0]), 40
    exact = limelight.explain(small_model(), TEXTS[0], "lime-limit", target="positive").weights
    ((masking, deleting),) = coefficients_of_runs([asked], [5], REMOVALS, LimeSettings(), runs)
    noise = np.sqrt(masking.var(axis=0, ddof=1).sum() / runs)
    assert np.linalg.norm(masking.mean(axis=0) - exact) < 2.5 * noise
    assert np.linalg.norm(deleting.mean(axis=0) - exact) > 5 * noise  # deleting is another question


@pytest.mark.parametrize("original_first", [True, False])
def test_coalitions_are_uniform_over_sizes_and_features(original_first: bool) -> None:
    d, runs, n = 7, 4, 5000
    kept = sample_coalitions_on(CPU, d, n, runs, 3, original_first)
    assert bool(kept[::n].all()) is original_first
    drawn = kept.view(runs, n, d)[:, 1:] if original_first else kept
    removed = drawn.reshape(-1, d).logical_not()
    share = removed.sum(dim=1).bincount(minlength=d + 1).double() / len(removed)
    assert share[0] == 0
    five_sigma = 5 * np.sqrt(1 / d * (1 - 1 / d) / len(removed))
    assert (share[1:] - 1 / d).abs().max() < five_sigma
    per_feature = removed.double().mean(dim=0)
    assert (per_feature - (d + 1) / (2 * d)).abs().max() < 5 * 0.5 / np.sqrt(len(removed))


def test_what_the_model_says_of_the_document_is_not_one_of_the_samples() -> None:
    """Without the document as first sample it is asked for beside them."""
    asked, settings = question(TEXTS[0]), LimeSettings(n_samples=20, original_first=False)
    samples = draw_and_ask(asked, 0, REMOVALS, settings, 2, CPU)
    d = len(asked.features)
    assert samples.kept.shape == (2, 20, d)
    assert samples.outputs.shape == (2, 20, len(REMOVALS))
    assert not samples.kept.all(dim=2).any()
    np.testing.assert_allclose(samples.of_document, asked.logits[TARGET], atol=SAME)


def test_progress_is_told_of_every_sample() -> None:
    class Steps(Silent):
        done = 0

        def advance(self, steps: int = 1, note: str = "") -> None:
            self.done += steps

    steps = Steps()
    view = small_model().view(TEXTS[0])
    asked = Question(
        view,
        view.document,
        features_of(view.document, "words"),
        Quantity(len(view.labels), TARGET),
        view.logits,
        progress=steps,
    )
    coefficients_of_runs([asked], [0], REMOVALS, LimeSettings(n_samples=50), 3)
    assert steps.done == 150


def test_outputs_that_are_not_finite_are_reported() -> None:
    model = small_model()
    model.W_l.data[0, TARGET, 0] = float("nan")
    with pytest.raises(NumericalError, match="not finite"):
        coefficients_of_runs([question(TEXTS[0], model)], [0], REMOVALS, LimeSettings(n_samples=50), 1)


# ── several texts at once, as users ask ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("output", ["logit", "probability"])
@pytest.mark.parametrize("removal", REMOVALS)
def test_a_list_of_texts_gives_lime_of_each(removal: Any, output: Any) -> None:
    model, options = small_model(), {"removal": removal, "output": output, "n_samples": 200, "seed": 3}
    explanations = limelight.explain(model, TEXTS, "lime", sampling="official", target="neutral", **options)
    assert len(explanations) == len(TEXTS)
    for text, explanation in zip(TEXTS, explanations, strict=True):
        alone = limelight.explain(model, text, "lime", sampling="official", target="neutral", **options)
        assert_same(explanation, alone, TOGETHER)
        np.testing.assert_allclose(explanation.stderr, alone.stderr, rtol=1e-6)
        assert explanation.evaluations == alone.evaluations


@pytest.mark.parametrize("method", ["lime-limit", "shapley"])
@pytest.mark.parametrize("features", ["words", "occurrences"])
def test_a_list_of_texts_gives_the_exact_values_of_each(method: str, features: Any) -> None:
    model = small_model()
    explanations = limelight.explain(model, list(TEXTS), method, features=features)
    for text, explanation in zip(TEXTS, explanations, strict=True):
        alone = limelight.explain(model, text, method, features=features)
        stated = alone.diagnostics["error"] + explanation.diagnostics["error"]
        assert_same(explanation, alone, min(stated, EXACT))


def assert_same(one: limelight.Explanation, other: limelight.Explanation, tolerance: float) -> None:
    """Another order of the same sums is all that may differ."""
    assert (one.text, one.target, one.features, one.spans) == (other.text, other.target, other.features, other.spans)
    assert (one.exact, one.parameters, one.notices) == (other.exact, other.parameters, other.notices)
    np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=tolerance)
    np.testing.assert_allclose(one.prediction.logits, other.prediction.logits, rtol=0, atol=TOGETHER)


def test_a_model_on_a_gpu_is_explained_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way from explain() to the engine on the device, with a CPU that is taken for a GPU."""
    monkeypatch.setattr(lime, "_lives_on_gpu", lambda question: question.output == "logit")
    model, options = small_model(), {"removal": "delete", "n_samples": 300, "seed": 7, "original_first": False}
    many = limelight.explain(model, TEXTS, "lime", sampling="official", target="positive", **options)
    single = [
        limelight.explain(model, text, "lime", sampling="official", target="positive", **options) for text in TEXTS
    ]
    for text, explanation, alone in zip(TEXTS, many, single, strict=True):
        assert_same(explanation, alone, TOGETHER)
        settings = LimeSettings(n_samples=300, original_first=False)
        by_numpy = fits_by_numpy(question(text), settings, 1, 7)[REMOVALS.index("delete")][0]
        np.testing.assert_allclose(explanation.weights, by_numpy.coefficients[:, 0], atol=SAME)
        # The only word of a text is removed in every sample: nothing varies, and there is no share to explain.
        r2 = None if len(explanation) == 1 else pytest.approx(by_numpy.r2[0], abs=SAME)
        assert explanation.diagnostics["r2"] == r2
        assert explanation.diagnostics["model_prediction"] == pytest.approx(
            model.predict_logits([text])[0][TARGET], abs=SAME
        )
        assert explanation.evaluations == 301  # the samples, and the document, which is none of them
        assert explanation.stderr is not None


def test_the_engines_agree_up_to_the_noise_of_their_samples() -> None:
    """They draw different samples, so their means over many runs are compared."""
    asked, settings, runs = question(TEXTS[0]), LimeSettings(n_samples=1000), 30
    by_torch = coefficients_of_runs([asked], [1], REMOVALS, settings, runs)[0]
    by_numpy = sampled_coefficients(asked, 1, REMOVALS, settings, runs)
    assert by_torch.shape == by_numpy.shape
    for one, other in zip(by_torch, by_numpy, strict=True):
        assert_within_noise(one, other)


def assert_within_noise(one: Floats, other: Floats) -> None:
    difference = np.mean(one, axis=0) - np.mean(other, axis=0)
    noise = np.sqrt((np.var(one, axis=0, ddof=1) + np.var(other, axis=0, ddof=1)) / len(one))
    assert (np.abs(difference) < 5 * noise).all()
