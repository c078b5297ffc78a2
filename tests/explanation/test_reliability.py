"""The verdict on an explanation: what is said, of what, and what is not said of ordinary ones."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import limelight
from conftest import small_model
from explanation.test_significance import explained
from limelight.errors import ExplanationWarning, NumericalError
from limelight.explainers.gradient import along_embeddings
from limelight.explainers.lime import _stable_top
from limelight.explainers.method import Question, Weights
from limelight.explanation.reliability import (
    CONTRADICTS,
    FAIR_R2,
    FAR,
    LITTLE,
    LOW_R2,
    moves_little,
    remarks_on_fit,
    verdict,
)
from limelight.explanation.result import Explanation, Prediction
from limelight.explanation.wording import spoken_for
from limelight.inputs.document import Document
from limelight.inputs.features import features_of
from limelight.models.interface import PathGradients
from limelight.models.outputs import Quantity
from limelight.render.row_model import row_model
from limelight.statistics.stability import chance_of_other_top
from reference.opaque import Answering, Opaque
from reference.small_transformers import small_transformer

SIX = "the film was great but bad"
Logits = Callable[[np.ndarray], np.ndarray]


def model_of(output: Logits) -> Answering:
    """The label "positive" has the output of the coalitions (n, d) as its logit, the others 0."""

    def answer(kept: np.ndarray) -> np.ndarray:
        own = np.asarray(output(kept), dtype=np.float64)
        return np.stack([0.0 * own, 0.0 * own, own], axis=1)

    return Answering(answer)


def said(output: Logits, text: str = SIX, method: str = "lime", **arguments: Any) -> tuple[Explanation, str]:
    """An explanation of such a model, and all that is said of it."""
    e = limelight.explain(model_of(output), text, method, target="positive", **arguments)
    return e, " | ".join(e.warnings)


# ── the adversarial table ─────────────────────────────────────────────────────────────────────────────────────────────


def test_all_words_unknown() -> None:
    for method in ("lime", "shapley", "leave-one-out"):
        e = limelight.explain(limelight.load(), "xyzzy qwertz", method)
        assert e.significance.is_empty
        assert e.warnings[0].startswith("no weight can be told from 0, since all are within numerical error")
        assert any("does not know 2 of the 2 words" in notice for notice in e.notices)


def test_one_word() -> None:
    _, words = said(lambda kept: 3.0 * kept[:, 0], "great")
    assert "leave-one-out" in words  # LIME's penalty shrinks what is learnt from one sample
    alone = explained(features=("great",), weights=np.array([1.0]), spans=(((0, 4),),), stderr=np.array([1.0]))
    assert verdict(alone) == ["one feature alone gives samples nothing to compare it with: use leave-one-out"]
    for method in ("shapley", "leave-one-out"):
        e, words = said(lambda kept: 3.0 * kept[:, 0], "great", method)
        assert e.significant.tolist() == [True]
        assert words == ""


def test_ties() -> None:
    """Words that weigh the same: their order is chance, and no number of samples settles it."""
    noise = np.random.default_rng(0)
    text = " ".join(f"w{i}" for i in range(12))
    _, words = said(lambda kept: kept.sum(axis=1) + noise.normal(size=len(kept)), text, n_samples=300)
    assert "another run would likely name other strongest words" in words
    # Two that tie, far above all others, are the same two in every run.
    effects = np.array([5.0, 5.0, *[0.1] * 10])
    _, words = said(lambda kept: kept @ effects + 0.1 * noise.normal(size=len(kept)), text, n_samples=300)
    assert words == ""
    # Nothing is left to chance where two orders are all there are.
    _, words = said(lambda kept: kept.sum(axis=1), "great bad", "shapley")
    assert words == ""


@pytest.mark.parametrize("method", ["lime", "shapley", "leave-one-out", "gxi"])
def test_a_saturated_model(method: str) -> None:
    """One class at 99.99 % and more: its probability does not move, its log-odds do."""
    model = small_model()
    with torch.no_grad():
        model.W_l.mul_(80.0)
    for target in model.labels:  # the one that is certain, and those that are certainly not
        e = limelight.explain(model, SIX, method, output="probability", target=target)
        chance = e.prediction.probabilities[model.labels.index(target)]
        assert min(chance, 1 - chance) < 1e-4
        assert any("within 0.01 % of certainty, where it hardly moves: use output='log-odds'" in w for w in e.warnings)
        e = limelight.explain(model, SIX, method, output="log-odds", target=target)
        assert not any("certainty" in words for words in e.warnings)
    e = limelight.explain(small_model(), SIX, method, output="probability")
    assert not any("certainty" in words for words in e.warnings)


@pytest.mark.parametrize(
    ("chance", "is_said"),
    [(0.00009, True), (0.00011, False), (0.5, False), (0.99989, False), (0.99991, True), (0.0, True), (1.0, True)],
)
def test_a_probability_is_saturated_where_its_digits_end(chance: float, is_said: bool) -> None:
    """Probabilities are shown in hundredths of a per cent: 0.01 % from certainty, on either side."""
    logits = np.array([0.0, np.log(max(chance, 1e-12) / max(1.0 - chance, 1e-12))])
    prediction = Prediction("good", ("bad", "good"), logits, np.array([1.0 - chance, chance]))
    words = verdict(explained(prediction=prediction, parameters={"output": "probability"}))
    assert (
        words
        == ["the probability is within 0.01 % of certainty, where it hardly moves: use output='log-odds'"] * is_said
    )
    assert verdict(explained(prediction=prediction, parameters={"output": "log-odds"})) == []


def test_a_surrogate_of_the_wrong_sign() -> None:
    """Only the whole text is positive: every sample but one says otherwise."""
    e, words = said(lambda kept: np.where(kept.all(axis=1), 2.0, -2.0 + 0.3 * kept[:, 0]))
    assert e.diagnostics["surrogate_prediction"] < 0 < e.diagnostics["model_prediction"]
    assert e.warnings[0].startswith("the linear fit contradicts the model on this very text: it gives -1.")
    assert "where the model gives 2" in words


def test_six_hundred_words() -> None:
    rng = np.random.default_rng(0)
    effects = rng.normal(size=600)
    text = " ".join(f"w{i}" for i in range(600))

    def function(texts: list[str]) -> np.ndarray:
        sums = [sum(effects[int(word[1:])] for word in own.split() if word != "[UNK]") for own in texts]
        p = 1 / (1 + np.exp(-np.array(sums) / 5))
        return np.stack([1 - p, p], axis=1)

    model = limelight.wrap(function, labels=["bad", "good"])
    few = limelight.explain(model, text, "lime", n_samples=300)
    own = few.significance
    assert own.significant.shape == (600,)
    assert own.significant.mean() < 0.2
    assert few.warnings
    alone = limelight.explain(model, text, "leave-one-out")
    assert alone.significant.all()
    assert alone.warnings == ()


def test_fifty_labels() -> None:
    labels = tuple(f"label {c}" for c in range(50))
    model = small_model(labels=labels)
    compared = limelight.explain(model, SIX, "leave-one-out", target="all")
    assert len(compared) == 50
    for e in compared:
        little = bool(np.abs(e.weights).sum() < LITTLE["logit"])
        assert [said.partition(":")[0] for said in e.warnings] == little * ["these words barely move the model"]
        for j in np.flatnonzero(e.significant):
            assert spoken_for(e, int(j)) == (e.target if e.weights[j] > 0 else None)


# ── each rule at its threshold ────────────────────────────────────────────────────────────────────────────────────────


def test_between_a_poor_fit_and_a_good_one_there_is_a_notice() -> None:
    assert remarks_on_fit(LOW_R2 - 0.001) == remarks_on_fit(FAIR_R2) == remarks_on_fit(None) == []
    (said,) = remarks_on_fit(0.508)
    assert said.startswith("the linear fit describes 51 % of how the output changes (R²)")


def fitted(surrogate: float, model: float, r2: float | None = 0.9, output: str = "logit", **fields: Any) -> Explanation:
    """Weights that hand out 10."""
    stated = {"surrogate_prediction": surrogate, "model_prediction": model, "r2": r2}
    usual: dict[str, Any] = {"weights": np.array([6.0, -4.0, 0.0]), "parameters": {"output": output}}
    return explained(diagnostics=stated, **{**usual, **fields})


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (fitted(1.0, 1.0), None),
        (fitted(-0.2, 0.29), None),  # both close to 0: the model is undecided
        (fitted(-0.2, 10 * CONTRADICTS - 0.19), "contradicts"),
        (fitted(1.0, 0.99 + 10 * FAR), None),
        (fitted(1.0, 1.01 + 10 * FAR), "far from"),
        (fitted(0.2, 0.9, output="probability"), "contradicts"),
        (fitted(0.6, 1.4, output="probability"), None),
        (fitted(-1.0, 1.0, output="value"), None),  # 0 divides nothing there
        (fitted(-1.0, 2.0, output="value"), "far from"),
        (fitted(-0.3, 0.3, output="probability", against="bad"), "contradicts"),
        (fitted(1.0, 1.0, LOW_R2 + 0.001), None),
        (fitted(1.0, 1.0, LOW_R2 - 0.001), "describes only 50 %"),
        (fitted(1.0, 1.0, None), None),
        (fitted(1.0, 1.0, math.nan), None),
    ],
)
def test_a_surrogate_is_judged_by_what_it_hands_out(e: Explanation, expected: str | None) -> None:
    words = verdict(e)
    assert len(words) == (expected is not None)
    assert expected is None or expected in words[0]


def test_noise_beyond_every_weight() -> None:
    noise = np.random.default_rng(0)
    e, words = said(lambda kept: 50.0 * noise.normal(size=len(kept)) - 1e-3 * kept[:, 0], n_samples=40)
    assert e.significance.is_empty
    assert e.warnings[0].startswith("no weight can be told from 0 beside its sampling noise: ")
    assert "raise n_samples (40 here)" in words
    wide = explained(weights=np.array([1.0, 0.1, 0.1]), stderr=np.array([0.1, 2.0, 3.0]))
    assert verdict(wide)[0].startswith("most intervals (± 4.8) are wider than the largest weight")


def test_the_advised_number_of_samples_is_enough() -> None:
    noise = np.random.default_rng(3)
    text = " ".join(f"w{i}" for i in range(12))
    effects = np.linspace(1.0, 0.0, 12)

    def ask(n_samples: int) -> str:
        return said(lambda kept: kept @ effects + 2 * noise.normal(size=len(kept)), text, n_samples=n_samples)[1]

    words = ask(400)
    assert "another run would likely name other strongest words: raise n_samples to " in words
    enough = int(words.rpartition("raise n_samples to ")[2].replace(",", ""))
    assert 400 < enough <= 10**6
    assert "another run" not in ask(enough)


@given(st.floats(0.0, 3.0), st.floats(0.1, 2.0), st.integers(0, 100))
def test_the_chance_of_another_top_word_is_that_of_two_runs(gap: float, stderr: float, seed: int) -> None:
    """Two words: the chance is that of the sign of a normal difference, from the gap that was seen."""
    bound = chance_of_other_top(np.array([5.0 + gap, 5.0]), np.full(2, stderr), 1)
    rng = np.random.default_rng(seed)
    # The noise of this run, which moved the gap that was seen, and of the other.
    changed = gap + 2.0 * stderr * rng.normal(size=4000) < 0
    assert bound == pytest.approx(changed.mean(), abs=0.04)
    assert chance_of_other_top(np.array([2.0, 1.0]), np.zeros(2), 1) == 0.0
    assert chance_of_other_top(np.array([1.0, 1.0]), np.zeros(2), 1) == 0.0
    assert chance_of_other_top(np.array([1.0, 1.0]), np.ones(2), 2) == 0.0


def test_the_strongest_five_of_five_words_are_not_called_stable() -> None:
    weights, stderr = np.arange(6.0, 0.0, -1.0), np.full(6, 0.1)
    assert _stable_top(weights[:5], stderr[:5], 100) is None
    assert _stable_top(weights, stderr, 100) == {"k": 5, "level": 0.95, "n_samples": pytest.approx(100, abs=99)}


def integrated(path: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], **options: Any) -> Weights:
    """Integrated gradients of two words along a path: the outputs (m,) at points, and the slopes (m, 2)."""
    document = Document.read("a b")
    features = features_of(document, "words", "both")

    class View:
        def path_gradients(self, baseline: str, moved: Any, points: np.ndarray, direction: Any) -> PathGradients:
            outputs, slopes = path(points)
            return PathGradients(outputs[:, None], slopes, np.arange(2), forwards=len(points))

    return along_embeddings(Question(View(), document, features, Quantity(1, 0), np.zeros(1)), **options)


def steep(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp(80 x), three quarters of which are the first word's."""
    return np.exp(80 * points), 80 * np.exp(80 * points)[:, None] * np.array([0.75, 0.25])


@pytest.mark.parametrize(
    ("options", "is_said"),
    [
        ({}, False),
        ({"steps": 2}, True),
        ({"steps": 64}, False),
        ({"tolerance": 1e-5, "max_steps": 16}, True),  # less than was asked for, though nobody would see it
    ],
)
def test_integrated_gradients_that_miss_completeness(options: dict[str, Any], is_said: bool) -> None:
    weights = integrated(steep, **options)
    missing = abs(weights.values.sum() - math.expm1(80))
    assert weights.diagnostics["completeness_error"] == pytest.approx(missing, rel=1e-6, abs=1e-12 * math.expm1(80))
    assert weights.rounding >= missing
    assert bool(weights.warnings) == is_said
    if is_said:
        nodes = weights.diagnostics["steps"]
        assert f"of what they should add up to, after {nodes} steps: raise max_steps" in weights.warnings[0]


def test_integrated_gradients_take_no_steps_against_rounding() -> None:
    """Slopes whose sum is off by what the ends may be rounded by: more steps would not help."""

    def off(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 100.0 + 1e-3 * points, np.full((len(points), 2), 0.5e-3 + 5e-5)

    weights = integrated(off)
    assert weights.diagnostics["steps"] == 16
    assert weights.diagnostics["relative_error"] > 0.01
    assert weights.evaluations == 18
    model, own = small_transformer("bert")
    same = limelight.explain(limelight.wrap(model, own), "[MASK] [MASK]", "integrated-gradients")
    assert same.significance.is_empty
    assert [words[:28] for words in same.warnings] == ["no weight can be told from 0"]


def test_integrated_gradients_of_a_broken_path_are_an_error() -> None:
    with pytest.raises(NumericalError, match="not finite after 16 steps"):
        integrated(lambda points: (0.0 * points, np.full((len(points), 2), math.nan)))
    flat = integrated(lambda points: (0.0 * points, np.zeros((len(points), 2))))
    assert flat.values.tolist() == [0.0, 0.0]  # nothing to divide by


def test_certain_answers_of_a_function() -> None:
    def certain(texts: list[str]) -> np.ndarray:
        p = np.array([float("great" in text) for text in texts])
        return np.stack([1 - p, p], axis=1)

    model = limelight.wrap(certain, labels=["bad", "good"])
    for method in ("lime", "shapley", "leave-one-out"):
        e = limelight.explain(model, SIX, method)
        assert any(words.startswith("100 % of the model's answers are certain") for words in e.warnings), method
        e = limelight.explain(model, SIX, method, output="probability")
        assert not any("of the model's answers" in words for words in e.warnings), method


# ── how it is said ────────────────────────────────────────────────────────────────────────────────────────────────────


def warned(call: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [one for one in caught if one.category is ExplanationWarning]


def test_python_warns_once_for_each_explanation_and_names_the_callers_line() -> None:
    model = limelight.load()
    (one,) = warned(lambda: limelight.explain(model, "xyzzy qwertz"))
    assert str(one.message).startswith("lime for 'negative': no weight can be told from 0")
    assert one.filename == __file__
    assert warned(lambda: limelight.explain(model, "a great film")) == []
    assert len(warned(lambda: limelight.explain(model, ["xyzzy", "a great film", "qwertz"]))) == 2
    assert len(warned(lambda: limelight.explain(model, "xyzzy qwertz", target="all"))) == 2
    compared = warned(lambda: limelight.compare(model, "xyzzy qwertz"))
    why = {str(own.message).partition(" ")[0]: str(own.message).partition(": ")[2][:11] for own in compared}
    assert why.pop("lime") == why.pop("lime-limit") == why.pop("shapley") == "no weight c"
    assert set(why.values()) == {"these words"}  # attention and gradients are drawn, whatever they are worth
    assert all(own.filename == __file__ for own in compared)


@pytest.mark.parametrize(("factor", "little"), [(0.99, True), (1.01, False)])
@pytest.mark.parametrize("output", ["logit", "log-odds", "probability"])
def test_words_that_barely_move_the_model(output: str, factor: float, little: bool) -> None:
    weights = np.array([3.0, -1.0, 0.0]) / 4.0 * LITTLE[output] * factor
    assert moves_little(explained(weights=weights, parameters={"output": output})) is little


def test_words_that_barely_move_the_model_have_no_full_colour() -> None:
    model = model_of(lambda kept: kept @ np.array([0.004, -0.002, 0.0, 0.001, 0.0, 0.003]))
    e = limelight.explain(model, SIX, "leave-one-out", target="positive")
    assert e.warnings[0].startswith("these words barely move the model: ")
    assert [shade.level for shade in row_model(e).shades] == [1, 1, 0, 1, 0, 1]
    assert Explanation.from_dict(e.to_dict()) == e
    moving = limelight.explain(model_of(lambda kept: 4.0 * kept[:, 0]), SIX, "leave-one-out", target="positive")
    assert max(shade.level for shade in row_model(moving).shades) > 1
    assert moving.warnings == ()


def test_methods_that_do_not_measure_changes_learn_from_those_that_do() -> None:
    """Attention alone cannot tell that words do nothing; beside Shapley values of nothing it is drawn pale."""
    model = limelight.load()
    alone = limelight.explain(model, "xyzzy qwertz", "alpha-avg")
    assert alone.warnings == ()
    beside = limelight.compare(model, "xyzzy qwertz", ["alpha-avg", "shapley"])["alpha-avg"]
    assert beside.warnings[0].startswith("these words barely move the model: ")
    assert np.array_equal(beside.weights, alone.weights)
    moved = limelight.compare(model, "a great film", ["alpha-avg", "shapley"])["alpha-avg"]
    assert moved.warnings == ()


def test_the_verdict_is_part_of_the_json() -> None:
    e = limelight.explain(limelight.load(), "xyzzy qwertz")
    assert e.to_dict()["diagnostics"]["warnings"] == list(e.warnings) != []
    fine = limelight.explain(limelight.load(), "a great film")
    assert fine.to_dict()["diagnostics"]["warnings"] == []


def test_labels_in_a_warning_are_written_on_one_line() -> None:
    hostile = "a\nb\x1b[31m"
    model = small_model(labels=("x", hostile))
    (one,) = warned(lambda: limelight.explain(model, "zzz qqq", "leave-one-out", target=hostile))
    assert "\n" not in str(one.message)
    assert "\x1b" not in str(one.message)


def test_ordinary_explanations_are_left_in_peace() -> None:
    model = limelight.load()
    texts = ["A great film, but far too long.", "The worst acting I have seen in years, and a dull plot."]
    assert [warned(lambda text=text: limelight.compare(model, text)) for text in texts] == [[], []]  # type: ignore[misc]
    assert warned(lambda: limelight.explain(Opaque(), "the film was great but too long", "shapley")) == []


# ── each rule of noise at its threshold ───────────────────────────────────────────────────────────────────────────────


def sampled(weights: list[float], stderr: float) -> Explanation:
    """Weights that 100 samples gave, all with one error."""
    d = len(weights)
    return explained(
        method="shapley",
        text=" ".join("abcdefgh"[:d]),
        features=tuple("abcdefgh"[:d]),
        spans=tuple(((2 * j, 2 * j + 1),) for j in range(d)),
        weights=np.array(weights),
        stderr=np.full(d, stderr),
        exact=False,
        parameters={"output": "logit", "n_samples": 100},
    )


@pytest.mark.parametrize(("rounding", "advice"), [(2e-3, "load the model in float32"), (5e-4, "do not read anything")])
def test_weights_within_rounding_are_half_precisions_where_it_is_as_coarse(rounding: float, advice: str) -> None:
    """The largest logit is 1."""
    e = explained(weights=np.array([4e-4, -3e-4, 0.0]), diagnostics={"rounding": rounding})
    (words,) = verdict(e)
    assert words.startswith("no weight can be told from 0, since all are within numerical error: ")
    assert advice in words


def test_five_words_that_tie_are_the_strongest_five_of_every_run() -> None:
    """Which comes first is chance, and that the sixth does not belong to them is not."""
    assert verdict(sampled([1.0, 1.0, 1.0, 1.0, 1.0, 0.0], 0.1)) == []
    assert "another run would likely name other strongest words" in verdict(sampled([1.0] * 6 + [0.0], 0.1))[0]


def test_another_run_is_likely_other_where_that_is_more_likely_than_not() -> None:
    """By chances of 0.56 and 0.47, for the first word and for the first two."""
    assert "another run would likely name other strongest words" in verdict(sampled([1.0, 0.8, 0.6], 0.25))[0]
    assert verdict(sampled([1.0, 0.8, 0.6], 0.2)) == []
