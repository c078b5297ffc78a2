"""Texts with coloured words in HTML: one row per method, all of the same words in the same places.

A row is the same run of letters in the same font whatever its colours are, so that rows break alike and a word stands
below itself. Words told from zero are `mark`, the others `span`. Notebooks that are not trusted strip stylesheets: the
colours stand at the words too, as veils over whatever paper the notebook has, and no word is a `mark`, whose letters
would be black on dark paper as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from limelight.explanation.result import Explanation
from limelight.inputs.document import Span
from limelight.render.html.escaping import number, safe
from limelight.render.html.stylesheet import shade_class
from limelight.render.palette import LIGHT, Shade, hex_of
from limelight.render.pieces import BREAK, Piece, pieces, texts_of, without_tail
from limelight.render.row_model import SIDES, Drawn, drawn, drawn_groups

_VEIL = 0.6
"""How much of the deepest colour stands at a word for hosts that strip stylesheets: on light paper and on dark, the
host's own ink is readable on it."""


@dataclass(frozen=True)
class Coloured:
    """One explanation as it is drawn.

    `inline`: colours stand at the words too, for hosts that strip stylesheets. `aligned`: paragraphs are signs in the
    line, so that short rows stay one line.
    """

    explanation: Explanation
    words: Drawn
    groups: Drawn | None
    inline: bool
    aligned: bool

    @classmethod
    def of(cls, explanation: Explanation, *, inline: bool, aligned: bool) -> Coloured:
        return cls(explanation, drawn(explanation), drawn_groups(explanation), inline, aligned)

    def feature(self, text: str, j: int) -> str:
        """What is written of one feature: a word, or a shortened sentence."""
        return coloured(text, self.words.shades[j], inline=self.inline, unknown=j in self.words.unknown)

    def text(self) -> str:
        """The whole text; those of a pair each in a box of its own."""
        sides = texts_of(self.explanation)
        if len(sides) == 1:
            return self._line(*sides[0])
        return "".join(
            f'<div class="side" dir="auto"><small>{name}</small> {self._line(*side)}</div>'
            for name, side in zip(SIDES, sides, strict=True)
        )

    def _line(self, text: str, spans: Sequence[Sequence[Span]]) -> str:
        parts = without_tail(pieces(text, spans))
        if self.groups is None:
            return "".join(self._piece(piece) for piece in parts)
        return "".join(self._grouped(parts, self.groups))

    def _piece(self, piece: Piece) -> str:
        if piece.feature is not None:
            return self.feature(piece.text, piece.feature)
        if piece.text == BREAK:
            return ' <i class="x">⏎</i> ' if self.aligned else "<br><br>"
        return piece.text if piece.text.isspace() else f'<i class="x">{safe(piece.text)}</i>'

    def _grouped(self, parts: Sequence[Piece], groups: Drawn) -> Iterator[str]:
        """Each group in a box that begins with its weight; what follows its last word still belongs to it."""
        members = self.explanation.groups.members if self.explanation.groups else ()
        owner = {feature: g for g, own in enumerate(members) for feature in own}
        at: int | None = None
        for piece in parts:
            inside = at if piece.feature is None else owner.get(piece.feature)
            if inside != at and at is not None:
                yield "</bdi>"
            if inside != at and inside is not None:
                # The weight of a box is no word: `small` tells the two apart.
                look = _look(groups.shades[inside], self.inline, extra="weight")
                yield f'<bdi class="group"><small{look}>{number(groups.written(inside))}</small> '
            at = inside
            yield self._piece(piece)
        if at is not None:
            yield "</bdi>"


def coloured(text: str, shade: Shade, *, inline: bool, unknown: bool = False) -> str:
    """A run of letters in its shade."""
    element = "mark" if shade.level and not inline else "span"
    return f"<{element}{_look(shade, inline, extra='u' if unknown else '')}>{safe(text)}</{element}>"


def _look(shade: Shade, inline: bool, extra: str = "") -> str:
    names = " ".join(name for name in (shade_class(shade), extra) if name)
    style = ""
    if inline and shade.level:
        veil = f"{hex_of(LIGHT.deepest(shade.hue))}{round(255 * _VEIL * shade.depth):02x}"
        line = ";text-decoration:underline" if shade.underlined else ""
        style = f' style="background-color:{veil}{line}"'
    return (f' class="{names}"' if names else "") + style


def order_of(explanation: Explanation) -> list[int]:
    """The feature of each word that is drawn, in the order of the text."""
    return [
        piece.feature
        for text, spans in texts_of(explanation)
        for piece in without_tail(pieces(text, spans))
        if piece.feature is not None
    ]
