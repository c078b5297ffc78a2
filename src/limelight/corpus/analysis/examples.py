"""Texts that show what a table says: as few as can be, each for many of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.texts import documents_at

if TYPE_CHECKING:
    from limelight.corpus.store.reading import Corpus, Document

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
