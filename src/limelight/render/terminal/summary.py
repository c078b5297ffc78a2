"""What a reader needs first, on a terminal: the strongest words of each method, and what speaks against them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation
from limelight.explanation.significance import ending_of, warnings_of
from limelight.render.families import by_family
from limelight.render.row_model import Drawn, Order, drawn, drawn_groups
from limelight.render.terminal.style import UNKNOWN, WARNING, Ink

MOST = 5
"""Words of each method where nothing else is asked for: fewer where they do not fit one line, but never less than"""
_LEAST = 3
_BETWEEN = " · "
"""Between words: a comma is a word itself."""
_LONGEST = 40
"""Columns of a feature that is a passage: the whole of it stands in the text."""
_BESIDE_FAMILY, _BESIDE_NAME = 48, 30
"""Columns that must remain beside the names of family and method; with fewer the family goes, then the name above."""


def summary(
    comparison: Sequence[Explanation],
    ink: Ink,
    width: int,
    top: int | None,
    order: Order,
    wording: Callable[[str], str] = str,
) -> Iterator[RenderableType]:
    """A row per method, kin below each other: its strongest words with weight and interval, then the verdict."""
    families, names = by_family(comparison), row_names(comparison, ink)
    # Where each family has one member, its name says nothing that the member's does not.
    named = 1 < len(families) < len(comparison) and len({explanation.target for explanation in comparison}) == 1
    first = max(map(cell_len, families)) if named else 0
    second = min(max(map(cell_len, names)), max(width // 3, 6))
    if width - first - second - 4 < _BESIDE_FAMILY:
        first = 0
    beside = (first + 2 if first else 0) + second + 2
    if width - beside < _BESIDE_NAME:
        for own in families.values():
            for i in own:
                yield Text(names[i], style="bold", overflow="fold")
                yield Padding(Group(*_told(comparison[i], ink, width - 2, top, order, wording)), (0, 0, 0, 2))
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    if first:
        table.add_column(no_wrap=True, width=first)
    table.add_column(no_wrap=True, width=second, overflow="ellipsis")
    table.add_column(overflow="fold", width=width - beside)
    for family, own in families.items():
        for i in own:
            told = Group(*_told(comparison[i], ink, width - beside, top, order, wording))
            kin = [Text(visible(family) if i == own[0] else "", style="dim")] if first else []
            table.add_row(*kin, Text(names[i], style="bold"), told)
    yield table


def row_names(comparison: Sequence[Explanation], ink: Ink) -> list[str]:
    """What each explanation is called here: by its method, its label, or both."""
    methods, targets = ({getattr(e, name) for e in comparison} for name in ("method", "target"))
    if len(targets) == 1:
        return [ink.label(explanation) for explanation in comparison]
    if len(methods) == 1:
        return [visible(explanation.target) for explanation in comparison]
    return [ink.plain(f"{ink.label(explanation)} · {visible(explanation.target)}") for explanation in comparison]


def _told(
    explanation: Explanation, ink: Ink, width: int, top: int | None, order: Order, wording: Callable[[str], str]
) -> Iterator[Text]:
    levels = [level for level in (drawn_groups(explanation), drawn(explanation)) if level is not None]
    for level in levels:
        chosen = level.ordered(order, MOST if top is None else top, only_told=True)
        if chosen:
            items = [_item(level, j, ink, width) for j in chosen]
            yield from _lines(items, ink.plain(_BETWEEN), width, one=top is None)
    if not any(level.told.any() for level in levels):
        yield Text(levels[-1].nothing_told)
    if (ending := ending_of(explanation)) is not None:
        yield Text(visible(ending), style="dim", overflow="fold")
    for warning in warnings_of(explanation):
        yield Text(f"{ink.plain('⚠')} {visible(wording(warning))}", style=WARNING, overflow="fold")


def _item(level: Drawn, j: int, ink: Ink, width: int) -> Text:
    mark = ink.plain(UNKNOWN) if j in level.unknown else ""
    written = ink.plain(level.written(j))
    room = max(min(_LONGEST, width - cell_len(written) - len(mark) - 1), 6)
    style = ink.paper + ink.word(level.shades[j])
    return Text.assemble((shortened(level.names[j], room, ink) + mark, style), " ", written)


def shortened(name: str, room: int, ink: Ink) -> str:
    """A name in so many columns; one that is cut says so."""
    if cell_len(name) <= room:
        return name
    cut = ink.plain("…")
    return set_cell_size(name, room - cell_len(cut)).rstrip() + cut


def _lines(items: Sequence[Text], between: str, width: int, *, one: bool) -> Iterator[Text]:
    """Items, none of which is broken that fits a line. With `one`, a line is enough if it holds a few."""
    lines: list[list[Text]] = [[]]
    room = width
    for item in items:
        if lines[-1] and item.cell_len > room:
            lines.append([])
            room = width
        lines[-1].append(item)
        room -= item.cell_len + len(between)
    shown = max(len(lines[0]), min(_LEAST, len(items))) if one else len(items)
    for line in lines:
        if own := line[: max(shown, 0)]:
            yield Text(between, overflow="fold").join(own)
        shown -= len(line)
