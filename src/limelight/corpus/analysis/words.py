"""The words of a corpus: what each does on average, in how many texts, for and against.

One pass over the shards keeps sums per word and question, and nothing per text. Where there are more different words
than MOST_WORDS, the rarest are dropped, as in lossy counting (Manku and Motwani, 2002): one that comes back is counted
from then on, and `missed` says in how many texts it may have stood before. The mean of the rest is not touched by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from limelight.core.arrays import Floats, Integers, whole_number
from limelight.corpus.analysis.means import Columns, Means, Sums, share
from limelight.corpus.analysis.stop_words import is_folded
from limelight.corpus.store.flat_rows import Flat, Question, lookup
from limelight.errors import InputError, ParameterError, known_name, shown
from limelight.explanation.significance import FALSE_DISCOVERIES

MOST_WORDS = 500_000
"""Different words that are counted at once: about 100 bytes each, and as many for each question."""
LEAST_TEXTS = 5
"""Texts that a word must stand in to be listed: the spread of fewer tells little."""
WRONG_SIGNS = FALSE_DISCOVERIES / 2
"""Of the sampled weights that are told from zero: the share that may have the wrong sign."""

WordOrder = Literal["effect", "for", "against", "absolute", "signs", "texts", "word"]
"""By the size of the mean effect; from the most for, or against; by the mean absolute effect; by the least effect that
changes its sign between texts (the low ends of the rarer sign's share and of the mean absolute effect, multiplied); the
most frequent first; by name."""


@dataclass(frozen=True)
class WordLine:
    """One word, for one question.

    `texts` it stands in, and at most `missed` more. `mean`, from `low` to `high`: its effect over texts like these;
    `sampling`: half of the interval for the mean over these very texts. `told`: whether the mean is told from zero. The
    next three are of absolute effects. `speaks_for` and `speaks_against`: texts in which its weight is told from zero,
    by its sign; `minority`, from `minority_low`: the rarer sign's share of these. Rows of the texts in which it has its
    largest and its smallest weight; `side`: the text of a pair, 0 or 1, that it stands in.
    """

    word: str
    side: int | None
    texts: int
    missed: int
    mean: float
    low: float
    high: float
    sampling: float
    told: bool
    absolute: float
    absolute_low: float
    absolute_high: float
    speaks_for: int
    speaks_against: int
    minority: float
    minority_low: float
    largest: float
    largest_row: int
    smallest: float
    smallest_row: int


@dataclass(frozen=True)
class WordTable:
    """Words for one question: `lines` are those from `offset` on, of `total` that were asked for.

    `texts` were explained. `words` are all that stand in enough of them; `folded` of these were left out as stop words
    and punctuation, which had the share `folded_share` of all absolute effects. `rare` stand in too few texts. `level`
    is that of the intervals; among the words that are told, intervals miss in 5 % of cases. `accuracy` counts how the
    weights were computed: what is approximate has an error that is in no interval.
    """

    question: Question
    texts: int
    accuracy: dict[str, int]
    words: int
    folded: int
    folded_share: float
    rare: int
    level: float
    total: int
    offset: int
    lines: tuple[WordLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: what is infinite or not known is None."""
        return {
            **{name: plain(value) for name, value in vars(self).items() if name not in ("question", "lines")},
            "question": self.question._asdict(),
            "lines": [{name: plain(value) for name, value in asdict(line).items()} for line in self.lines],
        }


def plain(value: Any) -> Any:
    """A value as JSON has it: no infinity and no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


class WordSums:
    """Sums per word and question, shard by shard."""

    def __init__(self, *, pairs: bool, most_words: int = MOST_WORDS) -> None:
        self._pairs, self._most = pairs, most_words
        self._index: dict[str, int] = {}
        self._sums: dict[Question, Sums] = {}
        self._missed = Columns({"missed": 0})
        self._bound = 0
        self._texts: dict[Question, int] = {}
        self._accuracy: dict[Question, dict[str, int]] = {}
        self._followers: list[Callable[[Integers], None]] = []

    @property
    def questions(self) -> tuple[Question, ...]:
        """All that was asked, in the order in which it first came."""
        return tuple(self._sums)

    @property
    def names(self) -> list[str]:
        """The words by their numbers."""
        return list(self._index)

    def follow(self, keep: Callable[[Integers], None]) -> None:
        """Let another table of the same words be told when some are dropped."""
        self._followers.append(keep)

    def add(self, flat: Flat) -> Integers:
        """Take a shard up; what is returned are the numbers of its words, which hold until `trim`."""
        known = len(self._index)
        ids = lookup(flat.words, self._index)
        self._missed.grow(len(self._index))
        self._missed["missed"][known : len(self._index)] = self._bound
        asked: dict[Question, list[int]] = {}
        for i, head in enumerate(flat.heads):
            if head.question is not None:
                asked.setdefault(head.question, []).append(i)
        for question, rows in asked.items():
            sums = self._sums.setdefault(question, Sums())
            sums.add(flat.values(rows, ids))
            self._texts[question] = self._texts.get(question, 0) + len(rows)
            computed = self._accuracy.setdefault(question, {})
            for i in rows:
                name = str(flat.heads[i].accuracy)
                computed[name] = computed.get(name, 0) + 1
        return ids

    def trim(self) -> None:
        """Drop the rarest words where there are too many; call it after each shard."""
        size = len(self._index)
        if size <= self._most:
            return
        for sums in self._sums.values():
            sums.grow(size)
        seen = np.max([sums["n"][:size] for sums in self._sums.values()], axis=0)
        most = seen + self._missed["missed"][:size]
        self._bound = int(np.partition(most, size - self._most // 2)[size - self._most // 2])
        chosen = np.flatnonzero(most > self._bound)
        names = self.names
        self._index = {names[i]: at for at, i in enumerate(chosen.tolist())}
        for sums in self._sums.values():
            sums.keep(chosen)
        self._missed.keep(chosen)
        for keep in self._followers:
            keep(chosen)

    def sums(self, question: Question) -> Sums:
        return self._sums[question]

    def texts(self, question: Question) -> int:
        return self._texts[question]

    def question(self, method: str | None, target: str | None, against: str | None) -> Question:
        """The question of this method and label; the first one where nothing is said."""
        if not self._sums:
            raise InputError("the corpus has no explained text yet, so it has no words: run it first")
        found = list(self._sums)
        if method is not None:
            known_name("method of this corpus", method, dict.fromkeys(own.method for own in found))
            found = [own for own in found if own.method == method]
        if target is not None:
            known_name("target of this corpus", target, dict.fromkeys(own.target for own in found))
            found = [own for own in found if own.target == target]
        if against is not None:
            known_name("label to compare with", against, dict.fromkeys(str(own.against) for own in found))
            found = [own for own in found if own.against == against]
        if not found:
            raise InputError(
                f"the corpus has no explanation of {shown(target)} by {shown(method)}: it has "
                f"{', '.join(f'{own.target} by {own.method}' for own in self._sums)}"
            )
        return found[0]

    def table(
        self,
        question: Question,
        *,
        order: WordOrder = "effect",
        contains: str | None = None,
        all_words: bool = False,
        least_texts: int = LEAST_TEXTS,
        offset: int = 0,
        limit: int | None = None,
    ) -> WordTable:
        """The words of a question; see `Corpus.words`."""
        known_name("order of words", order, get_args(WordOrder))
        whole_number("least_texts", least_texts, 1)
        whole_number("offset", offset, 0)
        if limit is not None:
            whole_number("limit", limit, 1)
        if contains is not None and not isinstance(contains, str):
            raise ParameterError(f"contains must be a string, a part of a word: got {shown(contains)}")
        sums, names = self._sums[question], self.names
        sums.grow(len(names))
        texts = sums["n"][: len(names)]
        frequent = np.flatnonzero(texts >= least_texts)
        folded = np.array([is_folded(self.called(names[i])[0]) for i in frequent.tolist()], dtype=bool)
        if all_words:
            folded[:] = False
        handed_out = sums["absolute"][frequent] * texts[frequent]
        ids = frequent[~folded]
        means = sums.means(ids)
        signs = _Signs.of(sums, ids)
        chosen = _ordered(order, means, signs, [names[i] for i in ids.tolist()], self._is_sampled(question))
        if contains is not None:
            part = contains.lower()
            chosen = [k for k in chosen if part in self.called(names[int(ids[k])])[0].lower()]
        shown_lines = chosen[offset : None if limit is None else offset + limit]
        return WordTable(
            question,
            self._texts[question],
            dict(sorted(self._accuracy[question].items())),
            len(frequent),
            int(folded.sum()),
            float(handed_out[folded].sum() / handed_out.sum()) if handed_out.sum() > 0.0 else 0.0,
            int((texts > 0).sum()) - len(frequent),
            means.level,
            len(chosen),
            offset,
            tuple(self._line(names[int(ids[k])], int(ids[k]), k, sums, means, signs) for k in shown_lines),
        )

    def _is_sampled(self, question: Question) -> bool:
        return "sampled" in self._accuracy[question]

    def called(self, name: str) -> tuple[str, int | None]:
        """A word and, of a pair, the text that it stands in."""
        return (name[1:], int(name[0])) if self._pairs else (name, None)

    def _line(self, name: str, i: int, k: int, sums: Sums, means: Means, signs: _Signs) -> WordLine:
        """The word of number i, which is number k of the table."""
        word, side = self.called(name)
        return WordLine(
            word,
            side,
            int(means.texts[k]),
            int(self._missed["missed"][i]),
            float(means.mean[k]),
            float(means.low[k]),
            float(means.high[k]),
            float(means.sampling[k]),
            bool(means.told[k]),
            float(means.absolute[k]),
            float(means.absolute_low[k]),
            float(means.absolute_high[k]),
            int(sums["speaks_for"][i]),
            int(sums["speaks_against"][i]),
            float(signs.minority[k]),
            float(signs.low[k]),
            float(sums["largest"][i]),
            int(sums["largest_row"][i]),
            float(sums["smallest"][i]),
            int(sums["smallest_row"][i]),
        )


@dataclass(frozen=True)
class _Signs:
    """The share of the rarer sign among weights told from zero, and the low end of its interval."""

    minority: Floats
    low: Floats

    @classmethod
    def of(cls, sums: Sums, ids: Integers) -> _Signs:
        one, other = sums["speaks_for"][ids], sums["speaks_against"][ids]
        minority, low, _ = share(np.minimum(one, other), one + other)
        return cls(minority, low)


def _ordered(order: WordOrder, means: Means, signs: _Signs, names: list[str], sampled: bool) -> list[int]:
    """The numbers of the words to list; what is told from zero goes first where effects are asked for."""
    untold = ~means.told
    keys: dict[str, tuple[Any, ...]] = {
        "effect": (-np.abs(means.mean), untold),
        "for": (-means.mean, untold),
        "against": (means.mean, untold),
        "absolute": (-means.absolute,),
        "texts": (-means.texts,),
        "signs": (-np.nan_to_num(signs.low) * means.absolute_low,),
        "word": (),
    }
    by_name = np.argsort(np.array(names, dtype=object), kind="stable") if names else np.zeros(0, dtype=np.int64)
    place = np.empty(len(names), dtype=np.int64)
    place[by_name] = np.arange(len(names))
    chosen = np.lexsort((place, *keys[order])).tolist()
    if order == "signs":
        least = WRONG_SIGNS if sampled else 0.0
        return [k for k in chosen if signs.minority[k] > 0.0 and signs.low[k] > least]
    return chosen
