"""An evaluation, as `evaluate` returns it: every number of every text, and what the texts together say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import InputError, shown
from limelight.evaluation.measure import Key
from limelight.explanation.presenting import Saved, figure_forms
from limelight.explanation.serialization import quoted, with_pandas, written_as_json

if TYPE_CHECKING:
    from limelight.evaluation.summary import Summary

SCHEMA = 1
_DIGITS = 8
"""Digits of a stored number: a hundred times finer than float32 computes."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Saved):
    """The trust that the explanations of each method deserve on one model and N texts.

    `values` (N, keys) holds one number for each text and `Key`, NaN where a text has none. `methods` says of each how
    it was made, `about` what was asked. `summary` is what the texts together say, `verdict` says it in words.
    """

    about: Mapping[str, Any]
    methods: Mapping[str, Mapping[str, Any]]
    documents: tuple[Mapping[str, Any], ...]
    keys: tuple[Key, ...]
    values: Floats

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64).reshape(len(self.documents), len(self.keys))
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.documents)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Evaluation)
            and all(getattr(self, name) == getattr(other, name) for name in ("keys", "documents", "about", "methods"))
            and np.array_equal(self.values, other.values, equal_nan=True)
        )

    def __hash__(self) -> int:
        return hash((self.keys, len(self.documents)))

    def __repr__(self) -> str:
        names = ", ".join(quoted(name) for name in list(self.methods)[:3])
        more = ", …" if len(self.methods) > 3 else ""
        return f"<Evaluation: {len(self.methods)} methods on {len(self):,} texts: {names}{more}>"

    # ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _places(self) -> dict[Key, int]:
        return {key: place for place, key in enumerate(self.keys)}

    def has(self, key: Key) -> bool:
        return key in self._places

    def place_of(self, key: Key) -> int | None:
        """The column of a number in `values`; None where no text has it."""
        return self._places.get(key)

    def of(self, key: Key) -> Floats:
        """One number per text; NaN where it has none."""
        place = self.place_of(key)
        return np.full(len(self), math.nan) if place is None else self.values[:, place]

    @cached_property
    def summary(self) -> Summary:
        """Means, scores against chance, comparisons of methods."""
        from limelight.evaluation.summary import Summary

        return Summary(self)

    @property
    def verdict(self) -> tuple[str, ...]:
        """The result in sentences, the most important first."""
        from limelight.evaluation.report.wording import verdict

        return tuple(verdict(self))

    @property
    def best(self) -> str | None:
        """The method that finds the words that matter best, and the side they speak for; None where none is shown to be
        better than chance."""
        first = next(iter(self.summary.standings("signed")), None)
        return None if first is None or first.decision.verdict != "better" else first.method

    # ── other forms ───────────────────────────────────────────────────────────────────────────────────────────────

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; numbers with eight digits."""
        return {
            "schema": SCHEMA,
            "kind": "evaluation",
            "about": written_as_json(self.about, "about"),
            "methods": written_as_json(self.methods, "methods"),
            "documents": written_as_json(list(self.documents), "documents"),
            "keys": [list(key) for key in self.keys],
            "values": [[written(value) for value in row] for row in self.values.tolist()],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Evaluation:
        """The evaluation that `to_dict` wrote."""
        if not isinstance(data, Mapping) or data.get("kind") != "evaluation":
            raise InputError(f"this is no evaluation: expected the dictionary that to_dict() gave, got {quoted(data)}")
        if data.get("schema") != SCHEMA:
            raise InputError(
                f"this evaluation was written by another limelight (schema {shown(data.get('schema'))}, this version "
                f"reads {SCHEMA}): evaluate again, or update with pip install --upgrade limelight"
            )
        try:
            keys = tuple(Key(*map(str, key)) for key in data["keys"])
            values = np.array(
                [[math.nan if value is None else float(value) for value in row] for row in data["values"]]
            )
            documents = tuple(dict(own) for own in data["documents"])
            about, methods = dict(data["about"]), {str(name): dict(own) for name, own in data["methods"].items()}
            if values.size != len(documents) * len(keys) or len(set(keys)) != len(keys):
                raise ValueError(f"{values.size} values for {len(documents)} texts and {len(keys)} keys")
            return cls(about, methods, documents, keys, values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"this evaluation is damaged ({type(error).__name__}: {shown(str(error))}): evaluate again"
            ) from error

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per text and number that it has."""
        for document, values in zip(self.documents, self.values.tolist(), strict=True):
            for key, value in zip(self.keys, values, strict=True):
                if not math.isnan(value):
                    yield {"id": document["id"], **key._asdict(), "value": value}

    def to_frame(self, *, summary: bool = False) -> Any:
        """A pandas DataFrame with one row per text and number, or, as a summary, per number with its 95 % interval."""
        return with_pandas().DataFrame(list(self.summary.rows() if summary else self.rows()))

    def to_html(self, links: Mapping[str, str] | None = None) -> str:
        """A self-contained page; `links` leads from the id of a text to the page of its explanations."""
        from limelight.evaluation.report.page import page

        return page(self, links or {})

    def plot(self) -> Any:
        """A matplotlib figure: what the output loses as words are removed, by each method, at random, and at best."""
        from limelight.evaluation.report.curves import figure_of

        return figure_of(self)

    def _forms(self) -> Mapping[str, Callable[[], bytes]]:
        return {
            "json": lambda: (json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n").encode(),
            "html": lambda: self.to_html().encode(),
            "csv": self._table,
            **figure_forms(self.plot),
        }

    def _table(self) -> bytes:
        """All numbers as CSV; a cell that a spreadsheet could run is quoted."""
        from limelight.render.csv_table import csv_of, safe_cell

        rows = [list(row.values()) for row in self.rows()]
        heads = ["id", *Key._fields, "value"]
        return csv_of([heads, *([safe_cell(c) if isinstance(c, str) else c for c in row] for row in rows)]).encode()

    def _repr_html_(self) -> str:
        from limelight.evaluation.report.page import fragment

        return fragment(self)


def written(value: float) -> float | None:
    return None if math.isnan(value) else _rounded(value)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def joined(
    about: Mapping[str, Any],
    documents: Sequence[Mapping[str, Any]],
    methods: Mapping[str, Mapping[str, Any]],
    values: Sequence[Mapping[Key, float]],
) -> Evaluation:
    """An evaluation from the numbers of each text: the keys of all of them, in the order in which they come."""
    keys = tuple(dict.fromkeys(key for own in values for key in own))
    # As precise as what is stored: a run that goes on tomorrow ends with the same numbers.
    table = np.array([[_rounded(own.get(key, math.nan)) for key in keys] for own in values])
    return Evaluation(about, methods, tuple(documents), keys, table)
