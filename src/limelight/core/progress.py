"""How a call tells where it is, and how it is stopped: progress belongs to the call, never to a model.

`explain`, `compare`, `train` and `reproduce` take a `Progress`. An exception that it raises ends the work and reaches
the caller as it is: that is how a call is cancelled from outside.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from limelight.core.sanitize import visible


class Progress(Protocol):
    """Told of every piece of work, one task after the other."""

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        """A task of so many steps begins; `done` of them were done in an earlier run."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """So many more steps are done; `note` says how it goes, for a bar to show."""

    def end(self) -> None:
        """The task is over, finished or not."""

    def say(self, line: str) -> None:
        """A line that is to stay."""


@runtime_checkable
class Watching(Protocol):
    """A progress that is shown what samples say so far, whenever their number has about doubled."""

    def seen(self, explanation: Any) -> None:
        """An explanation from fewer samples than were asked for; its diagnostics["stopped"] is "drawing"."""


class Silent:
    """Says nothing."""

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        pass

    def advance(self, steps: int = 1, note: str = "") -> None:
        pass

    def end(self) -> None:
        pass

    def say(self, line: str) -> None:
        pass


SILENT = Silent()
_COLUMNS = 79


@contextlib.contextmanager
def working(progress: Progress, task: str, steps: int, done: int = 0) -> Iterator[None]:
    """Around a task of so many steps, which is over however its work ends."""
    progress.begin(task, steps, done)
    try:
        yield
    finally:
        progress.end()


class Lines(Silent):
    """A line every ten seconds on standard error, and what is said: readable in a log."""

    def __init__(self, every: float = 10.0) -> None:
        self._every, self._spoke, self._task, self._steps, self._done = every, 0.0, "", 0, 0

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        self._task, self._steps, self._done, self._spoke = task, steps, done, time.monotonic()
        if 0 < done < steps:
            self.say(f"{task}: goes on at {done:,} of {steps:,}")

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._done += steps
        if time.monotonic() - self._spoke >= self._every:
            self._spoke = time.monotonic()
            self._show(f"{self._task}: {self._done:,} of {self._steps:,}{f' ({note})' if note else ''}")

    def say(self, line: str) -> None:
        print(visible(line), file=sys.stderr, flush=True)

    def _show(self, line: str) -> None:
        """How far it is."""
        self.say(line)


class OneLine(Lines):
    """A line on standard error that is written anew while a task lasts and vanishes with it: for terminals and
    notebooks."""

    def __init__(self, every: float = 0.5) -> None:
        super().__init__(every)
        self._width = 0

    def say(self, line: str) -> None:
        self.end()
        super().say(line)

    def end(self) -> None:
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)
        self._width = 0

    def _show(self, line: str) -> None:
        shown = visible(line)[:_COLUMNS]
        print(f"\r{shown:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(shown)


def for_long_work() -> Progress:
    """The progress of a call that may take minutes where the caller gave none: a line that moves on a terminal and in a
    notebook, and one every ten seconds anywhere else."""
    is_watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    return OneLine() if is_watched else Lines()
