"""What is told from zero, what a method says of its own error, and how that is put into words."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

import limelight
from conftest import small_model
from limelight.explainers.lime import kernel_weights
from limelight.explainers.sampling.designs import sample_coalitions
from limelight.explainers.surrogate import fit_surrogate
from limelight.explanation.result import Explanation, Prediction
from limelight.explanation.significance import FALSE_DISCOVERIES, INTERVAL, significance_of
from limelight.explanation.wording import accuracy_in_words, asked_in_words, ending_of, notices_of, spoken_for
from limelight.models.words.classifier import Vocabulary, WordClassifier
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig
from limelight.statistics.student import half_width
from reference.opaque import Answering, Opaque
from reference.small_transformers import small_transformer
from render.samples import comparison_of

TEXT = "the film was great but too long and the end is bad"
RUNS = 200
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
numbers = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-5.0, 5.0))

# ── told from zero ────────────────────────────────────────────────────────────────────────────────────────────────────


def discovered(p: list[float], level: float) -> list[bool]:
    """Benjamini and Hochberg as they wrote it: the largest k with P_(k) <= k q / m; the k smallest are rejected."""
    ranked = sorted(p)
    passed = [k for k in range(1, len(p) + 1) if ranked[k - 1] <= k * level / len(p)]
    return [bool(passed) and own <= ranked[passed[-1] - 1] for own in p]


@given(numbers, st.floats(0.01, 2.0), st.floats(0.0, 1.0))
def test_sampled_weights_are_told_by_the_step_up_rule(weights: np.ndarray, error: float, rounding: float) -> None:
    own = significance_of(weights, np.full(len(weights), error), rounding)
    p = [math.erfc(max(abs(w) - rounding, 0.0) / error / math.sqrt(2.0)) for w in weights]
    assert own.significant.tolist() == discovered(p, FALSE_DISCOVERIES)
    # Benjamini and Yekutieli as they wrote it: R of m are picked, and each interval leaves out q R / m.
    tail = FALSE_DISCOVERIES * max(own.significant.sum(), 1) / len(weights)
    assert own.level == pytest.approx(1.0 - tail)
    assert own.half_width == pytest.approx(stats.norm.isf(tail / 2.0) * error + rounding, rel=1e-9)
    # What is told has an interval without zero, and nothing else has one.
    assert ((np.abs(weights) > own.half_width * (1.0 + 1e-9)) == own.significant).all()


SPARSE = np.concatenate([[6.0, -3.0, 2.0], np.zeros(57)])


@pytest.mark.parametrize("freedom", [None, 12])
def test_intervals_of_the_words_that_were_picked_hold_their_weights(freedom: int | None) -> None:
    """The share of misses among the picked is 5 % at most, on average over texts; at 1.96 it is far more."""
    rng = np.random.default_rng(7)
    missed, naive = [], []
    for _ in range(4000):
        error = np.ones(len(SPARSE))
        if freedom is not None:
            error = np.sqrt(rng.chisquare(freedom, len(SPARSE)) / freedom) * stats.t.ppf(0.975, freedom) / INTERVAL
        seen = SPARSE + rng.normal(size=len(SPARSE))
        own = significance_of(seen, error, 0.0, freedom)
        assert own.half_width is not None
        off, picked = np.abs(seen - SPARSE), max(int(own.significant.sum()), 1)
        missed.append(float((off > own.half_width)[own.significant].sum() / picked))
        naive.append(float((off > INTERVAL * error)[own.significant].sum() / picked))
    noise = np.std(missed) / math.sqrt(len(missed))
    assert np.mean(missed) <= FALSE_DISCOVERIES + 3.0 * noise
    assert np.mean(naive) > 1.5 * FALSE_DISCOVERIES


def test_intervals_of_an_explanation_are_what_its_views_show() -> None:
    e = limelight.explain(Opaque(), TEXT, "shapley", n_samples=400, target="positive")
    own, (low, high) = e.significance, e.intervals().T
    assert own.half_width is not None
    assert high - low == pytest.approx(2.0 * own.half_width)
    assert (((low > 0.0) | (high < 0.0)) == own.significant).all()
    exact = limelight.explain(Opaque(), TEXT, "leave-one-out", target="positive")
    assert exact.intervals()[:, 1] - exact.weights == pytest.approx(exact.stated.numerical_error)
    approximate = replace(exact, exact=False)
    assert np.isnan(approximate.intervals()).all()


@given(numbers, st.floats(0.0, 3.0))
def test_without_sampling_what_exceeds_rounding_is_told(weights: np.ndarray, rounding: float) -> None:
    own = significance_of(weights, None, rounding)
    assert own.significant.tolist() == [abs(w) > rounding for w in weights]
    assert own.half_width is None
    assert own.is_empty == (not own.significant.any())


def test_errors_that_are_no_numbers_tell_nothing() -> None:
    weights, stderr = np.array([1.0, 1.0, 1.0, 0.0, 0.0]), np.array([np.nan, np.inf, 0.0, 0.0, np.nan])
    assert significance_of(weights, stderr, 0.0).significant.tolist() == [False, False, True, False, False]
    assert significance_of(weights, stderr, math.inf).is_empty


def test_an_interval_that_reaches_zero_is_not_told() -> None:
    """Seen: +0.1502 ± 0.1502, drawn as strong evidence."""
    weights = np.array([0.1502])
    for freedom in (None, 4, 100):
        assert significance_of(weights, weights / INTERVAL, 0.0, freedom).is_empty
        assert not significance_of(weights, 0.99 * weights / INTERVAL, 0.0, freedom).is_empty


WORDS = 23
REAL = np.array([12.0, -9.0, 9.0])
"""What the first three words do; all others do nothing on average."""


def noisy(seed: int) -> Answering:
    """Linear, with noise that no word explains."""
    rng = np.random.default_rng(seed)

    def answer(kept: np.ndarray) -> np.ndarray:
        output = kept[:, :3] @ REAL + 3.0 * rng.normal(size=len(kept))
        return np.stack([0.0 * output, 0.0 * output, output], axis=1)

    return Answering(answer)


def interacting(seed: int) -> Answering:
    """Triples of words whose product of signs, less 2/3 of each, has Shapley values of 0 and marginal effects of ±2."""
    rng = np.random.default_rng(seed)
    triples = [(rng.choice(np.arange(3, WORDS), 3, replace=False), rng.normal()) for _ in range(60)]

    def answer(kept: np.ndarray) -> np.ndarray:
        output = kept[:, :3] @ REAL
        for words, size in triples:
            output = output + size * (
                (2.0 * kept[:, words] - 1.0).prod(axis=1) - 2.0 / 3.0 * kept[:, words].sum(axis=1)
            )
        return np.stack([0.0 * output, 0.0 * output, output], axis=1)

    return Answering(answer)


@pytest.mark.parametrize(
    ("method", "n_samples", "game"),
    [("lime", 60, noisy), ("lime", 400, noisy), ("shapley", 60, interacting), ("shapley", 400, interacting)],
)
def test_false_discoveries_stay_below_five_percent_and_real_words_are_found(
    method: str, n_samples: int, game: Callable[[int], Answering]
) -> None:
    text = " ".join(f"w{i}" for i in range(WORDS))
    shares, found = [], []
    for run in range(RUNS):
        e = limelight.explain(game(run), text, method, target="positive", seed=run, n_samples=n_samples)
        told = e.significant
        shares.append(told[3:].sum() / max(told.sum(), 1))
        found.append(told[:3].mean())
    noise = np.std(shares) / math.sqrt(RUNS)
    assert np.mean(shares) <= FALSE_DISCOVERIES + 2 * noise
    assert np.mean(shares) > 0  # a rule that never tells anything would pass the line above
    assert np.mean(found) > 0.9


@pytest.mark.parametrize("freedom", [3, 4, 8, 17, 100, 2500])
def test_few_samples_are_judged_by_students_distribution(freedom: int) -> None:
    """One weight alone: the level at which it is told is that of its ratio to an error that is widened for 95 %."""
    widened = stats.t.ppf(0.975, freedom) / INTERVAL
    for weights in (np.array([2.2]), np.array([1.9]), np.array([4.0, 0.0, 0.0, 0.0]), np.array([3.0, 2.4, 2.9, 0.1])):
        p = 2 * stats.t.sf(np.abs(weights) * widened, freedom)
        told = significance_of(weights, np.ones(len(weights)), 0.0, freedom).significant
        assert told.tolist() == discovered(p.tolist(), FALSE_DISCOVERIES)
    # Far out the two distributions differ most: 5 standard errors from four samples are nothing among 600 words.
    many = np.append(5.0, np.zeros(599))
    assert not significance_of(many, np.ones(600), 0.0, 4).significant[0]
    assert significance_of(many, np.ones(600), 0.0).significant[0]


def test_groups_have_an_evidence_of_their_own() -> None:
    text = "the film was great . it is bad and too long !"
    arguments: dict[str, Any] = {"features": ("sentences", "words"), "target": "positive"}
    e = limelight.explain(Opaque(), text, "shapley", n_samples=400, **arguments)
    groups, own = e.groups, e.group_significance
    assert groups is not None
    assert own is not None
    rounding = e.stated.numerical_error * max(map(len, groups.members))
    errors = half_width(1.0 - own.level, e.diagnostics["freedom"]) * groups.stderr
    assert own.half_width == pytest.approx(errors + rounding)
    alone = significance_of(groups.weights, groups.stderr, 0.0, e.diagnostics["freedom"])
    assert own.significant.tolist() == alone.significant.tolist()
    unclear = replace(e, diagnostics={**e.diagnostics, "rounding": np.abs(groups.weights).max() / 4})
    assert unclear.group_significance.is_empty  # five and six words to a sentence
    assert limelight.explain(Opaque(), text, "leave-one-out").group_significance is None


# ── rounding ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["lime", "shapley", "leave-one-out"])
@pytest.mark.parametrize("noise", ["none", "any", "of a word"])
def test_a_constant_model_tells_nothing(method: str, noise: str) -> None:
    """Whether its last digits are the same in all answers, differ at random, or follow one and the same word."""
    rng = np.random.default_rng(0)

    def constant(kept: np.ndarray) -> np.ndarray:
        digits = {"none": kept[:, 0] * 0.0, "any": rng.uniform(-1, 1, len(kept)), "of a word": kept[:, 0] - 0.5}[noise]
        return np.array([1.0, -2.0, 4.0]) * (1.0 + 9e-7 * digits[:, None])

    options = {} if method == "leave-one-out" else {"n_samples": 3000}
    e = limelight.explain(Answering(constant), TEXT, method, target="positive", **options)
    assert e.significance.is_empty
    assert e.warnings[0].startswith("no weight can be told from 0, since all are within numerical error")
    if method == "lime":
        assert e.diagnostics["r2"] is None
        assert json.loads(json.dumps(e.to_dict(), allow_nan=False))["diagnostics"]["r2"] is None


def test_words_that_nobody_knows_tell_nothing() -> None:
    """Seen: weights of -6.6e-13, drawn as strong evidence beside an R² of -156."""
    compared = limelight.compare(limelight.load(), "xyzzy qwertz")
    for method in ("lime", "lime-limit", "shapley"):
        assert compared[method].significance.is_empty, method
        assert compared[method].warnings
    assert compared["lime"].diagnostics["r2"] is None
    assert compared["lime"].diagnostics["stable_top"] is None


def test_the_mean_gradient_of_a_normalised_model_tells_nothing() -> None:
    e = limelight.explain(limelight.wrap(*small_transformer("bert")), "the film was great", "g-avg")
    assert e.significance.is_empty
    assert any("normalises its embeddings" in notice for notice in e.notices)
    assert not limelight.explain(small_model(), TEXT, "g-avg").significance.is_empty


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        ("rollout", torch.float32),
        ("alpha-avg", torch.float32),  # in half precision attention has a relative error, which no absolute one covers
        *product(["leave-one-out", "g-avg", "g-l1", "g-l2", "gxi", "shapley", "lime"], DTYPES),
    ],
)
def test_rounding_covers_the_distance_to_float64(method: str, dtype: torch.dtype) -> None:
    model, own = small_transformer("bert")
    rounded = model.to(dtype)
    options = {"n_samples": 200} if method in ("lime", "shapley") else {}
    ask = {"method": method, "target": "neutral", **options}
    narrow = limelight.explain(limelight.wrap(rounded, own), "the film was great but long", **ask)
    wide = limelight.explain(limelight.wrap(copy.deepcopy(rounded).double(), own), "the film was great but long", **ask)
    assert np.abs(narrow.weights - wide.weights).max() <= narrow.stated.numerical_error + wide.stated.numerical_error
    assert wide.stated.numerical_error < 1e-8 or method in ("alpha-avg", "rollout")
    assert (
        narrow.stated.numerical_error < 0.01 * np.abs(narrow.weights).max()
        or method == "g-avg"
        or dtype != torch.float32
    )


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_our_own_models_are_rounded_as_they_say(removal: Any) -> None:
    """Masking is computed in float64, deleting in the precision of the weights."""
    model = small_model().float()
    texts = [model, copy.deepcopy(model).double()]
    narrow, wide = (limelight.explain(one, TEXT, "leave-one-out", removal=removal, target="neutral") for one in texts)
    distance = np.abs(narrow.weights - wide.weights).max()
    assert distance <= narrow.stated.numerical_error
    assert (distance > 1e-9) == (removal == "delete") == (narrow.stated.numerical_error > 1e-9)


def test_rounding_of_lime_is_the_most_that_errors_of_outputs_can_do() -> None:
    """Coefficients are linear in outputs: column i of the map is the fit of an output that is 1 in sample i alone."""
    kept = sample_coalitions(6, 40, np.random.default_rng(1))
    weights = kernel_weights(kept, 0.25)
    columns = fit_surrogate(kept, np.eye(40), weights, 1.0).coefficients
    fit = fit_surrogate(kept, kept[:, :1] * 1.0, weights, 1.0)
    assert fit.gain == pytest.approx(np.abs(columns).sum(axis=1).max(), rel=1e-5)
    y = np.random.default_rng(2).normal(size=(40, 1))
    by_hand = np.sqrt(np.average((y - np.average(y, weights=weights[:, None])) ** 2, weights=weights[:, None]))
    assert fit_surrogate(kept, y, weights, 1.0).scatter == pytest.approx(by_hand)


def test_what_is_told_survives_storage() -> None:
    for e in limelight.compare(small_model(), TEXT):
        read = Explanation.from_dict(json.loads(json.dumps(e.to_dict(), allow_nan=False)))
        assert read.significant.tolist() == e.significant.tolist()
        assert read.warnings == e.warnings
        assert read.stated.numerical_error == e.stated.numerical_error > 0


@pytest.mark.parametrize("said", [None, 5, "all", {"a": 1}, [7, -1, 0.0, True, "x", None, 99]])
def test_damaged_diagnostics_are_no_end(said: Any) -> None:
    odd = {"warnings": said, "unknown": said, "rounding": said, "error": said}
    e = replace(limelight.explain(small_model(), TEXT, "gxi"), diagnostics=odd)
    assert len(e.significant) == len(e)
    assert e.stated.unknown <= set(range(len(e)))
    assert all(isinstance(warning, str) for warning in e.warnings)
    assert accuracy_in_words(e).startswith("no sampling")


# ── unknown words ─────────────────────────────────────────────────────────────────────────────────────────────────────


def deep_model() -> TransformerClassifier:
    config = TransformerConfig(T_max=16, d_e=8, d_att=4, d_out=4, K=2, layers=2)
    model = TransformerClassifier(config, Vocabulary("the film was great".split()), ("bad", "good"))
    model.initialise(0, embedding=1.0, heads=1.0)
    return model


@pytest.mark.parametrize("make", [small_model, deep_model])
def test_words_outside_of_the_vocabulary_are_named_and_counted(make: Any) -> None:
    model: WordClassifier = make()
    text = "the xyzzy film xyzzy was qwertz"
    words = limelight.explain(model, text, "gxi")
    assert {words.features[j] for j in words.stated.unknown} == {"xyzzy", "qwertz"}
    assert any("does not know 3 of the 6 words" in notice for notice in words.notices)
    occurrences = limelight.explain(model, text, "gxi", features="occurrences")
    assert sorted(occurrences.stated.unknown) == [1, 3, 5]
    spans = limelight.explain(model, text, "gxi", features=[(0, 9), (10, 20), (20, 31)])
    assert sorted(spans.stated.unknown) == []
    known = limelight.explain(model, "the film", "gxi")
    assert known.stated.unknown == frozenset()
    assert known.notices == ()


def test_a_word_of_hugging_face_is_unknown_where_all_its_tokens_are() -> None:
    classifier = limelight.wrap(*small_transformer("bert"))
    e = limelight.explain(classifier, "the ☃ film ☃☃", "gxi")
    ids = classifier.tokenizer("☃")["input_ids"]
    assert classifier.tokenizer.unk_token_id in ids
    assert {e.features[j] for j in e.stated.unknown} == {name for name in e.features if "☃" in name} != set()
    assert any("does not know" in notice for notice in e.notices)


# ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def explained(**fields: Any) -> Explanation:
    """A small explanation of a model with two labels, in which fields can be exchanged."""
    prediction = Prediction("good", ("bad", "good"), np.array([-1.0, 1.0]), np.array([0.12, 0.88]))
    usual: dict[str, Any] = {
        "text": "fine dull it",
        "method": "lime",
        "label": "LIME",
        "signed": True,
        "target": "good",
        "features": ("fine", "dull", "it"),
        "weights": np.array([0.5, -0.25, 0.0]),
        "spans": (((0, 4),), ((5, 9),), ((10, 12),)),
        "stderr": None,
        "exact": True,
        "prediction": prediction,
        "seconds": 0.0,
        "parameters": {"output": "logit"},
    }
    return Explanation(**{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "no sampling"),
        ({"diagnostics": {"rounding": 3.2e-7}}, "no sampling, error below 4e-07"),
        ({"diagnostics": {"rounding": 0.0, "error": 9.7e-12}}, "no sampling, error below 1e-11"),
        ({"diagnostics": {"rounding": math.inf}}, "no sampling"),
        ({"stderr": np.ones(3), "diagnostics": {"rounding": 1e-9}}, "sampled"),
        ({"exact": False, "diagnostics": {"rounding": 1e-9}}, "approximate"),
    ],
)
def test_accuracy_is_said_without_the_word_exact(fields: dict[str, Any], words: str) -> None:
    assert accuracy_in_words(explained(**fields)) == words


@given(st.floats(1e-300, 1e300))
def test_an_error_is_never_rounded_down(error: float) -> None:
    written = accuracy_in_words(explained(diagnostics={"rounding": error})).rpartition(" ")[2]
    assert error * (1 - 1e-12) <= float(written) <= 2.001 * error


SEVERAL = Prediction("b", ("a", "b", "c"), np.array([0.0, 1.0, 0.0]), np.array([0.2, 0.6, 0.2]))
TAGS = Prediction("a", ("a", "b"), np.array([1.0, -1.0]), np.array([0.7, 0.3]), "multi-label")
VALUE = Prediction("stars", ("stars",), np.array([3.0]), None, "regression")


@pytest.mark.parametrize(
    ("fields", "asked", "spoken"),
    [
        ({}, "good", ("good", "bad", None)),
        ({"target": "bad"}, "bad", ("bad", "good", None)),
        ({"signed": False}, "good", (None, None, None)),
        ({"prediction": SEVERAL, "target": "b"}, "b", ("b", None, None)),
        ({"prediction": SEVERAL, "target": "b", "against": "c"}, "b rather than c", ("b", "c", None)),
        ({"prediction": TAGS, "target": "a"}, "a", ("a", None, None)),
        ({"prediction": VALUE, "target": "stars", "parameters": {"output": "value"}}, "stars", ("stars", None, None)),
    ],
)
def test_a_word_speaks_for_a_label(fields: dict[str, Any], asked: str, spoken: tuple[str | None, ...]) -> None:
    e = explained(**fields)
    assert asked_in_words(e) == asked
    assert tuple(spoken_for(e, j) for j in range(3)) == spoken


def test_notices_say_whose_they_are_unless_all_have_them() -> None:
    first, second = comparison_of("so good", methods=("lime", "gxi"), notices=("the text was cut",))
    own = replace(first, notices=(*first.notices, "beware"))
    names = [own.method_label, second.method_label]
    assert notices_of([own, second], names) == ["the text was cut", "LIME: beware"]
    assert notices_of([own], names[:1]) == ["the text was cut", "beware"]


@pytest.mark.parametrize(
    ("stopped", "until", "is_ending"),
    [
        ("settled", "stable", True),
        ("tied", "stable", True),
        ("complete", None, True),
        ("time", None, True),
        ("time", "stable", False),
        ("interrupted", None, False),
        ("limit", 0.02, False),
    ],
)
def test_a_run_that_ended_as_it_was_told_to_is_no_notice(stopped: str, until: object, is_ending: bool) -> None:
    diagnostics = {"stopped": stopped, "until": until}
    (explanation,) = comparison_of("so good", notices=("a notice", "how it ended"), diagnostics=diagnostics)
    assert ending_of(explanation) == ("how it ended" if is_ending else None)
    assert notices_of([explanation], ["LIME"]) == ["a notice", *([] if is_ending else ["how it ended"])]


def test_weights_without_an_interval_make_no_other_one_told() -> None:
    """2.2 standard errors are told where a word is asked about alone, and not as one of three; NaN adds nothing."""
    nothing = np.nan
    assert significance_of(np.array([2.2]), np.array([1.0]), 0.0).significant.tolist() == [True]
    own = significance_of(np.array([2.2, 5.0, 5.0]), np.array([1.0, nothing, nothing]), 0.0)
    assert own.significant.tolist() == [False, False, False]
