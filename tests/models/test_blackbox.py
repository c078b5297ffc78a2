"""Functions from texts to numbers: strings with words taken out, checked answers, perturbation methods alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import limelight
from limelight.core.progress import Silent
from limelight.errors import CapabilityError, EmptyTextError, InputError, NumericalError, ParameterError
from limelight.inputs.document import Word, read_words
from limelight.inputs.features import features_of
from limelight.inputs.words import plain_words
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.blackbox.answers import FLOOR
from limelight.testing import CHECKS

# Numbers are compared here, whatever they are worth.
pytestmark = pytest.mark.filterwarnings("ignore::limelight.errors.ExplanationWarning")

TEXT = 'It\'s "great", GREAT: 非 but the café is too long.<br />The film!'
WORDS = {"great": 1.5, "good": 1.0, "bad": -2.0, "long": -0.7, "film": 0.2, "[unk]": 0.1}


def probabilities(texts: list[str]) -> np.ndarray:
    """A bag of words with a twist: the order of the first two words counts a little."""
    scores = []
    for text in texts:
        forms = [word.form.lower() for word in read_words(text)]
        scores.append(sum(WORDS.get(form, 0.01 * len(form)) for form in forms) + 0.1 * len(forms) % 0.3)
    p = 1 / (1 + np.exp(-np.array(scores)))
    return np.stack([1 - p, p], axis=1)


@pytest.fixture
def model() -> BlackBoxClassifier:
    return BlackBoxClassifier(probabilities, ("no", "yes"))


def test_removed_words_are_replaced_or_cut_and_all_else_stays() -> None:
    asked: list[str] = []

    def listening(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return probabilities(texts)

    for mask, removal, expected in (
        ("[UNK]", "mask", 'It[UNK]s "[UNK]", [UNK]: 非 but the café is too [UNK].<br />The film!'),
        ("…", "mask", 'It…s "…", …: 非 but the café is too ….<br />The film!'),
        ("[UNK]", "delete", 'Its "", : 非 but the café is too .<br />The film!'),
    ):
        classifier = limelight.wrap(listening, labels=("no", "yes"), mask=mask)
        view = classifier.view(TEXT)
        features = features_of(view.document, "words")
        kept = np.array([[name not in ("great", "'", "long") for name in features.names]])
        asked.clear()
        view.game(features, removal)(kept)
        assert asked == [expected]
        asked.clear()
        view.game(features, removal)(np.ones((1, len(features)), dtype=bool))
        assert asked == [TEXT]


# One of the odd documents has 2,000 words, which the others read in 2,000 variants and more.
KEPT = [("lime", check) for check in CHECKS] + [
    (method, check) for method in ("shapley", "leave-one-out") for check in CHECKS if check != "odd documents"
]


@pytest.mark.parametrize(("method", "check"), KEPT)
def test_the_contract_is_kept(method: str, check: str) -> None:
    """The checks raise AssertionError; tests/explainers/test_contract.py shows that they can."""
    options = {} if method == "leave-one-out" else {"n_samples": 40}
    CHECKS[check](method, BlackBoxClassifier(probabilities, ("no", "yes")), options)


def test_every_other_method_is_refused(model: BlackBoxClassifier) -> None:
    for method in ("gxi", "alpha-avg", "rollout", "integrated-gradients", "lime-limit"):
        with pytest.raises(CapabilityError, match="which this model does not offer; here you can use lime, leave-one"):
            limelight.explain(model, TEXT, method)
    with pytest.raises(CapabilityError, match="by 'attention': use 'mask' or 'delete'"):
        limelight.explain(model, TEXT, "lime", removal="attention")


def certain(texts: list[str]) -> np.ndarray:
    """Sure of itself where it reads "great" or "bad", and nearly so where it reads "good"."""
    rows = {"great": [0.0, 1.0], "bad": [1.0 - 1e-12, 1e-12], "good": [FLOOR, 1.0 - FLOOR]}
    return np.array([next((row for word, row in rows.items() if word in text), [0.5, 0.5]) for text in texts])


def test_logits_are_log_probabilities_with_a_floor() -> None:
    model = limelight.wrap(certain, labels=("never", "sure"))
    assert model.predict_logits(["great"]).tolist() == [[np.log(FLOOR), 0.0]]
    assert model.predict_logits(["bad"]).tolist() == [[np.log(1.0 - 1e-12), np.log(FLOOR)]]
    e = limelight.explain(model, "great film", "lime", n_samples=10)
    np.testing.assert_allclose(e.prediction.probabilities, [0, 1], atol=2 * FLOOR)
    # Log-odds end at the floor on both sides: a certain word has all of it, and two labels have the same.
    weights = [limelight.explain(model, "great film", "leave-one-out", target=label).weights for label in model.labels]
    np.testing.assert_allclose(weights[1], [-np.log(FLOOR), 0.0], rtol=1e-12)
    np.testing.assert_array_equal(weights[0], -weights[1])


@pytest.mark.parametrize(
    ("text", "counted"),
    # leave-one-out asks about the text itself, and about each text with a word less
    [
        ("a great film", "3 of 4"),
        ("a great bad film", "5 of 5"),
        ("great", "1 of 2"),
        ("a good film", ""),
        ("a film", ""),
    ],
)
def test_answers_that_were_clipped_are_counted(text: str, counted: str) -> None:
    model = limelight.wrap(certain, labels=("never", "sure"))
    e = limelight.explain(model, text, "leave-one-out")
    assert len(e.notices) == bool(counted)
    for notice in e.notices:
        assert notice.startswith(
            f"{counted} answers of the function hold a probability closer to 0 or 1 than 1e-09 (of "
        )
    assert e == limelight.explain(model, text, "leave-one-out")
    assert limelight.explain(model, text, "leave-one-out", output="probability").notices == ()


def test_what_logits_are_is_said_where_they_are_asked_for() -> None:
    model = limelight.wrap(probabilities, labels=("no", "yes"))
    assert limelight.explain(model, TEXT, "leave-one-out").notices == ()
    e = limelight.explain(model, TEXT, "leave-one-out", output="logit")
    assert e.notices == (
        "this model gives probabilities alone: its logits are their logarithms, those below 1e-09 taken as 1e-09",
    )
    view = BlackBoxClassifier(probabilities, ("no", "yes"), kind="multi-label").view(TEXT)
    assert view.notes("logit") == ("this model gives probabilities alone: its logits are their log-odds",)
    assert view.notes("log-odds") == view.notes("probability") == ()


class Counting(Silent):
    def __init__(self) -> None:
        self.steps: list[int] = []

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.steps.append(steps)


def test_the_same_words_are_asked_for_once_and_in_batches() -> None:
    batches: list[int] = []

    def counting(texts: list[str]) -> np.ndarray:
        batches.append(len(texts))
        return probabilities(texts)

    view = limelight.wrap(counting, labels=("no", "yes"), batch_texts=np.int64(5)).view("the film was bad")
    progress = Counting()
    kept = np.random.default_rng(0).random((300, 4)) < 0.5
    game = view.game(features_of(view.document, "words"), "delete", progress)
    logits = game(kept)
    assert batches == [5, 5, 5, 1]
    assert game.asked == 16
    assert len(progress.steps) == 4
    assert sum(progress.steps) == 300
    game(kept[:3])
    assert sum(progress.steps) == 303
    for row, own in zip(kept[:20], logits, strict=False):
        words = "the film was bad".split()
        text = " ".join(word if stays else "" for word, stays in zip(words, row, strict=True))
        np.testing.assert_allclose(own, np.log(probabilities([text])[0]), atol=1e-9)


def test_the_text_itself_is_asked_for_once() -> None:
    asked: list[str] = []

    def listening(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return probabilities(texts)

    view = limelight.wrap(listening, labels=("no", "yes")).view(TEXT)
    assert not asked
    assert view.logits.tobytes() == view.logits.tobytes()
    assert asked == [TEXT]


def test_a_progress_that_raises_stops_the_work(model: BlackBoxClassifier) -> None:
    class Stopping(Silent):
        def advance(self, steps: int = 1, note: str = "") -> None:
            raise KeyboardInterrupt

    view = model.view(TEXT)
    features = features_of(view.document, "words")
    kept = np.ones((2, len(features)), dtype=bool)
    game = view.game(features, "mask", Stopping())
    with pytest.raises(KeyboardInterrupt):
        game(kept)
    assert game.asked == 1
    np.testing.assert_array_equal(view.game(features, "mask")(kept)[0], view.logits)
    with pytest.raises(ParameterError, match="coalitions have shape"):
        game(kept[:, 1:])


# ── a logistic regression: the weights are known ──────────────────────────────────────────────────────────────────────

COEFFICIENTS = {"great": 1.597, "dull": -2.25, "film": 0.125, "too": -0.5, "long": -0.75}
REVIEW = "Great film, but far too long; and dull?"


def logistic(texts: list[str]) -> np.ndarray:
    """Which known words a text holds, times their coefficients."""
    held = np.array([[word in text.lower() for word in COEFFICIENTS] for text in texts], dtype=float)
    p = 1 / (1 + np.exp(-(0.4 + held @ np.array(list(COEFFICIENTS.values())))))
    return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize("removal", ["mask", "delete"])
@pytest.mark.parametrize(
    ("method", "options", "tolerance"),
    [
        ("shapley", {"n_samples": 100}, 1e-9),
        ("lime", {"n_samples": 200, "ridge": 0.0}, 1e-9),
        ("leave-one-out", {}, 1e-9),
    ],
)
def test_words_of_a_logistic_regression_get_their_coefficients(
    method: str, options: dict[str, Any], tolerance: float, removal: str
) -> None:
    model = limelight.wrap(logistic, labels=("negative", "positive"))
    against, favour = (
        limelight.explain(model, REVIEW, method, target=label, removal=removal, **options) for label in model.labels
    )
    assert favour.parameters["output"] == "log-odds"
    expected = [COEFFICIENTS.get(name, 0.0) for name in favour.features]
    assert sum(map(abs, expected)) == sum(map(abs, COEFFICIENTS.values()))
    np.testing.assert_allclose(favour.weights, expected, atol=tolerance)
    np.testing.assert_allclose(against.weights, -favour.weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(against.weights, -np.array(expected), atol=tolerance)


def test_logits_of_a_logistic_regression_are_those_of_version_0_1() -> None:
    """The logarithm of p, which is not linear in the words: what a word gets differs between labels."""
    model = limelight.wrap(logistic, labels=("negative", "positive"))
    for label in (0, 1):
        e = limelight.explain(model, REVIEW, "leave-one-out", target=model.labels[label], output="logit")
        whole = np.log(logistic([REVIEW])[0, label])
        expected = [whole - np.log(logistic([REVIEW.lower().replace(name, "[UNK]")])[0, label]) for name in e.features]
        np.testing.assert_allclose(e.weights, expected, atol=1e-12)
    assert np.abs(expected).max() < 1.5 < max(map(abs, COEFFICIENTS.values()))


def test_log_odds_of_several_labels_are_against_all_others() -> None:
    def three(texts: list[str]) -> np.ndarray:
        scores = np.array([[text.count("e"), text.count("a") / 2, len(text) / 9] for text in texts])
        g = np.exp(scores)
        return g / g.sum(axis=1, keepdims=True)

    model = limelight.wrap(three, labels=("e", "a", "length"))
    text = "Great ideas, a dull end"
    variants = [text, *(text.replace(word, "[UNK]", 1) for word in ("Great", "ideas", ",", "a ", "dull", "end"))]
    variants[4] = "Great ideas, [UNK] dull end"
    p = three(variants)
    for label in range(3):
        odds = np.log(p[:, label]) - np.log(1 - p[:, label])
        e = limelight.explain(model, text, "leave-one-out", target=model.labels[label])
        np.testing.assert_allclose(e.weights, odds[0] - odds[1:], atol=1e-9)


def test_scikit_learn_pipelines_are_functions() -> None:
    texts = ["great film", "good film", "bad film", "bad and long"] * 5
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, ["+", "+", "-", "-"] * 5)
    model = limelight.wrap(pipeline)
    assert model.labels == ("+", "-")
    vocabulary, coefficients = pipeline[0].vocabulary_, pipeline[1].coef_[0]
    for method, options in (("shapley", {"n_samples": 200}), ("lime", {"ridge": 0.0, "n_samples": 200})):
        favour, against = (
            limelight.explain(model, "a great but bad film", method, target=label, **options) for label in model.labels
        )
        expected = [coefficients[vocabulary[name]] if name in vocabulary else 0.0 for name in against.features]
        assert np.abs(expected).max() > 0.5
        np.testing.assert_allclose(against.weights, expected, atol=1e-9)
        np.testing.assert_allclose(favour.weights, -against.weights, rtol=0, atol=1e-12)
    assert limelight.wrap(pipeline, labels=("p", "n")).labels == ("p", "n")


def test_labels_are_counted_where_none_are_given() -> None:
    assert limelight.wrap(probabilities).labels == ("class 0", "class 1")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda texts: np.ones(len(texts)), InputError, r"shape \(1,\) for 1 texts and 2 labels: it gives one number"),
        (lambda texts: np.ones((len(texts), 1)), InputError, r"return both, np.stack\(\[1 - p, p\], axis=1\)"),
        (lambda texts: np.ones((len(texts), 3)) / 3, InputError, "shape"),
        (lambda texts: np.ones((len(texts) + 1, 2)) / 2, InputError, "shape"),
        (lambda texts: np.full((len(texts), 2), np.nan), NumericalError, "not finite"),
        (lambda texts: np.tile([2.0, -1.0], (len(texts), 1)), InputError, "apply a softmax"),
        (lambda texts: np.tile([2.0, -1.0], (len(texts), 1)), InputError, 'kind="regression"'),
        (lambda texts: np.tile([0.9, 0.9], (len(texts), 1)), InputError, "add up to 1"),
        (lambda texts: np.tile([0.9, 0.9], (len(texts), 1)), InputError, 'kind="multi-label" if labels do not exclude'),
        (lambda texts: ["good"] * len(texts), InputError, "array of numbers"),
        (lambda texts: [[1.0], [0.5, 0.5]], InputError, "array of numbers"),
    ],
)
def test_answers_that_are_no_probabilities_are_refused(answer: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        limelight.explain(limelight.wrap(answer, labels=("no", "yes")), "a film", "lime", n_samples=5)


def even(texts: list[str]) -> np.ndarray:
    return np.full((len(texts), 2), 0.5)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (lambda texts: None, "got NoneType None"),
        (lambda texts: "0.5", "got str '0.5'"),
        (lambda texts: [["0.5", "0.5"]] * len(texts), r"got list \[\['0.5', '0.5'\]"),
        (lambda texts: {"yes": 0.5, "no": 0.5}, "got dict"),
        (lambda texts: even(texts) + 0j, "got ndarray .*complex128 is no type of number"),
        (lambda texts: [[0.5, 0.5]] * (len(texts) - 1) + [[1.0, 0.0, 0.0], [1.0]], "got list"),
        (lambda texts: object(), "got object"),
    ],
)
def test_what_is_no_array_of_numbers_is_shown(answer: Any, shown: str) -> None:
    with pytest.raises(InputError, match=f"must return an array of numbers, one row per text: {shown}"):
        limelight.wrap(answer)  # its labels are to be counted
    with pytest.raises(InputError, match=f"must return an array of numbers, one row per text: {shown}"):
        limelight.wrap(answer, labels=("no", "yes")).predict_proba(["a film"])


@pytest.mark.parametrize("rows", [0, 2])
def test_labels_are_not_counted_in_other_shapes(rows: int) -> None:
    with pytest.raises(InputError, match=rf"shape \({rows}, 2\) for one text"):
        limelight.wrap(lambda texts: np.full((rows, 2), 0.5))
    with pytest.raises(InputError, match=r"shape \(2,\) for one text"):
        limelight.wrap(lambda texts: [0.5, 0.5])
    for one in ([0.5], [[0.5]]):
        with pytest.raises(
            InputError, match=r"shape \(1,( 1)?\) for one text: it gives one number per text; if that is"
        ):
            limelight.wrap(lambda texts, one=one: one)


@pytest.mark.parametrize(
    "answer",
    [
        lambda p: torch.tensor(p, requires_grad=True),
        lambda p: torch.tensor(p, requires_grad=True).bfloat16(),
        lambda p: [torch.tensor(row, requires_grad=True) for row in p],
        lambda p: p.astype(np.float16),
        lambda p: (row for row in p),
        lambda p: iter(p.tolist()),
        lambda p: p.astype(object),
        lambda p: tuple(map(tuple, p)),
    ],
)
def test_arrays_of_every_kind_are_taken(answer: Any) -> None:
    p = np.array([[0.25, 0.75], [0.5, 0.5]])
    model = limelight.wrap(lambda texts: answer(p[: len(texts)]))
    assert model.labels == ("class 0", "class 1")
    assert model.predict_proba(["a", "b"]).tolist() == p.tolist()


def test_an_endless_answer_is_not_waited_for() -> None:
    def endless(texts: list[str]) -> Any:
        while True:
            yield [0.5, 0.5]

    with pytest.raises(InputError, match=r"shape \(3, 2\) for 2 texts"):
        limelight.wrap(endless, labels=("no", "yes")).predict_proba(["a", "b"])


def test_rounding_is_no_negative_probability() -> None:
    for row, taken in (
        ([1.0, -1e-17], [1.0, 0.0]),
        ([1 + 1e-12, 0.0], [1.0, 0.0]),
        ([-1.2e-7, 1 + 1.2e-7], [0.0, 1.0]),
    ):
        assert limelight.wrap(lambda texts, row=row: [row] * len(texts)).predict_proba(["a"]).tolist() == [taken]
    for row in ([1 + 1e-5, -1e-5], [1.0002, -0.0002]):
        with pytest.raises(InputError, match=r"got \[1.0.*-.*\] for the text 'a'; apply a softmax"):
            limelight.wrap(lambda texts, row=row: [row] * len(texts)).predict_proba(["a"])


@pytest.mark.parametrize("bad", [[0.9, 0.9], [1.5, -0.5], [np.nan, 1.0], [np.inf, 0.0]])
def test_the_bad_row_is_shown_with_its_text(bad: list[float]) -> None:
    def one_bad(texts: list[str]) -> np.ndarray:
        p = np.array([[0.9995, 0.0]] * len(texts))  # farther from 1 than the row of [1.5, -0.5]
        p[texts.index("this one")] = bad
        return p

    model = limelight.wrap(one_bad, labels=("no", "yes"))
    with pytest.raises((InputError, NumericalError), match="for the text 'this one'") as caught:
        model.predict_proba(["fine", "good", "this one", "fine too"])
    assert f"got {bad}" in str(caught.value)


class Odd(Exception):
    """Of the function's own."""


@pytest.mark.parametrize("error", [Odd("broken"), KeyError("x"), RecursionError(), MemoryError(), StopIteration()])
def test_an_exception_of_the_function_is_explained_with_a_text(error: Exception) -> None:
    asked: list[int] = []

    def fails(texts: list[str]) -> np.ndarray:
        asked.append(len(texts))
        if "this one" in texts:
            raise error
        return even(texts)

    texts = [f"text {i}" for i in range(100)]
    texts[37] = "this one"
    model = limelight.wrap(fails, labels=("no", "yes"))
    with pytest.raises(InputError, match=f"failed on 100 texts at once, {type(error).__name__}.*'this one'") as caught:
        model.predict_proba(texts)
    assert caught.value.__cause__ is error
    assert len(asked) < 10  # found by halves, none of which is asked twice
    with pytest.raises(InputError, match=f"failed on a text, {type(error).__name__}.*'this one'"):
        model.view("this one").logits  # noqa: B018


def test_a_batch_that_fails_as_a_whole_is_said_so() -> None:
    def small(texts: list[str]) -> np.ndarray:
        if len(texts) > 2:
            raise MemoryError("too many")
        return even(texts)

    with pytest.raises(
        InputError, match=r"MemoryError: too many; one text at a time does not fail.*smaller batch_texts"
    ):
        limelight.wrap(small, labels=("no", "yes")).predict_proba(["a", "b", "c"])
    assert limelight.wrap(small, labels=("no", "yes"), batch_texts=2).predict_proba(["a", "b", "c"]).shape == (3, 2)


def test_errors_of_limelight_and_orders_to_stop_pass() -> None:
    inner = limelight.load()
    nested = limelight.wrap(lambda texts: [inner.view(text).logits for text in texts], labels=inner.labels)
    with pytest.raises(EmptyTextError):
        nested.predict_proba([""])
    for stop in (KeyboardInterrupt, SystemExit):

        def stops(texts: list[str], stop: type[BaseException] = stop) -> Any:
            raise stop

        with pytest.raises(stop):
            limelight.wrap(stops)
    with pytest.raises(SystemExit):
        limelight.wrap(lambda texts: sys.exit(3), labels=("no", "yes")).predict_proba(["a"])


def test_a_function_that_never_ends_its_recursion_is_explained() -> None:
    def deeper(texts: list[str]) -> Any:
        return deeper(texts)

    with pytest.raises(InputError, match="RecursionError: maximum recursion depth exceeded; make it take 'text'"):
        limelight.wrap(deeper)


def test_what_the_function_does_to_its_texts_is_its_own() -> None:
    def clears(texts: list[str]) -> np.ndarray:
        p = probabilities(texts)
        texts.clear()
        return p

    e, expected = (
        limelight.explain(limelight.wrap(f, labels=("no", "yes")), TEXT, "lime", n_samples=20)
        for f in (clears, probabilities)
    )
    assert e.weights.tobytes() == expected.weights.tobytes()


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(("room", "size"), [(300, 7), (1000, 10), (2000, 10)])
def test_a_long_text_is_cut_a_few_variants_at_a_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cached: bool, room: int, size: int
) -> None:
    """As many as there is room for, in whole batches where that is several."""
    monkeypatch.setattr("limelight.models.blackbox.view._CHARACTERS_AT_ONCE", room)
    asked: list[list[str]] = []

    def listening(texts: list[str]) -> np.ndarray:
        asked.append(texts)
        return probabilities(texts)

    text = "one two three four five six seven eight"  # 39 characters, no more when words are deleted
    model = BlackBoxClassifier(listening, ("no", "yes"), batch_texts=10, cache=tmp_path if cached else None, name="f")
    view = model.view(text)
    kept = np.random.default_rng(0).random((300, 8)) < 0.5
    game = view.game(features_of(view.document, "words"), "delete")
    logits = game(kept)
    distinct = len(np.unique(kept, axis=0))
    assert sum(map(len, asked)) == game.asked == distinct
    assert max(sum(map(len, texts)) for texts in asked) <= room
    assert {len(texts) for texts in asked[:-1]} == {size}
    words = np.array(text.split(" "), dtype=object)
    variants = [" ".join(np.where(row, words, "")) for row in kept]
    np.testing.assert_allclose(logits, np.log(probabilities(variants)), atol=1e-12)


def test_bad_arguments_are_refused(model: BlackBoxClassifier) -> None:
    for arguments, message in (
        ({"labels": ("a",)}, "at least two labels"),
        ({"labels": ("a", "a")}, "all different"),
        ({"labels": ("a", "b"), "batch_texts": 0}, "batch_texts"),
        ({"labels": "ab"}, "labels must be a list of names: got the string 'ab'"),
        ({"labels": 2}, "labels must be a list of names: got 2"),
        ({"labels": ("a", "b"), "mask": 3}, "mask must be a string, which stands for a removed word: got 3"),
        (
            {"labels": ("a", "b"), "truncate": True},
            "only a Hugging Face model and its tokenizer can take truncate: leave that out",
        ),
    ):
        with pytest.raises(ParameterError, match=message):
            limelight.wrap(probabilities, **arguments)
    for arguments, message in (
        ({"kind": "class"}, "unknown kind 'class': did you mean 'classes'"),
        ({"kind": None}, "unknown kind None"),
        ({"kind": "regression", "labels": ()}, "a regression function needs at least one label, all different"),
        ({"kind": "multi-label", "labels": ("a", "a")}, "at least one label, all different"),
        ({"labels": ("a",)}, 'say kind="multi-label" for a label that excludes no other, kind="regression"'),
        ({"max_calls": 0}, "max_calls must be a whole number of at least 1: got 0"),
        ({"max_calls": -3}, "max_calls must be a whole number"),
        ({"max_calls": True}, "max_calls must be a whole number of at least 1: got True"),
        ({"max_calls": 1e3}, "max_calls must be a whole number"),
        ({"pairs": "yes"}, "pairs must be True or False, whether texts come in pairs: got 'yes'"),
        ({"words": "words"}, "words must be a function that divides a text into words: got 'words'"),
        ({"name": ""}, "name must be a string that says which function this is: got ''"),
        ({"name": 3}, "name must be a string"),
    ):
        with pytest.raises(InputError, match=message):
            BlackBoxClassifier(probabilities, **{"labels": ("no", "yes"), **arguments})
    with pytest.raises(ParameterError, match=r"function from texts to probabilities is needed.*got int"):
        limelight.wrap(3)
    with pytest.raises(InputError, match="list of texts"):
        model.predict_proba("one")
    with pytest.raises(InputError, match="takes a list of texts: got None"):
        model.predict_proba(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a text must be a string: got bytes"):
        model.predict_proba([b"film"])  # type: ignore[list-item]
    assert model.predict_proba([]).shape == (0, 2)


# ── kinds ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tags(texts: list[str]) -> np.ndarray:
    """The chance of each vowel, by itself."""
    return np.array([[1 - 0.6 ** text.count(vowel) for vowel in "aeiou"] for text in texts])


def test_labels_that_exclude_no_other_have_log_odds_of_their_own() -> None:
    model = BlackBoxClassifier(tags, list("aeiou"), kind="multi-label")
    view = model.view(TEXT)
    assert (view.kind, view.outputs) == ("multi-label", ("log-odds", "probability", "logit"))
    p = tags([TEXT])[0]
    assert (p > 0.5).sum() > 1  # they do not sum to one
    np.testing.assert_array_equal(model.predict_proba([TEXT])[0], p)
    np.testing.assert_allclose(view.logits, np.log(p / (1 - p)), atol=1e-12)
    e = limelight.explain(model, "a great idea", "leave-one-out", target="e")
    expected = [np.log(1 / 0.6**2 - 1) - np.log(1 / 0.6**n - 1) if n else np.inf for n in (2, 1, 1)]
    np.testing.assert_allclose(e.weights, expected, atol=1e-9)
    assert [notice.split(":")[0] for notice in e.notices] == [
        "4 of 4 answers of the function hold a probability closer to 0 or 1 than 1e-09 (of 'i', 'o', 'u')"
    ]


def test_log_odds_of_probabilities_at_both_ends_are_finite_and_mirror_each_other() -> None:
    p = np.array([0.0, 1e-12, FLOOR, 0.25, 0.5, 0.75, 1 - 1e-12, 1.0])
    model = BlackBoxClassifier(
        lambda texts: np.tile(p, (len(texts), 1)), [f"tag {i}" for i in range(8)], kind="multi-label"
    )
    logits = model.predict_logits(["x"])[0]
    np.testing.assert_allclose(logits[[0, 1, 6, 7]], np.log(FLOOR) * np.array([1, 1, -1, -1]), rtol=1e-9)
    mirrored = BlackBoxClassifier(lambda texts: np.tile(1 - p, (len(texts), 1)), model.labels, kind="multi-label")
    np.testing.assert_allclose(mirrored.predict_logits(["x"])[0], -logits, atol=1e-6)
    e = limelight.explain(model, "some text", "leave-one-out", target="tag 3")
    assert "3 of 3 answers of the function" in e.notices[0]
    assert "than 1e-09 (of 'tag 0', 'tag 1', 'tag 6' and 1 more):" in e.notices[0]


def test_one_label_is_enough_where_it_excludes_no_other() -> None:
    for answer in (lambda texts: tags(texts)[:, 1], lambda texts: tags(texts)[:, 1:2]):
        for labels in (["e"], None):
            model = BlackBoxClassifier(answer, labels, kind="multi-label")
            assert model.labels == (("e",) if labels else ("label 0",))
            np.testing.assert_array_equal(model.predict_proba([TEXT, "e"]), tags([TEXT, "e"])[:, 1:2])
            assert limelight.explain(model, "a great idea", "leave-one-out").target == model.labels[0]


def lengths(texts: list[str]) -> np.ndarray:
    return np.array([len(text) * 1000.0 - 5e6 for text in texts])


def test_numbers_of_a_regression_are_explained_as_they_are() -> None:
    for answer in (lengths, lambda texts: lengths(texts)[:, None]):
        model = BlackBoxClassifier(answer, kind="regression")
        assert model.labels == ("value",)
        view = model.view("a great film")
        assert (view.kind, view.outputs, view.logits.tolist()) == ("regression", ("value",), [12 * 1000.0 - 5e6])
        with pytest.raises(CapabilityError, match="numbers that are no probabilities: use predict_logits"):
            model.predict_proba(["a"])
        e = limelight.explain(model, "a great film", "shapley", n_samples=50, removal="delete")
        np.testing.assert_allclose(e.weights, [1000.0, 5000.0, 4000.0], atol=1e-6)
        assert (e.parameters["output"], e.notices) == ("value", ())
        with pytest.raises(CapabilityError, match="no output 'log-odds': use 'value'"):
            limelight.explain(model, "a great film", "lime", output="log-odds")


def test_a_regression_may_have_several_numbers() -> None:
    def both(texts: list[str]) -> np.ndarray:
        return np.stack([lengths(texts), [text.count("e") for text in texts]], axis=1)

    model = BlackBoxClassifier(both, ("length", "e"), kind="regression")
    e = limelight.explain(model, "a great film", "leave-one-out", target="e")
    np.testing.assert_array_equal(e.weights, [0.0, 1.0, 0.0])
    with pytest.raises(InputError, match=r"shape \(1, 2\) for 1 texts and 1 labels.*name its columns by labels="):
        BlackBoxClassifier(both, kind="regression").predict_logits(["a"])


@pytest.mark.parametrize(
    ("kind", "labels", "answer", "error", "message"),
    [
        ("regression", None, [np.nan], NumericalError, "not finite for 1 of 1 texts: got .*nan.* for the text 'a'"),
        ("regression", None, [[np.inf]], NumericalError, "return finite numbers"),
        ("regression", None, [[1.0, 2.0]], InputError, "shape"),
        ("regression", ("x", "y"), [1.0], InputError, r"one row of numbers per text, \(1, 2\)"),
        ("regression", None, [1.0, 2.0], InputError, r"shape \(2,\) for 1 texts and 1 labels"),
        ("multi-label", ("x", "y"), [[0.5, 1.5]], InputError, r"from 0 to 1: got \[0.5, 1.5\].*apply a sigmoid"),
        ("multi-label", ("x", "y"), [[0.5, -0.1]], InputError, 'say kind="regression"'),
        ("multi-label", ("x", "y"), [[np.nan, 0.1]], NumericalError, "not finite"),
        ("multi-label", ("x", "y"), [0.5], InputError, "shape"),
        ("multi-label", ("x",), 0.5, InputError, "array of numbers|shape"),
    ],
)
def test_answers_of_another_kind_are_refused(
    kind: Any, labels: Any, answer: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        BlackBoxClassifier(lambda texts: answer, labels, kind=kind).predict_logits(["a"])


# ── pairs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def overlap(pairs: list[tuple[str, str]]) -> np.ndarray:
    """How many words of the second text the first one has."""
    assert all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)
    shared = np.array([len(set(a.lower().split()) & set(b.lower().split())) for a, b in pairs])
    return np.stack([0.5**shared / 2, 1 - 0.5**shared / 2], axis=1)


TEXTS_OF_A_PAIR = st.text(st.sampled_from("ab .,\né非👍"), max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(["words", "occurrences"]), st.sampled_from(["mask", "delete"]))
def test_removing_words_of_one_text_never_touches_the_other(data: st.DataObject, kind: str, removal: Any) -> None:
    """Against a twin that cuts each text by itself, word by word from behind."""
    pair = (data.draw(TEXTS_OF_A_PAIR), data.draw(TEXTS_OF_A_PAIR))
    words = [plain_words(text) for text in pair]
    assume(any(words))
    asked: list[Any] = []

    def listening(texts: list[Any]) -> np.ndarray:
        asked.extend(texts)
        return even(texts)

    view = BlackBoxClassifier(listening, ("no", "yes"), pairs=True, mask="#").view(pair)
    features = features_of(view.document, kind)
    kept = np.array([data.draw(st.booleans()) for _ in features.names], dtype=bool)
    view.game(features, removal)(kept[None])
    expected, place = [], 0
    for text, own in zip(pair, words, strict=True):
        for i in reversed(range(len(own))):
            if not kept[features.owners[place + i]]:
                text = text[: own[i].start] + ("#" if removal == "mask" else "") + text[own[i].end :]
        place += len(own)
        expected.append(text)
    assert asked == [tuple(expected)]


def test_a_function_of_pairs_is_explained_on_both_sides_or_one() -> None:
    model = BlackBoxClassifier(overlap, ("new", "known"), pairs=True)
    pair = ("a great film", "the film was great")
    assert model.predict_proba([pair, ("a", "b")]).tolist() == [[0.125, 0.875], [0.5, 0.5]]
    e = limelight.explain(model, pair, "leave-one-out", target="known")
    assert e.text == pair
    assert e.features == ("a", "great", "film", "the", "film", "was", "great")
    odds = [np.log(7), np.log(3)]
    np.testing.assert_allclose(e.weights, [(odds[0] - odds[1]) * shared for shared in (0, 1, 1, 0, 1, 0, 1)], atol=1e-9)
    asked: list[tuple[str, str]] = []

    def listening(pairs: list[tuple[str, str]]) -> np.ndarray:
        asked.extend(pairs)
        return overlap(pairs)

    second = limelight.explain(
        BlackBoxClassifier(listening, model.labels, pairs=True), pair, "lime", parts="second", n_samples=50
    )
    assert second.features == ("the", "film", "was", "great")
    assert {first for first, own in asked if own != "the"} == {pair[0]}  # once cut, to see whether company matters
    assert BlackBoxClassifier(overlap, pairs=True).labels == ("class 0", "class 1")


def test_single_texts_and_pairs_are_told_apart(model: BlackBoxClassifier) -> None:
    of_pairs = BlackBoxClassifier(overlap, ("no", "yes"), pairs=True)
    for call in (model.predict_proba, model.predict_logits, model.ask_again, lambda texts: model.view(texts[0])):
        with pytest.raises(InputError, match=r"reads single texts, and this is a pair: got \('a', 'b'\)"):
            call([("a", "b")])
    for call in (of_pairs.predict_proba, of_pairs.ask_again, lambda texts: of_pairs.view(texts[0])):
        for text in ("a", ("a",), ("a", 3), ["a", "b"]):
            with pytest.raises(InputError, match=r"reads pairs of texts: got .*give a tuple of two strings"):
                call([text])
    with pytest.raises(InputError, match=r"takes a list of pairs of texts: got one pair; write predict_proba"):
        of_pairs.predict_proba(("a", "b"))


# ── words and passages ────────────────────────────────────────────────────────────────────────────────────────────────


def test_words_are_what_a_rule_of_the_user_finds() -> None:
    asked: list[str] = []

    def listening(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return even(texts)

    model = BlackBoxClassifier(listening, ("no", "yes"), words=str.split)
    e = limelight.explain(model, "Well-made, all in all.", "leave-one-out")
    asked = [text for text in asked if text.count(" ") == 3 and text != "Well-made,"]  # no mask put in between
    assert e.features == ("well-made,", "all", "in", "all.")
    assert set(asked) == {
        "Well-made, all in all.",
        "[UNK] all in all.",
        "Well-made, [UNK] in all.",
        "Well-made, all [UNK] all.",
        "Well-made, all in [UNK]",
    }
    with pytest.raises(InputError, match="rule for words failed"):
        BlackBoxClassifier(even, ("no", "yes"), words=lambda text: 1 / 0).view("a")
    pair = BlackBoxClassifier(overlap, ("no", "yes"), words=str.split, pairs=True).view(("it's so", "so-so"))
    assert [word.form for word in pair.document.words] == ["it's", "so", "so-so"]


def test_spans_may_cut_words_and_the_text_is_not_asked_again() -> None:
    asked: list[str] = []

    def listening(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return probabilities(texts)

    view = BlackBoxClassifier(listening, ("no", "yes")).view("unkindness hurts")
    whole = view.logits
    divided = view.divided((Word("un", 0, 2), Word("kindness", 2, 10), Word("hurts", 11, 16)))
    np.testing.assert_array_equal(divided.logits, whole)
    assert asked == ["unkindness hurts"]
    asked.clear()
    divided.game(features_of(divided.document, "words"), "delete")(np.eye(3, dtype=bool))
    assert sorted(asked) == [" hurts", "kindness ", "un "]
    assert [word.form for word in view.document.words] == ["unkindness", "hurts"]
    asked.clear()
    e = limelight.explain(
        BlackBoxClassifier(listening, ("no", "yes")),
        "unkindness hurts",
        "leave-one-out",
        features=[(0, 2)],
        removal="delete",
    )
    assert (e.features, sorted(asked)) == (("un",), ["kindness hurts", "un", "un", *["unkindness hurts"] * 3])


def test_each_word_of_a_sentence_is_masked_and_all_else_stays() -> None:
    asked: list[str] = []

    def listening(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return even(texts)

    model = BlackBoxClassifier(listening, ("no", "yes"), mask="_")
    spans = [(0, 12), (14, 24)]
    text = 'A "dull" one; so it goes, she said.'
    view = model.view(text)
    view.game(features_of(view.document, spans), "mask")(np.array([[True, True], [False, True], [True, False]]))
    assert set(asked) == {
        'A "dull" one; so it goes, she said.',
        '_ "_" _; so it goes, she said.',
        'A "dull" one; _ _ _, she said.',
    }


def test_a_function_that_answers_differently_is_told_of() -> None:
    """Nothing is drawn where all combinations are asked, and yet the weights are noise."""
    rng = np.random.default_rng(0)

    def noisy(texts: list[str]) -> np.ndarray:
        p = 0.5 + 0.2 * (rng.random(len(texts)) - 0.5)
        return np.stack([p, 1 - p], axis=1)

    for method in ("lime", "shapley", "leave-one-out"):
        for output in ("log-odds", "probability"):
            e = limelight.explain(limelight.wrap(noisy, labels=("no", "yes")), "a good film", method, output=output)
            assert any(
                "another answer when it was asked about the same text" in said for said in e.diagnostics["warnings"]
            )
    steady = limelight.explain(limelight.wrap(logistic, labels=("negative", "positive")), REVIEW, "lime")
    assert not any("another answer" in said for said in steady.diagnostics["warnings"])
