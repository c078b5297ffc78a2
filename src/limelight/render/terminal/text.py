"""The text itself on a terminal, with its words coloured or marked: whole, in its order, whatever it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from limelight.explanation.result import Explanation
from limelight.inputs.document import JOINT
from limelight.render.pieces import BREAK, CUT, SPACE, Piece, pieces, without_tail
from limelight.render.row_model import SIDES, RowModel, group_model, row_model
from limelight.render.terminal.style import TerminalStyle

_BESIDE = 30
"""Columns of text that must remain beside a name; with fewer the name goes above."""
_LINES_OF_A_ROW, _LINES_OF_A_SCREEN = 3, 24


class TerminalText:
    """The text of one explanation, in paragraphs. Before each stands which text of a pair it is, what a sentence
    weighs."""

    def __init__(self, explanation: Explanation, style: TerminalStyle, words: RowModel | None = None) -> None:
        self._explanation, self._style = explanation, style
        self._words, self._groups = words or row_model(explanation), group_model(explanation)
        self._paragraphs = [(head, body) for head, body in self._cut() if body]
        longest = max((head.cell_len for head, _ in self._paragraphs), default=0)
        self._beside = longest + 2 if longest else 0
        if not self._words.significant.any() and self._paragraphs:
            self._paragraphs[-1][1].append(f"  ({self._words.none_significant})", style="dim")

    def lines(self, width: int) -> int:
        """About how many lines it takes."""
        room = max(width - self._beside, 1)
        return sum(-(-max(body.cell_len, 1) // room) for _, body in self._paragraphs)

    def on_paper(self, *, expand: bool) -> RenderableType:
        """The text on its paper, which reaches the end of each line with `expand`."""
        bodies = [Padding(body, 0, style=self._style.paper, expand=expand) for _, body in self._paragraphs]
        if not self._beside:
            return Group(*bodies)
        table = Table.grid(padding=(0, 2, 0, 0), expand=expand)
        table.add_column(no_wrap=True, width=self._beside - 2, justify="right")
        table.add_column(overflow="fold", ratio=1 if expand else None)
        for (head, _), body in zip(self._paragraphs, bodies, strict=True):
            table.add_row(head, body)
        return table

    @property
    def _second(self) -> int:
        """Beginning of the second text of a pair; 0 where there is none."""
        text = self._explanation.text
        return 0 if isinstance(text, str) else len(text[0]) + len(JOINT)

    def _cut(self) -> Iterator[tuple[Text, Text]]:
        """One paragraph, one per text of a pair, or one per group."""
        text, spans = self._explanation.joined_text, self._explanation.joined_spans
        heads = dict(self._heads())
        starts = sorted({0, *heads})
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            own = [tuple((a - start, b - start) for a, b in places if start <= a and b <= end) for places in spans]
            parts = pieces(text[start:end], own)
            ends_a_text = end in (self._second, len(text))
            yield heads.get(start, Text()), self._body(without_tail(parts) if ends_a_text else parts)

    def _heads(self) -> Iterator[tuple[int, Text]]:
        """Beginnings of paragraphs, each with the letters that stand before it."""
        explanation, groups, second = self._explanation, self._groups, self._second
        if second:
            yield from ((start, Text(head, style="dim")) for start, head in zip((0, second), SIDES, strict=True))
        if groups is None or explanation.groups is None:
            return
        sides = explanation.groups.sides or [0] * len(explanation.groups)
        for g, (places, side) in enumerate(zip(explanation.groups.spans, sides, strict=True)):
            written = self._style.plain(groups.digits.write(float(explanation.groups.weights[g])))
            weight = Text(
                written if groups.significant[g] else f"({written})",
                style=self._style.paper + self._style.word(groups.shades[g]),
            )
            head = Text.assemble((f"{SIDES[side]} ", "dim"), weight) if second else weight
            yield min((a for a, _ in places), default=0) + (second if side else 0), head

    def _body(self, parts: Sequence[Piece]) -> Text:
        style, words, text = self._style, self._words, Text(overflow="fold")
        end = max((i + 1 for i, piece in enumerate(parts) if piece.text not in (SPACE, BREAK)), default=0)
        for piece in parts[:end]:
            if (j := piece.feature) is not None:
                before, after = style.marks(words.shades[j], float(words.weights.weights[j]))
                text.append(f"{before}{piece.text}{style.mark(words, j)}{after}", style=style.word(words.shades[j]))
            elif piece.text == BREAK:
                text.append(f"{SPACE if text else ''}{style.plain('⏎')} ", style="dim")
            else:
                shown = style.plain(piece.text) if piece.text == CUT else piece.text
                text.append(shown, style="" if piece.text == SPACE else "dim")
        return text


def fits_a_screen(texts: Sequence[TerminalText], width: int) -> bool:
    """Whether the text may be repeated for each explanation; a text of few lines always may."""
    lines = max(text.lines(width) for text in texts)
    return lines <= _LINES_OF_A_ROW or lines * len(texts) <= _LINES_OF_A_SCREEN


def rows(names: Sequence[str], texts: Sequence[TerminalText], width: int) -> Iterator[RenderableType]:
    """Each text beside its name, as in the paper's Figure 1; below it where there is little room."""
    heads = [Text(name, style="bold", overflow="ellipsis") for name in names]
    beside = max(head.cell_len for head in heads) + 2
    if width - beside < _BESIDE:
        for i, (head, text) in enumerate(zip(heads, texts, strict=True)):
            if i:
                yield Text()
            yield head
            yield text.on_paper(expand=True)
        return
    table = Table.grid(padding=0)
    table.add_column(no_wrap=True, width=beside)
    table.add_column(overflow="fold")
    wraps = any(text.lines(width - beside) > 1 for text in texts)
    for i, (head, text) in enumerate(zip(heads, texts, strict=True)):
        if i and wraps:  # texts of several lines need air between them; short ones stand closer, as in the figure
            table.add_row()
        table.add_row(head, text.on_paper(expand=wraps))
    yield table
