"""The `limelight` command itself: its commands' common ground, and how it speaks to people on standard error."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from limelight.errors import LimelightError

USER_ERROR = 2
INTERRUPTED = 130
"""Exit codes: what a user can put right, and Ctrl-C."""


class _Commands(TyperGroup):
    """All commands report what a user can put right in the same way."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except LimelightError as error:
            complain(str(error))
            raise typer.Exit(USER_ERROR) from error
        except KeyboardInterrupt as error:
            raise stopped("interrupted from the keyboard") from error


app = typer.Typer(
    cls=_Commands,
    name="limelight",
    help="Why a text classifier decided as it did, word by word.",
    epilog='Begin with:  [cyan]limelight explain "A great film, but far too long."[/cyan]',
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point of the `limelight` command."""
    for stream in (sys.stdout, sys.stderr):
        # Letters that a stream cannot encode are spelled out instead of ending the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        from limelight import __version__

        typer.echo(f"limelight {__version__}")
        raise typer.Exit


@app.callback()
def limelight(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Why a text classifier decided as it did, word by word."""


def complain(message: str) -> None:
    _tell("error", "bold red", message)


def note(message: str) -> None:
    _tell("note", "bold", message)


def stopped(message: str) -> typer.Exit:
    """Say how an interrupted command goes on; raise what is returned."""
    _tell("stopped", "bold yellow", message)
    return typer.Exit(INTERRUPTED)


def _tell(kind: str, style: str, message: str) -> None:
    """One line on standard error; whatever a text or file name put into the message, it only shows."""
    from limelight.show.visible import visible

    shown = "\n".join(map(visible, message.split("\n")))
    Console(stderr=True).print(Text.assemble((f"{kind}: ", style), shown), soft_wrap=True, highlight=False)
