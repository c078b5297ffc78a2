"""The fuzzer in small, the boundary of the library by hand, and proof that the fuzzer sees what is broken."""

from __future__ import annotations

import contextlib
import io
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import limelight
from conftest import small_model
from limelight.attribution import request
from limelight.errors import (
    EmptyTextError,
    InputError,
    LimelightError,
    NumericalError,
    ParameterError,
    TooLargeError,
    UnknownNameError,
    shown,
)
from limelight.explainers.method import Exact, Question, Sampled, Weights, forget, method
from limelight.explanation.result import Explanation
from limelight.models.interface import Perturbable
from limelight.render.terminal.page import render
from reliability import fuzz

SEED, CALLS = 8, 300


def test_fuzzed_calls_keep_every_promise() -> None:
    tally = fuzz.run(SEED, range(CALLS))
    assert not tally.findings, fuzz.report(tally, SEED, 0)
    assert sum(tally.calls.values()) == CALLS
    assert {kind for kind, _ in tally.calls} == set(fuzz.MODELS)
    assert {id for _, id in tally.calls} >= set(fuzz.IDS)
    assert tally.endings["explained"] > CALLS / 2


def test_a_number_is_always_the_same_call() -> None:
    calls = [fuzz.a_call(fuzz.dice(SEED, 11)) for _ in range(2)]
    assert str(calls[0]) == str(calls[1])
    assert str(calls[0]) != str(fuzz.a_call(fuzz.dice(SEED, 12)))


# ── the fuzzer sees what is broken ────────────────────────────────────────────────────────────────────────────────────


def _is_not_finite(question: Question[Any]) -> Weights:
    return Weights(np.zeros(len(question.features)), Sampled(np.full(len(question.features), np.inf)))


def _raises(question: Question[Any]) -> Weights:
    raise IndexError("list index out of range")


def _draws(question: Question[Any]) -> Weights:
    return Weights(np.random.default_rng().random(len(question.features)), Exact())


def _seeds(question: Question[Any]) -> Weights:
    np.random.seed(0)  # noqa: NPY002
    return Weights(np.zeros(len(question.features)), Exact())


def _warns(question: Question[Any]) -> Weights:
    return Weights(np.exp(np.log(np.zeros(len(question.features)))), Exact())


def _misplaces(question: Question[Any]) -> Weights:
    shifted = tuple(tuple((start + 1, end + 1) for start, end in own) for own in question.features.spans)
    object.__setattr__(question.features, "spans", shifted)
    return Weights(np.zeros(len(question.features)), Exact())


def _says_little(question: Question[Any]) -> Weights:
    raise ParameterError("bad value; do better")


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (_is_not_finite, "stderr: infinite"),
        (_raises, "raised IndexError"),
        (_draws, "repeat: another answer"),
        (_seeds, "state: random states: NumPy"),
        (_warns, "warning: divide by zero"),
        (_misplaces, "spans: "),
        (_says_little, "message: says nothing of what was given"),
    ],
)
def test_the_fuzzer_finds_a_broken_method(
    broken: Callable[[Question[Any]], Weights], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = fuzz.Call("attention", "explain", "a good film", {"method": "broken"}, None, ())
    monkeypatch.setattr(fuzz, "a_call", lambda rng, kind=None: call)
    with declared(broken):
        _, _, finding = fuzz.check_call(SEED, 1)
    assert finding is not None
    assert finding.what.startswith(what)


def test_the_fuzzer_finds_an_explanation_that_is_not_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Explanation.from_dict
    monkeypatch.setattr(Explanation, "from_dict", lambda data: replace(read(data), method_label="other"))
    findings = fuzz.run(SEED, range(60)).findings
    assert {finding.what for finding in findings} == {"stored: not the same when read back"}


@contextlib.contextmanager
def declared(run: Callable[[Question[Any]], Weights]) -> Iterator[None]:
    """Inside, the method "broken" is computed by `run`."""
    method("broken", label="Broken", summary="").implementation(Perturbable)(run)
    try:
        yield
    finally:
        forget("broken")


# ── the boundary ──────────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = "the film was great"


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"target": 3}, UnknownNameError, "unknown label 3: choose from 'negative', 'neutral', 'positive'"),
        ({"target": np.array(["positive"])}, UnknownNameError, "unknown label array(['positive']"),
        ({"features": None}, ParameterError, "features must be one of 'words', 'occurrences', 'sentences', 'phrases'"),
        ({"features": ["words"]}, InputError, "a span is a pair (start, end)"),
        ({"removal": []}, UnknownNameError, "unknown removal []: choose from 'mask', 'delete', 'attention'"),
        ({"removal": np.array(["mask", "delete"])}, UnknownNameError, "unknown removal array("),
        (
            {"output": {}},
            UnknownNameError,
            "unknown output {}: choose from 'logit', 'log-odds', 'probability', 'value'",
        ),
        ({"seed": 1.5}, ParameterError, "seed must be a whole number of at least 0: got 1.5"),
        ({"seed": None}, ParameterError, "seed must be a whole number of at least 0: got None"),
        ({"seed": np.timedelta64(5)}, ParameterError, "seed must be a whole number of at least 0: got "),
        (
            {"seed": -(10**5000)},
            ParameterError,
            "seed must be a whole number from 0 to 2**128 - 1: got <int whose repr",
        ),
        ({"progress": 3}, ParameterError, "progress must have begin, advance, end and say"),
        ({"progress": 0}, ParameterError, "limelight.Progress has: got 0; leave it out"),
        ({"method": None}, UnknownNameError, "unknown method None: choose from 'alpha-avg'"),
        ({"method": ["lime"]}, UnknownNameError, "unknown method ['lime']: choose from"),
        ({"n_samples": "5"}, ParameterError, "n_samples must be a whole number or None: got '5'"),
        (
            {"n_samples": 2**63},
            ParameterError,
            "n_samples must be a whole number or None of at most 63 bits: got 9223372036854775808",
        ),
        ({"n_samples": np.array([5])}, ParameterError, "n_samples must be a whole number or None: got array([5])"),
        ({"n_samples": np.timedelta64(5)}, ParameterError, "n_samples must be a whole number or None: got "),
        ({"kernel_width": None}, ParameterError, "kernel_width must be a number: got None"),
        ({"kernel_width": float("nan")}, ParameterError, "kernel_width must be a number: got nan"),
        ({"kernel_width": np.float32("nan")}, ParameterError, "kernel_width must be a number: got nan"),
        ({"method": "alpha-avg", "layer": 10**5000}, ParameterError, "of at most 63 bits: got <int whose repr raises"),
        ({"method": "alpha-avg", "layer": "x" * 10_000}, ParameterError, "got 'xxx"),
        (
            {"method": "integrated-gradients", "steps": 10**9},
            ParameterError,
            "steps must be at most 4,096: got 1000000000",
        ),
        ({"method": "integrated-gradients", "baseline": "\ud800"}, UnknownNameError, "for this model '\\ud800'"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], error: type[LimelightError], told: str) -> None:
    with pytest.raises(error) as caught:
        limelight.explain(small_model(), TEXT, **arguments)
    assert told in str(caught.value)
    assert_printable(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "a text must be a string: got NoneType None; give its words as one string"),
        (5, "a text must be a string: got int 5"),
        (b"bytes", "a text must be a string: got bytes b'bytes'; decode it first"),
        ({"a": 1}, "a text must be a string: got dict {'a': 1}"),
        ([TEXT, 3], "text 2 of 2: a text must be a string: got int 3"),
        ((TEXT, None, TEXT), "text 2 of 3: a text must be a string: got NoneType None"),
        (np.array(5), "a text must be a string: got ndarray array(5)"),
        ([TEXT, ""], "text 2 of 2: the text has no words: got ''; give a text with at least one word"),
    ],
)
def test_what_is_no_text_is_named(text: Any, told: str) -> None:
    with pytest.raises(InputError) as caught:
        limelight.explain(small_model(), text)
    assert told in str(caught.value)
    assert_printable(caught.value)


def test_any_ordered_collection_of_texts_is_a_list() -> None:
    three = [TEXT, "bad", "film"]  # a tuple of two is a pair
    wanted = limelight.explain(small_model(), three, "gxi")
    for texts in (tuple(three), np.array(three), (text for text in three)):
        assert limelight.explain(small_model(), texts, "gxi") == wanted  # type: ignore[call-overload]
    assert limelight.explain(small_model(), [], "gxi") == []


@pytest.mark.parametrize(
    ("named", "error", "told"),
    [
        ([None], UnknownNameError, "unknown method None"),
        (5, ParameterError, 'methods must be a list of method ids, or "all": got 5'),
        ({"lime": 1}, ParameterError, "methods must be a list of method ids"),
        (b"lime", ParameterError, "got b'lime'"),
        ([["lime"]], UnknownNameError, "unknown method ['lime']"),
        ("lime", InputError, "write methods=['lime']"),
        ([], InputError, "methods is empty"),
        (np.array([]), InputError, "methods is empty"),
    ],
)
def test_methods_that_cannot_be_are_named(named: Any, error: type[LimelightError], told: str) -> None:
    with pytest.raises(error) as caught:
        limelight.compare(small_model(), TEXT, named)
    assert told in str(caught.value)
    assert_printable(caught.value)


def test_texts_of_a_comparison_are_checked_whatever_the_model() -> None:
    with pytest.raises(InputError, match="a text must be a string: got list"):
        limelight.compare(small_model(), [TEXT])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "hostile", ["\ud800" * 50, "\x1b[31mred\u202e\n", "x" * 100_000, fuzz._Raises(), b"\xff" * 9_999]
)
def test_what_was_given_never_breaks_a_message(hostile: Any) -> None:
    for arguments in ({"target": hostile}, {"method": hostile}, {"ridge": hostile}, {"seed": hostile}):
        with pytest.raises(LimelightError) as caught:
            limelight.explain(small_model(), TEXT, **arguments)
        assert_printable(caught.value)
        assert len(str(caught.value)) < 500
    assert len(shown(hostile)) <= 80


def test_a_thousand_labels_are_not_all_listed() -> None:
    model = limelight.wrap(lambda texts: np.full((len(texts), 1000), 1e-3), labels=[f"label {i}" for i in range(1000)])
    with pytest.raises(UnknownNameError, match=r"did you mean 'label 999'\? .*'label 19', … \(1,000 in all\)$"):
        limelight.explain(model, TEXT, target="label 9999")


def test_errors_travel_between_processes() -> None:
    error = UnknownNameError("method", "lim", ["lime"])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(again), str(again)) == (UnknownNameError, str(error))


@pytest.mark.parametrize(
    "raised",
    [
        MemoryError(),
        np._core._exceptions._ArrayMemoryError((10**9,), np.dtype(float)),  # type: ignore[attr-defined]
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory: 8 bytes"),
        torch.OutOfMemoryError("CUDA out of memory"),
    ],
)
def test_memory_that_is_not_there_is_told_with_what_to_lower(raised: Exception) -> None:
    def hungry(question: Question[Any], *, n_samples: int = 10, share: float = 0.5) -> Weights:
        raise raised

    with declared(hungry), pytest.raises(TooLargeError) as caught:
        limelight.explain(small_model(), TEXT, "broken", n_samples=10**9)
    assert isinstance(caught.value, MemoryError)
    assert str(caught.value) == (
        "method 'broken' needs more memory than there is for 4 features with n_samples=1000000000, share=0.5: "
        "lower n_samples, or explain a shorter text"
    )


def test_a_mistake_in_a_method_shows_as_itself() -> None:
    for mistake in (RuntimeError("mine"), TypeError("mine"), ValueError("mine")):

        def failing(question: Question[Any], mistake: Exception = mistake) -> Weights:
            raise mistake

        with declared(failing), pytest.raises(type(mistake), match="mine"):
            limelight.explain(small_model(), TEXT, "broken")


def test_weights_that_are_not_finite_are_told_with_the_options() -> None:
    def endless(question: Question[Any], *, width: float = 1e-200) -> Weights:
        return Weights(np.full(len(question.features), np.nan), Exact())

    with declared(endless), pytest.raises(NumericalError, match=r"not finite with width=1e-200: use less extreme"):
        limelight.explain(small_model(), TEXT, "broken")


def test_leaving_out_many_features_takes_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from limelight.explainers import leave_one_out

    whole = limelight.explain(small_model(), "the film was great but too long and bad", "leave-one-out")
    monkeypatch.setattr(leave_one_out, "_CELLS_AT_ONCE", 20)
    assert limelight.explain(small_model(), whole.text, "leave-one-out") == whole


def test_an_empty_text_is_shown_short() -> None:
    with pytest.raises(EmptyTextError) as caught:
        limelight.explain(small_model(), "\u2028 " * 5_000)
    assert_printable(caught.value)
    assert len(str(caught.value)) < 200


def assert_printable(error: LimelightError) -> None:
    """On one line, in any encoding that has the letters."""
    message = str(error)
    assert message.isprintable()
    message.encode()


# ── many labels in front of people ────────────────────────────────────────────────────────────────────────────────────


def _unlikely_target() -> Explanation:
    p = np.linspace(1, 2, 1000)
    p /= p.sum()
    model = limelight.wrap(lambda texts: np.tile(p, (len(texts), 1)), labels=[f"label {i:03}" for i in range(1000)])
    return limelight.explain(model, TEXT, "leave-one-out", target="label 000")


def test_page_and_terminal_show_the_target_among_a_thousand_labels() -> None:
    explanation = _unlikely_target()
    page = explanation.to_html()
    classes = page.partition('<ul class="classes">')[2].partition("</ul>")[0]
    assert "<bdi>label 000</bdi>" in classes
    assert page.count("<li>") == 10
    assert "and 990 more labels" in page
    assert len(page) < 30_000
    stream = io.StringIO()
    render([explanation], console=Console(file=stream, width=80))
    assert "label 000" in stream.getvalue().partition("more")[0]
    assert len(stream.getvalue()) < 3_000


def test_boundary_keeps_numbers_and_names_plain() -> None:
    """NumPy's numbers and strings become Python's before a method sees them."""
    e = limelight.explain(
        small_model(), TEXT, "lime", target=np.str_("positive"), removal=np.str_("delete"), n_samples=np.int16(20)
    )
    assert type(e.parameters["removal"]) is str
    assert type(e.parameters["n_samples"]) is int
    assert type(e.target) is str


def test_the_seed_may_have_as_many_bits_as_numpy_recommends() -> None:
    assert (
        limelight.explain(small_model(), TEXT, "lime", seed=2**128 - 1, n_samples=10).parameters["seed"] == 2**128 - 1
    )
    with pytest.raises(ParameterError, match="2\\*\\*128 - 1"):
        limelight.explain(small_model(), TEXT, "lime", seed=2**128)
    assert request._SEED_BITS == 128
