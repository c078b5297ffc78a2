"""Functions from texts to probabilities: strings with words taken out, checked answers, perturbation methods alone."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import limelight
from limelight.contract import CHECKS
from limelight.document import read_words
from limelight.errors import CapabilityError, EmptyTextError, InputError, NumericalError, ParameterError
from limelight.features import features_of
from limelight.models.blackbox import FLOOR, BlackBoxClassifier
from limelight.progress import Silent

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


def test_logits_are_log_probabilities_and_zeros_are_said() -> None:
    model = limelight.wrap(lambda texts: np.tile([1.0, 0.0], (len(texts), 1)), labels=("sure", "never"))
    assert model.predict_logits(["x"]).tolist() == [[0.0, np.log(FLOOR)]]
    e = limelight.explain(model, "some text", "lime", n_samples=10)
    assert "probabilities alone: its logits are their logarithms, those below 1e-09 taken as 1e-09" in e.notices[0]
    np.testing.assert_allclose(e.prediction.probabilities, [1, 0], atol=2 * FLOOR)


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


def test_scikit_learn_pipelines_are_functions() -> None:
    texts = ["great film", "good film", "bad film", "bad and long"] * 5
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, ["+", "+", "-", "-"] * 5)
    model = limelight.wrap(pipeline)
    assert model.labels == ("+", "-")
    e = limelight.explain(model, "a great but bad film", "shapley", target="+", n_samples=200)
    weights = dict(zip(e.features, e.weights, strict=True))
    assert weights["great"] > 0.1
    assert weights["bad"] < -0.1
    assert limelight.wrap(pipeline, labels=("p", "n")).labels == ("p", "n")


def test_labels_are_counted_where_none_are_given() -> None:
    assert limelight.wrap(probabilities).labels == ("class 0", "class 1")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda texts: np.ones(len(texts)), InputError, r"shape \(1,\) for 1 texts and 2 labels"),
        (lambda texts: np.ones((len(texts), 3)) / 3, InputError, "shape"),
        (lambda texts: np.ones((len(texts) + 1, 2)) / 2, InputError, "shape"),
        (lambda texts: np.full((len(texts), 2), np.nan), NumericalError, "not finite"),
        (lambda texts: np.tile([2.0, -1.0], (len(texts), 1)), InputError, "apply a softmax"),
        (lambda texts: np.tile([0.9, 0.9], (len(texts), 1)), InputError, "add up to 1"),
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
    assert len(asked) < 12  # found by halves
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


def test_a_very_long_text_is_cut_a_few_variants_at_a_time() -> None:
    asked: list[tuple[int, int]] = []

    def counting(texts: list[str]) -> np.ndarray:
        asked.append((len(texts), sum(map(len, texts))))
        return even(texts)

    view = limelight.wrap(counting, labels=("no", "yes")).view(" ".join(f"word{i}" for i in range(100_000)))
    features = features_of(view.document, "occurrences")
    kept = np.ones((80, len(features)), dtype=bool)
    kept[np.arange(80), np.arange(80)] = False
    game = view.game(features, "mask")
    game(kept)
    assert sum(texts for texts, _ in asked) == game.asked == 80
    assert max(characters for _, characters in asked) <= 2**25  # 80 of them have 2 ** 26.2


def test_bad_arguments_are_refused(model: BlackBoxClassifier) -> None:
    for given, message in (
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
            limelight.wrap(probabilities, **given)
    with pytest.raises(ParameterError, match=r"function from texts to probabilities is needed.*got int"):
        limelight.wrap(3)
    with pytest.raises(InputError, match="list of texts"):
        model.predict_proba("one")
    with pytest.raises(InputError, match="takes a list of texts: got NoneType"):
        model.predict_proba(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a text must be a string: got bytes"):
        model.predict_proba([b"film"])  # type: ignore[list-item]
    assert model.predict_proba([]).shape == (0, 2)
