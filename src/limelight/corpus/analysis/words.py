"""The words of a corpus: what each does on average, in how many texts, for and against.

One pass over the shards keeps sums per word and question, and nothing per text. Where there are more different words
than MOST_WORDS, the rarest are dropped, as in lossy counting (Manku and Motwani, 2002): one that comes back is counted
from then on, and `missed` says in how many texts it may have stood before. The mean of the rest is not touched by it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from limelight.core.arrays import Integers, whole_number
from limelight.corpus.analysis.flat_rows import Flat, Plain, Question, lines_of
from limelight.corpus.analysis.means import Columns, Sums, fraction
from limelight.errors import InputError, ParameterError, known_name, shown
from limelight.explanation.significance import FALSE_DISCOVERIES

MOST_WORDS = 500_000
"""Different words that are counted at once: about 100 bytes each, and as many for each question."""
LEAST_TEXTS = 5
"""Texts that a word must stand in to be listed: the spread of fewer tells little."""
WRONG_SIGNS = FALSE_DISCOVERIES / 2
"""The fraction of significant sampled weights that may have the wrong sign."""

WordOrder = Literal["effect", "for", "against", "absolute", "signs", "texts", "word"]
"""By the size of the mean effect; from the most for, or against; by the mean absolute effect; by the least effect that
changes its sign between texts (the low ends of the fraction of the rarer sign and of the mean absolute effect,
multiplied); the most frequent first; by name."""


@dataclass(frozen=True)
class WordLine(Plain):
    """One word, for one question.

    `texts` it stands in, and at most `missed` more. `mean`, from `low` to `high`: its effect over texts like these;
    `sampling`: half of the interval for the mean over these very texts. `told`: whether the mean is significant. The
    next three are of absolute effects. `speaks_for` and `speaks_against`: texts in which its weight is significant, by
    its sign; `minority`, from `minority_low`: the fraction of these that has the rarer sign. Rows of the texts in which
    it has its largest and its smallest weight; `side`: the text of a pair, 0 or 1, that it stands in.
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
class WordTable(Plain):
    """Words for one question: `lines` are those from `offset` on, of `total` that were asked for.

    `texts` were explained. `words` are all that stand in enough of them; `folded` of these were left out as stop words
    and punctuation, which had the fraction `folded_share` of all absolute effects. `rare` stand in too few texts.
    `level` is that of the intervals; among the significant words, intervals miss in 5 % of cases. `accuracy` counts how
    the weights were computed: what is approximate has an error that is in no interval.
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


class WordOptions(TypedDict, total=False):
    """Which words a table has, and in which order; see `Corpus.words`."""

    order: WordOrder
    contains: str | None
    all_words: bool
    least_texts: int
    offset: int
    limit: int | None


class WordSums:
    """Sums per word and question, shard by shard."""

    def __init__(self, *, pairs: bool, most_words: int = MOST_WORDS) -> None:
        self.vocabulary = Vocabulary(pairs=pairs)
        self._most = most_words
        self._sums: dict[Question, Sums] = {}
        self._missed = Columns({"missed": 0})
        self._bound = 0
        self._accuracy: dict[Question, Counter[str]] = defaultdict(Counter)

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions of the run, in the order in which they first came."""
        return tuple(self._sums)

    def add(self, flat: Flat) -> Integers:
        """Add a shard; returns the numbers of its words, which hold until `trim`."""
        known = len(self.vocabulary)
        ids = self.vocabulary.numbers(flat.words)
        self._missed.grow(len(self.vocabulary))
        self._missed["missed"][known : len(self.vocabulary)] = self._bound
        for question, rows in flat.by_question().items():
            self._sums.setdefault(question, Sums()).add(flat.values(rows, ids))
            self._accuracy[question].update(str(flat.heads[i].accuracy) for i in rows)
        return ids

    def trim(self) -> Integers | None:
        """Drop the rarest words where there are too many: returns the numbers of those that stay, or None."""
        size = len(self.vocabulary)
        if size <= self._most:
            return None
        for sums in self._sums.values():
            sums.grow(size)
        seen = np.max([sums["n"][:size] for sums in self._sums.values()], axis=0)
        most = seen + self._missed["missed"][:size]
        self._bound = int(np.partition(most, size - self._most // 2)[size - self._most // 2])
        chosen = np.flatnonzero(most > self._bound)
        self.vocabulary.keep(chosen)
        for columns in (self._missed, *self._sums.values()):
            columns.keep(chosen)
        return chosen

    def question(self, method: str | None, target: str | None, against: str | None) -> Question:
        """The question of this method and label; the first one where nothing is said."""
        if not self._sums:
            raise InputError("the corpus has no explained text yet, so it has no words: run it first")
        found = list(self._sums)
        for i, (kind, value) in enumerate(
            (("method of this corpus", method), ("target of this corpus", target), ("label to compare with", against))
        ):
            if value is not None:
                known_name(kind, value, dict.fromkeys(str(own[i]) for own in found if own[i] is not None))
                found = [own for own in found if own[i] == value]
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
        sums, accuracy = self._sums[question], self._accuracy[question]
        sums.grow(len(self.vocabulary))
        texts = sums["n"][: len(self.vocabulary)]
        frequent = np.flatnonzero(texts >= least_texts)
        folded = self.vocabulary.is_folded(frequent) & (not all_words)
        effects = sums["absolute"][frequent] * texts[frequent]
        level, columns = self._columns(sums, frequent[~folded])
        chosen = _ordered(order, columns, "sampled" in accuracy)
        if contains is not None:
            chosen = [k for k in chosen if contains.lower() in columns["word"][k].lower()]
        return WordTable(
            question,
            accuracy.total(),
            dict(sorted(accuracy.items())),
            len(frequent),
            int(folded.sum()),
            float(effects[folded].sum() / effects.sum()) if effects.sum() > 0.0 else 0.0,
            int((texts > 0).sum()) - len(frequent),
            level,
            len(chosen),
            offset,
            lines_of(WordLine, columns, chosen[offset : None if limit is None else offset + limit]),
        )

    def _columns(self, sums: Sums, ids: Integers) -> tuple[float, dict[str, Any]]:
        """The level of the intervals of these words, and all that their lines say."""
        level, means = sums.means(ids)
        counted = ("speaks_for", "speaks_against", "largest", "largest_row", "smallest", "smallest_row")
        columns = {"missed": self._missed["missed"][ids], **means, **{name: sums[name][ids] for name in counted}}
        signs = np.stack([columns["speaks_for"], columns["speaks_against"]])
        columns["minority"], columns["minority_low"], _ = fraction(signs.min(axis=0), signs.sum(axis=0))
        return level, {**self.vocabulary.columns(ids), **columns}


def _ordered(order: WordOrder, columns: dict[str, Any], sampled: bool) -> Sequence[int]:
    """The numbers of the words to list; the significant ones go first where effects are asked for."""
    mean, low, untold = columns["mean"], columns["minority_low"], ~columns["told"]
    keys: dict[str, tuple[Any, ...]] = {
        "effect": (-np.abs(mean), untold),
        "for": (-mean, untold),
        "against": (mean, untold),
        "absolute": (-columns["absolute"],),
        "texts": (-columns["texts"],),
        "signs": (-np.nan_to_num(low) * columns["absolute_low"],),
        "word": (),
    }
    names = [(side or 0, word) for side, word in zip(columns["side"], columns["word"], strict=True)]
    by_name = sorted(range(len(names)), key=names.__getitem__)
    chosen = np.lexsort((np.argsort(by_name), *keys[order]))
    if order == "signs":
        chosen = chosen[(columns["minority"][chosen] > 0.0) & (low[chosen] > (WRONG_SIGNS if sampled else 0.0))]
    found: list[int] = chosen.tolist()
    return found


# ── the words of all texts by their numbers ───────────────────────────────────────────────────────────────────────────

STOP_WORDS = frozenset(
    """
    a an the this that these those such
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones
    who whom whose which what
    am is are was were be been being do does did doing done has have had having will would shall should can could may
    might must
    and or nor if then than as so because while when where how why until since
    of at by for with about into through during before after to from in on onto upon over under between among against
    out up down off again further here there
    all any both each other others some same own also
    s t d m ll re ve
    """.split()
)
"""English words that say little by themselves, and pieces of them, in lower case, as limelight's own rule cuts them:
"it's" is "it", an apostrophe and "s". Words that turn or grade a sentence (not, no, never, but, too, very, only, pieces
such as "don" of "don't") are none of them: they are often what decides."""
_SIGNS = ("P", "Z", "C", "Sm", "Sc", "Sk")
"""Categories of characters that make no word by themselves. Emoji and ideographs are words."""


def is_folded(word: str) -> bool:
    """Whether a word is folded away by default: a stop word, or signs alone."""
    return word.lower() in STOP_WORDS or all(unicodedata.category(own).startswith(_SIGNS) for own in word)


class Vocabulary:
    """Different words, numbered as they come.

    `pairs`: a word begins with the digit of the text that it stands in, so that it counts in each of the two apart.
    """

    def __init__(self, *, pairs: bool) -> None:
        self._pairs = pairs
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, words: Sequence[str]) -> Integers:
        """The number of each word; new ones are taken up."""
        own = self._numbers
        return np.fromiter((own.setdefault(word, len(own)) for word in words), dtype=np.int64, count=len(words))

    def keep(self, chosen: Integers) -> None:
        """Only these words, numbered in this order."""
        names = list(self._numbers)
        self._numbers = {names[i]: at for at, i in enumerate(chosen.tolist())}

    def columns(self, ids: Integers) -> dict[str, list[Any]]:
        """These words, and the text of a pair that each stands in."""
        names = list(self._numbers)
        words = [names[i] for i in ids.tolist()]
        if not self._pairs:
            return {"word": words, "side": [None] * len(words)}
        return {"word": [own[1:] for own in words], "side": [int(own[0]) for own in words]}

    def is_folded(self, ids: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For each of these words whether it is folded away."""
        return np.array([is_folded(word) for word in self.columns(ids)["word"]], dtype=bool)

    def frequent(self, texts: Integers, least_texts: int, all_words: bool) -> Integers:
        """The words that stand in enough texts, without those that are folded away unless `all_words`."""
        ids = np.flatnonzero(texts[: len(self)] >= least_texts)
        return ids if all_words else ids[~self.is_folded(ids)]
