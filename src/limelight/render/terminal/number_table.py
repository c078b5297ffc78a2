"""Weights in figures: a row per feature, a column per method, in as few tables as the width needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from limelight.render.row_model import Drawn
from limelight.render.terminal.style import UNKNOWN, Ink
from limelight.render.terminal.summary import shortened

_GAP = 2
"""Between columns: one for the padding, one that Rich keeps for a rule."""
_NARROWEST_WORDS = 8
_WIDEST_WORDS = 24
_WIDEST_PASSAGES = 48
_PASSAGE = 30
"""Columns from which a name is a passage's, which is shortened; a word is never, but goes on in the next line."""


@dataclass(frozen=True)
class _Column:
    """One method's weights as written."""

    head: str
    cells: list[str]
    styles: list[Style]

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.head, *self.cells)))


def number_tables(
    levels: Sequence[Drawn], heads: Sequence[str], chosen: Sequence[int], thing: str, ink: Ink, width: int
) -> Iterator[RenderableType]:
    """The chosen features of explanations that share them. One table if all fit beside the words; otherwise the next
    begins where the width ends. What is not told from zero stands in brackets."""
    unknown = frozenset[int]().union(*(level.unknown for level in levels))
    widest = _WIDEST_WORDS
    names = []
    for j in chosen:
        name = levels[0].names[j]
        if cell_len(name) > _PASSAGE and " " in name:
            widest = max(min(_WIDEST_PASSAGES, width // 3), _NARROWEST_WORDS)
            name = shortened(name, widest, ink)
        names.append(name + (ink.plain(UNKNOWN) if j in unknown else ""))
    longest = max(map(cell_len, (thing, *names)))
    words = max(min(longest, widest), _NARROWEST_WORDS)
    columns = [_column(level, head, chosen, ink) for level, head in zip(levels, heads, strict=True)]
    for i, group in enumerate(_fitting(columns, width - words)):
        if i:
            yield Text()
        yield _table(thing, names, group, width, widest)


def _column(level: Drawn, head: str, chosen: Sequence[int], ink: Ink) -> _Column:
    cells = [level.written(j) if level.told[j] else f"({level.written(j)})" for j in chosen]
    styles = [ink.paper + ink.word(level.shades[j]) if level.told[j] else Style(dim=True) for j in chosen]
    return _Column(head, [ink.plain(cell) for cell in cells], styles)


def _fitting(columns: Sequence[_Column], width: int) -> Iterator[list[_Column]]:
    group: list[_Column] = []
    for column in columns:
        if group and sum(other.width + _GAP for other in (*group, column)) > width:
            yield group
            group = []
        group.append(column)
    yield group


def _table(thing: str, names: Sequence[str], columns: Sequence[_Column], width: int, widest: int) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold"
    )
    figures = sum(column.width + _GAP for column in columns)
    table.add_column(thing, overflow="fold", max_width=max(min(widest, width - figures), _NARROWEST_WORDS // 2))
    for column in columns:
        table.add_column(Text(column.head), justify="right", overflow="fold", no_wrap=column.width <= width // 2)
    for i, name in enumerate(names):
        table.add_row(Text(name), *(Text(column.cells[i], style=column.styles[i]) for column in columns))
    return table
