"""The stored form of explanations: plain dictionaries, ready for JSON, and what reads them back.

Each dictionary says by which rules it was written:

    schema 1   version 0.1, which wrote no "schema", no "label", no "signed" and no "evaluations"
    schema 2   these four as well; NaN among weights and standard errors is null
    schema 3   "against", "sides" and "groups" of an explanation, "kind" of a prediction; the text of a pair is a list
               of two, and the probabilities of a regression are null

JSON has no infinity, which `n_samples` and `kernel_width` may be: it is written as the word "inf".
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import InputError
from limelight.inputs.document import Span, Text

SCHEMA = 3
"""The rules by which this version writes; it reads all that came before."""
METHODS_OF_0_1: Mapping[str, tuple[str, bool]] = {
    "alpha-avg": ("α-avg", False),
    "alpha-max": ("α-max", False),
    "banzhaf": ("Banzhaf", True),
    "g-avg": ("G-avg", True),
    "g-l1": ("G-l1", False),
    "g-l2": ("G-l2", False),
    "gxi": ("G×I", True),
    "integrated-gradients": ("IG", True),
    "leave-one-out": ("Leave one out", True),
    "lime": ("LIME", True),
    "lime-limit": ("LIME, unsampled", True),
    "lime-proposition": ("Prop. B.1", True),
    "lime-theorem": ("Theorem 5.1", True),
    "rollout": ("Rollout", False),
    "shapley": ("Shapley", True),
}
"""Label and sign of each method of version 0.1, whose files do not say them."""

T = TypeVar("T")
_WORDS_FOR_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def quoted(value: object, longest: int = 40) -> str:
    """As Python writes it, which spells control characters out, cut to a length for a line of text."""
    written = repr(value[:longest] if isinstance(value, str) else value)
    return written if len(written) <= longest else written[: longest - 1] + "…"


def with_pandas() -> Any:
    """The module pandas, for a to_frame(); an error says what to install."""
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise InputError("to_frame() needs pandas, which is not installed: pip install pandas") from error


def numbers_written(array: Floats) -> list[float | str | None]:
    return [None if math.isnan(number) else written_as_json(number) for number in array.tolist()]


def written_as_json(value: Any, name: str = "") -> Any:
    """As JSON can hold it: NumPy's numbers as Python's, tuples and arrays as lists, what is not finite as a word."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [written_as_json(own, name) for own in value]
    if isinstance(value, Mapping):
        return {str(key): written_as_json(own, f"{name}[{str(key)!r}]") for key, own in value.items()}
    raise InputError(
        f"{name} cannot be written as JSON: it is a {type(value).__name__}; a method may say numbers, strings, lists "
        "and dictionaries"
    )


def _read(value: Any) -> Any:
    """The inverse of `written_as_json` for settings: the words for what is not finite as numbers, at any depth."""
    if isinstance(value, str):
        return _WORDS_FOR_NUMBERS.get(value, value)
    if isinstance(value, list | tuple):
        return [_read(own) for own in value]
    return {key: _read(own) for key, own in value.items()} if isinstance(value, Mapping) else value


class Written:
    """A dictionary that was written, read key by key; the error names the key that is damaged."""

    def __init__(self, kind: str, data: object) -> None:
        self._kind = kind
        if not isinstance(data, Mapping):
            raise InputError(f"this is no {kind}: expected the dictionary that to_dict() gave, got {quoted(data)}")
        self._data = data
        self.schema = self._whole("schema", data.get("schema", 1), 1)
        if self.schema > SCHEMA:
            raise InputError(
                f"this {kind} was written by a newer limelight (schema {self.schema}, this version reads up to "
                f"{SCHEMA}): update with pip install --upgrade limelight"
            )

    def damaged(self, key: str, problem: str, *given: object) -> InputError:
        got = "".join(f": got {quoted(value)}" for value in given)
        return InputError(f"this {self._kind} is damaged: {key!r} {problem}{got}; write it again")

    def __getitem__(self, key: str) -> Any:
        if key not in self._data:
            raise self.damaged(key, "is missing")
        return self._data[key]

    def _typed(self, key: str, kind: type[T], called: str) -> T:
        value = self[key]
        if not isinstance(value, kind):
            raise self.damaged(key, f"must be {called}", value)
        return value

    def word(self, key: str) -> str:
        return self._typed(key, str, "a string")

    def truth(self, key: str) -> bool:
        return self._typed(key, bool, "true or false")

    def number(self, key: str) -> float:
        return self._number(key, self[key])

    def count(self, key: str) -> int | None:
        return None if self[key] is None else self._whole(key, self[key], 0)

    def sequence(self, key: str, of: type[T], called: str) -> list[T]:
        values = self[key]
        if not isinstance(values, list | tuple) or not all(isinstance(value, of) for value in values):
            raise self.damaged(key, f"must be a list of {called}", values)
        return list(values)

    def words(self, key: str) -> tuple[str, ...]:
        return tuple(self.sequence(key, str, "strings"))

    def numbers(self, key: str, count: int, of: str) -> Floats:
        values = self[key]
        if not isinstance(values, list | tuple):
            raise self.damaged(key, "must be a list of numbers", values)
        if len(values) != count:
            raise self.damaged(key, f"must hold {count} numbers, one for each of the {of}, and holds {len(values)}")
        return np.array([math.nan if value is None else self._number(key, value) for value in values], dtype=np.float64)

    def settings(self, key: str) -> dict[str, Any]:
        read: dict[str, Any] = _read(self._typed(key, dict, "a dictionary"))
        return read

    def text(self, key: str) -> Text:
        """A text, or a pair of them."""
        value = self[key]
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(own, str) for own in value):
            return value[0], value[1]
        raise self.damaged(key, "must be a string, or a list of two for a pair of texts", value)

    def sides(self, count: int, text: Text) -> tuple[int, ...] | None:
        """For each feature of a pair the text that it stands in; None for a single text."""
        if isinstance(text, str):
            if self["sides"] is not None:
                raise self.damaged("sides", "must be null for a single text", self["sides"])
            return None
        sides = self.sequence("sides", int, "zeros and ones")
        if len(sides) != count or not set(sides) <= {0, 1}:
            raise self.damaged("sides", f"must hold {count} zeros and ones, one for each feature", sides)
        return tuple(map(int, sides))

    def members(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Numbers of features, each in one group."""
        members = tuple(tuple(own) for own in self.sequence("members", list, "lists"))
        if sorted(j for own in members for j in own if type(j) is int) != list(range(count)):
            raise self.damaged("members", f"must hold each feature from 0 to {count - 1} once", members)
        return members

    def spans(self, count: int, text: Text, sides: tuple[int, ...] | None = None) -> tuple[tuple[Span, ...], ...]:
        places = self.sequence("spans", list, "lists")
        if len(places) != count:
            raise self.damaged("spans", f"must hold {count} lists, one for each feature, and holds {len(places)}")
        ends = [len(text)] * count if isinstance(text, str) or sides is None else [len(text[side]) for side in sides]
        return tuple(tuple(self._span(span, end) for span in own) for own, end in zip(places, ends, strict=True))

    def _span(self, span: object, end: int) -> Span:
        if isinstance(span, list | tuple) and len(span) == 2 and all(type(place) is int for place in span):
            start, stop = span
            if 0 <= start <= stop <= end:
                return start, stop
        raise self.damaged("spans", f"must hold pairs [start, end] within the {end} characters of the text", span)

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, str):
            value = _WORDS_FOR_NUMBERS.get(value, value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.damaged(key, "must be made of numbers", value)
        try:
            return float(value)
        except OverflowError as error:
            raise self.damaged(key, "must be made of numbers of ordinary size", value) from error

    def _whole(self, key: str, value: object, least: int) -> int:
        if type(value) is not int or value < least:
            raise self.damaged(key, f"must be a whole number of at least {least}", value)
        return value
