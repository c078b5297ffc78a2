"""The words of all texts by their numbers, and which of them are folded away."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from limelight.core.arrays import Integers

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
