"""A text, or a pair of texts, with words replaced by a string or cut out, or with masks put between them."""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Coalitions, Integers
from limelight.inputs.document import Document, Span, Text
from limelight.inputs.features import NOBODY, Features


class Variants:
    """What a function reads where features of a document are removed. The texts of a pair are changed one by one."""

    def __init__(self, document: Document, features: Features, replacement: str) -> None:
        owned = [(word, int(j)) for word, j in zip(document.words, features.owners, strict=True) if j != NOBODY]
        self._cutters = [
            _Cutter(
                document.text[start:end],
                [((word.start - start, word.end - start), j) for word, j in owned if start <= word.start < end],
                replacement,
            )
            for start, end in document.sides
        ]
        self.longest = sum(cutter.longest for cutter in self._cutters)
        """No variant has more characters."""

    def without(self, kept: Coalitions) -> Text:
        """The variant of one coalition."""
        first, *second = [cutter.without(kept) for cutter in self._cutters]
        return (first, second[0]) if second else first


class _Cutter:
    """One text, and the words of it that can be removed: where each stands, and whose it is."""

    def __init__(self, text: str, owned: list[tuple[Span, int]], replacement: str) -> None:
        self._replacement = replacement
        self._owners = np.array([j for _, j in owned], dtype=np.int64)
        ends = [0, *(end for (_, end), _ in owned)]
        starts = [*(start for (start, _), _ in owned), len(text)]
        # Words stand between what is around them: at 1, 3, 5, …
        self._pieces = np.empty(2 * len(owned) + 1, dtype=object)
        self._pieces[0::2] = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        self._pieces[1::2] = [text[start:end] for (start, end), _ in owned]
        self.longest = len(text) + len(owned) * len(replacement)

    def without(self, kept: Coalitions) -> str:
        pieces = self._pieces.copy()
        pieces[1::2][~kept[self._owners]] = self._replacement
        return "".join(pieces.tolist())


def with_inserted(document: Document, mask: str, counts: Integers) -> Text:
    """The text of a document with so many masks before its first word (counts[0]) and behind each word.

    Spaces keep a mask apart from the word before it, and from the first word.
    """
    first = document.words[0].start
    sides = []
    for start, end in document.sides:
        written, done = [], start
        if start <= first < end:
            written += [document.text[start:first], f"{mask} " * int(counts[0])]
            done = first
        for word, count in zip(document.words, counts[1:].tolist(), strict=True):
            if count and start <= word.start < end:
                written += [document.text[done : word.end], f" {mask}" * count]
                done = word.end
        sides.append("".join([*written, document.text[done:end]]))
    return (sides[0], sides[1]) if len(sides) == 2 else sides[0]
