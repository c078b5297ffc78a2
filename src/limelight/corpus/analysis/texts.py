"""The texts of a corpus as a table: what the model says of each, whether it is right, how far methods disagree.

A text takes some 40 bytes of memory, whatever its length; ids and beginnings are read when a page of the table is asked
for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Array, Integers, whole_number
from limelight.corpus.analysis.disagreement import Disagreement
from limelight.corpus.analysis.words import plain
from limelight.corpus.store.flat_rows import Flat, is_wrong
from limelight.corpus.store.schema import Layout, arrow_library
from limelight.errors import ParameterError, known_name, shown

if TYPE_CHECKING:
    from limelight.corpus.analysis.summary import Summary
    from limelight.corpus.store.reading import Corpus, Document

TextOrder = Literal["row", "disagreement", "confidence"]
"""As in the data; those that methods disagree about most first; those that the model is surest of first."""
_BEGINNING = 120
"""Characters of a text in a table."""
_NOTHING = -1
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True)
class TextLine:
    """One text. `wrong` is None where the data has no label; `disagreement` of the two `methods` that are furthest
    apart, which is `at_least` so much when their errors are allowed for; `error`: why nothing is known of it."""

    row: int
    id: str
    label: str | None
    truth: str | None
    wrong: bool | None
    confidence: float
    disagreement: float
    at_least: float
    methods: tuple[str, str] | None
    error: str | None
    beginning: str

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class TextTable:
    """Texts from `offset` on, of `total` that were asked for."""

    total: int
    offset: int
    lines: tuple[TextLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"total": self.total, "offset": self.offset, "lines": [line.to_dict() for line in self.lines]}


class TextFilters(TypedDict, total=False):
    """Which texts a table has, and in which order; see `Corpus.texts`."""

    wrong: bool | None
    failed: bool | None
    label: str | None
    truth: str | None
    disagreement: float | None
    order: TextOrder


class TextIndex:
    """What is kept of each text."""

    def __init__(self, layout: Layout) -> None:
        self._labels = {label: i for i, label in enumerate(layout.labels)}
        self._has_mistakes = layout.kind != "regression"
        self._parts: dict[str, list[list[Any]]] = {name: [] for name in _TYPES}
        self._whole: dict[str, Array] | None = None

    def add(self, flat: Flat, disagreements: Sequence[tuple[Disagreement, int] | None]) -> None:
        """The documents of a shard, each with the number of the pair of methods that disagrees most."""
        columns: dict[str, list[Any]] = {name: [] for name in _TYPES}
        for document, found in zip(flat.documents(), disagreements, strict=True):
            heads = [flat.heads[i] for i in document]
            head = next((own for own in heads if not own.failed), heads[0])
            columns["row"].append(head.row)
            columns["label"].append(_NOTHING if head.label is None else self._labels[head.label])
            columns["truth"].append(_NOTHING if head.truth is None else self._labels.get(head.truth, _NOTHING))
            columns["wrong"].append(self._has_mistakes and is_wrong(head))
            columns["confidence"].append(head.confidence)
            columns["failed"].append(any(own.failed for own in heads))
            columns["seen"].append(np.nan if found is None else found[0].seen)
            columns["at_least"].append(np.nan if found is None else found[0].at_least)
            columns["pair"].append(_NOTHING if found is None else found[1])
        for name, own in columns.items():
            self._parts[name].append(np.array(own, dtype=_TYPES[name]))  # type: ignore[arg-type]
        self._whole = None

    def __getitem__(self, name: str) -> Array:
        if self._whole is None:
            self._whole = {
                own: np.concatenate([np.zeros(0, dtype=_TYPES[own]), *parts]) for own, parts in self._parts.items()
            }
        return self._whole[name]

    def __len__(self) -> int:
        return len(self["row"])

    @property
    def failed(self) -> int:
        return int(self["failed"].sum())

    def chosen(
        self,
        *,
        wrong: bool | None = None,
        failed: bool | None = None,
        label: str | None = None,
        truth: str | None = None,
        disagreement: float | None = None,
        rows: Integers | None = None,
        order: TextOrder = "row",
    ) -> Integers:
        """The numbers of the texts that pass all filters, in this order."""
        passes = np.ones(len(self), dtype=bool)
        if wrong is not None:
            passes &= (self["wrong"] == wrong) & (self["truth"] != _NOTHING) & (self["label"] != _NOTHING)
        if failed is not None:
            passes &= self["failed"] == failed
        for name, value in (("label", label), ("truth", truth)):
            if value is not None:
                passes &= self[name] == self._labels[known_name("label", value, self._labels)]
        if disagreement is not None:
            if not isinstance(disagreement, int | float) or not 0.0 <= disagreement <= 1.0:
                raise ParameterError(f"disagreement is the least of it, from 0 to 1: got {shown(disagreement)}")
            passes &= self["at_least"] >= disagreement
        if rows is not None:
            passes &= np.isin(self["row"], rows)
        at = np.flatnonzero(passes)
        known_name("order of texts", order, get_args(TextOrder))
        if order == "disagreement":
            at = at[~np.isnan(self["at_least"][at])]
            return at[np.lexsort((self["row"][at], -self["seen"][at], -self["at_least"][at]))]
        if order == "confidence":
            return at[np.lexsort((self["row"][at], -np.nan_to_num(self["confidence"][at], nan=-1.0)))]
        return at

    def line(self, at: int, document: Document, pairs: Sequence[tuple[str, str]]) -> TextLine:
        """A text with what was read of it again."""
        known = document.truth is not None and self["label"][at] != _NOTHING and self._has_mistakes
        pair = int(self["pair"][at])
        return TextLine(
            document.row,
            document.id,
            None if document.prediction is None else document.prediction.label,
            document.truth,
            bool(self["wrong"][at]) if known else None,
            float(self["confidence"][at]),
            float(self["seen"][at]),
            float(self["at_least"][at]),
            None if pair == _NOTHING else pairs[pair],
            next(iter(document.errors.values()), None),
            beginning_of(document),
        )


_TYPES: dict[str, npt.DTypeLike] = {
    "row": np.int64,
    "label": np.int32,
    "truth": np.int32,
    "wrong": np.bool_,
    "confidence": np.float64,
    "failed": np.bool_,
    "seen": np.float32,
    "at_least": np.float32,
    "pair": np.int16,
}


def text_table(
    corpus: Corpus,
    summary: Summary,
    *,
    contains: str | None = None,
    offset: int = 0,
    limit: int = 50,
    **filters: Unpack[TextFilters],
) -> TextTable:
    """A page of the texts that pass all filters; see `Corpus.texts`."""
    whole_number("offset", offset, 0)
    whole_number("limit", limit, 1)
    rows = None if contains is None else rows_with(corpus, contains)
    texts = summary.texts
    chosen = texts.chosen(rows=rows, **filters)
    listed = chosen[offset : offset + limit].tolist()
    documents = documents_at(corpus, [int(texts["row"][at]) for at in listed])
    pairs = summary.disagreements.names
    return TextTable(
        len(chosen), offset, tuple(texts.line(at, documents[int(texts["row"][at])], pairs) for at in listed)
    )


def beginning_of(document: Document) -> str:
    """How a text begins; of one that was not kept, how its words do."""
    if not document.explanations:
        return ""
    words = " ".join(_BREAK.sub(" ", document.explanations[0].joined_text[: 8 * _BEGINNING]).split())
    return words if len(words) <= _BEGINNING else f"{words[: _BEGINNING - 1].rstrip()}…"


def rows_with(corpus: Corpus, word: str) -> Integers:
    """The rows of the texts in which a word has a weight; a shard at a time."""
    if not isinstance(word, str) or not word:
        raise ParameterError(f"contains must be a word: got {shown(word)}")
    arrow_library()
    import pyarrow.compute as compute

    found = [np.zeros(0, dtype=np.int64)]
    for table in corpus.tables(["row", "features"]):
        for batch in table.to_batches():
            features = batch.column("features")
            equal = compute.equal(features.flatten(), word.lower())
            parents = compute.list_parent_indices(features).filter(equal)
            found.append(np.unique(np.asarray(batch.column("row"))[np.asarray(parents)]))
    return np.unique(np.concatenate(found))


def documents_at(corpus: Corpus, rows: Sequence[int]) -> dict[int, Document]:
    """Some documents by their rows; only the shards that hold them are read, one at a time."""
    return {document.row: document for document in _read(corpus, sorted(set(rows)))}


def _read(corpus: Corpus, rows: Sequence[int]) -> Iterator[Document]:
    if not rows:
        return
    arrow_library()
    import pyarrow.compute as compute

    size = whole_number("the manifest's shard size", corpus.manifest["shards"]["size"], 1)
    wanted: dict[int, list[int]] = {}
    for row in rows:
        wanted.setdefault((row - 1) // size, []).append(row)
    for number, own in wanted.items():
        for table in corpus.tables(numbers=[number]):
            chosen = table.filter(compute.is_in(table["row"], value_set=arrow_library().array(own)))
            yield from corpus.grouped(chosen.to_pylist())
