"""Exact methods on models: against enumeration of all coalitions through the model itself, and against sampling."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.errors import CapabilityError, NumericalError, ParameterError
from limelight.inputs.features import features_of
from limelight.models.words.attention import AttentionClassifier
from limelight.statistics.stability import samples_for_stable_top
from reference.attention_model import gradient_by_autograd, perturbed_logits
from reference.lime import kernel
from reference.opaque import Opaque

TEXT = "the film was great, but the end is bad"  # 8 distinct words, one twice
TRAINED = "A great film, but the end is a terrible mess and far too long"
ENUMERATED = 1e-9  # relative to the largest weight: the promise of the exact methods


def all_coalitions(d: int) -> np.ndarray:
    return np.array(list(itertools.product([False, True], repeat=d)))


def outputs(model: AttentionClassifier, text: str, kind: Any, target: int) -> tuple[np.ndarray, np.ndarray]:
    """Every coalition of the text's features, and the logit of each by a forward of its own."""
    document = model.read(text)
    features = features_of(document, kind)
    kept = all_coalitions(len(features))
    return kept, perturbed_logits(model, document, features, kept, "mask")[:, target]


def shapley_by_subsets(kept: np.ndarray, f: np.ndarray) -> np.ndarray:
    d = kept.shape[1]
    value = {tuple(z): y for z, y in zip(kept.tolist(), f, strict=True)}
    phi = np.zeros(d)
    for j in range(d):
        for z in kept[~kept[:, j]].tolist():
            with_j = [*z[:j], True, *z[j + 1 :]]
            size = sum(z)
            weight = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            phi[j] += weight * (value[tuple(with_j)] - value[tuple(z)])
    return phi


def expected_lime(kept: np.ndarray, f: np.ndarray, n: float, nu: float, ridge: float) -> np.ndarray:
    """Ridge regression in which each coalition has its expected weight among n samples."""
    d = kept.shape[1]
    removed = d - kept.sum(axis=1)
    chance = np.array([0.0 if s == 0 else 1 / d / math.comb(d, s) for s in removed])
    weights = chance * (n - 1) * kernel(kept, nu)
    weights[removed == 0] = 1.0
    design = np.column_stack([np.ones(len(kept)), kept])
    penalty = np.diag([0.0] + [ridge] * d)
    return np.linalg.solve(design.T @ (weights[:, None] * design) + penalty, design.T @ (weights * f))[1:]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", ["words", "occurrences"])
@pytest.mark.parametrize("target", [0, 2])
def test_exact_values_equal_enumeration(seed: int, kind: Any, target: int) -> None:
    model = small_model(seed)
    label = model.labels[target]
    kept, f = outputs(model, TEXT, kind, target)

    def explain(method: str, **options: Any) -> np.ndarray:
        return limelight.explain(model, TEXT, method, target=label, features=kind, **options).weights

    scale = np.abs(f).max()
    np.testing.assert_allclose(explain("shapley"), shapley_by_subsets(kept, f), rtol=0, atol=ENUMERATED * scale)
    d = kept.shape[1]
    coin = np.array([(f[kept[:, j]].mean() - f[~kept[:, j]].mean()) for j in range(d)])
    np.testing.assert_allclose(explain("banzhaf"), coin, rtol=0, atol=ENUMERATED * scale)
    one_out = {int(np.flatnonzero(~z)[0]): y for z, y in zip(kept, f, strict=True) if z.sum() == d - 1}
    out = np.array([f[-1] - one_out[j] for j in range(d)])
    np.testing.assert_allclose(explain("leave-one-out"), out, rtol=0, atol=ENUMERATED * scale)
    for n, nu, ridge in [(5000, 0.25, 1.0), (100, 0.5, 0.0), (50, 10.0, 3.0)]:
        np.testing.assert_allclose(
            explain("lime-limit", n_samples=n, kernel_width=nu, ridge=ridge),
            expected_lime(kept, f, n, nu, ridge),
            rtol=0,
            atol=ENUMERATED * scale,
        )


def test_exact_values_equal_enumeration_on_trained_weights() -> None:
    model = limelight.load()
    double = AttentionClassifier(model.config, model.vocabulary, model.labels).double()
    double.load_state_dict({name: p.double() for name, p in model.state_dict().items()})
    text = "a great film but the end is bad"
    kept, f = outputs(double, text, "words", 1)
    shapley = limelight.explain(model, text, "shapley", target="positive")
    np.testing.assert_allclose(shapley.weights, shapley_by_subsets(kept, f), rtol=0, atol=ENUMERATED * np.abs(f).max())
    assert shapley.weights.sum() == pytest.approx(f[-1] - f[0], abs=ENUMERATED)


def test_sampled_lime_approaches_the_limit() -> None:
    model = limelight.load()
    exact = limelight.explain(model, TRAINED, "lime-limit", target="positive")
    runs = [limelight.explain(model, TRAINED, "lime", target="positive", n_samples=2000, seed=s) for s in range(30)]
    mean = np.mean([run.weights for run in runs], axis=0)
    noise = np.std([run.weights for run in runs], axis=0, ddof=1) / np.sqrt(len(runs))
    assert np.abs((mean - exact.weights) / noise).max() < 4  # 12 words: chance 0.0008
    assert exact.exact
    assert exact.stderr is None
    assert exact.diagnostics["error"] < 1e-9


def test_precision_sets_the_error() -> None:
    model = small_model()
    coarse = limelight.explain(model, TEXT, "shapley", precision=1e-4)
    fine = limelight.explain(model, TEXT, "shapley", precision=1e-12)
    assert fine.diagnostics["error"] < 1e-10 < coarse.diagnostics["error"]
    assert coarse.diagnostics["nodes"] < fine.diagnostics["nodes"]
    assert np.abs(coarse.weights - fine.weights).max() <= coarse.diagnostics["error"]
    with pytest.raises((NumericalError, ParameterError), match="1e-30"):
        limelight.explain(model, TEXT, "shapley", precision=1e-30)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("lime-limit", {"output": "probability"}),
        ("banzhaf", {"removal": "delete", "output": "probability"}),
        ("lime-theorem", {"removal": "delete"}),
    ],
)
def test_what_has_no_exact_value_is_refused_with_a_way_out(method: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(CapabilityError, match=r"you can use .*lime"):
        limelight.explain(small_model(), TEXT, method, **arguments)


def test_a_model_that_is_no_ratio_game_is_told_what_applies() -> None:
    with pytest.raises(CapabilityError, match=r"needs ratio game .* can use lime, leave-one-out, shapley$"):
        limelight.explain(Opaque(), TEXT, "banzhaf")
    shown = [e.method for e in limelight.compare(Opaque(), TEXT, n_samples=100)]
    assert shown == ["lime", "shapley", "leave-one-out"]


def test_one_feature_is_all_or_nothing() -> None:
    model = small_model()
    f = model.predict_logits(["great", "[UNK]"])[:, 1]
    for method in ("shapley", "banzhaf", "leave-one-out"):
        e = limelight.explain(model, "great", method, target="neutral")
        assert e.weights == pytest.approx([f[0] - f[1]], abs=ENUMERATED)


def test_gradient_terms_add_up_to_autograd() -> None:
    model = small_model()
    view = model.view(TEXT)
    terms = view.gradient_terms(np.eye(3)[1])
    assert terms.value_term.shape == terms.deviation_term.shape == (3, len(view.document.words), 12)
    averaged = (terms.value_term + terms.deviation_term).mean(axis=0)
    np.testing.assert_allclose(averaged, gradient_by_autograd(model, view.document, 1), rtol=0, atol=1e-12)


def test_sample_size_advice_is_kept() -> None:
    """With the advised number of samples the same five words lead in at least 95 % of runs, and with far fewer not."""
    model = limelight.load()
    first = limelight.explain(model, TRAINED, "lime", target="positive", n_samples=4000, sampling="official")
    exact = limelight.explain(model, TRAINED, "lime-limit", target="positive").weights
    assert first.stderr is not None
    needed = int(samples_for_stable_top(exact, first.stderr, 4000))
    leaders = set(np.argsort(-np.abs(exact))[:5])

    def stable(n: int) -> float:
        drawn = {"n_samples": n, "sampling": "official"}
        runs = (limelight.explain(model, TRAINED, "lime", target="positive", seed=s, **drawn) for s in range(60))
        return float(np.mean([set(np.argsort(-np.abs(run.weights))[:5]) == leaders for run in runs]))

    assert stable(needed) >= 0.88  # 95 % of 60 runs, less three standard deviations
    assert stable(max(needed // 12, 2)) < 0.95
    assert first.diagnostics["stable_top"]["k"] == 5


def test_sample_size_advice_at_its_ends() -> None:
    assert samples_for_stable_top(np.ones(5), np.ones(5), 100) == 0
    assert samples_for_stable_top(np.ones(6), np.ones(6), 100) == math.inf
    sure = np.array([9.0, 8, 7, 6, 5, 0.1])
    assert samples_for_stable_top(sure, np.full(6, 1e-9), 5000) <= 2
    z = 1.6448536269514722  # one pair: P(N(0,1) > z) = 5 %
    pair = np.array([9.0, 9, 9, 9, 1.0, 0.0])
    noise = np.array([0, 0, 0, 0, 1 / math.sqrt(2), 1 / math.sqrt(2)])
    assert samples_for_stable_top(pair, noise, 1000) == pytest.approx(1000 * z**2, rel=2e-3)


@pytest.mark.parametrize("method", ["lime-limit", "shapley"])
def test_the_intercept_has_a_bound_of_its_own(method: str) -> None:
    e = limelight.explain(small_model(), TEXT, method)
    assert 0 < e.diagnostics["intercept_error"] < ENUMERATED
    coarse = limelight.explain(small_model(), TEXT, method, precision=1e-4)
    assert abs(coarse.diagnostics["intercept"] - e.diagnostics["intercept"]) <= coarse.diagnostics["intercept_error"]


# ── deleted words ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["words", "occurrences"])
def test_deleted_words_have_exact_values_too(kind: Any) -> None:
    """Against forwards of texts from which the words were cut out."""
    model, text = small_model(2), "great film , bad end and bad film"
    document = model.read(text)
    features = features_of(document, kind)
    kept = all_coalitions(len(features))
    f = perturbed_logits(model, document, features, kept, "delete")[:, 1]
    arguments: dict[str, Any] = {"target": "neutral", "features": kind, "removal": "delete"}
    shapley = limelight.explain(model, text, "shapley", **arguments)
    np.testing.assert_allclose(shapley.weights, shapley_by_subsets(kept, f), rtol=0, atol=ENUMERATED)
    assert (shapley.exact, shapley.stderr, shapley.evaluations) == (True, None, 0)
    banzhaf = limelight.explain(model, text, "banzhaf", **arguments)
    by_coins = [f[kept[:, j]].mean() - f[~kept[:, j]].mean() for j in range(len(features))]
    np.testing.assert_allclose(banzhaf.weights, by_coins, rtol=0, atol=ENUMERATED)
    lime = limelight.explain(model, text, "lime-limit", n_samples=400, kernel_width=0.5, ridge=0.3, **arguments)
    np.testing.assert_allclose(lime.weights, expected_lime(kept, f, 400, 0.5, 0.3), rtol=0, atol=ENUMERATED)


def test_sampled_lime_that_deletes_approaches_the_exact_value() -> None:
    model = small_model(1)
    arguments: dict[str, Any] = {"target": "positive", "features": "occurrences", "removal": "delete"}
    exact = limelight.explain(model, TEXT, "lime-limit", n_samples=2000, **arguments).weights
    arguments["sampling"] = "official"
    runs = [limelight.explain(model, TEXT, "lime", n_samples=2000, seed=s, **arguments) for s in range(30)]
    weights = np.array([run.weights for run in runs])
    noise = weights.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert np.abs((weights.mean(axis=0) - exact) / noise).max() < 4.5


def test_many_texts_are_deleted_from_as_if_alone() -> None:
    model, texts = small_model(), ["great film", "the end is bad , bad", "good"]
    several = limelight.explain(model, texts, "shapley", removal="delete", features="occurrences")
    for text, own in zip(texts, several, strict=True):
        alone = limelight.explain(model, text, "shapley", removal="delete", features="occurrences")
        np.testing.assert_allclose(own.weights, alone.weights, rtol=0, atol=ENUMERATED)


def test_texts_that_repeat_many_words_are_sampled_or_refused() -> None:
    """Whether an option can be given never depends on the text."""
    model = small_model()
    few, many = "great film", " ".join("the film was great but too long".split() * 2)
    assert limelight.explain(model, few, "shapley", removal="delete").exact
    assert not limelight.explain(model, many, "shapley", removal="delete", n_samples=60).exact
    assert limelight.explain(model, many, "shapley", removal="delete", features="occurrences").exact
    for text in (few, many):
        e = limelight.explain(model, text, "shapley", removal="delete", n_samples=20, estimator="permutations")
        assert not e.exact
    with pytest.raises(CapabilityError, match="at most 6 words that stand in several places, and this text has 7"):
        limelight.explain(model, many, "lime-limit", removal="delete")
