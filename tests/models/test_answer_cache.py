"""Answers of a function on disk: paid for once, never another function's, never lost and never wrong."""

from __future__ import annotations

import functools
import os
import pickle
import re
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import limelight
from limelight.core.progress import Silent
from limelight.errors import DataError, InputError, NumericalError, ParameterError
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.blackbox.cache import FILE, AnswerCache, key_of

# Numbers are compared here, whatever they are worth.
pytestmark = pytest.mark.filterwarnings("ignore::limelight.errors.ExplanationWarning")

LABELS = ("no", "yes")
TEXT = "A great film, but far too long"
HARNESS = Path(__file__).parents[1] / "reliability" / "cache_harness.py"


def scores(texts: list[Any]) -> np.ndarray:
    """Depends on every character, and on nothing else."""
    sums = np.array([sum((1 + i % 5) * ord(c) for i, c in enumerate("|".join([*text]))) % 331 for text in texts])
    p = (1 + sums) / 333
    return np.stack([1 - p, p], axis=1)


class Paid:
    """A function that writes down what it was asked, in batches."""

    def __init__(self, fails_on: str = "") -> None:
        self.batches: list[list[Any]] = []
        self.fails_on = fails_on

    @property
    def texts(self) -> list[Any]:
        return [text for batch in self.batches for text in batch]

    def __call__(self, texts: list[Any]) -> np.ndarray:
        assert texts, "a function is not asked about nothing"
        self.batches.append(list(texts))
        if self.fails_on and any(self.fails_on in text for text in texts):
            raise ValueError("not this one")
        return scores(texts)


def same_numbers(one: Any, other: Any) -> bool:
    return all(
        a.tobytes() == b.tobytes()
        for a, b in (
            (one.weights, other.weights),
            (one.prediction.logits, other.prediction.logits),
            *([(one.stderr, other.stderr)] if one.stderr is not None else []),
        )
    )


# ── asked once ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_asked_once_is_not_asked_again(tmp_path: Path) -> None:
    expected = limelight.explain(BlackBoxClassifier(scores, LABELS), TEXT, "lime", n_samples=300)
    for first in (True, False):  # the second time as if by another process
        paid = Paid()
        model = BlackBoxClassifier(paid, LABELS, cache=tmp_path / "a" / "b", name="paid", batch_texts=7)
        e = limelight.explain(model, TEXT, "lime", n_samples=300)
        assert same_numbers(e, expected)
        # The text itself is asked about three times: for its prediction, beside its first word, which is asked about
        # alone too, and to see whether the function repeats itself.
        twice = [TEXT, TEXT, "A"] if first else []
        assert sorted(paid.texts) == sorted([*set(paid.texts), *twice])
        assert len(paid.texts) == model.asked
        assert e.evaluations == max(0, len(paid.texts) - 1)
        assert bool(e.evaluations) == first
        assert not first or len(paid.texts) > 80
        assert all(len(batch) <= 7 for batch in paid.batches)
    assert os.listdir(tmp_path / "a" / "b") == [FILE]


def test_the_next_method_asks_only_what_is_new(tmp_path: Path) -> None:
    alone, paid = Paid(), Paid()
    limelight.explain(BlackBoxClassifier(alone, LABELS), TEXT, "leave-one-out", removal="delete")
    model = BlackBoxClassifier(paid, LABELS, cache=tmp_path, name="paid")
    limelight.explain(model, TEXT, "lime", n_samples=60, sampling="official", removal="delete")
    before = set(paid.texts)
    paid.batches.clear()
    e = limelight.explain(model, TEXT, "leave-one-out", removal="delete")
    assert sorted(paid.texts) == sorted(set(alone.texts) - before)
    assert 0 < len(paid.texts) == e.evaluations < len(set(alone.texts))


def test_new_texts_fill_whole_batches(tmp_path: Path) -> None:
    paid = Paid()
    model = BlackBoxClassifier(paid, LABELS, cache=tmp_path, name="paid", batch_texts=10)
    texts = [f"text {i}" for i in range(100)]
    model.predict_proba([text for i, text in enumerate(texts) if i % 4])
    paid.batches.clear()
    order = texts[50:] + texts[:50] + texts[::4]  # each new text twice
    np.testing.assert_array_equal(model.predict_proba(order), scores(order))
    assert [len(batch) for batch in paid.batches] == [10, 10, 5]
    assert sorted(paid.texts) == sorted(texts[::4])


def test_progress_hears_of_what_was_known_too(tmp_path: Path) -> None:
    class Counting(Silent):
        steps = 0

        def advance(self, steps: int = 1, note: str = "") -> None:
            self.steps += steps

    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path, batch_texts=9)
    for _ in range(2):
        progress = Counting()
        limelight.explain(model, TEXT, "lime", n_samples=200, progress=progress)
        assert progress.steps == 201  # the samples, and the text without words


@pytest.mark.parametrize("kind", ["classes", "multi-label", "regression"])
@pytest.mark.parametrize("pairs", [False, True])
def test_every_kind_is_kept(tmp_path: Path, kind: Any, pairs: bool) -> None:
    texts: list[Any] = [("a", "bc"), ("ab", "c"), ("", "abc")] if pairs else ["a", "", "\ud83d", "\ud83d\ude00", "😀"]
    paid = Paid()
    for _ in range(2):
        model = BlackBoxClassifier(paid, LABELS, kind=kind, pairs=pairs, cache=tmp_path, name="paid")
        np.testing.assert_array_equal(model.predict_logits(texts), model.predict_logits(texts))
        plain = BlackBoxClassifier(scores, LABELS, kind=kind, pairs=pairs)
        np.testing.assert_array_equal(model.predict_logits(texts), plain.predict_logits(texts))
    assert paid.batches == [texts]


def test_labels_are_counted_by_one_answer_which_is_kept(tmp_path: Path) -> None:
    paid = Paid()
    for _ in range(2):
        model = BlackBoxClassifier(paid, cache=tmp_path, name="paid")
        assert model.labels == ("class 0", "class 1")
        np.testing.assert_array_equal(model.predict_proba(["text"]), scores(["text"]))
    assert paid.texts == ["text"]


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_numbers_come_back_with_every_bit(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    given = np.array(rows)
    folder = tmp_path_factory.mktemp("cache")
    for function in (lambda texts: given, None):
        model = BlackBoxClassifier(function or Paid(), LABELS, kind="regression", cache=folder, name="f")
        answers = model.predict_logits([str(i) for i in range(len(rows))])
        assert answers.tobytes() == given.tobytes()
    assert model.asked == 0


KEYED = st.text(st.sampled_from("ab?\x00\ud83d\ude00😀"), max_size=4)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.tuples(KEYED, KEYED), st.tuples(st.tuples(KEYED, KEYED), st.tuples(KEYED, KEYED))))
@example(("\ud83d", "?"))
@example(("\ud83d", "\ude00"))
@example(("\ud83d\ude00", "😀"))
@example((("a", "bc"), ("ab", "c")))
def test_two_texts_have_two_keys(texts: tuple[Any, Any]) -> None:
    one, other = map(key_of, texts)
    assert (one == other) == (texts[0] == texts[1])


def test_texts_are_not_on_the_disk(tmp_path: Path) -> None:
    secret = "Confidential: the patient has measles"
    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    limelight.explain(model, secret, "lime", n_samples=100)
    content = (tmp_path / FILE).read_bytes()
    assert len(content) > 2000
    for word in ("Confidential", "patient", "measles"):
        assert word.encode() not in content


def test_asking_again_goes_past_the_cache_and_leaves_it(tmp_path: Path) -> None:
    turn = [0.25]
    model = BlackBoxClassifier(lambda texts: [[turn[0], 1 - turn[0]]] * len(texts), LABELS, cache=tmp_path, name="f")
    assert model.predict_proba(["a"]).tolist() == [[0.25, 0.75]]
    turn[0] = 0.5  # the function has changed its mind
    assert model.ask_again(["a", "a", "b"]).tolist() == [[0.5, 0.5]] * 3
    assert model.asked == 4
    assert model.predict_proba(["a"]).tolist() == [[0.25, 0.75]]
    assert model.asked == 4
    model.predict_proba(["b"])
    assert model.asked == 5  # what was asked again was not kept
    with pytest.raises(InputError, match="ask_again takes a list of texts"):
        model.ask_again("a")


def test_the_first_answer_stays_where_two_run_at_once(tmp_path: Path) -> None:
    """A function that does not repeat itself: both runs go on with what is kept."""
    other = BlackBoxClassifier(lambda texts: [[0.5, 0.5]] * len(texts), LABELS, cache=tmp_path, name="f")

    def slow(texts: list[str]) -> Any:
        other.predict_proba(["a"])
        return [[0.25, 0.75]] * len(texts)

    model = BlackBoxClassifier(slow, LABELS, cache=tmp_path, name="f")
    assert model.predict_proba(["b", "a"]).tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_what_others_have_asked_meanwhile_is_not_asked_again(tmp_path: Path) -> None:
    texts, asked = [f"text {i}" for i in range(12)], list[str]()
    other = BlackBoxClassifier(scores, LABELS, cache=tmp_path, name="f")

    def slow(batch: list[str]) -> Any:
        asked.extend(batch)
        other.predict_proba(texts[5:9])
        return scores(batch)

    model = BlackBoxClassifier(slow, LABELS, cache=tmp_path, name="f", batch_texts=4)
    np.testing.assert_array_equal(model.predict_proba(texts), scores(texts))
    assert asked == [*texts[:5], *texts[9:]]
    assert BlackBoxClassifier(Paid(), LABELS, cache=tmp_path, name="f").predict_proba([]).shape == (0, 2)


# ── whose answers ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "difference"),
    [
        ({"name": "other"}, "name 'f' there, 'other' here"),
        ({"labels": ("yes", "no")}, r"labels \('no', 'yes'\) there, \('yes', 'no'\) here"),
        ({"labels": ("no", "yes", "so")}, "labels"),
        ({"labels": None}, r"labels \('no', 'yes'\) there, \('class 0', 'class 1'\) here"),
        ({"kind": "multi-label"}, "kind 'classes' there, 'multi-label' here"),
        ({"pairs": True}, "pairs False there, True here"),
    ],
)
def test_a_folder_of_another_function_is_refused(tmp_path: Path, arguments: dict[str, Any], difference: str) -> None:
    given: dict[str, Any] = {"labels": LABELS, "name": "f", "cache": tmp_path}
    model = BlackBoxClassifier(scores, **given)
    model.predict_proba(["a"])
    paid = Paid()
    with pytest.raises(InputError, match=f"holds answers of another function: {difference}.*use another folder, or"):
        BlackBoxClassifier(paid, **{**given, **arguments})
    assert paid.batches == []
    assert BlackBoxClassifier(paid, **given).predict_proba(["a"]).tolist() == scores(["a"]).tolist()
    assert paid.batches == []


class Model:
    """It holds nothing: its name is enough."""

    def predict_proba(self, texts: list[str]) -> Any:
        return scores(texts)

    @classmethod
    def of_class(cls, texts: list[str]) -> Any:
        return scores(texts)

    def __call__(self, texts: list[str]) -> Any:
        return scores(texts)


class Inherited(Model):
    pass


def another(texts: list[str]) -> Any:
    return scores(texts)


def test_a_function_goes_by_its_name_in_the_code(tmp_path: Path) -> None:
    functions = {
        "function": scores,
        "another": another,
        "method": Model().predict_proba,
        "inherited": Inherited().predict_proba,
        "class method": Model.of_class,
        "class method, inherited": Inherited.of_class,
        "object": Model(),
        "object of another class": Inherited(),
    }
    for name, function in functions.items():
        BlackBoxClassifier(function, LABELS, cache=tmp_path / name)
    for name in functions:
        for other, function in functions.items():
            if name == other:
                BlackBoxClassifier(function, LABELS, cache=tmp_path / name)
            else:
                with pytest.raises(InputError, match="of another function: name"):
                    BlackBoxClassifier(function, LABELS, cache=tmp_path / name)
    assert "test_answer_cache.scores, labels" in repr(BlackBoxClassifier(scores, LABELS))


@pytest.mark.parametrize("nameless", [lambda texts: scores(texts), functools.partial(lambda texts: scores(texts))])
def test_what_has_no_name_of_its_own_needs_one(tmp_path: Path, nameless: Any) -> None:
    with pytest.raises(ParameterError, match=r'no name in the code that tells it from others: give it one, name="…"'):
        BlackBoxClassifier(nameless, LABELS, cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    BlackBoxClassifier(nameless, LABELS, cache=tmp_path / "cache", name="mine")
    BlackBoxClassifier(nameless, LABELS)


# ── what was paid for ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("bad", [0, 1, 37, 63])
def test_a_text_that_the_function_fails_on_is_found_and_the_others_are_kept(tmp_path: Path, bad: int) -> None:
    texts = [f"text {i}" for i in range(64)]
    texts[bad] = "the culprit"
    paid = Paid(fails_on="culprit")
    model = BlackBoxClassifier(paid, LABELS, cache=tmp_path, name="paid", batch_texts=16)
    with pytest.raises(
        InputError, match=r"failed on 16 texts at once, ValueError: not this one; make it take 'the cul"
    ):
        model.predict_proba(texts)
    answered = [batch for batch in paid.batches if "the culprit" not in batch]
    assert sum(map(len, answered)) == len({text for batch in answered for text in batch})  # none paid twice
    assert model.asked == len(paid.texts)
    kept = [text for batch in answered for text in batch]
    assert set(kept) >= set(texts[: bad // 16 * 16])
    paid.batches.clear()
    np.testing.assert_array_equal(model.predict_proba(kept), scores(kept))
    assert paid.batches == []
    paid.fails_on = ""  # put right, and run again
    np.testing.assert_array_equal(model.predict_proba(texts), scores(texts))
    assert set(paid.texts) == set(texts) - set(kept)


def test_a_batch_that_fails_as_a_whole_is_kept_by_halves(tmp_path: Path) -> None:
    asked: list[int] = []

    def small(texts: list[str]) -> Any:
        asked.append(len(texts))
        if len(texts) > 4:
            raise MemoryError("too many")
        return scores(texts)

    model = BlackBoxClassifier(small, LABELS, cache=tmp_path, batch_texts=16, name="small")
    with pytest.raises(
        InputError, match=r"one text at a time does not fail, such as 'text.*try a smaller batch_texts;.*kept in"
    ):
        model.predict_proba([f"text {i}" for i in range(16)])
    assert asked == [16, 8, 4, 2, 1, 1]
    assert len(AnswerCache(tmp_path).known([key_of(f"text {i}") for i in range(16)])) == 8


def test_the_search_for_a_text_stops_where_calls_run_out(tmp_path: Path) -> None:
    paid = Paid(fails_on="culprit")
    texts = [*(f"text {i}" for i in range(15)), "the culprit"]
    model = BlackBoxClassifier(paid, LABELS, cache=tmp_path, name="paid", max_calls=16 + 8 + 3)
    with pytest.raises(
        InputError, match=r"ValueError: not this one; max_calls=27 leaves no room to find out which of 8 texts"
    ):
        model.predict_proba(texts)
    assert [len(batch) for batch in paid.batches] == [16, 8]
    assert BlackBoxClassifier(Paid(), LABELS, cache=tmp_path, name="paid").predict_proba(texts[:8]).shape == (8, 2)


def test_good_rows_of_a_bad_answer_are_kept(tmp_path: Path) -> None:
    paid = Paid()

    def sometimes(texts: list[str]) -> Any:
        rows = paid(texts)
        rows[["bad" in text for text in texts]] = np.nan
        return rows

    model = BlackBoxClassifier(sometimes, LABELS, cache=tmp_path, name="f")
    with pytest.raises(NumericalError, match=r"not finite for 1 of 4 texts: got .* for the text 'bad'"):
        model.predict_proba(["a", "b", "bad", "c"])
    paid.batches.clear()
    np.testing.assert_array_equal(model.predict_proba(["a", "b", "c"]), scores(["a", "b", "c"]))
    assert paid.batches == []


def test_an_answer_of_another_shape_is_not_kept(tmp_path: Path) -> None:
    model = BlackBoxClassifier(lambda texts: [[0.5, 0.5]], LABELS, cache=tmp_path, name="f")
    with pytest.raises(InputError, match="shape"):
        model.predict_proba(["a", "b"])
    right = BlackBoxClassifier(scores, LABELS, cache=tmp_path, name="f")
    right.predict_proba(["a", "b"])
    assert right.asked == 2


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_run_that_is_stopped_keeps_what_it_was_answered(tmp_path: Path, stop: type[BaseException]) -> None:
    paid = Paid()

    def stopping(texts: list[str]) -> Any:
        if len(paid.batches) == 3:
            raise stop
        return paid(texts)

    texts = [f"text {i}" for i in range(50)]
    with pytest.raises(stop):
        BlackBoxClassifier(stopping, LABELS, cache=tmp_path, batch_texts=10, name="f").predict_proba(texts)
    again = BlackBoxClassifier(scores, LABELS, cache=tmp_path, batch_texts=10, name="f")
    np.testing.assert_array_equal(again.predict_proba(texts), scores(texts))
    assert again.asked == 20


# ── max_calls ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_more_texts_are_asked_than_allowed() -> None:
    paid = Paid()
    model = BlackBoxClassifier(paid, LABELS, max_calls=25, batch_texts=10)
    model.predict_proba(["a"] * 13)
    with pytest.raises(ParameterError) as caught:
        model.predict_proba(["b"] * 13)
    assert re.fullmatch(
        r"max_calls=25 does not suffice: the function was asked about 23 texts, and at least 3 more are needed; "
        r"raise max_calls, or ask for fewer samples",
        str(caught.value),
    )
    assert len(paid.texts) == model.asked == 23  # nothing is asked that cannot be used
    model.predict_proba(["c"] * 2)
    with pytest.raises(ParameterError, match="was asked about 25 texts, and at least 1 more"):
        model.ask_again(["d"])
    with pytest.raises(ParameterError, match="max_calls=25"):
        limelight.explain(BlackBoxClassifier(paid, LABELS, max_calls=25), TEXT, "lime", n_samples=500)


def test_with_a_cache_the_allowance_is_spent_and_kept(tmp_path: Path) -> None:
    expected = limelight.explain(BlackBoxClassifier(scores, LABELS), TEXT, "lime", n_samples=300)
    asked, errors = Counter[str](), list[str]()
    for _ in range(20):
        paid = Paid()
        model = BlackBoxClassifier(paid, LABELS, cache=tmp_path, name="paid", max_calls=25, batch_texts=10)
        try:
            e = limelight.explain(model, TEXT, "lime", n_samples=300)
        except ParameterError as error:
            errors.append(str(error))
        asked.update(paid.texts)
        assert len(paid.texts) == model.asked <= 25
        if model.asked < 25:
            break
    assert same_numbers(e, expected)
    assert asked.pop(TEXT) == 3  # beside its first word, and to see whether the function repeats itself
    assert asked.pop("A") == 2
    assert set(asked.values()) == {1}
    assert len(errors) == (len(asked) + 5) // 25 >= 3
    assert "was asked about 25 texts, and at least 10 more are needed" in errors[0]
    for error in errors:
        assert "was asked about 25 texts" in error
        assert f"what it has answered is kept in {tmp_path}; raise max_calls" in error
    free = BlackBoxClassifier(paid, LABELS, cache=tmp_path, name="paid", max_calls=1)
    free.predict_proba(sorted(asked))  # they are known


def test_an_allowance_that_ends_with_a_batch_is_said(tmp_path: Path) -> None:
    paid = Paid()
    model = BlackBoxClassifier(paid, LABELS, cache=tmp_path, name="paid", max_calls=20, batch_texts=10)
    with pytest.raises(ParameterError, match="was asked about 20 texts, and at least 5 more are needed; what it has"):
        model.predict_proba([f"text {i}" for i in range(25)])
    assert [len(batch) for batch in paid.batches] == [10, 10]


def test_threads_share_one_allowance() -> None:
    paid = Paid()
    model = BlackBoxClassifier(paid, LABELS, max_calls=1000, batch_texts=1)
    refused: list[Exception] = []

    def work() -> None:
        for i in range(200):
            try:
                model.predict_proba([f"text {i}"])
            except ParameterError as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paid.texts) == model.asked == 1000
    assert len(refused) == 600


# ── many at once, and kills ───────────────────────────────────────────────────────────────────────────────────────────


def test_threads_get_what_one_thread_gets(tmp_path: Path) -> None:
    texts = [TEXT, "The end is bad", "I liked the music and the cat"]
    expected = [limelight.explain(BlackBoxClassifier(scores, LABELS), text, "lime", n_samples=80) for text in texts]
    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path, batch_texts=20)
    different: list[str] = []
    together = threading.Barrier(8)

    def work(own: int) -> None:
        together.wait()
        try:
            for i in range(3):
                text = (own + i) % 3
                if not same_numbers(limelight.explain(model, texts[text], "lime", n_samples=80), expected[text]):
                    different.append(texts[text])
        except Exception as error:
            different.append(repr(error))

    threads = [threading.Thread(target=work, args=(own,)) for own in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert different == []
    again = BlackBoxClassifier(Paid(), LABELS, cache=tmp_path, name=f"{__name__}.scores")
    assert same_numbers(limelight.explain(again, texts[1], "lime", n_samples=80), expected[1])
    assert again.asked == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a run is a fork of the harness")
def test_kills_lose_nothing_that_was_acknowledged() -> None:
    """A sample of the harness."""
    ended = subprocess.run(
        [sys.executable, str(HARNESS), "--kills", "5", "--together", "2"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"^5 kills: 0 failures, .*kills 5,", ended.stdout, re.MULTILINE)
    assert re.search(r"^2 times two processes: 0 failures", ended.stdout, re.MULTILINE)


def test_a_copy_in_another_process_has_the_same_cache(tmp_path: Path) -> None:
    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    model.predict_proba(["a"])
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(copied.predict_proba(["a", "b"]), scores(["a", "b"]))
    assert (model.asked, copied.asked) == (1, 2)
    np.testing.assert_array_equal(model.predict_proba(["b"]), scores(["b"]))
    assert model.asked == 1


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="where open files are listed")
def test_no_file_stays_open(tmp_path: Path) -> None:
    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    model.predict_proba(["a"])
    with pytest.raises(InputError):
        BlackBoxClassifier(scores, LABELS, cache=tmp_path, name="other")
    links = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
    assert links
    assert not [link for link in links if FILE in os.readlink(link)]


def test_a_folder_is_where_it_was_when_the_process_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = BlackBoxClassifier(scores, LABELS, cache="here")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    model.predict_proba(["a"])
    assert os.listdir(tmp_path / "elsewhere") == []


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("folder", ["", "  ", 3, True, b"folder", ["a"]])
def test_what_is_no_path_is_refused(folder: Any) -> None:
    with pytest.raises(
        ParameterError, match="cache must be the path of a folder, which is made if it is not there: got"
    ):
        BlackBoxClassifier(scores, LABELS, cache=folder)


def test_a_place_where_no_folder_can_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "taken" / FILE).mkdir(parents=True)
    paid = Paid()
    for folder, message in (
        (tmp_path / "file", "it is a file; name a folder"),
        (tmp_path / "file" / "below", "Not a directory; name a folder"),
        (tmp_path / "x\0y", "name a folder"),
        (tmp_path / ("x" * 300), "File name too long; name a folder"),
        (tmp_path / "taken", "cannot be opened and written to .*check its permissions, or choose another folder"),
        ("/proc/limelight", "name a folder"),
    ):
        with pytest.raises(InputError, match=message):
            BlackBoxClassifier(paid, cache=folder, name="paid")
    assert paid.batches == []
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    (tmp_path / f"{FILE}-journal").mkdir()  # SQLite needs this place for its journal
    with pytest.raises(InputError, match=f"the cache {tmp_path} (could not be read or written|cannot be opened)"):
        BlackBoxClassifier(scores, LABELS, cache=tmp_path)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    for statement in ("CREATE TABLE mine (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 7"):
        (tmp_path / FILE).unlink(missing_ok=True)
        database = sqlite3.connect(tmp_path / FILE)
        database.execute(statement)
        database.commit()
        database.close()
        before = (tmp_path / FILE).read_bytes()
        with pytest.raises(DataError, match="is a database of another program, and was left alone: choose another"):
            BlackBoxClassifier(scores, LABELS, cache=tmp_path)
        assert (tmp_path / FILE).read_bytes() == before


def test_a_format_of_another_version_is_left_alone(tmp_path: Path) -> None:
    BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    database = sqlite3.connect(tmp_path / FILE)
    database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(DataError, match="has format 2, and this limelight reads 1: use the limelight that wrote it"):
        BlackBoxClassifier(scores, LABELS, cache=tmp_path)


def test_a_python_without_sqlite_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    with pytest.raises(ParameterError, match="cache needs SQLite, which this Python was built without"):
        BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    BlackBoxClassifier(scores, LABELS)


def test_a_cache_that_is_gone_is_said_and_not_made_anew(tmp_path: Path) -> None:
    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path / "cache")
    model.predict_proba(["a"])
    (tmp_path / "cache" / FILE).unlink()
    with pytest.raises(InputError, match="cannot be opened and written to"):
        model.predict_proba(["a"])
    assert os.listdir(tmp_path / "cache") == []


def test_a_cache_that_others_hold_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    monkeypatch.setattr("limelight.models.blackbox.cache._PATIENCE", 0.05)
    database = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(InputError, match=r"was being written by others for 0.05 seconds .*locked.*try again"):
            model.predict_proba(["a"])
    finally:
        database.close()
    model.predict_proba(["a"])


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
def test_a_full_disk_is_said_and_what_was_kept_stays(tmp_path: Path) -> None:
    import resource
    import signal

    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    few, many = ([f"text {i}" for i in range(n)] for n in (20, 5000))
    model.predict_proba(few)
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, limits[1]))
    try:
        with pytest.raises(
            InputError, match=r"could not be read or written .*what it held is still there; check the disk"
        ):
            model.predict_proba(many)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    asked = model.asked
    np.testing.assert_array_equal(model.predict_proba(few), scores(few))
    assert model.asked == asked


def test_damage_is_an_error_or_harmless_but_never_a_wrong_number(tmp_path: Path) -> None:
    """Bytes turned one at a time, in every kind of place; and files that end too early."""
    texts = [f"text {i}" for i in range(100)]
    given: dict[str, Any] = {"labels": LABELS, "name": "f", "cache": tmp_path}
    BlackBoxClassifier(scores, **given).predict_proba(texts)
    whole = (tmp_path / FILE).read_bytes()
    expected, endings, errors = scores(texts).tobytes(), Counter[str](), list[str]()
    rng = np.random.default_rng(0)
    damaged = [whole[:n] for n in (1, 50, 100, 1000, 4096, 6000, len(whole) - 4096, len(whole) - 1)]
    for at in sorted({*range(0, 100, 5), *rng.integers(0, len(whole), 60).tolist()}):
        damaged.append(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
    for content in [*damaged, b"no database", bytes(len(whole))]:
        (tmp_path / FILE).write_bytes(content)
        try:
            model = BlackBoxClassifier(scores, **given)
            answers = model.predict_proba(texts)
        except (DataError, InputError) as error:
            endings[type(error).__name__] += 1
            errors.append(str(error))
        else:
            assert answers.tobytes() == expected
            endings["asked again" if model.asked else "harmless"] += 1
    assert all(str(tmp_path) in error for error in errors)
    assert endings["DataError"] > 20
    assert endings["harmless"] > 10


def test_numbers_that_were_changed_are_noticed(tmp_path: Path) -> None:
    model = BlackBoxClassifier(scores, LABELS, cache=tmp_path)
    model.predict_proba(["a"])
    for numbers in (np.array([0.5, 0.5]).tobytes(), b"", "text", np.array([0.25]).tobytes()):
        database = sqlite3.connect(tmp_path / FILE)
        database.execute("UPDATE answers SET numbers = ?", [numbers])
        database.commit()
        database.close()
        with pytest.raises(
            DataError, match=r"is damaged \(an answer is not what was written\), and was left alone: move"
        ):
            model.predict_proba(["a"])
