"""Where the model is wrong, and which words did it.

A text is wrong where the data's label is not what the model says. In such a text a word did it where its weight speaks
for the label that the model gave, or against the true one, whichever was explained; methods without signs say neither.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from limelight.core.arrays import Integers
from limelight.corpus.analysis.flat_rows import Flat, Plain, lines_of
from limelight.corpus.analysis.means import Columns, Sums, fraction
from limelight.corpus.analysis.words import LEAST_TEXTS, Vocabulary
from limelight.corpus.store.schema import Layout

NO_LABEL = "no label"
"""What a model says whose labels do not exclude each other, where it gives none of them a chance of one half."""


class Mistake(NamedTuple):
    """What the model says, and what the data says."""

    label: str
    truth: str


@dataclass(frozen=True)
class Confusion:
    """How often the model gives a label to texts of another: `texts` of `of` that it gives this label to."""

    mistake: Mistake
    texts: int
    of: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class GuiltyWord(Plain):
    """A word in texts that are wrong in the same way.

    `texts` of them hold it, of `of` that hold it and were given this label: `rate` is the one divided by the other,
    from `rate_low` to `rate_high`. `push` is its mean effect towards the mistake in them, from `low` to `high`, `told`
    whether that is significant, `total` the sum of it. `row` is the text in which it pushes most.
    """

    word: str
    side: int | None
    texts: int
    of: int
    rate: float
    rate_low: float
    rate_high: float
    push: float
    low: float
    high: float
    told: bool
    total: float
    row: int


@dataclass(frozen=True)
class Accuracy:
    """How many labelled texts the model gets right."""

    labelled: int
    wrong: int

    @property
    def share(self) -> tuple[float, float, float]:
        """The fraction of texts that are right, and the ends of its 95 % interval."""
        value, low, high = map(float, fraction(self.labelled - self.wrong, self.labelled))
        return value, low, high


class Mistakes:
    """Counts and sums of the texts that have a true label."""

    def __init__(self, vocabulary: Vocabulary, layout: Layout) -> None:
        self._vocabulary, self._layout = vocabulary, layout
        self._pushed: dict[tuple[str, Mistake], Sums] = {}
        self._held: dict[str, Columns] = defaultdict(lambda: Columns({"texts": 0}))
        self._labelled: Counter[str] = Counter()
        self._confused: Counter[Mistake] = Counter()

    def keep(self, chosen: Integers) -> None:
        """Only these words of the vocabulary, in this order."""
        for own in (*self._pushed.values(), *self._held.values()):
            own.keep(chosen)

    def add(self, flat: Flat, ids: Integers) -> None:
        """Add a shard; `ids` are the numbers of its words."""
        pushing: dict[tuple[str, Mistake], dict[int, float]] = defaultdict(dict)
        held: dict[str, list[int]] = defaultdict(list)
        for first, document in flat.documents():
            head = flat.heads[first]
            if head.truth is None or head.label is None:
                continue
            said = head.label if head.label in head.assigned else NO_LABEL
            self._labelled[said] += 1
            held[said].append(first)
            if head.is_wrong:
                mistake = Mistake(said, head.truth)
                self._confused[mistake] += 1
                for method, (i, sign) in self._guilty(flat, document, mistake).items():
                    pushing[method, mistake][i] = sign
        for label, rows in held.items():
            counted = self._held[label]
            counted.grow(int(ids.max(initial=0)) + 1)
            found, count = np.unique(flat.values(rows, ids).ids, return_counts=True)
            counted["texts"][found] += count
        for key, members in pushing.items():
            values = flat.values(list(members), ids)
            signs = {flat.heads[i].row: sign for i, sign in members.items()}
            direction = np.array([signs[row] for row in values.rows.tolist()])
            self._pushed.setdefault(key, Sums()).add(values.times(direction))

    def _guilty(self, flat: Flat, rows: list[int], mistake: Mistake) -> dict[str, tuple[int, float]]:
        """For each method the row that shows what led to the mistake, and the sign of what led there."""
        found: dict[str, tuple[int, float]] = {}
        for i in rows:
            question = flat.heads[i].question
            if question is None or not self._layout.is_signed(question.method):
                continue
            if question.target == mistake.label:
                found[question.method] = (i, 1.0)
            elif question.target == mistake.truth:
                found.setdefault(question.method, (i, -1.0))
        return found

    @property
    def accuracy(self) -> Accuracy | None:
        """How many labelled texts are right; None where the data has no labels."""
        return Accuracy(self._labelled.total(), self._confused.total()) if self._labelled else None

    def confusions(self) -> list[Confusion]:
        """The kinds of mistakes, the most frequent first."""
        lines = []
        for mistake, texts in self._confused.items():
            of = self._labelled[mistake.label]
            lines.append(Confusion(mistake, texts, of, *map(float, fraction(texts, of))))
        return sorted(lines, key=lambda line: (-line.texts, line.mistake))

    def methods(self, mistake: Mistake) -> list[str]:
        """The methods that say which words led to a mistake."""
        return [method for method, own in self._pushed if own == mistake]

    def words(
        self,
        method: str,
        mistake: Mistake,
        *,
        all_words: bool = False,
        least_texts: int = LEAST_TEXTS,
    ) -> list[GuiltyWord]:
        """The words that led to a mistake: the significant ones first, by all that they pushed."""
        if (method, mistake) not in self._pushed:
            return []
        sums, held = self._pushed[method, mistake], self._held[mistake.label]
        for own in (sums, held):
            own.grow(len(self._vocabulary))
        ids = self._vocabulary.frequent(sums["n"], least_texts, all_words)
        of, (_, means) = held["texts"][ids], sums.means(ids)
        rate, rate_low, rate_high = fraction(means["texts"], of)
        push = means["mean"]
        columns: dict[str, Any] = {
            **self._vocabulary.columns(ids),
            **{name: means[name] for name in ("texts", "low", "high", "told")},
            "of": of,
            "rate": rate,
            "rate_low": rate_low,
            "rate_high": rate_high,
            "push": push,
            "total": push * means["texts"],
            "row": sums["largest_row"][ids],
        }
        order = np.lexsort((ids, -columns["total"], ~columns["told"]))
        return list(lines_of(GuiltyWord, columns, order[push[order] > 0.0].tolist()))
