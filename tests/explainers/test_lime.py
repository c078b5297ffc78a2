from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lime.lime_text import LimeTextExplainer

import limelight
from conftest import small_model
from limelight.errors import NumericalError, ParameterError, UnknownNameError
from limelight.explainers.lime import kernel_weights
from limelight.explainers.sampling.designs import sample_coalitions
from limelight.explainers.surrogate import Surrogate, fit_surrogate
from limelight.inputs.document import word_forms
from reference.lime import jackknife_stderr, kernel, sample_one_by_one, weighted_ridge

TEXT = "The film was not very good, it's a bad film and too long!"
SAME = 1e-9  # float64 normal equations, centred or not
WALLACE = 3e-3
"""What his approximation of Student's distribution is off by, from eight degrees of freedom on."""
FLOAT32 = 1e-4  # standard errors are computed in float32


def fit_one(kept: np.ndarray, y: np.ndarray, weights: np.ndarray, ridge: float) -> Surrogate:
    """The fit of one output: vectors and numbers in place of columns."""
    fit = fit_surrogate(kept, y[:, None], weights, ridge)
    return Surrogate(fit.coefficients[:, 0], fit.stderr[:, 0], float(fit.intercept[0]), float(fit.r2[0]))


@settings(max_examples=50, deadline=None)
@given(d=st.integers(1, 9), n=st.integers(10, 60), ridge=st.sampled_from([0.5, 1.0, 20.0]), seed=st.integers(0, 99))
def test_fit_equals_the_normal_equations(d: int, n: int, ridge: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept = sample_one_by_one(d, n, rng)
    y = kept @ rng.normal(size=d) + rng.normal(size=n)
    weights = kernel(kept, 0.25)
    np.testing.assert_allclose(kernel_weights(kept, 0.25), weights, rtol=1e-12)
    fit = fit_one(kept, y, weights, ridge)
    coefficients, intercept = weighted_ridge(kept, y, weights, ridge)
    np.testing.assert_allclose(fit.coefficients, coefficients, rtol=0, atol=SAME)
    assert fit.intercept == pytest.approx(intercept, abs=SAME)


def test_fit_in_blocks_is_the_same_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    kept = sample_one_by_one(6, 50, rng)
    y, weights = rng.normal(size=50), kernel(kept, 0.25)
    whole = fit_one(kept, y, weights, 1.0)
    monkeypatch.setattr("limelight.explainers.sampling.designs._ROWS_AT_ONCE", 7)
    blocks = fit_one(kept, y, weights, 1.0)
    np.testing.assert_allclose(blocks.coefficients, whole.coefficients, atol=SAME)
    np.testing.assert_allclose(blocks.stderr, whole.stderr, rtol=FLOAT32)


def test_several_outputs_of_the_same_samples_are_fitted_as_if_alone() -> None:
    rng = np.random.default_rng(4)
    kept = sample_one_by_one(5, 60, rng)
    y, weights = rng.normal(size=(60, 3)), kernel(kept, 0.25)
    together = fit_surrogate(kept, y, weights, 0.5)
    for column in range(3):
        alone = fit_one(kept, y[:, column], weights, 0.5)
        np.testing.assert_allclose(together.coefficients[:, column], alone.coefficients, atol=SAME)
        np.testing.assert_allclose(together.stderr[:, column], alone.stderr, rtol=FLOAT32)
        assert together.r2[column] == pytest.approx(alone.r2)


def test_standard_errors_are_those_of_the_jackknife() -> None:
    rng = np.random.default_rng(2)
    kept = sample_one_by_one(5, 40, rng)  # few samples, so that leverages matter
    y = np.exp(kept @ rng.normal(size=5)) + kept[:, 0] * rng.normal(size=40)  # neither linear nor homoscedastic
    weights = kernel(kept, 0.25)
    fit = fit_one(kept, y, weights, 1.0)
    np.testing.assert_allclose(fit.stderr, jackknife_stderr(kept, y, weights, 1.0, weighted_ridge), rtol=WALLACE)


def test_fidelity_is_the_weighted_r2() -> None:
    rng = np.random.default_rng(3)
    kept = sample_one_by_one(4, 80, rng)
    weights = kernel(kept, 0.25)
    linear = kept @ np.array([1.0, -2.0, 0.5, 0.0]) + 3
    assert fit_one(kept, linear, weights, 0.0).r2 == pytest.approx(1.0)
    y = rng.normal(size=80)
    fit = fit_one(kept, y, weights, 1.0)
    predicted = fit.intercept + kept @ fit.coefficients
    mean = np.average(y, weights=weights)
    assert fit.r2 == pytest.approx(1 - weights @ (y - predicted) ** 2 / (weights @ (y - mean) ** 2))


def test_constant_outputs_give_zero_weights() -> None:
    kept = sample_one_by_one(3, 20, np.random.default_rng(0))
    fit = fit_one(kept, np.full(20, 2.5), np.ones(20), 1.0)
    np.testing.assert_allclose(fit.coefficients, 0, atol=SAME)
    assert fit.intercept == pytest.approx(2.5)
    assert np.isfinite(fit.r2)


def test_samples_are_uniform_over_sizes_and_subsets() -> None:
    n, d = 60_000, 4
    kept = sample_coalitions(d, n, np.random.default_rng(5))
    assert kept[0].all()
    removed = d - kept[1:].sum(axis=1)
    share = n / d
    for size in range(1, d + 1):
        assert abs((removed == size).sum() - share) < 5 * np.sqrt(share)
    subsets = Counter(map(tuple, (~kept[1:][removed == 2]).tolist()))
    pairs = [tuple(i in pair for i in range(d)) for pair in itertools.combinations(range(d), 2)]
    assert set(subsets) == set(pairs)
    for pair in pairs:
        assert abs(subsets[pair] - share / 6) < 5 * np.sqrt(share / 6)


@given(d=st.integers(1, 300), seed=st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_no_size_is_ever_off(d: int, seed: int) -> None:
    removed = d - sample_coalitions(d, 200, np.random.default_rng(seed), original_first=False).sum(axis=1)
    assert removed.min() >= 1
    np.testing.assert_array_equal(removed, np.random.default_rng(seed).integers(1, d + 1, size=200))


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_95_percent_intervals_cover_95_percent(removal: Any) -> None:
    """The difference of two independent runs is covered as often as it claims."""
    model, inside, total = small_model(1), 0, 0
    for seed in range(100):
        first, second = (
            limelight.explain(model, TEXT, "lime", sampling="official", removal=removal, n_samples=400, seed=s)
            for s in (2 * seed, 2 * seed + 1)
        )
        assert first.stderr is not None
        assert second.stderr is not None
        inside += int((np.abs(first.weights - second.weights) < 1.96 * np.hypot(first.stderr, second.stderr)).sum())
        total += len(first.weights)
    assert 0.93 < inside / total < 0.97


def test_error_falls_as_one_over_the_root_of_n() -> None:
    model = small_model(2)
    exact = limelight.explain(model, TEXT, "lime", sampling="official", n_samples=400_000, ridge=0.0).weights
    distances = []
    for n in (500, 8000):
        runs = [
            limelight.explain(model, TEXT, "lime", sampling="official", n_samples=n, ridge=0.0, seed=s).weights
            for s in range(1, 25)
        ]
        distances.append(np.sqrt(np.mean([np.sum((run - exact) ** 2) for run in runs])))
    assert distances[0] / distances[1] == pytest.approx(4.0, rel=0.25)


def official(model: Any, text: str, removal: str, seed: int, n_samples: int) -> dict[str, float]:
    explainer = LimeTextExplainer(
        class_names=model.labels,
        split_expression=word_forms,
        bow=removal == "delete",
        mask_string=None if removal == "delete" else "[UNK]",
        random_state=seed,
    )
    explained = explainer.explain_instance(
        text, model.predict_logits, labels=(2,), num_features=1000, num_samples=n_samples
    )
    names = explained.domain_mapper.indexed_string
    return {names.word(j): weight for j, weight in explained.local_exp[2]}


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_parity_with_the_official_implementation(removal: Any) -> None:
    """Ours is as far from an official run as official runs are from each other."""
    model, text, n = small_model(4), "the film was not very good , a bad end and too long !", 2000
    runs = [official(model, text, removal, seed, n) for seed in range(8)]
    ours = [
        limelight.explain(
            model, text, "lime", sampling="official", target="positive", removal=removal, n_samples=n, seed=seed
        )
        for seed in range(8)
    ]
    names = ours[0].features
    theirs = np.array([[run[name] for name in names] for run in runs])
    weights = np.array([e.weights for e in ours])
    own = np.mean([np.linalg.norm(a - b) for a, b in itertools.combinations(theirs, 2)])
    cross = np.mean([np.linalg.norm(a - b) for a in theirs for b in weights])
    assert cross < 1.15 * own
    assert np.linalg.norm(theirs.mean(axis=0)) > 5 * own  # so that the comparison says something


def test_diagnostics_stand_beside_the_weights() -> None:
    model = small_model()
    e = limelight.explain(model, TEXT, "lime", sampling="official", target="positive", n_samples=3000)
    document = model.read(TEXT)
    assert e.diagnostics["model_prediction"] == pytest.approx(model.predict_logits([document.text])[0][2])
    assert e.diagnostics["surrogate_prediction"] == pytest.approx(e.diagnostics["intercept"] + e.weights.sum())
    assert 0 < e.diagnostics["r2"] < 1
    assert e.parameters == {
        "features": "words",
        "removal": "mask",
        "output": "logit",
        "seed": 0,
        "n_samples": 3000,
        "kernel_width": 0.25,
        "ridge": 1.0,
        "sampling": "official",
        "original_first": True,
        "ridge_samples": 3000,
    }
    assert e.evaluations == 3000
    without = limelight.explain(
        model, TEXT, "lime", sampling="official", target="positive", n_samples=300, original_first=False
    )
    # No sample keeps everything then, so the first one says something else.
    assert without.diagnostics["model_prediction"] == pytest.approx(e.diagnostics["model_prediction"], abs=1e-12)
    assert without.evaluations == 301
    proba = limelight.explain(model, TEXT, "lime", sampling="official", target="positive", output="probability")
    assert proba.diagnostics["model_prediction"] == pytest.approx(model.predict_proba([TEXT])[0][2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 1}, "n_samples"),
        ({"n_samples": 10.5}, "n_samples"),
        ({"kernel_width": 0}, "kernel_width"),
        ({"kernel_width": float("nan")}, "kernel_width"),
        ({"ridge": -1}, "ridge"),
        ({"seed": -1}, "seed"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        limelight.explain(small_model(), TEXT, "lime", sampling="official", **options)


def test_unknown_names_are_refused_with_a_hint() -> None:
    model = small_model()
    with pytest.raises(UnknownNameError, match="did you mean 'n_samples'"):
        limelight.explain(model, TEXT, "lime", sampling="official", num_samples=10)
    with pytest.raises(UnknownNameError, match="did you mean 'lime'"):
        limelight.explain(model, TEXT, "lyme")
    with pytest.raises(UnknownNameError, match="choose from 'negative', 'neutral', 'positive'"):
        limelight.explain(model, TEXT, "lime", sampling="official", target="nice")
    with pytest.raises(UnknownNameError, match="removal"):
        limelight.explain(model, TEXT, "lime", sampling="official", removal="erase")  # type: ignore[arg-type]


def test_outputs_that_are_not_finite_are_reported() -> None:
    model = small_model()
    model.W_l.data[0, 0, 0] = float("nan")
    with pytest.raises(NumericalError, match="not finite"):
        limelight.explain(model, TEXT, "lime", sampling="official")


# ── extreme options ───────────────────────────────────────────────────────────────────────────────────────────────────

SIX = "the film was great but long"


@pytest.mark.parametrize("original_first", [True, False])
@pytest.mark.parametrize("kernel_width", [0.01, 1e-9, 1e-200, 5e-324])
def test_a_kernel_in_which_the_document_alone_has_weight_is_refused(kernel_width: float, original_first: bool) -> None:
    """Once 0 ± 0, R² = 1 from a single sample, and "check the model's weights"."""
    with pytest.raises(ParameterError) as caught:
        limelight.explain(
            small_model(), SIX, "lime", sampling="official", kernel_width=kernel_width, original_first=original_first
        )
    said = str(caught.value)
    assert f"kernel_width={kernel_width!r} is too narrow for 6 features" in said
    assert f"{int(original_first)} of 5000 samples carry weight (effective number: 1)" in said
    assert "use a larger one, 0.022 or more" in said


def test_the_width_that_is_advised_is_enough() -> None:
    for text, width in (("film", 0.25), (SIX, 0.022)):
        with pytest.raises(ParameterError, match=f"{width} or more"):
            limelight.explain(small_model(), text, "lime", sampling="official", kernel_width=1e-9)
        assert (
            np.abs(
                limelight.explain(small_model(), text, "lime", sampling="official", kernel_width=width).weights
            ).max()
            > 1e-6
        )


def test_the_model_is_not_asked_where_there_is_nothing_to_fit() -> None:
    asked = []

    def model(texts: list[str]) -> np.ndarray:
        asked.append(len(texts))
        return np.full((len(texts), 2), 0.5)

    with pytest.raises(ParameterError, match="too narrow"):
        limelight.explain(limelight.wrap(model, labels=("no", "yes")), SIX, "lime", kernel_width=0.001, n_samples=2000)
    assert sum(asked) <= 1  # the prediction


@pytest.mark.parametrize("kernel_width", [1e155, 1e308])
@pytest.mark.parametrize("method", ["lime", "lime-limit"])
def test_a_kernel_wider_than_its_square_can_be_is_infinite(kernel_width: float, method: str) -> None:
    wide, infinite = (
        limelight.explain(small_model(), SIX, method, kernel_width=width) for width in (kernel_width, float("inf"))
    )
    np.testing.assert_array_equal(wide.weights, infinite.weights)


@pytest.mark.parametrize("ridge", [5e-324, 1e-100, 1e-16, 1e-12, 1e-9])
def test_a_tiny_ridge_and_fewer_samples_than_words_is_the_limit_of_no_ridge(ridge: float) -> None:
    """Once a singular matrix, or weights of 1e14: the directions that no sample tells of have no weight."""
    tiny, none = (
        limelight.explain(small_model(), SIX, "lime", sampling="official", n_samples=3, ridge=r) for r in (ridge, 0.0)
    )
    np.testing.assert_allclose(tiny.weights, none.weights, rtol=0, atol=1e-6)
    assert tiny.stderr is not None
    assert np.isnan(tiny.stderr).all()
    assert any("3 samples cannot tell 6 words apart" in notice for notice in tiny.notices)


@settings(max_examples=40, deadline=None)
@given(
    d=st.integers(1, 9),
    n=st.integers(2, 40),
    exponent=st.integers(-12, 1),
    original_first=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_ridge_solves_the_normal_equations(d: int, n: int, exponent: int, original_first: bool, seed: int) -> None:
    """Where H is singular but for the penalty too: the twin adds the penalty as rows to a least squares problem."""
    rng, ridge = np.random.default_rng(seed), 10.0**exponent
    kept = sample_coalitions(d, n, rng, original_first)
    y, weights = rng.normal(size=n), kernel(kept, 0.25)
    x, away = kept - np.average(kept, axis=0, weights=weights), y - np.average(y, weights=weights)
    rows = np.vstack([np.sqrt(weights)[:, None] * x, np.sqrt(ridge) * np.eye(d)])
    twin, *_ = np.linalg.lstsq(rows, np.concatenate([np.sqrt(weights) * away, np.zeros(d)]), rcond=None)
    fit = fit_one(kept, y, weights, ridge)
    # Small eigenvalues that are there, such as 3e-4 of a sample of all words, are kept by both.
    # What the penalty alone holds is known to rounding over the penalty: 2e-5 at 1e-11.
    lost = max(1e-6, 1e-15 / ridge)
    np.testing.assert_allclose(fit.coefficients, twin, rtol=0, atol=lost * max(1.0, np.abs(twin).max()))


def test_sampled_coefficients_of_many_runs_know_the_same_limits() -> None:
    from limelight.explainers.lime import sampled_coefficients
    from limelight.explainers.lime_on_device import LimeSettings, coefficients_of_runs
    from limelight.explainers.method import Question
    from limelight.inputs.features import features_of
    from limelight.models.outputs import Quantity

    view = small_model().view(SIX)
    question = Question(
        view, view.document, features_of(view.document, "words"), Quantity(len(view.labels), 0), view.logits
    )
    for ridge in (0.0, 1e-100, 1e-9):
        settings_ = LimeSettings(n_samples=3, ridge=ridge)
        assert np.abs(sampled_coefficients(question, 0, ("mask",), settings_, 2)).max() < 100
        assert np.abs(coefficients_of_runs([question], [0], ("mask",), settings_, 2)[0]).max() < 100
    narrow = LimeSettings(kernel_width=0.005)
    with pytest.raises(ParameterError, match="too narrow"):
        sampled_coefficients(question, 0, ("mask",), narrow, 1)
    with pytest.raises(ParameterError, match="too narrow"):
        coefficients_of_runs([question], [0], ("mask",), narrow, 1)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("lime", {"n_samples": 10**12}, r"n_samples=1000000000000 .* would take 70,000\.0 GB .* at most .* GB"),
        (
            "shapley",
            {"n_samples": 10**12, "removal": "delete", "estimator": "permutations"},
            r"n_samples=1000000000000 .* more than 1,000,000,000",
        ),
        ("shapley", {"n_permutations": 10**12, "removal": "delete"}, r"n_permutations=1000000000000 .* ask for less"),
        ("lime", {"n_samples": 1e12}, "n_samples must be a whole number"),
        ("lime", {"kernel_width": None}, "kernel_width must be a number"),
        ("lime", {"kernel_width": "wide"}, "kernel_width must be a number"),
        ("lime", {"ridge": "1"}, "ridge must be a number"),
        ("lime", {"ridge": 10**400}, "ridge must be"),
        ("lime-limit", {"n_samples": "5"}, "n_samples must be a number"),
        ("lime-limit", {"kernel_width": None}, "kernel_width must be a number"),
    ],
)
def test_options_out_of_all_bounds_are_refused_at_once(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        limelight.explain(small_model(), SIX, method, **options)


def test_a_regression_of_too_many_words_is_refused_with_the_memory_it_would_take() -> None:
    from limelight.explainers.lime import check_samples

    with pytest.raises(ParameterError, match=r"10000000 features would take .* GB of memory.*shorter text"):
        check_samples(10**7, 5000)
    check_samples(1000, 5000)


def test_outputs_that_overflow_a_square_are_reported() -> None:
    rng = np.random.default_rng(0)
    kept = sample_coalitions(4, 20, rng)
    with pytest.raises(NumericalError, match=r"overflows: outputs are as large as 1e\+200"):
        fit_one(kept, rng.choice([-1e200, 1e200], 20), np.ones(20), 1.0)


SUMS_OF_200 = 200 * float(np.finfo(np.float32).eps)
"""What a sum of 200 numbers of one sign may lose in float32, whatever the order in which a processor adds them."""


def _noisy_line() -> tuple[np.ndarray, np.ndarray]:
    """Coalitions of six words, the document first, and outputs that a line describes but for noise."""
    rng = np.random.default_rng(1)
    kept = sample_coalitions(6, 200, rng)
    return kept, kept @ rng.normal(size=6) + 0.1 * rng.normal(size=200)


@pytest.mark.parametrize("weight", [1e-6, 1e-10, 1e-15])
def test_errors_of_a_tiny_regression_stay_in_range(weight: float) -> None:
    """Without a penalty no unit of the weights changes anything: fourth powers of 1e-10 leave float32."""
    kept, y = _noisy_line()
    tiny, whole = (fit_surrogate(kept, y[:, None], np.full(200, w), 0.0) for w in (weight, 1.0))
    np.testing.assert_allclose(tiny.stderr, whole.stderr, rtol=SUMS_OF_200)
    np.testing.assert_allclose(tiny.effective, whole.effective, rtol=4 * SUMS_OF_200)  # fourth powers of the same sums


@pytest.mark.parametrize("others", [1e-10, 1e-9])
def test_a_document_that_outweighs_its_samples_decides_every_weight(others: float) -> None:
    """All samples weigh 2e-8 or 2e-7 beside the document, whose answer moves each weight by 0.06 or more of it.

    The mean of what is kept is then 1 but for 1e-8, which float32 rounds away, and the order of its sums with it.
    """
    kept, y = _noisy_line()
    fit = fit_one(kept, y, np.where(kept.all(axis=1), 1.0, others), 0.0)
    assert np.isnan(fit.stderr).all()
    assert np.isfinite(fit.coefficients).all()
