"""Options of how results look and where they go, which several commands share."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from limelight.cli.application import note
from limelight.cli.options import option
from limelight.errors import ParameterError

if TYPE_CHECKING:
    from limelight.render.entries import Entry
    from limelight.render.output import Delivery

_LONGEST_COMMAND = 400
"""Characters of the command that a page shows: the text itself may be in it."""

_FORMS = {"table": "plain text", "html": "a page", "png": "a figure", "svg": "a figure", "pdf": "a figure"}
"""Formats in words; the others are called by their letters."""
_PANEL = "What is shown"

Top = Annotated[
    int | None,
    option(_PANEL, "Words of each method in summary, tables and figures. Default: 5, all, and 10.", min=1, metavar="K"),
]
SortName = Literal["weight", "signed", "text"] | None
Sort = Annotated[SortName, option(_PANEL, "Strongest first, from most for to most against, or as in the text.")]
Numbers = Annotated[bool, option(_PANEL, "A table of weights instead of coloured words.", "--numbers", "-n")]
FormName = Literal["table", "json", "csv", "html", "png", "svg", "pdf"] | None
Form = Annotated[FormName, option(_PANEL, "Default: by the ending of --out, else table.")]
Out = Annotated[Path | None, option(_PANEL, "Write to this file instead of the terminal.", "--out", "-o")]
ColorName = Literal["auto", "always", "never"] | None
Color = Annotated[
    ColorName,
    option(_PANEL, "Colours, or marks (+ and -) instead. auto: by the terminal and NO_COLOR.", show_default="auto"),
]
NoColor = Annotated[bool, option(_PANEL, "The same as --color never.", "--no-color", hidden=True)]
ThemeName = Literal["auto", "light", "dark"]
Theme = Annotated[ThemeName, option(_PANEL, "What the terminal's background is like.")]


def delivery(
    *,
    top: int | None,
    sort: SortName,
    numbers: bool,
    format: FormName,
    out: Path | None,
    color: ColorName,
    no_color: bool,
    theme: ThemeName,
    about: dict[str, str],
    wording: Callable[[str], str] = str,
    told: bool = True,
) -> Delivery:
    """Check what was typed before any work is done: options must not contradict each other. `wording` is for what the
    library advises, where a table shows it; `told`: a single explanation begins with a sentence."""
    from limelight.render.entries import format_of, is_figure
    from limelight.render.output import Delivery
    from limelight.render.terminal.page import Look

    if no_color and color not in (None, "never"):
        raise ParameterError(f"--no-color and --color {color} contradict each other: give one of them")
    chosen, look = format_of(format, out), Look(numbers, top, sort, theme, wording, told)
    if chosen == "json" and (given := [name for name, own in (("--top", top), ("--sort", sort)) if own is not None]):
        raise ParameterError(f"JSON holds all words, in the order of the text: leave {' and '.join(given)} out")
    if numbers and chosen != "table":
        raise ParameterError(f"--numbers is for the terminal and for .txt, and this is {chosen}: leave it out")
    if is_figure(chosen):
        importlib.import_module("limelight.render.figure.figure")  # says what is missing, if it is
    return Delivery(chosen, out, look, "never" if no_color else color or "auto", {**about, **made()})


def deliver(to: Delivery, results: Iterable[Entry]) -> None:
    """Results to their place; a file is named when it is there."""
    written = 0

    def counted() -> Iterator[Entry]:
        nonlocal written
        for result in results:
            written += result.error is None
            yield result

    to.deliver(counted())
    if to.out is not None:
        note(f"wrote {to.out}: {written:,} text{'s' * (written != 1)} as {_FORMS.get(to.format, to.format.upper())}")


def made() -> dict[str, str]:
    """Command and date, for the foot of a page."""
    typed = shlex.join(["limelight", *sys.argv[1:]])
    return {
        "command": typed if len(typed) <= _LONGEST_COMMAND else f"{typed[:_LONGEST_COMMAND]}…",
        "date": date.today().isoformat(),
    }
