"""Results to where they were asked for: colours for people, bytes for programs, a file that is whole or not there."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from limelight.errors import InputError, NumericalError, ParameterError, UnknownNameError
from limelight.explanation import Comparison, Explanation
from limelight.files import save
from limelight.show.terminal import render
from limelight.show.visible import visible
from limelight.stored import SCHEMA

Format = Literal["table", "json", "html"]

FILE_WIDTH = 100
"""Columns of a table that is written to a file, where there is no terminal to ask."""


@dataclass(frozen=True)
class Failed:
    """One of many texts that could not be explained, and why."""

    text: str
    error: str

    def to_dict(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "text": self.text, "error": self.error}


Result = Comparison | Failed


def explained_lines(
    content: str, explained: Callable[[str], Comparison], complain: Callable[[str], None], failures: list[int]
) -> Iterator[Result]:
    """Each line as a text of its own; one that cannot be explained says why, and the others go on."""
    for number, line in enumerate(content.removesuffix("\n").split("\n"), start=1):
        try:
            yield explained(line.removesuffix("\r"))
        except (UnknownNameError, ParameterError):  # what is wrong with the call is wrong for every line
            raise
        except (InputError, NumericalError) as error:
            failures.append(number)
            complain(f"line {number}: {error}")
            yield Failed(line, str(error))


def deliver(results: Iterable[Result], format: Format, out: Path | None, *, numbers: bool, no_color: bool) -> None:
    """Each result as it comes to a terminal or pipe; all of them at once to a file."""
    if format == "table" and out is None:
        _tables(results, _Output(no_color=no_color or None), numbers)
        return
    if format == "table":
        page = io.StringIO()
        _tables(results, Console(file=page, width=FILE_WIDTH, color_system=None), numbers)
        content: Iterator[bytes] = iter([page.getvalue().encode()])
    else:
        content = map(_json, results) if format == "json" else iter([_page(results)])
    if out is not None:
        save(b"".join(content), out)
        return
    # Bytes, not characters: JSON and HTML are UTF-8 whatever the terminal's encoding is.
    sys.stdout.flush()
    for part in content:
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


class _Output(Console):
    """Standard output, whose reader may be gone: that is an error to be told, not one to end the program with."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _tables(results: Iterable[Result], console: Console, numbers: bool) -> None:
    for i, result in enumerate(results):
        if i:
            console.print()
        if isinstance(result, Failed):
            console.print(Text.assemble(("error: ", "bold red"), visible(result.error)), highlight=False)
        else:
            render(result, console=console, numbers=numbers)


def _json(result: Result) -> bytes:
    written = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False)
    return "".join(map(_json_letter, written)).encode() + b"\n"


@cache
def _json_letter(letter: str) -> str:
    """What acts on a terminal, and half of a surrogate pair, as JSON spells it: the same value."""
    return letter if visible(letter) == letter else json.dumps(letter)[1:-1]


def _page(results: Iterable[Result]) -> bytes:
    from limelight.show.html import page

    explanations: list[Explanation] = []
    for result in results:
        explanations += [] if isinstance(result, Failed) else result.explanations
    if not explanations:
        raise InputError("none of the texts could be explained: there is nothing to put on a page")
    return page(explanations).encode()
