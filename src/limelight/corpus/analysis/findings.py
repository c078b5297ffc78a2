"""The findings of a report, before they are written: the lines of its tables, and the texts that show them.

These texts are as few as can be, each for many lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from limelight.core.progress import SILENT, Progress
from limelight.corpus.analysis.comparison import Compared, compare
from limelight.corpus.analysis.disagreement import PairOfMethods
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.mistakes import Accuracy, Confusion, GuiltyWord, Mistake
from limelight.corpus.analysis.summary import Summary, TextTable, documents_at, summary_of, text_table
from limelight.corpus.analysis.words import LEAST_TEXTS, WordLine, WordTable

if TYPE_CHECKING:
    from limelight.corpus.store.reading import Corpus, Document


WORDS_SHOWN = 300
"""Words of a question on the page, of those with the largest mean effects; all of them are in the tables beside it."""
ABSOLUTE_SHOWN = 60
"""Words with the largest mean absolute effects, where they are not among the others."""
SIGNS_SHOWN = 40
FIRST = 40
"""Words of a question that are the first to be given an example."""
MISTAKE_WORDS_SHOWN = 30
DIFFERENCES_SHOWN = 200
DIFFERENCE_EXAMPLES = 100
TEXTS_SHOWN = 20
"""Texts that are listed by themselves: the ones that methods disagree about, and those that are wrong."""


@dataclass(frozen=True)
class Words:
    """The words of one question: what is shown, and all of it. A method without signs has no `signs`."""

    shown: tuple[WordLine, ...]
    every: WordTable
    signs: WordTable | None

    @property
    def question(self) -> Question:
        return self.every.question


@dataclass(frozen=True)
class Findings:
    """All that a report says. `examples` are texts by their rows; those of another run are in `other_examples`."""

    corpus: Corpus
    against: Corpus | None
    summary: Summary
    all_words: bool
    least_texts: int
    words: tuple[Words, ...]
    pairs: tuple[PairOfMethods, ...]
    disagreed: TextTable
    accuracy: Accuracy | None
    confusions: tuple[Confusion, ...]
    guilty: dict[tuple[str, Mistake], list[GuiltyWord]]
    wrong: TextTable
    compared: Compared | None
    examples: Examples
    other_examples: Examples


def find(
    corpus: Corpus,
    against: Corpus | None = None,
    *,
    all_words: bool = False,
    least_texts: int = LEAST_TEXTS,
    progress: Progress = SILENT,
) -> Findings:
    """Read the shards of a corpus once, and of another that it is compared with; then the texts that are shown."""
    summary = summary_of(corpus, progress)
    compared = None
    if against is not None:
        compared = compare(corpus, against, all_words=all_words, least_texts=least_texts, progress=progress)
    words = tuple(_words(corpus, summary, question, all_words, least_texts) for question in summary.questions)
    disagreed = text_table(corpus, summary, order="disagreement", limit=TEXTS_SHOWN)
    wrong = text_table(corpus, summary, wrong=True, order="confidence", limit=TEXTS_SHOWN)
    confusions = tuple(summary.mistakes.confusions())
    guilty = {
        (method, own.mistake): summary.mistakes.words(method, own.mistake, all_words=all_words, least_texts=least_texts)
        for own in confusions
        for method in summary.mistakes.methods(own.mistake)
    }
    listed = [line.row for line in (*disagreed.lines, *wrong.lines)]
    # The first of each question, then the second of each, and so on.
    in_turns = (wish for own in zip_longest(*map(_wishes, words)) for wish in own if wish is not None)
    wishes = [*_of_mistakes(guilty), *in_turns]
    other = Examples()
    if compared is not None and against is not None:
        wishes = [*_of_differences(compared), *wishes]
        other = choose(against, [], _of_differences(compared, other=True))
    return Findings(
        corpus,
        against,
        summary,
        all_words,
        least_texts,
        words,
        tuple(summary.pairs),
        disagreed,
        summary.mistakes.accuracy,
        confusions,
        guilty,
        wrong,
        compared,
        choose(corpus, list(dict.fromkeys(listed)), wishes),
        other,
    )


def _words(corpus: Corpus, summary: Summary, question: Question, all_words: bool, least_texts: int) -> Words:
    every = summary.words.table(question, all_words=all_words, least_texts=least_texts)
    absolute = summary.words.table(
        question, order="absolute", all_words=all_words, least_texts=least_texts, limit=ABSOLUTE_SHOWN
    )
    lines = {(line.word, line.side): line for line in (*every.lines[:WORDS_SHOWN], *absolute.lines)}
    signs = summary.words.table(question, order="signs", all_words=all_words, least_texts=least_texts)
    return Words(tuple(lines.values()), every, signs if corpus.layout.is_signed(question.method) else None)


def wish_of(question: Question, line: WordLine, sign: int) -> Wish:
    """For a text that shows a word at its strongest on one side."""
    return Wish(question, line.word, line.side, sign, line.largest_row if sign >= 0 else line.smallest_row)


def main_sign(line: WordLine) -> int:
    return 1 if line.mean >= 0.0 else -1


def _wishes(words: Words) -> Iterator[Wish]:
    """The first words, then those that need a text on either side, then the rest as it is listed."""
    firsts = [wish_of(words.question, line, main_sign(line)) for line in words.shown]
    yield from firsts[:FIRST]
    for line in words.signs.lines[:SIGNS_SHOWN] if words.signs is not None else ():
        yield from (wish_of(words.question, line, sign) for sign in (1, -1))
    yield from firsts[FIRST:]


def _of_mistakes(guilty: dict[tuple[str, Mistake], list[GuiltyWord]]) -> list[Wish]:
    return [
        Wish(Question(method, mistake.label), line.word, line.side, 1, line.row)
        for (method, mistake), lines in guilty.items()
        for line in lines[:MISTAKE_WORDS_SHOWN]
    ]


def _of_differences(compared: Compared, *, other: bool = False) -> list[Wish]:
    return [
        Wish(table.question, line.word, line.side, 0, line.other_row if other else line.row)
        for table in compared.questions
        for line in table.lines[:DIFFERENCES_SHOWN]
        if line.told
    ][:DIFFERENCE_EXAMPLES]


# ── texts that show what a table says ─────────────────────────────────────────────────────────────────────────────────

MOST_EXAMPLES = 600
"""Texts beside those that a report lists by themselves."""
MOST_COLOURED = 150_000
"""Coloured words of all examples, those of each method counted: some 40 bytes of a page each."""


class Wish(NamedTuple):
    """A word with a weight of this sign (0: whichever) for a question; it has its largest one in `row`."""

    question: Question
    word: str
    side: int | None
    sign: int
    row: int


@dataclass
class Examples:
    """Texts by their rows, and for each word the first that shows it. `methods` are those of their corpus."""

    methods: tuple[str, ...] = ()
    documents: dict[int, Document] = field(default_factory=dict)
    _shown: dict[tuple[Question, str, int | None, int], int] = field(default_factory=dict)

    def add(self, document: Document) -> None:
        """Add a text, for all words that have a significant weight in it."""
        self.documents[document.row] = document
        for explanation in document.explanations:
            question = Question(explanation.method, explanation.target, explanation.against)
            for j in np.flatnonzero(explanation.significant).tolist():
                side = None if explanation.sides is None else explanation.sides[j]
                for sign in (0, int(np.sign(explanation.weights[j]))):
                    self._shown.setdefault((question, explanation.features[j], side, sign), document.row)

    def row(self, wish: Wish) -> int | None:
        """The text that shows a word: the one where its weight is largest, or another; None where there is none."""
        return wish.row if wish.row in self.documents else self._shown.get(wish[:4])

    def number(self, method: str) -> int:
        """A method's number, by which rows of a page are found."""
        return self.methods.index(method)


def choose(
    corpus: Corpus, listed: Sequence[int], wishes: Sequence[Wish], most_coloured: int = MOST_COLOURED
) -> Examples:
    """The texts of `listed` rows, and some more: for wishes, in their order, that no text shows yet."""
    examples = Examples(corpus.methods)
    for document in documents_at(corpus, listed).values():
        examples.add(document)
    candidates = list(dict.fromkeys(wish.row for wish in wishes if examples.row(wish) is None))[:MOST_EXAMPLES]
    documents = documents_at(corpus, candidates)
    room = most_coloured
    for wish in wishes:
        candidate = documents.get(wish.row)
        if candidate is not None and examples.row(wish) is None and room >= (size := _coloured(candidate)):
            examples.add(candidate)
            room -= size
    return examples


def _coloured(document: Document) -> int:
    """How many words are coloured when a text is shown by each method."""
    return sum(len(spans) for explanation in document.explanations for spans in explanation.spans)
