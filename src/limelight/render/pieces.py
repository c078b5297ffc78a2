"""A text cut into what is drawn: words that carry a weight, what stands between them, spaces and line breaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation
from limelight.inputs.document import Span

SPACE = " "
BREAK = "\n"
CUT = "[…]"
_TAIL_SHOWN = 12
"""Pieces after the last feature that are shown: closing quotes and the like."""

_MARKUP_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_BLANK = re.compile(r"((?:\s|<br\s*/?>)+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to draw, safe to print; `feature` is the index of the feature it belongs to, if any."""

    text: str
    feature: int | None = None


def pieces(text: str, spans: Sequence[Sequence[Span]]) -> list[Piece]:
    """The whole text in its order. Blanks are one SPACE; `<br />` or an empty line is one BREAK.

    A single newline is a SPACE: files are often wrapped at some column that means nothing here.
    """
    owned = sorted((start, end, feature) for feature, own in enumerate(spans) for start, end in own)
    drawn: list[Piece] = []
    at = 0
    for start, end, feature in owned:
        if start < at:  # overlaps a word already drawn: no character is shown twice
            continue
        drawn += _between(text[at:start])
        # A passage may go over several lines of a file, which mean nothing here.
        drawn.append(Piece(visible(_BLANK.sub(SPACE, text[start:end])), feature))
        at = end
    return drawn + _between(text[at:])


def without_tail(drawn: Sequence[Piece]) -> list[Piece]:
    """Pieces with "[…]" in place of a long rest that belongs to no feature: the text was cut there.

    A row per method would otherwise repeat all that no method has read. A text without any feature is the context of
    the other one of a pair, and is shown.
    """
    end = max((i + 1 for i, piece in enumerate(drawn) if piece.feature is not None), default=0)
    if end == 0 or len(drawn) - end <= _TAIL_SHOWN:
        return list(drawn)
    return [*drawn[:end], Piece(SPACE), Piece(CUT)]


def texts_of(explanation: Explanation) -> list[tuple[str, tuple[tuple[Span, ...], ...]]]:
    """The text, or the two of a pair, each with the places of all features in it: none for those of the other text."""
    if isinstance(explanation.text, str):
        return [(explanation.text, explanation.spans)]
    sides = explanation.sides or (0,) * len(explanation)
    return [
        (text, tuple(own if at == side else () for own, at in zip(explanation.spans, sides, strict=True)))
        for side, text in enumerate(explanation.text)
    ]


def shown_pieces(explanation: Explanation) -> list[list[Piece]]:
    """The pieces of the text that are shown, or of the two of a pair."""
    return [without_tail(pieces(text, spans)) for text, spans in texts_of(explanation)]


def order_of(explanation: Explanation) -> list[int]:
    """The feature of each word that is shown, in the order of the text."""
    return [piece.feature for own in shown_pieces(explanation) for piece in own if piece.feature is not None]


def owners_of(explanation: Explanation) -> dict[int, int]:
    """The group of each feature, where there are two levels."""
    groups = explanation.groups
    return {} if groups is None else {feature: g for g, own in enumerate(groups.members) for feature in own}


def unread(explanation: Explanation) -> str:
    """The end of a text that rows leave out, because no feature stands in it."""
    text, spans = texts_of(explanation)[-1]
    drawn = pieces(text, spans)
    if len(without_tail(drawn)) == len(drawn):
        return ""
    return text[max(end for own in spans for _, end in own) :].strip()


def _between(text: str) -> list[Piece]:
    return [_blank(part) if i % 2 else Piece(visible(part)) for i, part in enumerate(_BLANK.split(text)) if part]


def _blank(run: str) -> Piece:
    is_break = _MARKUP_BREAK.search(run) or len(run.splitlines()) > 2 or run.count("\n") > 1
    return Piece(BREAK if is_break else SPACE)
