"""The explained rows of a shard as flat arrays: all weights one after the other, with the word that each belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.corpus.analysis.means import Values
from limelight.corpus.store.schema import Layout, arrow_library
from limelight.explanation.significance import evidence_of

COLUMNS = (
    "row",
    "error",
    "truth",
    "label",
    "probabilities",
    "method",
    "target",
    "against",
    "features",
    "sides",
    "weights",
    "stderr",
    "bound",
    "accuracy",
    "details",
)
"""What is read of a shard: all but texts and places."""


class Question(NamedTuple):
    """What rows of different documents have in common: method, label, and the one that it is compared with."""

    method: str
    target: str
    against: str | None = None


@dataclass(frozen=True)
class Head:
    """What stands before the weights of one row; `label` is None where nothing could be explained."""

    row: int
    question: Question | None
    label: str | None
    truth: str | None
    assigned: tuple[str, ...]
    confidence: float
    accuracy: str | None
    failed: bool


@dataclass(frozen=True)
class Flat:
    """Rows of a shard, in their order: what stands before their weights, and these, from `starts[i]` on.

    `words` are the different features of the shard, `codes` their numbers; of pairs each begins with the digit of the
    text that it stands in. `told` is the sign of a weight that is told from zero, else 0.
    """

    heads: tuple[Head, ...]
    starts: Integers
    words: list[str]
    codes: Integers
    weights: Floats
    stderr: Floats
    off: Floats
    told: Integers

    def __len__(self) -> int:
        return len(self.heads)

    def members(self, i: int) -> slice:
        """Where the weights of a row stand."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def documents(self) -> Iterator[range]:
        """The rows of each document."""
        first = 0
        for i in range(1, len(self.heads) + 1):
            if i == len(self.heads) or self.heads[i].row != self.heads[first].row:
                yield range(first, i)
                first = i

    def values(self, rows: Sequence[int], ids: Integers) -> Values:
        """One value per row and word; `ids` are the words' numbers beyond this shard. Where a word has several weights
        in a row, as its occurrences do, their mean counts, with errors that may all be the same."""
        lengths = np.diff(self.starts)[list(rows)]
        at = np.repeat(self.starts[:-1][list(rows)] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        numbers = np.array([self.heads[i].row for i in rows], dtype=np.int64)
        values = Values(
            ids[self.codes[at]],
            np.repeat(numbers, lengths),
            self.weights[at],
            self.stderr[at],
            self.off[at],
            self.told[at],
        )
        return _once(values, np.repeat(np.arange(len(numbers)), lengths))


def _once(values: Values, row: Integers) -> Values:
    if not len(values.ids):
        return values
    pairs = row * (int(values.ids.max()) + 1) + values.ids
    distinct, first, own, count = np.unique(pairs, return_index=True, return_inverse=True, return_counts=True)
    if len(distinct) == len(pairs):
        return values
    return Values(
        values.ids[first],
        values.rows[first],
        np.bincount(own, values.weights) / count,
        np.bincount(own, values.stderr) / count,
        np.bincount(own, values.off) / count,
        np.sign(np.bincount(own, values.told)).astype(np.int64),
    )


def flat(table: Any, layout: Layout) -> Flat:
    """A shard that was read with COLUMNS, or with more."""
    pyarrow = arrow_library()
    table = table.select(list(COLUMNS)).combine_chunks()
    heads = tuple(_heads(table, layout))
    features = _one(table["features"])
    lengths = np.asarray(features.value_lengths().fill_null(0), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flattened = features.flatten()
    if layout.pairs:
        sides = _one(table["sides"]).flatten()
        marked = [f"{side}{word}" for side, word in zip(sides.to_pylist(), flattened.to_pylist(), strict=True)]
        flattened = pyarrow.array(marked, pyarrow.string())
    encoded = flattened.dictionary_encode()
    weights = np.asarray(_one(table["weights"]).flatten(), dtype=np.float64)
    stderr, sampled = np.zeros(len(weights)), _one(table["stderr"])
    is_sampled = np.asarray(sampled.is_valid())
    stderr[np.repeat(is_sampled, lengths)] = np.asarray(sampled.flatten(), dtype=np.float64)
    off = np.asarray(_one(table["bound"]).fill_null(0.0), dtype=np.float64)
    told = (np.sign(weights) * (np.abs(weights) > np.repeat(off, lengths))).astype(np.int64)
    for i in np.flatnonzero(is_sampled):
        own = slice(starts[i], starts[i + 1])
        freedom = _freedom(table["details"][int(i)].as_py())
        told[own] *= evidence_of(weights[own], stderr[own], float(off[i]), freedom).told
    codes = np.asarray(encoded.indices, dtype=np.int64)
    return Flat(heads, starts, encoded.dictionary.to_pylist(), codes, weights, stderr, np.repeat(off, lengths), told)


def _one(column: Any) -> Any:
    """A column of a table in one piece."""
    array = column.combine_chunks()
    if isinstance(array, arrow_library().ChunkedArray):
        array = array.chunk(0) if array.num_chunks else arrow_library().array([], array.type)
    return array


def _freedom(details: str) -> int | None:
    """From how many samples the standard errors of a row are, where they are few."""
    if '"freedom"' not in details:
        return None
    stated = json.loads(details).get("diagnostics", {}).get("freedom")
    return stated if type(stated) is int and stated > 0 else None


def _heads(table: Any, layout: Layout) -> Iterator[Head]:
    names = ("row", "error", "truth", "label", "probabilities", "method", "target", "against", "accuracy")
    numbers = {label: i for i, label in enumerate(layout.labels)}
    for record in table.select(list(names)).to_pylist():
        if record["error"] is not None:
            yield Head(record["row"], None, None, record["truth"], (), np.nan, None, True)
            continue
        chances = record["probabilities"]
        label = record["label"]
        confidence = np.nan if chances is None else chances[numbers[label]]
        assigned: tuple[str, ...] = (label,)
        if layout.kind == "multi-label" and chances is not None:
            assigned = tuple(name for name, chance in zip(layout.labels, chances, strict=True) if chance >= 0.5)
        yield Head(
            record["row"],
            Question(record["method"], record["target"], record["against"]),
            label,
            record["truth"],
            assigned,
            float(confidence),
            record["accuracy"],
            False,
        )


def lookup(words: Sequence[str], index: dict[str, int]) -> Integers:
    """The number of each word in an index, which takes the new ones up."""
    return np.fromiter((index.setdefault(word, len(index)) for word in words), dtype=np.int64, count=len(words))


def is_wrong(head: Head) -> bool:
    """Whether the model does not say what the data says; False where the data says nothing."""
    return head.truth is not None and head.label is not None and head.truth not in head.assigned
