"""Weights in figures: a row per feature, a column per method, in as few tables as the width needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from limelight.render.row_model import RowModel
from limelight.render.terminal.style import TerminalStyle

_GAP = 2
"""Between columns: one for the padding, one that Rich keeps for a rule."""
_NARROWEST_WORDS = 8
_WIDEST_WORDS = 24
_WIDEST_PASSAGES = 48
_PASSAGE = 30
"""Columns from which a name is a passage's, which is shortened; a word is never, but goes on in the next line."""


def number_tables(
    levels: Sequence[tuple[str, RowModel]], chosen: Sequence[int], thing: str, style: TerminalStyle, width: int
) -> Iterator[RenderableType]:
    """The chosen features of explanations that share them, each with its name. One table if all fit beside the words;
    otherwise the next begins where the width ends. What is not significant stands in brackets."""
    marks = [max((style.mark(level, j) for _, level in levels), key=len) for j in chosen]
    widest = _WIDEST_WORDS
    names = []
    for mark, name in zip(marks, (levels[0][1].names[j] for j in chosen), strict=True):
        if cell_len(name) > _PASSAGE and " " in name:
            widest = max(min(_WIDEST_PASSAGES, width // 3), _NARROWEST_WORDS)
            name = style.shortened(name, widest)
        names.append(name + mark)
    longest = max(map(cell_len, (thing, *names)))
    words = max(min(longest, widest), _NARROWEST_WORDS)
    columns = [_column(level, head, chosen, style) for head, level in levels]
    for i, group in enumerate(_fitting(columns, width - words)):
        if i:
            yield Text()
        yield _table(thing, names, group, width, widest)


def _column(level: RowModel, head: str, chosen: Sequence[int], style: TerminalStyle) -> list[Text]:
    """The name of a method, and its weights as they are written."""
    cells = [Text(head)]
    for j in chosen:
        written, is_significant = style.plain(level.written(j)), level.significant[j]
        colour = style.paper + style.word(level.shades[j]) if is_significant else Style(dim=True)
        cells.append(Text(written if is_significant else f"({written})", style=colour))
    return cells


def _width(column: Sequence[Text]) -> int:
    return max(cell.cell_len for cell in column)


def _fitting(columns: Sequence[list[Text]], width: int) -> Iterator[list[list[Text]]]:
    group: list[list[Text]] = []
    for column in columns:
        if group and sum(_width(other) + _GAP for other in (*group, column)) > width:
            yield group
            group = []
        group.append(column)
    yield group


def _table(thing: str, names: Sequence[str], columns: Sequence[list[Text]], width: int, widest: int) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold"
    )
    figures = sum(_width(column) + _GAP for column in columns)
    table.add_column(thing, overflow="fold", max_width=max(min(widest, width - figures), _NARROWEST_WORDS // 2))
    for column in columns:
        table.add_column(column[0], justify="right", overflow="fold", no_wrap=_width(column) <= width // 2)
    for row in zip(map(Text, names), *(column[1:] for column in columns), strict=True):
        table.add_row(*row)
    return table
