"""A text, or a pair of texts, with masks put in where nothing is removed."""

from __future__ import annotations

from limelight.core.arrays import Integers
from limelight.inputs.document import Document, Text


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
