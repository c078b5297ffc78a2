"""Texts with coloured words in HTML: one row per method, all of the same words in the same places.

A row is the same run of letters in the same font whatever its colours are, so that rows break alike and a word stands
below itself. Significant words are `mark`, the others `span`. Notebooks that are not trusted strip stylesheets: the
colours stand at the words too, as veils over whatever paper the notebook has, and no word is a `mark`, whose letters
would be black on dark paper as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from limelight.explanation.result import Explanation
from limelight.render.html.escaping import number, safe
from limelight.render.html.stylesheet import shade_class
from limelight.render.palette import LIGHT, Shade, hex_of
from limelight.render.pieces import BREAK, Piece, owners_of, shown_pieces
from limelight.render.row_model import SIDES, RowModel, group_model, row_model

_VEIL = 0.6
"""How much of the deepest colour stands at a word for hosts that strip stylesheets: on light paper and on dark, the
host's own ink is readable on it."""


@dataclass(frozen=True)
class HtmlText:
    """One explanation as it is drawn.

    `inline`: colours stand at the words too, for hosts that strip stylesheets. `aligned`: paragraphs are signs in the
    line, so that short rows stay one line.
    """

    explanation: Explanation
    words: RowModel
    groups: RowModel | None
    inline: bool
    aligned: bool

    @classmethod
    def of(cls, explanation: Explanation, *, inline: bool, aligned: bool, words: RowModel | None = None) -> HtmlText:
        """`words`: as they are drawn beside other explanations, on one scale."""
        return cls(explanation, words or row_model(explanation), group_model(explanation), inline, aligned)

    def feature(self, text: str, j: int) -> str:
        """One feature in its colour: a word, or a shortened sentence."""
        return coloured(text, self.words.shades[j], inline=self.inline, unknown=j in self.words.unknown)

    def text(self) -> str:
        """The whole text; those of a pair each in a box of its own."""
        lines = ["".join(self._line(parts)) for parts in shown_pieces(self.explanation)]
        if len(lines) == 1:
            return lines[0]
        return "".join(
            f'<div class="side" dir="auto"><small>{name}</small> {line}</div>'
            for name, line in zip(SIDES, lines, strict=True)
        )

    def _piece(self, piece: Piece) -> str:
        if piece.feature is not None:
            return self.feature(piece.text, piece.feature)
        if piece.text == BREAK:
            return ' <i class="x">⏎</i> ' if self.aligned else "<br><br>"
        return piece.text if piece.text.isspace() else f'<i class="x">{safe(piece.text)}</i>'

    def _line(self, parts: Sequence[Piece]) -> Iterator[str]:
        """Each group in a box that begins with its weight; what follows its last word still belongs to it."""
        groups, owner, at = self.groups, owners_of(self.explanation), None
        for piece in parts:
            inside = at if piece.feature is None else owner.get(piece.feature)
            if inside != at and at is not None:
                yield "</bdi>"
            if inside != at and inside is not None and groups is not None:
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
