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

from limelight.explanation import Explanation
from limelight.show.colour import levels
from limelight.show.ink import Ink
from limelight.show.numbers import Digits
from limelight.show.visible import visible

_GAP = 2
"""Between columns: one for the padding, one that Rich keeps for a rule."""
_NARROWEST_WORDS = 8
_WIDEST_WORDS = 24


@dataclass(frozen=True)
class _Column:
    """One method's weights as written."""

    head: str
    cells: list[str]
    styles: list[Style]

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.head, *self.cells)))


def number_tables(comparison: Sequence[Explanation], ink: Ink, width: int) -> Iterator[RenderableType]:
    """One table if all methods fit beside the words; otherwise the next begins where the width ends."""
    features = [visible(feature) for feature in comparison[0].features]
    longest = max(map(cell_len, features), default=0)
    words = max(min(longest, _WIDEST_WORDS), _NARROWEST_WORDS)
    columns = [_column(explanation, ink) for explanation in comparison]
    for i, group in enumerate(_fitting(columns, width - words)):
        if i:
            yield Text()
        yield _table(features, group, width)


def _column(explanation: Explanation, ink: Ink) -> _Column:
    digits = Digits.of(explanation)
    cells = [ink.plain(digits.weight(explanation, j)) for j in range(len(explanation))]
    return _Column(ink.label(explanation), cells, [ink.word(level) for level in levels(explanation.weights)])


def _fitting(columns: Sequence[_Column], width: int) -> Iterator[list[_Column]]:
    group: list[_Column] = []
    for column in columns:
        if group and sum(other.width + _GAP for other in (*group, column)) > width:
            yield group
            group = []
        group.append(column)
    yield group


def _table(features: Sequence[str], columns: Sequence[_Column], width: int) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold"
    )
    figures = sum(column.width + _GAP for column in columns)
    table.add_column("word", overflow="fold", max_width=max(min(_WIDEST_WORDS, width - figures), _NARROWEST_WORDS // 2))
    for column in columns:
        table.add_column(Text(column.head), justify="right", overflow="fold", no_wrap=column.width <= width // 2)
    for j, feature in enumerate(features):
        table.add_row(Text(feature), *(Text(column.cells[j], style=column.styles[j]) for column in columns))
    return table
