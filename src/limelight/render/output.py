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
from limelight.render.entries import Entry, Format, is_figure
from limelight.render.terminal.page import Look, render
from limelight.storage.files import save

Colour = Literal["auto", "always", "never"]

FILE_WIDTH = 100
"""Columns of a table that is written to a file, where there is no terminal to ask."""
_BEGINNING = 60
"""Characters of a text that stand beside its id."""


@dataclass(frozen=True)
class Delivery:
    """The place where results go, their form, and how they look there."""

    format: Format = "table"
    out: Path | None = None
    look: Look = field(default_factory=Look)
    colour: Colour = "auto"
    about: Mapping[str, str] = field(default_factory=dict)
    """Facts that a page states of how it was made."""

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
        """The bytes of a file, or of a pipe as they come."""
        look = self.look
        chosen: Any = {name: own for name, own in (("top", look.top), ("order", look.order)) if own is not None}
        if self.format == "json":
            for result in results:
                written = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False)
                yield "".join(map(_json_letter, written)).encode() + b"\n"
        elif self.format == "csv":
            from limelight.render.csv_table import header, table_rows

            yield header().encode()
            for result in results:
                yield table_rows(result.id, result.explanations, look.top, look.order).encode()
        elif self.format == "html":
            from limelight.render.html.page import page_of

            entries = list(results)
            if not any(entry.explanations for entry in entries):
                raise InputError("none of the texts could be explained: there is nothing to put on a page")
            yield page_of(entries, self.about, **chosen).encode()
        elif self.format == "table":
            page = io.StringIO()
            _tables(results, Console(file=page, width=FILE_WIDTH, color_system=None), look)
            yield page.getvalue().encode()
        else:
            from limelight.render.figure.figure import figure_of
            from limelight.render.figure.figure import written as written_figure

            answered = [result for result in results if result.explanations]
            if len(answered) != 1:
                texts = f"a figure shows one text, and these are {len(answered)}"
                raise InputError(f"{texts}: give one, or use --format html")
            yield written_figure(figure_of(answered[0].explanations, **chosen), self.format)


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
    said: str | None = None
    for i, result in enumerate(results):
        if result.error is not None:
            continue  # it was said when it happened
        if i:
            console.print()
        if result.id is not None:
            console.print(_heading(result, console), highlight=False, no_wrap=True, overflow="ellipsis")
        render(
            result.explanations, console=console, look=look, why="" if said == result.why is not None else result.why
        )
        said = result.why


def _heading(result: Entry, console: Console) -> Text:
    """The id of a text and how it begins, on one line."""
    text = result.explanations[0].joined_text
    beginning = " ".join(text[: 4 * _BEGINNING].split())
    beginning = beginning if len(beginning) <= _BEGINNING else f"{beginning[: _BEGINNING - 1]}…"
    line = "==" if console.options.ascii_only else "━━"
    return Text.assemble((f"{line} {visible(str(result.id))}", "bold"), f"  {visible(beginning)}")


@cache
def _json_letter(letter: str) -> str:
    """A letter of JSON; escaped where it acts on a terminal or is half of a surrogate pair, which is the same value."""
    return letter if visible(letter) == letter else json.dumps(letter)[1:-1]
