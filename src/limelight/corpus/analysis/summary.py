"""What all texts of a corpus say together: its words, where methods disagree, where the model is wrong.

One pass over the shards, one of them in memory at a time. What is kept grows with the number of different words, up to
a limit, and by some 40 bytes a text, whatever its length. The texts are a table too: what the model says of each, if
it is right, how far methods disagree. Ids and beginnings are read when a page of it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

import numpy as np

from limelight.core.arrays import Array, Integers, whole_number
from limelight.core.progress import SILENT, Progress, working
from limelight.corpus.analysis.disagreement import Disagreements, PairOfMethods
from limelight.corpus.analysis.flat_rows import COLUMNS, Flat, Plain, Question, flat
from limelight.corpus.analysis.mistakes import Mistakes
from limelight.corpus.analysis.words import MOST_WORDS, WordSums
from limelight.corpus.store.schema import Layout, arrow_library
from limelight.errors import ParameterError, known_name, shown

if TYPE_CHECKING:
    from limelight.corpus.store.reading import Corpus, Document


@dataclass(frozen=True)
class Summary:
    """Words, mistakes, texts and disagreements of the shards that there were when it was made."""

    words: WordSums
    mistakes: Mistakes
    texts: TextIndex
    disagreements: Disagreements

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions whose words can be asked for."""
        return self.words.questions

    @property
    def pairs(self) -> list[PairOfMethods]:
        """How far methods disagree over all texts."""
        return self.disagreements.pairs()


def summary_of(corpus: Corpus, progress: Progress = SILENT, most_words: int = MOST_WORDS) -> Summary:
    """Read all shards once."""
    layout = corpus.layout
    words = WordSums(pairs=layout.pairs, most_words=most_words)
    mistakes, texts, disagreements = Mistakes(words.vocabulary, layout), TextIndex(layout), Disagreements(layout)
    with working(progress, "reading the corpus", len(corpus.shards())):
        for table in corpus.tables(COLUMNS):
            shard = flat(table, layout)
            ids = words.add(shard)
            if layout.kind != "regression":
                mistakes.add(shard, ids)
            texts.add(shard, disagreements.add(shard))
            if (kept := words.trim()) is not None:
                mistakes.keep(kept)
            progress.advance(1)
    return Summary(words, mistakes, texts, disagreements)


TextOrder = Literal["row", "disagreement", "confidence"]
"""As in the data; those that methods disagree about most first; those that the model is surest of first."""
_BEGINNING = 120
"""Characters of a text in a table."""
_NOTHING = -1
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True)
class TextLine(Plain):
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


@dataclass(frozen=True)
class TextTable(Plain):
    """Texts from `offset` on, of `total` that were asked for."""

    total: int
    offset: int
    lines: tuple[TextLine, ...]


class TextOptions(TypedDict, total=False):
    """Which texts a page of a table has, and in which order; see `Corpus.texts`."""

    wrong: bool | None
    failed: bool | None
    label: str | None
    truth: str | None
    disagreement: float | None
    order: TextOrder
    contains: str | None
    offset: int
    limit: int


_COLUMNS = {
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
_TYPE = np.dtype(list(_COLUMNS.items()))


class TextIndex:
    """What is kept of each text: a row of numbers."""

    def __init__(self, layout: Layout) -> None:
        self._labels = {label: i for i, label in enumerate(layout.labels)}
        self._has_mistakes = layout.kind != "regression"
        self._parts = [np.zeros(0, _TYPE)]

    def add(self, flat: Flat, disagreements: Sequence[tuple[float, float, int]]) -> None:
        """The documents of a shard, each with what the two methods say that disagree most."""
        rows = []
        for (first, document), found in zip(flat.documents(), disagreements, strict=True):
            head = flat.heads[first]
            label, truth = (
                _NOTHING if own is None else self._labels.get(own, _NOTHING) for own in (head.label, head.truth)
            )
            wrong, failed = self._has_mistakes and head.is_wrong, any(flat.heads[i].question is None for i in document)
            rows.append((head.row, label, truth, wrong, head.confidence, failed, *found))
        self._parts.append(np.array(rows, dtype=_TYPE))

    def __getitem__(self, name: str) -> Array:
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0][name]

    def __len__(self) -> int:
        return len(self["row"])

    @property
    def failed(self) -> int:
        """How many texts could not be explained by every method."""
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
        if known_name("order of texts", order, get_args(TextOrder)) == "disagreement":
            passes &= ~np.isnan(self["at_least"])
        at = np.flatnonzero(passes)
        keys = {
            "row": (),
            "disagreement": (-self["seen"][at], -self["at_least"][at]),
            "confidence": (-np.nan_to_num(self["confidence"][at], nan=-1.0),),
        }
        return at[np.lexsort((self["row"][at], *keys[order]))] if order != "row" else at

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


def text_table(
    corpus: Corpus,
    summary: Summary,
    *,
    contains: str | None = None,
    offset: int = 0,
    limit: int = 50,
    **filters: Any,
) -> TextTable:
    """A page of the texts that pass all filters; see `Corpus.texts`."""
    whole_number("offset", offset, 0)
    whole_number("limit", limit, 1)
    texts = summary.texts
    chosen = texts.chosen(rows=None if contains is None else rows_with(corpus, contains), **filters)
    listed = chosen[offset : offset + limit]
    documents = documents_at(corpus, texts["row"][listed].tolist())
    lines = (texts.line(at, documents[int(texts["row"][at])], summary.disagreements.names) for at in listed.tolist())
    return TextTable(len(chosen), offset, tuple(lines))


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
    compute = arrow_library().compute
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
    if not rows:
        return {}
    library = arrow_library()
    size = whole_number("the manifest's shard size", corpus.manifest["shards"]["size"], 1)
    wanted = library.array(sorted(set(rows)))
    found: dict[int, Document] = {}
    for table in corpus.tables(numbers={(row - 1) // size for row in rows}):
        chosen = table.filter(library.compute.is_in(table["row"], value_set=wanted))
        found.update({document.row: document for document in corpus.grouped(chosen.to_pylist())})
    return found
