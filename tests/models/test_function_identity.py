"""Whose answers a cache holds: no two functions that may answer differently ever share a name."""

from __future__ import annotations

import collections
import enum
import functools
import json
import operator
import sqlite3
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import limelight
from limelight.errors import InputError, ParameterError
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.blackbox.cache import FILE
from limelight.models.blackbox.identity import Unwritable, full_name

LABELS = ("no", "yes")
HERE = __name__


def even(texts: list[str]) -> np.ndarray:
    return np.full((len(texts), 2), 0.5)


def prompted(prompt: Any, *more: Any) -> Any:
    """A factory, as prompt classifiers are written."""

    def classify(texts: list[str]) -> np.ndarray:
        p = np.array([(len(str(prompt)) + len(str(more)) + len(text)) % 7 + 1 for text in texts]) / 9
        return np.stack([1 - p, p], axis=1)

    return classify


def by_default(prompt: Any) -> Any:
    def classify(texts: list[str], prompt: Any = prompt) -> np.ndarray:
        return even(texts)

    return classify


def by_keyword(prompt: Any) -> Any:
    def classify(texts: list[str], *, prompt: Any = prompt) -> np.ndarray:
        return even(texts)

    return classify


def decorated(prompt: Any) -> Any:
    @functools.wraps(even)
    def classify(texts: list[str]) -> np.ndarray:
        return even([prompt, *texts])[1:]

    return classify


def with_prompt(prompt: str) -> Any:
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(texts: list[str]) -> np.ndarray:
            return np.asarray(function([prompt, *texts]))[1:]

        return wrapped

    return decorate


@with_prompt("a")
def found(texts: list[str]) -> np.ndarray:
    return even(texts)


def attributed(prompt: Any) -> Any:
    def classify(texts: list[str]) -> np.ndarray:
        return even(texts)

    classify.prompt = prompt  # type: ignore[attr-defined]
    return classify


def branched(prompt: Any) -> Any:
    """Two functions of one name in the code."""
    if prompt == "a":

        def classify(texts: list[str]) -> np.ndarray:
            return even(texts)
    else:

        def classify(texts: list[str]) -> np.ndarray:
            return 1 - even(texts)

    return classify


def of_nothing(_: Any) -> Any:
    """Made anew each time, and the same each time."""

    def classify(texts: list[str]) -> np.ndarray:
        return even(texts)

    return classify


class Prompted:
    def __init__(self, prompt: Any) -> None:
        self.prompt = prompt

    def __call__(self, texts: list[str]) -> np.ndarray:
        return even(texts)

    def ask(self, texts: list[str]) -> np.ndarray:
        return even(texts)

    def predict_proba(self, texts: list[str]) -> np.ndarray:
        return even(texts)

    @classmethod
    def of_class(cls, texts: list[str]) -> np.ndarray:
        return even(texts)

    @staticmethod
    def of_nobody(texts: list[str]) -> np.ndarray:
        return even(texts)


class Child(Prompted):
    pass


class Empty:
    def __call__(self, texts: list[str]) -> np.ndarray:
        return even(texts)

    def ask(self, texts: list[str]) -> np.ndarray:
        return even(texts)


class Slotted:
    __slots__ = ("__hidden", "unset")

    def __init__(self, prompt: Any) -> None:
        self.__hidden = prompt

    def __call__(self, texts: list[str]) -> np.ndarray:
        return even(texts)


class SlottedChild(Slotted):
    __slots__ = ("temperature",)

    def __init__(self, prompt: Any) -> None:
        super().__init__("the same")
        self.temperature = prompt


class WithBoth(Slotted):
    """Slots of its base, and a dictionary of its own."""

    def __init__(self, prompt: Any) -> None:
        super().__init__("the same")
        self.prompt = prompt


class Tone(enum.Enum):
    KIND = 1
    STRICT = 2


class Setting(NamedTuple):
    prompt: str


class Text(str):
    """A string that may hold more."""


def bound_by_hand(prompt: Any) -> Any:
    return types.MethodType(by_default(prompt), Prompted("x"))


FACTORIES = {
    "closure": prompted,
    "closure over a pair": lambda prompt: prompted("x", prompt),
    "default": by_default,
    "keyword": by_keyword,
    "decorated": decorated,
    "attribute of a function": attributed,
    "branches": branched,
    "object": Prompted,
    "method": lambda prompt: Prompted(prompt).ask,
    "bound by hand": bound_by_hand,
    "slots": Slotted,
    "slots of a child": SlottedChild,
    "slots and dictionary": WithBoth,
    "partial": lambda prompt: functools.partial(even, prompt=prompt),
    "partial, by position": lambda prompt: functools.partial(even, prompt),
    "partial of a closure": lambda prompt: functools.partial(prompted(prompt), more=1),
    "closure in a closure": lambda prompt: prompted(prompted(prompt)),
    "lambda in a closure": lambda prompt: prompted(lambda: prompt),
    "object in a closure": lambda prompt: prompted(Prompted(prompt)),
    "object in an object": lambda prompt: Prompted(Prompted(prompt)),
    "dictionary in a closure": lambda prompt: prompted({"prompt": (prompt, 1)}),
    "method in a closure": lambda prompt: prompted(Prompted(prompt).ask),
}


@pytest.mark.parametrize("factory", FACTORIES)
def test_two_functions_of_one_factory_never_share_answers(tmp_path: Path, factory: str) -> None:
    make = FACTORIES[factory]
    one, other, again = make("a"), make("b"), make("a")
    BlackBoxClassifier(one, LABELS, cache=tmp_path)
    with pytest.raises(
        InputError, match=r"holds answers of another function: name .* there, .* here; the code is called"
    ):
        BlackBoxClassifier(other, LABELS, cache=tmp_path)
    BlackBoxClassifier(again, LABELS, cache=tmp_path)


VALUES = [
    None, True, False, 0, 1, -1, 2**70, 0.0, -0.0, 1.0, float("inf"), 1j, "", "a", "1", b"", b"a", b"1", (), ("a",),
    (("a",),), ("a", "b"), ("ab",), ("b", "a"), frozenset(), frozenset("ab"), frozenset("a"), {}, {"a": 1}, {"a": 2},
    {"a": 1, "b": 2}, {"b": 2, "a": 1}, {1: "a"}, {"1": "a"}, ..., "\ud800", even, prompted, np, json, Prompted,
    Slotted, len, print, prompted("a"), prompted(1), by_default("a"), Prompted("a"), Prompted(1), Slotted("a"),
    Prompted.of_class, functools.partial(even), functools.partial(even, 1), lambda: 1, lambda: 2, Tone.KIND,
    Tone.STRICT,
]  # fmt: skip


def test_no_two_values_are_written_alike() -> None:
    names = [full_name(prompted(value)) for value in VALUES]
    assert len(set(names)) == len(VALUES)
    assert names == [full_name(prompted(value)) for value in VALUES]


def test_a_pair_of_values_is_not_its_concatenation() -> None:
    pairs = [("a", "bc"), ("ab", "c"), (("a", "b"), "c"), ("a", ("b", "c")), ("str 1:a", ""), ("", "str 1:a")]
    assert len({full_name(prompted(*pair)) for pair in pairs}) == len(pairs)


UNWRITABLE: dict[str, Any] = {
    "a list": ["a"],
    "a set": {"a"},
    "a list in a dictionary": {"a": ["b"]},
    "an array": np.zeros(2),
    "a scalar of NumPy": np.float64(1.0),
    "a lock": threading.Lock(),
    "a file": sys.stdout,
    "a named tuple": Setting("a"),
    "a subclass of str": Text("a"),
    "an object of C": operator.itemgetter(1),
    "an ordered dictionary": collections.OrderedDict(a=1),
    "a generator": (i for i in range(3)),
    "an object with a lock": Prompted(threading.Lock()),
    "a method of an object of C": "a".join,
    "a cached function": functools.lru_cache(even),
}


@pytest.mark.parametrize("what", UNWRITABLE)
@pytest.mark.parametrize("make", [prompted, Prompted, by_default, lambda value: functools.partial(even, value)])
def test_what_cannot_be_written_down_needs_a_name(tmp_path: Path, what: str, make: Any) -> None:
    function = make(UNWRITABLE[what])
    with pytest.raises(
        ParameterError, match=r'holds a value that tells it .* and cannot be written .*say which .*name="…"'
    ):
        BlackBoxClassifier(function, LABELS, cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    BlackBoxClassifier(function, LABELS, cache=tmp_path / "cache", name="mine")
    BlackBoxClassifier(function, LABELS)


def test_the_error_says_where_the_value_stands() -> None:
    class Client:
        pass

    for function, path in (
        (prompted("a", ["b"]), "the variable 'more' of prompted.<locals>.classify"),
        (prompted(Client()), "the variable 'prompt' of prompted.<locals>.classify"),
        (Prompted({"key": ["b"]}), "the object.prompt['key']"),
        (by_default([1]), "a default argument of by_default.<locals>.classify"),
        (functools.partial(even, x=[1]), "an argument of the partial['x']"),
    ):
        with pytest.raises(Unwritable) as caught:
            full_name(function)
        assert caught.value.path == path


def test_a_class_inside_a_function_needs_a_name() -> None:
    def make(prompt: str) -> Any:
        class Local:
            def __call__(self, texts: list[str]) -> str:
                return prompt

        return Local()

    with pytest.raises(Unwritable):
        full_name(make("a"))


def test_plain_functions_are_their_names() -> None:
    """As version 0.2 wrote them: a cache goes on after an update."""
    for function, name in (
        (even, "even"),
        (prompted, "prompted"),
        (Prompted.of_class, "Prompted.of_class"),
        (Child.of_class, "Child.of_class"),
        (Prompted.of_nobody, "Prompted.of_nobody"),
        (Empty(), "Empty"),
        (Empty().ask, "Empty.ask"),
    ):
        assert full_name(function) == f"{HERE}.{name}"
    assert full_name(lambda texts: texts) is None
    with pytest.raises(Unwritable):
        full_name(limelight.load().predict_proba)  # of a model that holds weights
    assert full_name(of_nothing(1)) == full_name(of_nothing(2)) != f"{HERE}.of_nothing.<locals>.classify"


def test_a_decorated_function_of_a_module_holds_what_its_decorator_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    first = full_name(found)
    assert first is not None
    assert first.startswith(f"{HERE}.found [")
    again = with_prompt("b")(found.__wrapped__)
    monkeypatch.setattr(sys.modules[HERE], "found", again)
    assert full_name(again) != first


def test_a_function_that_holds_itself_is_written() -> None:
    def recursive(depth: int) -> Any:
        def f(texts: list[str]) -> Any:
            return f if depth else texts

        return f

    assert full_name(recursive(1)) == full_name(recursive(1)) != full_name(recursive(2))


def test_values_inside_values_without_end_are_refused() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = (deep,)
    with pytest.raises(Unwritable):
        full_name(prompted(deep))


def test_names_are_the_same_in_another_process() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_function_identity as t; "
        "print([t.full_name(t.prompted(v)) for v in (frozenset('abcdef'), {'a': 1}, 'x', t.even, t.Prompted('a'))])"
    )
    folder = str(Path(__file__).parent)
    printed = {
        subprocess.run(
            [sys.executable, "-c", program, folder], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(printed) == 1


# ── values that change ────────────────────────────────────────────────────────────────────────────────────────────────


class Bare:
    def __call__(self, texts: list[str]) -> np.ndarray:
        return even(texts)


def test_an_object_that_begins_to_hold_something_is_not_asked_for_its_cache(tmp_path: Path) -> None:
    function = Bare()
    model = BlackBoxClassifier(function, LABELS, cache=tmp_path)
    model.predict_proba(["one"])
    vars(function)["prompt"] = "b"
    with pytest.raises(InputError, match="holds other values than when it was wrapped"):
        model.predict_proba(["two"])


def test_a_function_whose_values_change_is_not_asked_for_its_cache(tmp_path: Path) -> None:
    function = Prompted("a")
    model = BlackBoxClassifier(function, LABELS, cache=tmp_path)
    model.predict_proba(["one"])
    function.prompt = "b"
    with pytest.raises(InputError, match=r"holds other values than when it was wrapped.*wrap it again.*only counts"):
        model.predict_proba(["two"])
    model.predict_proba(["one"])  # it is known
    function.prompt = "a"
    model.predict_proba(["two"])
    named = BlackBoxClassifier(Prompted("a"), LABELS, cache=tmp_path / "named", name="counts")
    named._calls.function.prompt = ["anything"]
    named.predict_proba(["two"])


# ── caches of version 0.2 ─────────────────────────────────────────────────────────────────────────────────────────────


def written_by_0_2(folder: Path, function: Any, name: str) -> list[Any]:
    """A cache as 0.2 left it: the same tables, the name of the code alone, and no version."""
    model = BlackBoxClassifier(function, LABELS, cache=folder, name=name)
    model.predict_proba(["a film"])
    with sqlite3.connect(folder / FILE) as database:
        content = {"name": name, "labels": list(LABELS), "kind": "classes", "pairs": False}
        database.execute("DELETE FROM identity")
        database.execute("INSERT INTO identity VALUES (?)", [json.dumps(content)])
    database.close()
    return content_of(folder)


def content_of(folder: Path) -> list[Any]:
    database = sqlite3.connect(folder / FILE)
    rows = [database.execute(f"SELECT * FROM {table}").fetchall() for table in ("identity", "answers")]
    database.close()
    return rows


def test_a_cache_of_0_2_goes_on_for_a_function_of_a_module(tmp_path: Path) -> None:
    written_by_0_2(tmp_path, even, f"{HERE}.even")
    model = BlackBoxClassifier(even, LABELS, cache=tmp_path)
    model.predict_proba(["a film"])
    assert model.asked == 0


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (prompted("a"), "prompted.<locals>.classify"),
        (of_nothing(1), "of_nothing.<locals>.classify"),
        (Prompted("a"), "Prompted"),
        (Prompted("a").ask, "Prompted.ask"),
        (by_default("a"), "by_default.<locals>.classify"),
        (decorated("a"), "even"),
    ],
)
def test_a_cache_of_0_2_under_a_shared_name_is_refused_and_left(tmp_path: Path, function: Any, name: str) -> None:
    before = written_by_0_2(tmp_path, function, f"{HERE}.{name}")
    with pytest.raises(InputError) as caught:
        BlackBoxClassifier(function, LABELS, cache=tmp_path)
    said = str(caught.value)
    assert "written by limelight 0.2 or earlier under the name" in said
    assert "shared there, so whose answers it holds cannot be told; nothing was deleted" in said
    assert content_of(tmp_path) == before
    assert before[1]
    adopted = BlackBoxClassifier(function, LABELS, cache=tmp_path, name=f"{HERE}.{name}")  # as the message says
    adopted.predict_proba(["a film"])
    assert adopted.asked == 0


def test_a_cache_says_which_version_named_its_function(tmp_path: Path) -> None:
    BlackBoxClassifier(prompted("a"), LABELS, cache=tmp_path)
    database = sqlite3.connect(tmp_path / FILE)
    ((content,),) = database.execute("SELECT content FROM identity").fetchall()
    database.close()
    assert json.loads(content)["version"] == 2
