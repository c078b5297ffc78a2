"""How a run tells where it is: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol


class Progress(Protocol):
    """Told of every piece of work: `steps` documents from `done` on."""

    def begin(self, task: str, steps: int, done: int) -> None: ...

    def advance(self, steps: int) -> None: ...

    def end(self) -> None: ...

    def say(self, line: str) -> None: ...


class Lines:
    """A line when a task begins and one every ten seconds: readable in a log."""

    def __init__(self, every: float = 10.0) -> None:
        self._every, self._spoke, self._task, self._steps, self._done = every, 0.0, "", 0, 0

    def begin(self, task: str, steps: int, done: int) -> None:
        self._task, self._steps, self._done, self._spoke = task, steps, done, time.monotonic()
        if 0 < done < steps:
            self.say(f"{task}: goes on at {done} of {steps} documents")

    def advance(self, steps: int) -> None:
        self._done += steps
        if time.monotonic() - self._spoke >= self._every:
            self._spoke = time.monotonic()
            self.say(f"{self._task}: {self._done} of {self._steps} documents")

    def end(self) -> None:
        pass

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class Bar:
    """A moving bar, by rich."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._console = console
        self._progress = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
        )
        self._task: Any = None

    def begin(self, task: str, steps: int, done: int) -> None:
        self._progress.start()
        self._task = self._progress.add_task(task, total=steps, completed=done)

    def advance(self, steps: int) -> None:
        self._progress.advance(self._task, steps)

    def end(self) -> None:
        self._progress.remove_task(self._task)
        self._progress.stop()

    def say(self, line: str) -> None:
        from limelight.show.visible import visible

        self._console.print(visible(line), markup=False, highlight=False, soft_wrap=True)
