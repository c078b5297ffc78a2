"""The explained rows of a shard as flat arrays: all weights one after the other, with the word that each belongs to.

Lines of tables are dataclasses made of columns, and written as plain values for JSON.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.corpus.analysis.means import Values
from limelight.corpus.store.schema import Layout, arrow_library
from limelight.explanation.diagnostics import Stated
from limelight.explanation.significance import significance_of

_HEAD = ("row", "error", "truth", "label", "probabilities", "method", "target", "against", "accuracy")
COLUMNS = (*_HEAD, "features", "sides", "weights", "stderr", "bound", "details")
"""The columns of a shard that are read: all but texts and places."""


class Question(NamedTuple):
    """What rows of different documents have in common: method, label, and the one that it is compared with."""

    method: str
    target: str
    against: str | None = None


@dataclass(frozen=True)
class Head:
    """What stands before the weights of one row; `question` and `label` are None where nothing could be explained."""

    row: int
    truth: str | None
    question: Question | None = None
    label: str | None = None
    assigned: tuple[str, ...] = ()
    confidence: float = np.nan
    accuracy: str | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether the model does not say what the data says; False where the data says nothing."""
        return self.truth is not None and self.label is not None and self.truth not in self.assigned


@dataclass(frozen=True)
class Flat:
    """Rows of a shard, in their order: what stands before their weights, and these, from `starts[i]` on.

    `words` are the different features of the shard, `codes` their numbers; of pairs each begins with the digit of the
    text that it stands in. `signs` are those of the significant weights, and 0 of all others.
    """

    heads: tuple[Head, ...]
    starts: Integers
    words: list[str]
    codes: Integers
    weights: Floats
    stderr: Floats
    bound: Floats
    signs: Integers

    def members(self, i: int) -> slice:
        """Where the weights of a row stand."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def documents(self) -> Iterator[tuple[int, list[int]]]:
        """The rows of each document behind the first of them that is explained; where none is, the first."""
        for _, own in groupby(range(len(self.heads)), key=lambda i: self.heads[i].row):
            rows = list(own)
            yield next((i for i in rows if self.heads[i].question is not None), rows[0]), rows

    def by_question(self) -> Mapping[Question, list[int]]:
        """The explained rows of each question."""
        rows: dict[Question, list[int]] = defaultdict(list)
        for i, head in enumerate(self.heads):
            if head.question is not None:
                rows[head.question].append(i)
        return rows

    def values(self, rows: Sequence[int], ids: Integers) -> Values:
        """One value per row and word; `ids` are the words' numbers beyond this shard. Where a word has several weights
        in a row, as its occurrences do, their mean counts, with errors that may all be the same."""
        lengths = np.diff(self.starts)[list(rows)]
        at = np.repeat(self.starts[:-1][list(rows)] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        numbers = np.repeat(np.array([self.heads[i].row for i in rows], dtype=np.int64), lengths)
        values = Values(ids[self.codes[at]], numbers, self.weights[at], self.stderr[at], self.bound[at], self.signs[at])
        return _once(values, np.repeat(np.arange(len(rows)), lengths))


def _once(values: Values, row: Integers) -> Values:
    pairs = row * (int(values.ids.max(initial=0)) + 1) + values.ids
    distinct, first, own, count = np.unique(pairs, return_index=True, return_inverse=True, return_counts=True)
    if len(distinct) == len(pairs):
        return values
    weights, stderr, bound = (np.bincount(own, each) / count for each in (values.weights, values.stderr, values.bound))
    signs = np.sign(np.bincount(own, values.signs)).astype(np.int64)
    return Values(values.ids[first], values.rows[first], weights, stderr, bound, signs)


def flat(table: Any, layout: Layout) -> Flat:
    """The rows of a shard that was read with COLUMNS, or with more."""
    columns = {name: table[name].combine_chunks() for name in COLUMNS}
    features = columns["features"]
    lengths = np.asarray(features.value_lengths().fill_null(0), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    names = features.flatten()
    if layout.pairs:
        sides = columns["sides"].flatten().to_pylist()
        marked = [f"{side}{word}" for side, word in zip(sides, names.to_pylist(), strict=True)]
        names = arrow_library().array(marked, arrow_library().string())
    encoded = names.dictionary_encode()
    weights = np.asarray(columns["weights"].flatten(), dtype=np.float64)
    stderr, is_sampled = np.zeros(len(weights)), np.asarray(columns["stderr"].is_valid())
    stderr[np.repeat(is_sampled, lengths)] = np.asarray(columns["stderr"].flatten(), dtype=np.float64)
    bounds = np.asarray(columns["bound"].fill_null(0.0), dtype=np.float64)
    bound = np.repeat(bounds, lengths)
    signs = (np.sign(weights) * (np.abs(weights) > bound)).astype(np.int64)
    for i in np.flatnonzero(is_sampled):
        own = slice(starts[i], starts[i + 1])
        freedom = _freedom(columns["details"][int(i)].as_py())
        signs[own] *= significance_of(weights[own], stderr[own], float(bounds[i]), freedom).significant
    heads = tuple(_head(record, layout) for record in table.select(list(_HEAD)).to_pylist())
    codes = np.asarray(encoded.indices, dtype=np.int64)
    return Flat(heads, starts, encoded.dictionary.to_pylist(), codes, weights, stderr, bound, signs)


def _freedom(details: str) -> int | None:
    """From how many samples the standard errors of a row are, where they are few."""
    if '"freedom"' not in details:
        return None
    return Stated.of(json.loads(details).get("diagnostics", {}), 0).freedom


def _head(record: Mapping[str, Any], layout: Layout) -> Head:
    if record["error"] is not None:
        return Head(record["row"], record["truth"])
    label, chances = record["label"], record["probabilities"]
    assigned: tuple[str, ...] = (label,)
    if layout.kind == "multi-label" and chances is not None:
        assigned = tuple(name for name, chance in zip(layout.labels, chances, strict=True) if chance >= 0.5)
    confidence = np.nan if chances is None else float(chances[layout.labels.index(label)])
    question = Question(record["method"], record["target"], record["against"])
    return Head(record["row"], record["truth"], question, label, assigned, confidence, record["accuracy"])


@dataclass(frozen=True)
class Plain:
    """A dataclass that JSON can hold."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: what is infinite or not known is None."""
        return {own.name: _plain(getattr(self, own.name)) for own in fields(self)}


L = TypeVar("L", bound=Plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, tuple):
        return value._asdict() if isinstance(value, Question) else [_plain(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def lines_of(kind: type[L], columns: Mapping[str, Any], chosen: Sequence[int]) -> tuple[L, ...]:
    """The lines at the chosen places of columns, which hold a value of each field for every place."""
    at = np.array(chosen, dtype=np.int64)
    picked = (own[at].tolist() if isinstance(own, np.ndarray) else [own[i] for i in chosen] for own in columns.values())
    return tuple(kind(**dict(zip(columns, row, strict=True))) for row in zip(*picked, strict=True))
