"""Progress as it is watched: a bar that moves on a terminal, the lines that are said anywhere else."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.progress import Progress as RichProgress
from rich.progress import Task, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from limelight.core.progress import SILENT, Progress, Silent
from limelight.core.sanitize import visible

_PATIENCE = 0.2
"""Seconds that a task takes before it has a bar: what is over at once would only flicker."""

_SHORTEST_BAR, _LONGEST_BAR = 8, 40
_LEAST_FOR_A_NOTE = 16
"""Columns: of a shorter note too little is left to be worth its place."""


def progress_for(console: Console, otherwise: Progress = SILENT) -> Progress:
    """A bar where somebody watches this console, else `otherwise`."""
    return Bar(console) if console.is_interactive else otherwise


class Said(Silent):
    """Writes the lines that are said, and nothing else: for a log."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, line: str) -> None:
        shown = "\n".join(map(visible, line.split("\n")))
        self._console.print(Text(shown), highlight=False, soft_wrap=True)


class Bar(Said):
    """A bar that moves while a task lasts and vanishes with it; lines that are said stay above it."""

    def __init__(self, console: Console, patience: float = _PATIENCE) -> None:
        super().__init__(console)
        self._patience = patience
        self._display: _Display | None = None

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        self.end()
        self._display = _Display(self._console, self._patience)
        self._display.add_task(visible(task), total=steps, completed=done, note="")
        self._display.start()

    def advance(self, steps: int = 1, note: str = "") -> None:
        if self._display is not None:
            self._display.add(steps, visible(note))

    def end(self) -> None:
        if self._display is not None:
            self._display.stop()
            self._display = None


class _Display(RichProgress):
    """One task on one line, drawn anew ten times a second."""

    def __init__(self, console: Console, patience: float) -> None:
        # Results go to standard output, perhaps through a pipe: what is written there is none of the bar's business.
        super().__init__(console=console, transient=True, redirect_stdout=False)
        self._patience = patience
        self._time_left = TimeRemainingColumn(compact=True)

    def add(self, steps: int, note: str) -> None:
        (task,) = self.tasks
        done = task.completed + max(steps, 0)
        # A task may turn out longer than it was announced.
        self.update(task.id, completed=done, total=max(done, task.total or 0), note=note or task.fields["note"])

    def get_renderables(self) -> Iterator[RenderableType]:
        for task in self.tasks:
            if (task.elapsed or 0.0) >= self._patience:
                yield self._line(task, self.console.width)

    def _line(self, task: Task, width: int) -> Table:
        """Name, bar, count, note and time left; where room is short the note goes first, then the name is cut."""
        ending = self._time_left(task)
        assert isinstance(ending, Text)
        total = f"{int(task.total or 0):,}"
        count = Text(f"{int(task.completed):>{len(total)},}/{total}", style="progress.download")
        name, note = Text(task.description), Text(task.fields["note"], style="dim")
        room = width - count.cell_len - ending.cell_len - 2
        name.truncate(max(room - _SHORTEST_BAR - 1, 1), overflow="ellipsis")
        room -= name.cell_len + 1
        cells: list[RenderableType] = [count]
        if note and room - _SHORTEST_BAR - 1 >= min(note.cell_len, _LEAST_FOR_A_NOTE):
            note.truncate(room - _SHORTEST_BAR - 1, overflow="ellipsis")
            room -= note.cell_len + 1
            cells.append(note)
        bar = ProgressBar(task.total, task.completed, width=max(min(room, _LONGEST_BAR), 1))
        line = Table.grid(padding=(0, 1), pad_edge=False)
        line.add_row(name, bar, *cells, ending)
        return line
