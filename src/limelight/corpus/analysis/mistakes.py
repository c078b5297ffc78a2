"""Where the model is wrong, and which words did it.

A text is wrong where the data's label is not what the model says. In such a text a word did it where its weight speaks
for the label that the model gave, or against the true one, whichever was explained; methods without signs say neither.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from limelight.core.arrays import Integers
from limelight.corpus.analysis.means import Columns, Sums, share
from limelight.corpus.analysis.stop_words import is_folded
from limelight.corpus.analysis.words import LEAST_TEXTS, WordSums, plain
from limelight.corpus.store.flat_rows import Flat, is_wrong

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
class GuiltyWord:
    """A word in texts that are wrong in the same way.

    `texts` of them hold it, of `of` that hold it and were given this label: their share is `rate`, from `rate_low` to
    `rate_high`. `push` is its mean effect towards the mistake in them, from `low` to `high`; `total` is the sum of it.
    `row` is the text in which it pushes most.
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

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Accuracy:
    """How many labelled texts the model gets right."""

    labelled: int
    wrong: int

    @property
    def share(self) -> tuple[float, float, float]:
        """Of right texts, and the ends of its 95 % interval."""
        found = share(np.array([self.labelled - self.wrong]), np.array([self.labelled]))
        value, low, high = (float(own[0]) for own in found)
        return value, low, high


class Mistakes:
    """Counts and sums of the texts that have a true label."""

    def __init__(self, words: WordSums, signed: dict[str, bool]) -> None:
        self._words, self._signed = words, signed
        self._pushed: dict[tuple[str, Mistake], Sums] = {}
        self._held: dict[str, Columns] = {}
        self._labelled: dict[str, int] = {}
        self._confused: dict[Mistake, int] = {}
        self._wrong = 0
        words.follow(self._keep)

    def _keep(self, chosen: Integers) -> None:
        tables: list[Sums | Columns] = [*self._pushed.values(), *self._held.values()]
        for own in tables:
            own.grow(int(chosen.max(initial=0)) + 1)
            own.keep(chosen)

    def add(self, flat: Flat, ids: Integers) -> None:
        """A shard; `ids` are the numbers of its words."""
        pushing: dict[tuple[str, Mistake], list[tuple[int, float]]] = {}
        held: dict[str, list[int]] = {}
        for document in flat.documents():
            explained = [i for i in document if flat.heads[i].question is not None]
            head = flat.heads[explained[0]] if explained else None
            if head is None or head.truth is None or head.label is None:
                continue
            said = head.label if head.label in head.assigned else NO_LABEL
            self._labelled[said] = self._labelled.get(said, 0) + 1
            held.setdefault(said, []).append(explained[0])
            if not is_wrong(head):
                continue
            self._wrong += 1
            mistake = Mistake(said, head.truth)
            self._confused[mistake] = self._confused.get(mistake, 0) + 1
            for method, (i, sign) in self._guilty(flat, explained, mistake).items():
                pushing.setdefault((method, mistake), []).append((i, sign))
        for label, rows in held.items():
            counted = self._held.setdefault(label, Columns({"texts": 0}))
            counted.grow(int(ids.max(initial=0)) + 1)
            found, count = np.unique(flat.values(rows, ids).ids, return_counts=True)
            counted["texts"][found] += count
        for key, members in pushing.items():
            rows = [i for i, _ in members]
            values = flat.values(rows, ids)
            signs = {flat.heads[i].row: sign for i, sign in members}
            direction = np.array([signs[row] for row in values.rows.tolist()])
            self._pushed.setdefault(key, Sums()).add(values.times(direction))

    def _guilty(self, flat: Flat, rows: list[int], mistake: Mistake) -> dict[str, tuple[int, float]]:
        """For each method the row that tells what led to the mistake, and the sign of what led there."""
        found: dict[str, tuple[int, float]] = {}
        for i in rows:
            question = flat.heads[i].question
            if question is None or not self._signed.get(question.method, True):
                continue
            if question.target == mistake.label:
                found[question.method] = (i, 1.0)
            elif question.target == mistake.truth:
                found.setdefault(question.method, (i, -1.0))
        return found

    @property
    def accuracy(self) -> Accuracy | None:
        """None where the data has no labels."""
        labelled = sum(self._labelled.values())
        return Accuracy(labelled, self._wrong) if labelled else None

    def confusions(self) -> list[Confusion]:
        """The kinds of mistakes, the most frequent first."""
        lines = []
        for mistake, texts in self._confused.items():
            of = self._labelled[mistake.label]
            value, low, high = (float(own[0]) for own in share(np.array([texts]), np.array([of])))
            lines.append(Confusion(mistake, texts, of, value, low, high))
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
        limit: int | None = None,
    ) -> list[GuiltyWord]:
        """The words that led to a mistake: those told from zero first, by all that they pushed."""
        sums = self._pushed.get((method, mistake))
        if sums is None:
            return []
        names = self._words.names
        sums.grow(len(names))
        ids = np.flatnonzero(sums["n"][: len(names)] >= least_texts)
        called = [self._words.called(names[i]) for i in ids.tolist()]
        kept = [k for k, (word, _) in enumerate(called) if all_words or not is_folded(word)]
        ids, called = ids[kept], [called[k] for k in kept]
        means = sums.means(ids)
        held = self._held[mistake.label]
        held.grow(len(names))
        rate, low, high = share(means.texts, held["texts"][ids])
        total = means.mean * means.texts
        order = np.lexsort((ids, -total, ~means.told)).tolist()
        chosen = [k for k in order if means.mean[k] > 0.0][:limit]
        return [
            GuiltyWord(
                called[k][0],
                called[k][1],
                int(means.texts[k]),
                int(held["texts"][ids[k]]),
                float(rate[k]),
                float(low[k]),
                float(high[k]),
                float(means.mean[k]),
                float(means.low[k]),
                float(means.high[k]),
                bool(means.told[k]),
                float(total[k]),
                int(sums["largest_row"][ids[k]]),
            )
            for k in chosen
        ]
