"""Two runs compared: the words whose mean effect differs between two models, or between two parts of the data.

Where both runs read the same files, texts are compared with themselves: the difference of a word's weights in each text
that was asked about the same label is averaged, with the interval of `means`. Otherwise the texts of one run are taken
as independent of the other's, and the difference of means has Welch's interval. Either way intervals are at the level
that is right for those words that are picked out of many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.core.progress import SILENT, Progress, working
from limelight.corpus.analysis.flat_rows import COLUMNS, Flat, Plain, Question, flat, lines_of
from limelight.corpus.analysis.means import Picked, Sums, Values
from limelight.corpus.analysis.words import LEAST_TEXTS, MOST_WORDS, Vocabulary
from limelight.errors import InputError, shown

if TYPE_CHECKING:
    from limelight.corpus.store.reading import Corpus


@dataclass(frozen=True)
class Difference(Plain):
    """One word in both runs: its mean effects, and `difference` = `second` - `first`, from `low` to `high`; `told` says
    whether it is significant.

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
class Differences(Plain):
    """The words of one question; the significant ones first, the largest differences first. `level`: of the intervals;
    `compared`: how many words there were to pick from."""

    question: Question
    level: float
    compared: int
    lines: tuple[Difference, ...]


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
    both = _Both(paired=same_texts(first, second), pairs=first.layout.pairs)
    with working(progress, "comparing the runs", len(first.shards())):
        both.read(first, second, progress)
    common = [question for question in both.first if question in both.second]
    if not common:
        raise InputError(
            "the two runs have no question in common: they were asked about different labels, or nothing is explained "
            "yet; run both for the same target"
        )
    tables = tuple(both.differences(question, all_words, least_texts) for question in common)
    only = tuple(sorted(set(first.methods) ^ set(second.methods)))
    return Compared(both.paired, both.texts, both.other_target, only, tables)


def same_texts(first: Corpus, second: Corpus) -> bool:
    """Whether row n of the one is row n of the other: the same files, read from the same columns."""
    names = ("text_column", "second_column", "id_column")
    one, other = first.manifest["input"], second.manifest["input"]
    files = [[(own["sha256"], own["bytes"]) for own in given["files"]] for given in (one, other)]
    return files[0] == files[1] and all(one.get(name) == other.get(name) for name in names)


class _Both:
    """Sums of two runs over the same words."""

    def __init__(self, *, paired: bool, pairs: bool) -> None:
        self.paired = paired
        self._vocabulary = Vocabulary(pairs=pairs)
        self.first: dict[Question, Sums] = defaultdict(Sums)
        self.second: dict[Question, Sums] = defaultdict(Sums)
        self._between: dict[Question, Sums] = defaultdict(Sums)
        self.texts = self.other_target = 0

    def read(self, first: Corpus, second: Corpus, progress: Progress) -> None:
        """Read the shards of both runs; document by document where texts are compared with themselves, since shards of
        the two may hold different numbers of them."""
        others = _Rows(second)
        for corpus, sums in ((first, self.first),) if self.paired else ((first, self.first), (second, self.second)):
            for table in corpus.tables(COLUMNS):
                here = flat(table, corpus.layout)
                ids = self._vocabulary.numbers(here.words)
                if self.paired:
                    for there in others.upto(here.heads[-1].row if here.heads else 0):
                        self._add_pairs(here, ids, there, self._vocabulary.numbers(there.words))
                else:
                    for question, rows in here.by_question().items():
                        sums[question].add(here.values(rows, ids))
                    self.texts += sum(1 for _ in here.documents())
                if len(self._vocabulary) > 2 * MOST_WORDS:
                    raise InputError(
                        f"the two runs have more than {2 * MOST_WORDS:,} different features together, too many to "
                        "compare: compare runs of words, or of fewer texts"
                    )
                progress.advance(corpus is first)

    def _add_pairs(self, here: Flat, ids: Integers, there: Flat, other_ids: Integers) -> None:
        at = {(head.row, head.question): i for i, head in enumerate(there.heads) if head.question is not None}
        methods = {(row, question.method) for row, question in at}
        together: dict[Question, list[tuple[int, int]]] = defaultdict(list)
        compared, changed = set(), set()
        for i, head in enumerate(here.heads):
            if head.question is None:
                continue
            if (j := at.get((head.row, head.question))) is not None:
                compared.add(head.row)
                together[head.question].append((i, j))
            elif (head.row, head.question.method) in methods:
                changed.add(head.row)
        self.texts += len(compared)
        self.other_target += len(changed - compared)
        for question, members in together.items():
            own, other = zip(*members, strict=True)
            one, two = _in_both(here.values(own, ids), there.values(other, other_ids))
            stderr, bound = np.hypot(one.stderr, two.stderr), one.bound + two.bound
            between = Values(one.ids, one.rows, two.weights - one.weights, stderr, bound, np.zeros_like(one.ids))
            for sums, values in ((self.first, one), (self.second, two), (self._between, between)):
                sums[question].add(values)

    def differences(self, question: Question, all_words: bool, least_texts: int) -> Differences:
        """The words that stand in enough texts of both runs."""
        one, two, between = (sums[question] for sums in (self.first, self.second, self._between))
        for sums in (one, two, between):
            sums.grow(len(self._vocabulary))
        ids = self._vocabulary.frequent(np.minimum(one["n"], two["n"]), max(least_texts, 2), all_words)
        if self.paired:
            mean, (error, bound, freedom) = between["mean"][ids], between.errors(ids)
        else:
            mean, (error, bound, freedom) = (
                two["mean"][ids] - one["mean"][ids],
                _welch(one.errors(ids), two.errors(ids)),
            )
        picked = Picked.of(mean, error, bound, freedom)
        half = picked.half_width(error, bound, freedom)
        # Where the difference is largest; of different texts where each run goes furthest its own way.
        ends = (between, between) if self.paired else (two, one)
        more, less = (np.stack([own["smallest_row"][ids], own["largest_row"][ids]]) for own in ends)
        up, places = (mean > 0.0).astype(np.int64), np.arange(len(ids))
        columns = {
            **self._vocabulary.columns(ids),
            "texts": one["n"][ids],
            "other_texts": two["n"][ids],
            "first": one["mean"][ids],
            "second": two["mean"][ids],
            "difference": mean,
            "low": mean - half,
            "high": mean + half,
            "told": picked.significant,
            "row": less[up if self.paired else 1 - up, places],
            "other_row": more[up, places],
        }
        order = np.lexsort((ids, -np.abs(mean), ~picked.significant))
        return Differences(question, picked.level, len(ids), lines_of(Difference, columns, order.tolist()))


class _Rows:
    """The shards of a run as they are needed; a shard may be asked for again, up to a row beyond which it goes on."""

    def __init__(self, corpus: Corpus) -> None:
        self._shards = (flat(table, corpus.layout) for table in corpus.tables(COLUMNS))
        self._last: Flat | None = None

    def upto(self, row: int) -> Iterator[Flat]:
        """The shards that hold rows up to this one, beginning with the last that was given."""
        if self._last is not None:
            yield self._last
        while self._last is None or self._last.heads[-1].row < row:
            self._last = next((shard for shard in self._shards if shard.heads), None)
            if self._last is None:
                return
            yield self._last


def _in_both(one: Values, two: Values) -> tuple[Values, Values]:
    """The values of words that stand in a text for both, in the same order."""
    size = int(max(one.ids.max(initial=0), two.ids.max(initial=0))) + 1
    keys = [own.rows * size + own.ids for own in (one, two)]
    _, at, other = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return one[at], two[other]


Errors = tuple[Floats, Floats, Floats]
"""Standard errors of means, their errors beside sampling, and degrees of freedom."""


def _welch(one: Errors, two: Errors) -> Errors:
    """The errors of a difference of independent means, with Welch's degrees of freedom."""
    a, b = one[0] ** 2, two[0] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (a + b) ** 2 / (a**2 / one[2] + b**2 / two[2])
    return np.sqrt(a + b), one[1] + two[1], np.where(np.isfinite(freedom), freedom, np.minimum(one[2], two[2]))
