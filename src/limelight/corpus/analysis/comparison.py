"""Two runs compared: the words whose mean effect differs between two models, or between two parts of the data.

Where both runs read the same files, texts are compared with themselves: the difference of a word's weights in each text
that was asked about the same label is averaged, with the interval of `means`. Otherwise the texts of one run are taken
as independent of the other's, and the difference of means has Welch's interval. Either way intervals are at the level
that is right for those words that are picked out of many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.core.arrays import Array, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.corpus.analysis.means import Picked, Sums, Values
from limelight.corpus.analysis.stop_words import is_folded
from limelight.corpus.analysis.words import LEAST_TEXTS, MOST_WORDS, plain
from limelight.corpus.store.flat_rows import COLUMNS, Flat, Question, flat, lookup
from limelight.errors import InputError, shown

if TYPE_CHECKING:
    from limelight.corpus.store.reading import Corpus


@dataclass(frozen=True)
class Difference:
    """One word in both runs: its mean effects, and `difference` = `second` - `first`, from `low` to `high`.

    `row` and `other_row`: the texts of the first and of the second run that show it best.
    """

    word: str
    side: int | None
    texts: int
    other_texts: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    told: bool
    row: int
    other_row: int


@dataclass(frozen=True)
class Differences:
    """The words of one question; those told from zero first, the largest differences first. `level`: of the intervals;
    `compared`: how many words there were to pick from."""

    question: Question
    level: float
    compared: int
    lines: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "question": self.question._asdict(),
            "level": self.level,
            "compared": self.compared,
            "lines": [{name: plain(value) for name, value in asdict(line).items()} for line in self.lines],
        }


@dataclass(frozen=True)
class Compared:
    """All that differs between two runs. `paired`: whether texts were compared with themselves; `texts` that were;
    `other_target`: texts about which the two were asked for different labels; `only`: methods of one run alone."""

    paired: bool
    texts: int
    other_target: int
    only: tuple[str, ...]
    questions: tuple[Differences, ...]


def compare(
    first: Corpus,
    second: Corpus,
    *,
    all_words: bool = False,
    least_texts: int = LEAST_TEXTS,
    progress: Progress = SILENT,
) -> Compared:
    """The words whose mean effect differs between two runs."""
    if not set(first.labels) & set(second.labels):
        raise InputError(
            f"the two runs have no label in common, so no effect can be compared: {first.folder} has "
            f"{', '.join(first.labels)}, {second.folder} has {', '.join(second.labels)}; run the same labels"
        )
    if not set(first.methods) & set(second.methods):
        raise InputError(
            f"the two runs have no method in common: {first.folder} has {', '.join(first.methods)}, {second.folder} "
            f"has {', '.join(second.methods)}; run one of them with a method of the other"
        )
    if first.layout.pairs != second.layout.pairs:
        raise InputError("one run is of pairs of texts and the other of single ones: their words cannot be compared")
    if first.folder.resolve() == second.folder.resolve():
        raise InputError(f"{first.folder} is compared with itself: name another run")
    for name in ("output", "features"):
        one, other = first.manifest["asked"].get(name), second.manifest["asked"].get(name)
        if one != other:
            raise InputError(
                f"the two runs were asked for different things, so their weights cannot be compared: {name} is "
                f"{shown(one)} in {first.folder} and {shown(other)} in {second.folder}; run both alike"
            )
    paired = same_texts(first, second)
    both = _Both(paired=paired)
    progress.begin("comparing the runs", len(first.shards()))
    try:
        if paired:
            both.read_together(first, second, progress)
        else:
            both.read_apart(first, second, progress)
    finally:
        progress.end()
    if not both.common:
        raise InputError(
            "the two runs have no question in common: they were asked about different labels, or nothing is explained "
            "yet; run both for the same target"
        )
    tables = tuple(both.differences(question, first.layout.pairs, all_words, least_texts) for question in both.common)
    only = tuple(sorted(set(first.methods) ^ set(second.methods)))
    return Compared(paired, both.texts, both.other_target, only, tables)


def same_texts(first: Corpus, second: Corpus) -> bool:
    """Whether row n of the one is row n of the other: the same files, read from the same columns."""
    names = ("text_column", "second_column", "id_column")
    one, other = first.manifest["input"], second.manifest["input"]
    files = [[(own["sha256"], own["bytes"]) for own in given["files"]] for given in (one, other)]
    return files[0] == files[1] and all(one.get(name) == other.get(name) for name in names)


class _Both:
    """Sums of two runs over the same words."""

    def __init__(self, *, paired: bool) -> None:
        self._paired = paired
        self._index: dict[str, int] = {}
        self.first: dict[Question, Sums] = {}
        self.second: dict[Question, Sums] = {}
        self._between: dict[Question, Sums] = {}
        self.texts = self.other_target = 0

    @property
    def common(self) -> list[Question]:
        return [question for question in self.first if question in self.second]

    def read_apart(self, first: Corpus, second: Corpus, progress: Progress) -> None:
        for corpus, sums in ((first, self.first), (second, self.second)):
            for table in corpus.tables(COLUMNS):
                shard = flat(table, corpus.layout)
                ids = lookup(shard.words, self._index)
                for question, rows in _asked(shard).items():
                    sums.setdefault(question, Sums()).add(shard.values(rows, ids))
                self.texts += sum(1 for _ in shard.documents())
                self._check_size()
                progress.advance(corpus is first)

    def read_together(self, first: Corpus, second: Corpus, progress: Progress) -> None:
        """Document by document: shards of the two may hold different numbers of them."""
        others = _Rows(second)
        for table in first.tables(COLUMNS):
            here = flat(table, first.layout)
            ids = lookup(here.words, self._index)
            rows = [head.row for head in here.heads]
            for there in others.upto(rows[-1] if rows else 0):
                self._add_pairs(here, ids, there, lookup(there.words, self._index))
            self._check_size()
            progress.advance(1)

    def _check_size(self) -> None:
        if len(self._index) > 2 * MOST_WORDS:
            raise InputError(
                f"the two runs have more than {2 * MOST_WORDS:,} different features together, too many to compare: "
                "compare runs of words, or of fewer texts"
            )

    def _add_pairs(self, here: Flat, ids: Integers, there: Flat, other_ids: Integers) -> None:
        at = {(head.row, head.question): i for i, head in enumerate(there.heads) if head.question is not None}
        targets: dict[int, set[Question]] = {}
        for row, question in at:
            targets.setdefault(row, set()).add(question)
        together: dict[Question, tuple[list[int], list[int]]] = {}
        compared, changed = set(), set()
        for i, head in enumerate(here.heads):
            if head.question is None or head.row not in targets:
                continue
            j = at.get((head.row, head.question))
            if j is None:
                if any(own.method == head.question.method for own in targets[head.row]):
                    changed.add(head.row)
                continue
            compared.add(head.row)
            own, other = together.setdefault(head.question, ([], []))
            own.append(i)
            other.append(j)
        self.texts += len(compared)
        self.other_target += len(changed - compared)
        for question, (own, other) in together.items():
            one, two = _in_both(here.values(own, ids), there.values(other, other_ids))
            self.first.setdefault(question, Sums()).add(one)
            self.second.setdefault(question, Sums()).add(two)
            apart = Values(
                one.ids,
                one.rows,
                two.weights - one.weights,
                np.hypot(one.stderr, two.stderr),
                one.off + two.off,
                np.zeros(len(one.ids), dtype=np.int64),
            )
            self._between.setdefault(question, Sums()).add(apart)

    def differences(self, question: Question, pairs: bool, all_words: bool, least_texts: int) -> Differences:
        one, two, names = self.first[question], self.second[question], list(self._index)
        for sums in (one, two):
            sums.grow(len(names))
        enough = np.flatnonzero(np.minimum(one["n"][: len(names)], two["n"][: len(names)]) >= max(least_texts, 2))
        words = {i: (names[i][1:], int(names[i][0])) if pairs else (names[i], None) for i in enough.tolist()}
        ids = np.array([i for i, (word, _) in words.items() if all_words or not is_folded(word)], dtype=np.int64)
        mean = two["mean"][ids] - one["mean"][ids]
        if self._paired:
            between = self._between[question]
            between.grow(len(names))
            mean, (error, freedom) = between["mean"][ids], _error(between, ids)
            off = between["off"][ids] / np.maximum(between["n"][ids], 1)
        else:
            (error, freedom), off = _welch(_error(one, ids), _error(two, ids)), np.zeros(len(ids))
            for sums in (one, two):
                off = off + sums["off"][ids] / np.maximum(sums["n"][ids], 1)
        picked = Picked.of(mean, error, off, freedom)
        half = picked.half_width(error, off, freedom)
        order = np.lexsort((ids, -np.abs(mean), ~picked.told)).tolist()
        lines = []
        for k in order:
            i = int(ids[k])
            row, other_row = self._examples(question, i, float(mean[k]))
            lines.append(
                Difference(
                    word=words[i][0],
                    side=words[i][1],
                    texts=int(one["n"][i]),
                    other_texts=int(two["n"][i]),
                    first=float(one["mean"][i]),
                    second=float(two["mean"][i]),
                    difference=float(mean[k]),
                    low=float(mean[k] - half[k]),
                    high=float(mean[k] + half[k]),
                    told=bool(picked.told[k]),
                    row=row,
                    other_row=other_row,
                )
            )
        return Differences(question, picked.level, len(ids), tuple(lines))

    def _examples(self, question: Question, i: int, mean: float) -> tuple[int, int]:
        """Where the difference is largest; of different texts where each run goes furthest its own way."""
        more, less = ("largest_row", "smallest_row") if mean > 0.0 else ("smallest_row", "largest_row")
        if self._paired:
            row = int(self._between[question][more][i])
            return row, row
        return int(self.first[question][less][i]), int(self.second[question][more][i])


class _Rows:
    """The shards of a run as they are needed; a shard may be asked for again, up to a row beyond which it goes on."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus, self._tables, self._last = corpus, corpus.tables(COLUMNS), None

    def upto(self, row: int) -> Iterator[Flat]:
        """The shards that hold rows up to this one, beginning with the last that was given."""
        if self._last is not None:
            yield self._last
        while self._last is None or self._last.heads[-1].row < row:
            table = next(self._tables, None)
            if table is None:
                return
            shard = flat(table, self._corpus.layout)
            if len(shard):
                self._last = shard
                yield shard

    _last: Flat | None


def _asked(shard: Flat) -> dict[Question, list[int]]:
    asked: dict[Question, list[int]] = {}
    for i, head in enumerate(shard.heads):
        if head.question is not None:
            asked.setdefault(head.question, []).append(i)
    return asked


def _in_both(one: Values, two: Values) -> tuple[Values, Values]:
    """The values of words that stand in a text for both, in the same order."""
    size = int(max(one.ids.max(initial=0), two.ids.max(initial=0))) + 1
    keys = [own.rows * size + own.ids for own in (one, two)]
    _, at, other = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return one[at], two[other]


def _error(sums: Sums, ids: Array) -> tuple[Floats, Floats]:
    """The standard error of a mean over texts, and its degrees of freedom."""
    n = sums["n"][ids].astype(np.float64)
    variance = np.fmax(sums["squares"][ids] / np.maximum(n - 1.0, 1.0), sums["variance"][ids] / np.maximum(n, 1.0))
    return np.sqrt(variance / np.maximum(n, 1.0)), n - 1.0


def _welch(one: tuple[Floats, Floats], two: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Of a difference of independent means, with the degrees of freedom of Welch and Satterthwaite."""
    a, b = one[0] ** 2, two[0] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (a + b) ** 2 / (a**2 / one[1] + b**2 / two[1])
    return np.sqrt(a + b), np.where(np.isfinite(freedom), freedom, np.minimum(one[1], two[1]))
