"""The `limelight` command itself: its commands' common ground, and how it speaks to people on standard error.

Exit status 0: done. 2: something that a user can put right, said in one line: a LimelightError, and what the system
refuses (disk, permissions, memory, a standard output that is closed or full). 130: Ctrl-C. 141, without a word: the
reader of a pipe has seen enough, as `head` does. Anything else is a programming error and shows its traceback (1).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from limelight.cli.wording import in_options
from limelight.errors import LimelightError

if TYPE_CHECKING:
    from limelight.core.progress import Progress

USER_ERROR = 2
INTERRUPTED = 130
READER_GONE = 141
"""Exit codes: what a user can put right; Ctrl-C; what the shell shows of a program that such a pipe has ended."""


class _Commands(TyperGroup):
    """All commands report what a user can put right in the same way."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # what cannot be written is known here, not when Python ends
            return result
        except KeyboardInterrupt as error:
            raise stopped("interrupted from the keyboard") from error
        except Exception as error:
            if _reader_gone(error):
                raise typer.Exit(READER_GONE) from error
            message = no_programming_error(error)
            if message is None:
                raise
            complain(message)
            raise typer.Exit(USER_ERROR) from error


def _reader_gone(error: Exception) -> bool:
    return isinstance(error, BrokenPipeError) and error.filename is None


def no_programming_error(error: Exception) -> str | None:
    """A message for the user about an error that is not the program's; None for one that is."""
    if isinstance(error, LimelightError):
        return in_options(str(error))
    if isinstance(error, OSError) and error.errno is not None:
        place = "the output" if error.filename is None else str(error.filename)
        return f"cannot read or write {place}: {error.strerror}; check the path, its permissions and the free space"
    if isinstance(error, UnicodeError):
        return f"a character cannot be read or written ({error}): use UTF-8 for texts, names and the terminal"
    # torch says by a RuntimeError that there is no memory: on a CPU by one of no class of its own.
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "CPUAllocator" in str(error):
        return f"there is not enough memory for this ({str(error) or 'MemoryError':.200}): ask for less at once"
    return None


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
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Letters that a stream cannot encode are spelled out instead of ending the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:
        complain("standard output is closed, so no result could be shown: send it to a file, or to /dev/null")
        sys.exit(USER_ERROR)
    status: str | int | None = 0
    try:
        app()
    except SystemExit as end:
        status = end.code
    except OSError as error:  # from --help or --version, which are no commands
        status = _output_failed(error)
    try:
        sys.stdout.flush()
    except OSError as error:
        if not status:
            status = _output_failed(error)
        _drop_output()
    sys.exit(status)


def _output_failed(error: OSError) -> int:
    """The exit status where standard output could not be written; what is wrong is said, unless nobody reads it."""
    if _reader_gone(error):
        return READER_GONE
    complain(no_programming_error(error) or str(error))
    return USER_ERROR


def _open_closed_streams() -> None:
    """Keep the numbers of closed standard streams: a file that took one would be written what is meant for the stream.

    Standard output stays None, so that it is seen to be closed; what is said on a closed standard error is lost.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _drop_output() -> None:
    """Keep Python from writing the rest when it ends, which failed already."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


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


@contextlib.contextmanager
def going_on(kept: str) -> Iterator[None]:
    """A run that an interruption does not undo; `kept` says what there is of it then."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise stopped(f"{kept}: give the same command again to go on") from error


def watched() -> Progress:
    """A bar where somebody watches standard error, else a line every ten seconds."""
    from limelight.core.progress import Lines
    from limelight.render.terminal.progress import progress_for

    return progress_for(Console(stderr=True), otherwise=Lines())


def _tell(kind: str, style: str, message: str) -> None:
    """One line on standard error; whatever a text or file name put into the message, it only shows."""
    from limelight.core.sanitize import visible

    shown = "\n".join(map(visible, message.split("\n")))
    with contextlib.suppress(OSError):  # there is nowhere left to say it; the exit code still tells
        Console(stderr=True).print(Text.assemble((f"{kind}: ", style), shown), soft_wrap=True, highlight=False)
