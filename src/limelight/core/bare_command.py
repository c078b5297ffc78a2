"""A command where there is no Typer and no rich: what `python -m` prints of it, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable

from limelight.core.sanitize import visible
from limelight.errors import LimelightError

_USER_ERROR, _INTERRUPTED = 2, 130


def status_of(command: Callable[[], object]) -> int:
    """Run a command that goes on where it stopped, and print what it returns or why it did not."""
    try:
        result = command()
    except LimelightError as error:
        print(visible(f"error: {error}"), file=sys.stderr)
        return _USER_ERROR
    except KeyboardInterrupt:
        print("stopped: give the same command again to go on", file=sys.stderr)
        return _INTERRUPTED
    print(*map(visible, str(result).split("\n")), sep="\n")  # names of labels and methods are others'
    return 0
