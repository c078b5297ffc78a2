"""Options of how results look and where they go, which several commands share."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from limelight.errors import ParameterError

if TYPE_CHECKING:
    from limelight.render.output import Delivery

_LONGEST_COMMAND = 400
"""Characters of the command that a page shows: the text itself may be in it."""

_PANEL = "What is shown"

Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        min=1,
        help="Words of each method in summary, tables and figures. Default: 5, all, and 10.",
        metavar="K",
        rich_help_panel=_PANEL,
    ),
]
Sort = Annotated[
    Literal["weight", "signed", "text"] | None,
    typer.Option(
        "--sort",
        help="Strongest first, from most for to most against, or as in the text.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Numbers = Annotated[
    bool, typer.Option("--numbers", "-n", help="A table of weights instead of coloured words.", rich_help_panel=_PANEL)
]
Form = Annotated[
    Literal["table", "json", "csv", "html", "png", "svg", "pdf"] | None,
    typer.Option(
        "--format", help="Default: by the ending of --out, else table.", show_default=False, rich_help_panel=_PANEL
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write to this file instead of the terminal.", rich_help_panel=_PANEL)
]
Color = Annotated[
    Literal["auto", "always", "never"] | None,
    typer.Option(
        "--color",
        help="Colours, or marks (+ and -) instead. auto: by the terminal and NO_COLOR.",
        show_default="auto",
        rich_help_panel=_PANEL,
    ),
]
NoColor = Annotated[
    bool, typer.Option("--no-color", help="The same as --color never.", hidden=True, rich_help_panel=_PANEL)
]
Theme = Annotated[
    Literal["auto", "light", "dark"],
    typer.Option("--theme", help="What the terminal's background is like.", rich_help_panel=_PANEL),
]


def delivery(
    *,
    top: int | None,
    sort: Literal["weight", "signed", "text"] | None,
    numbers: bool,
    format: Literal["table", "json", "csv", "html", "png", "svg", "pdf"] | None,
    out: Path | None,
    color: Literal["auto", "always", "never"] | None,
    no_color: bool,
    theme: Literal["auto", "light", "dark"],
    about: dict[str, str],
    wording: Callable[[str], str] = str,
) -> Delivery:
    """From what was typed; what contradicts itself is an error before any work is done. `wording` is for what the
    library advises, where a table shows it."""
    from limelight.render.formats import format_of, is_figure
    from limelight.render.output import Delivery
    from limelight.render.terminal.page import Look

    if no_color and color not in (None, "never"):
        raise ParameterError(f"--no-color and --color {color} contradict each other: give one of them")
    chosen, look = format_of(format, out), Look(numbers, top, sort, theme, wording)
    if chosen == "json" and (given := [name for name, own in (("--top", top), ("--sort", sort)) if own is not None]):
        raise ParameterError(f"JSON holds all words, in the order of the text: leave {' and '.join(given)} out")
    if numbers and chosen != "table":
        raise ParameterError(f"--numbers is for the terminal and for .txt, and this is {chosen}: leave it out")
    if is_figure(chosen):
        importlib.import_module("limelight.render.figure.figure")  # says what is missing, if it is
    return Delivery(chosen, out, look, "never" if no_color else color or "auto", {**about, **made()})


def made() -> dict[str, str]:
    """What a page says of how it was made."""
    typed = shlex.join(["limelight", *sys.argv[1:]])
    return {
        "command": typed if len(typed) <= _LONGEST_COMMAND else f"{typed[:_LONGEST_COMMAND]}…",
        "date": date.today().isoformat(),
    }
