"""What every method returns: weights on words, with what is needed to judge them.

Explanations are written as plain dictionaries (`to_dict`), ready for JSON, and read back from them (`from_dict`). Each
dictionary says by which rules it was written:

    schema 1   version 0.1, which wrote no "schema", no "label", no "signed" and no "evaluations"
    schema 2   these four as well; NaN among weights and standard errors is null

JSON has no infinity, which `n_samples` and `kernel_width` may be: it is written as the word "inf".
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, overload

import numpy as np

from limelight.arrays import Floats
from limelight.document import Span
from limelight.errors import InputError

SCHEMA = 2
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
    "lime-limit": ("LIME, exact", True),
    "lime-proposition": ("Prop. B.1", True),
    "lime-theorem": ("Theorem 5.1", True),
    "rollout": ("Rollout", False),
    "shapley": ("Shapley", True),
}
"""Label and sign of each method of version 0.1, whose files do not say them."""

Accuracy = Literal["exact", "bounded", "sampled", "approximate"]
T = TypeVar("T")
_SHOWN = 3
"""Words, labels or methods in a repr."""


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """What the model says of a text: one logit and one probability per label, and the label that wins."""

    label: str
    labels: tuple[str, ...]
    logits: Floats
    probabilities: Floats

    def __post_init__(self) -> None:
        _freeze(self, "logits", "probabilities")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prediction) and all(_same(*pair) for pair in _fields(self, other))

    def __hash__(self) -> int:
        return hash((self.label, self.labels))

    def __repr__(self) -> str:
        order = sorted(range(len(self.labels)), key=lambda c: -self.probabilities[c])
        labels = [f"{_quoted(self.labels[c])} {self.probabilities[c]:.3g} (logit {self.logits[c]:+.3g})" for c in order]
        return f"<Prediction: {_first_few(labels)}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "schema": SCHEMA,
            "label": self.label,
            "labels": list(self.labels),
            "logits": _numbers(self.logits),
            "probabilities": _numbers(self.probabilities),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prediction:
        """The prediction that `to_dict` wrote."""
        written = _Written("prediction", data)
        label, labels = written.word("label"), written.words("labels")
        if label not in labels:
            raise written.damaged("label", f"must be one of the labels {list(labels)}", label)
        return cls(label, labels, *(written.numbers(key, len(labels), "labels") for key in ("logits", "probabilities")))


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The weight of each feature of one text for one label, according to one method.

    `label` is what the method is called in front of people. `signed`: a weight below zero speaks against the target;
    without, none is negative. `stderr` is None where a method has no sampling error; `exact` is True where nothing was
    sampled or approximated. `evaluations`: how often the model was asked, None where that is not known. `diagnostics`
    holds what a method says of itself (LIME: intercept, fidelity, the surrogate's prediction); `notices` what a reader
    must know (a text that was cut).

    Two explanations are equal where everything but `seconds` is: the same question, answered again, takes another time.
    Arrays are read-only copies.
    """

    text: str
    method: str
    label: str
    signed: bool
    target: str
    features: tuple[str, ...]
    weights: Floats
    spans: tuple[tuple[Span, ...], ...]
    stderr: Floats | None
    exact: bool
    prediction: Prediction
    seconds: float = field(compare=False)
    parameters: Mapping[str, Any]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    evaluations: int | None = None

    def __post_init__(self) -> None:
        _freeze(self, "weights", "stderr")

    def __len__(self) -> int:
        return len(self.features)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and all(_same(*pair) for pair in _fields(self, other))

    def __hash__(self) -> int:
        return hash((self.text, self.method, self.target, self.features))

    def __repr__(self) -> str:
        strongest = [f"{_quoted(name)} {weight:+.3g}" for name, weight in self.top(_SHOWN + 1)]
        return (
            f"<Explanation: {_quoted(self.method)} for {_quoted(self.target)}, {self.accuracy}; "
            f"{_counted(len(self), 'feature')}: {_first_few(strongest)}>"
        )

    @property
    def accuracy(self) -> Accuracy:
        """In one word: "exact" up to rounding; "bounded" by diagnostics["error"]; "sampled", with standard errors; or
        "approximate", where nothing is known of the error."""
        if self.stderr is not None:
            return "sampled"
        if not self.exact:
            return "approximate"
        return "bounded" if "error" in self.diagnostics else "exact"

    def top(self, k: int = 10) -> list[tuple[str, float]]:
        """The k features of largest absolute weight, largest first."""
        order = np.argsort(-np.abs(self.weights), kind="stable")[:k]
        return [(self.features[j], float(self.weights[j])) for j in order]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "label": self.label,
            "signed": bool(self.signed),
            "target": self.target,
            "features": list(self.features),
            "weights": _numbers(self.weights),
            "spans": [[list(span) for span in spans] for spans in self.spans],
            "stderr": None if self.stderr is None else _numbers(self.stderr),
            "exact": bool(self.exact),
            "prediction": self.prediction.to_dict(),
            "seconds": float(self.seconds),
            "evaluations": None if self.evaluations is None else int(self.evaluations),
            "parameters": _written(self.parameters, "parameters"),
            "diagnostics": _written(self.diagnostics, "diagnostics"),
            "notices": list(self.notices),
            "text": self.text,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote, of this version or of 0.1."""
        written = _Written("explanation", data)
        text, method, features = written.word("text"), written.word("method"), written.words("features")
        label, signed, evaluations = *METHODS_OF_0_1.get(method, (method, True)), None
        if written.schema > 1:
            label, signed, evaluations = written.word("label"), written.truth("signed"), written.count("evaluations")
        return cls(
            text=text,
            method=method,
            label=label,
            signed=signed,
            target=written.word("target"),
            features=features,
            weights=written.numbers("weights", len(features), "features"),
            spans=written.spans(len(features), len(text)),
            stderr=None if written["stderr"] is None else written.numbers("stderr", len(features), "features"),
            exact=written.truth("exact"),
            prediction=Prediction.from_dict(written["prediction"]),
            seconds=written.number("seconds"),
            parameters=written.settings("parameters"),
            diagnostics=written.settings("diagnostics"),
            notices=written.words("notices"),
            evaluations=evaluations,
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per feature, in their order.

        Columns: `method` (its id), `target`, `feature`, `weight`, `stderr` (NaN where the method has none) and `spans`
        (a tuple of (start, end) per feature).
        """
        return _frame([self])

    def to_html(self) -> str:
        """A self-contained page; text and names are escaped."""
        from limelight.show.html import page

        return page([self])

    def _repr_html_(self) -> str:
        from limelight.show.html import fragment

        return fragment([self])


@dataclass(frozen=True, repr=False)
class Comparison(Sequence[Explanation]):
    """Several methods on the same features of the same text, in the order asked for."""

    explanations: tuple[Explanation, ...]

    def __len__(self) -> int:
        return len(self.explanations)

    @overload
    def __getitem__(self, key: int | str) -> Explanation: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Explanation, ...]: ...

    def __getitem__(self, key: int | str | slice) -> Explanation | tuple[Explanation, ...]:
        """By position, by slice, or by a method's id."""
        if isinstance(key, str):
            for explanation in self.explanations:
                if explanation.method == key:
                    return explanation
            raise KeyError(
                f"{key!r} is not among the methods compared: {', '.join(e.method for e in self.explanations)}"
            )
        return self.explanations[key]

    def __contains__(self, wanted: object) -> bool:
        """Whether a method, by its id, or an explanation is part of the comparison."""
        if isinstance(wanted, str):
            return any(explanation.method == wanted for explanation in self.explanations)
        return wanted in self.explanations

    def __repr__(self) -> str:
        if not self.explanations:
            return "<Comparison: empty>"
        strongest = [f"{_quoted(e.method)} {_quoted(name)} {weight:+.3g}" for e in self for name, weight in e.top(1)]
        return (
            f"<Comparison: {_counted(len(self), 'method')} for {_quoted(self._first.target)} on "
            f"{_counted(len(self.features), 'feature')}; strongest: {_first_few(strongest)}>"
        )

    @property
    def features(self) -> tuple[str, ...]:
        return self._first.features

    @property
    def prediction(self) -> Prediction:
        return self._first.prediction

    @property
    def weights(self) -> Floats:
        """One row per method: (methods, features)."""
        return np.stack([explanation.weights for explanation in self.explanations])

    def to_dict(self) -> dict[str, Any]:
        """The object that `limelight explain --format json` prints."""
        return {
            "schema": SCHEMA,
            "text": self._first.text,
            "prediction": self._first.prediction.to_dict(),
            "explanations": [explanation.to_dict() for explanation in self.explanations],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparison:
        """The comparison that `to_dict` or `limelight explain --format json` wrote, in this version or in 0.1."""
        written = _Written("comparison", data)
        if "error" in data and "explanations" not in data:
            raise InputError(f"this text could not be explained when it was written: {data['error']}")
        explanations = tuple(map(Explanation.from_dict, written.sequence("explanations", dict, "dictionaries")))
        if not explanations:
            raise written.damaged("explanations", "must hold at least one explanation")
        first = explanations[0]
        for key, agrees in (
            ("text", written.word("text") == first.text),
            ("prediction", Prediction.from_dict(written["prediction"]) == first.prediction),
            ("explanations", all((e.text, e.features) == (first.text, first.features) for e in explanations)),
        ):
            if not agrees:
                raise written.damaged(key, "must be about one text and the same features throughout")
        return cls(explanations)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per method and feature, and the columns of `Explanation.to_frame`."""
        return _frame(self.explanations)

    def to_html(self) -> str:
        """A self-contained page; text and names are escaped."""
        from limelight.show.html import page

        return page(self.explanations)

    def _repr_html_(self) -> str:
        from limelight.show.html import fragment

        return fragment(self.explanations)

    @property
    def _first(self) -> Explanation:
        if not self.explanations:
            raise InputError("this comparison is empty: compare at least one method")
        return self.explanations[0]


# ── equality and repr ─────────────────────────────────────────────────────────────────────────────────────────────────


def _freeze(owner: object, *names: str) -> None:
    """Arrays of its own, which nobody can change: those that were given stay as they are."""
    for name in names:
        if getattr(owner, name) is not None:
            array = np.array(getattr(owner, name), dtype=np.float64)
            array.flags.writeable = False
            object.__setattr__(owner, name, array)


def _fields(one: Prediction | Explanation, other: Prediction | Explanation) -> list[tuple[Any, Any]]:
    """The pairs of values on which equality rests."""
    return [(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.compare]


def _same(one: Any, other: Any) -> bool:
    """Equal by value, NaN to NaN, at any depth. JSON has no tuples: they equal lists."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    lists = [isinstance(value, np.ndarray | list | tuple) for value in (one, other)]
    if any(lists):
        return all(lists) and len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) or (_is_nan(one) and _is_nan(other))


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and math.isnan(value)


def _quoted(value: object, longest: int = 40) -> str:
    """As Python writes it, which spells control characters out, cut to a length for a line of text."""
    written = repr(value[:longest] if isinstance(value, str) else value)
    return written if len(written) <= longest else written[: longest - 1] + "…"


def _counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _first_few(parts: Sequence[str]) -> str:
    return ", ".join([*parts[:_SHOWN], *(["…"] if len(parts) > _SHOWN else [])])


def _frame(explanations: Sequence[Explanation]) -> Any:
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise InputError("to_frame() needs pandas, which is not installed: pip install pandas") from error
    rows = [(explanation, j) for explanation in explanations for j in range(len(explanation))]
    return pandas.DataFrame(
        {
            "method": [e.method for e, _ in rows],
            "target": [e.target for e, _ in rows],
            "feature": [e.features[j] for e, j in rows],
            "weight": np.array([e.weights[j] for e, j in rows], dtype=np.float64),
            "stderr": np.array([np.nan if e.stderr is None else e.stderr[j] for e, j in rows], dtype=np.float64),
            "spans": [e.spans[j] for e, j in rows],
        }
    )


# ── written and read ──────────────────────────────────────────────────────────────────────────────────────────────────

_WORDS_FOR_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _numbers(array: Floats) -> list[float | str | None]:
    return [None if math.isnan(number) else _written(number) for number in array.tolist()]


def _written(value: Any, name: str = "") -> Any:
    """As JSON can hold it: NumPy's numbers as Python's, tuples and arrays as lists, what is not finite as a word."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_written(own, name) for own in value]
    if isinstance(value, Mapping):
        return {str(key): _written(own, f"{name}[{str(key)!r}]") for key, own in value.items()}
    raise InputError(
        f"{name} cannot be written as JSON: it is a {type(value).__name__}; a method may say numbers, strings, lists "
        "and dictionaries"
    )


def _read(value: Any) -> Any:
    """The inverse of `_written` for settings: the words for what is not finite as numbers, at any depth."""
    if isinstance(value, str):
        return _WORDS_FOR_NUMBERS.get(value, value)
    if isinstance(value, list | tuple):
        return [_read(own) for own in value]
    return {key: _read(own) for key, own in value.items()} if isinstance(value, Mapping) else value


class _Written:
    """A dictionary that was written, read key by key; the error names the key that is damaged."""

    def __init__(self, kind: str, data: object) -> None:
        self._kind = kind
        if not isinstance(data, Mapping):
            raise InputError(f"this is no {kind}: expected the dictionary that to_dict() gave, got {_quoted(data)}")
        self._data = data
        self.schema = self._whole("schema", data.get("schema", 1), 1)
        if self.schema > SCHEMA:
            raise InputError(
                f"this {kind} was written by a newer limelight (schema {self.schema}, this version reads up to "
                f"{SCHEMA}): update with pip install --upgrade limelight"
            )

    def damaged(self, key: str, problem: str, *given: object) -> InputError:
        got = "".join(f": got {_quoted(value)}" for value in given)
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

    def spans(self, count: int, end: int) -> tuple[tuple[Span, ...], ...]:
        places = self.sequence("spans", list, "lists")
        if len(places) != count:
            raise self.damaged("spans", f"must hold {count} lists, one for each feature, and holds {len(places)}")
        return tuple(tuple(self._span(span, end) for span in own) for own in places)

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
