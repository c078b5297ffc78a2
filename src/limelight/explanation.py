"""What every method returns: weights on words, with what is needed to judge them."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, overload

import numpy as np

from limelight.arrays import Floats
from limelight.document import Span
from limelight.errors import InputError
from limelight.stored import METHODS_OF_0_1, SCHEMA, Written, numbers_written, quoted, written_as_json

Accuracy = Literal["exact", "bounded", "sampled", "approximate"]
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
        labels = [f"{quoted(self.labels[c])} {self.probabilities[c]:.3g} (logit {self.logits[c]:+.3g})" for c in order]
        return f"<Prediction: {_first_few(labels)}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "schema": SCHEMA,
            "label": self.label,
            "labels": list(self.labels),
            "logits": numbers_written(self.logits),
            "probabilities": numbers_written(self.probabilities),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prediction:
        """The prediction that `to_dict` wrote."""
        written = Written("prediction", data)
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
        strongest = [f"{quoted(name)} {weight:+.3g}" for name, weight in self.top(_SHOWN + 1)]
        return (
            f"<Explanation: {quoted(self.method)} for {quoted(self.target)}, {self.accuracy}; "
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
            "weights": numbers_written(self.weights),
            "spans": [[list(span) for span in spans] for spans in self.spans],
            "stderr": None if self.stderr is None else numbers_written(self.stderr),
            "exact": bool(self.exact),
            "prediction": self.prediction.to_dict(),
            "seconds": float(self.seconds),
            "evaluations": None if self.evaluations is None else int(self.evaluations),
            "parameters": written_as_json(self.parameters, "parameters"),
            "diagnostics": written_as_json(self.diagnostics, "diagnostics"),
            "notices": list(self.notices),
            "text": self.text,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote, of this version or of 0.1."""
        written = Written("explanation", data)
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
        strongest = [f"{quoted(e.method)} {quoted(name)} {weight:+.3g}" for e in self for name, weight in e.top(1)]
        return (
            f"<Comparison: {_counted(len(self), 'method')} for {quoted(self._first.target)} on "
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
        written = Written("comparison", data)
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

    def words(values: list[str]) -> Any:
        """pandas' own strings take no lone surrogates: such a column holds Python's."""
        plain = all(value.isprintable() or value.encode("utf-8", "replace").decode() == value for value in values)
        return values if plain else pandas.Series(values, dtype=object)

    return pandas.DataFrame(
        {
            "method": [e.method for e, _ in rows],
            "target": words([e.target for e, _ in rows]),
            "feature": words([e.features[j] for e, j in rows]),
            "weight": np.array([e.weights[j] for e, j in rows], dtype=np.float64),
            "stderr": np.array([np.nan if e.stderr is None else e.stderr[j] for e, j in rows], dtype=np.float64),
            "spans": [e.spans[j] for e, j in rows],
        }
    )
