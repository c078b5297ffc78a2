"""Results to where they were asked for: colours for people, bytes for programs, a file that is whole or not there."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from limelight.core.sanitize import visible
from limelight.errors import InputError
from limelight.render.entries import Entry, FigureFormat, Format, is_figure
from limelight.render.terminal.page import Look, render
from limelight.storage.files import save

Colour = Literal["auto", "always", "never"]

FILE_WIDTH = 100
"""Columns of a table that is written to a file, where there is no terminal to ask."""
_BEGINNING = 60
"""Characters of a text that stand beside its id."""


@dataclass(frozen=True)
class Delivery:
    """Where results go, in which form, and how they look there."""

    format: Format = "table"
    out: Path | None = None
    look: Look = field(default_factory=Look)
    colour: Colour = "auto"
    about: Mapping[str, str] = field(default_factory=dict)
    """What a page says of how it was made."""

    def deliver(self, results: Iterable[Entry]) -> None:
        """Each result as it comes to a terminal or pipe; all of them at once to a file."""
        if self.format == "table" and self.out is None:
            _tables(results, console_for(self.colour), self.look)
            return
        content = self.content(results)
        if self.out is not None:
            save(b"".join(content), self.out)
            return
        if is_figure(self.format) and sys.stdout.isatty():
            raise InputError(f"a {self.format} file is nothing for a terminal: name one by --out figure.{self.format}")
        # Bytes, not characters: JSON and HTML are UTF-8 whatever the terminal's encoding is.
        sys.stdout.flush()
        for part in content:
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()

    def content(self, results: Iterable[Entry]) -> Iterator[bytes]:
        if self.format == "json":
            yield from map(_json, results)
        elif self.format == "csv":
            yield from _csv(results, self.look)
        elif self.format == "html":
            yield _page(results, self.about, self.look)
        elif self.format == "table":
            page = io.StringIO()
            _tables(results, Console(file=page, width=FILE_WIDTH, color_system=None), self.look)
            yield page.getvalue().encode()
        else:
            yield _figure(results, self.format, self.look)


class _Output(Console):
    """Standard output, whose reader may be gone: that is an error to be told, not one to end the program with."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console_for(colour: Colour) -> Console:
    """Standard output. auto: as NO_COLOR, FORCE_COLOR, COLORTERM and TERM say; never: no escape sequence at all."""
    if colour == "never":
        return _Output(no_color=True, color_system=None)
    if colour == "always":
        console = _Output(force_terminal=True, no_color=False)
        # A terminal that calls itself dumb, or none at all, is given what every other one understands.
        return (
            console if console.color_system else _Output(force_terminal=True, no_color=False, color_system="standard")
        )
    return _Output()


def _tables(results: Iterable[Entry], console: Console, look: Look) -> None:
    for i, result in enumerate(results):
        if result.error is not None:
            continue  # it was said when it happened
        if i:
            console.print()
        if result.id is not None:
            console.print(_heading(result, console), highlight=False, no_wrap=True, overflow="ellipsis")
        render(result.explanations, console=console, look=look)


def _heading(result: Entry, console: Console) -> Text:
    """The id of a text and how it begins, on one line."""
    text = result.explanations[0].joined_text
    beginning = " ".join(text[: 4 * _BEGINNING].split())
    beginning = beginning if len(beginning) <= _BEGINNING else f"{beginning[: _BEGINNING - 1]}…"
    line = "==" if console.options.ascii_only else "━━"
    return Text.assemble((f"{line} {visible(str(result.id))}", "bold"), f"  {visible(beginning)}")


def _json(result: Entry) -> bytes:
    written = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False)
    return "".join(map(_json_letter, written)).encode() + b"\n"


@cache
def _json_letter(letter: str) -> str:
    """What acts on a terminal, and half of a surrogate pair, as JSON spells it: the same value."""
    return letter if visible(letter) == letter else json.dumps(letter)[1:-1]


def _csv(results: Iterable[Entry], look: Look) -> Iterator[bytes]:
    from limelight.render.csv_table import header, table_rows

    yield header().encode()
    for result in results:
        yield table_rows(result.id, result.explanations, look.top, look.order).encode()


def _page(results: Iterable[Entry], about: Mapping[str, str], look: Look) -> bytes:
    from limelight.render.html.page import page_of

    entries = list(results)
    if not any(entry.explanations for entry in entries):
        raise InputError("none of the texts could be explained: there is nothing to put on a page")
    return page_of(entries, about, **_chosen(look)).encode()


def _figure(results: Iterable[Entry], format: FigureFormat, look: Look) -> bytes:
    from limelight.render.figure.figure import figure_of, written

    answered = [result for result in results if result.explanations]
    if len(answered) != 1:
        raise InputError(f"a figure shows one text, and these are {len(answered)}: give one, or use --format html")
    return written(figure_of(answered[0].explanations, **_chosen(look)), format)


def _chosen(look: Look) -> dict[str, Any]:
    """How many words, and in which order; what was not said is left to each view."""
    return {name: value for name, value in (("top", look.top), ("order", look.order)) if value is not None}
