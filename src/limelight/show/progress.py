"""Training as it is watched: a bar that moves, and a line per epoch that stays."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from limelight.show.numbers import percent
from limelight.show.visible import visible

_ROOM_FOR_ALL = 72


class TrainingProgress:
    """Observes a training run. Where there is no terminal only the lines are written, so that a log stays readable."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(*_columns(console.width), console=console, disable=not console.is_terminal)
        self._task: TaskID | None = None
        self._epochs = 0
        self._steps = 0
        self.finished = 0
        """Epochs that are done, also in an earlier run: they are on disk."""

    def __enter__(self) -> TrainingProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._progress.stop()

    def start(self, epochs: int, steps_per_epoch: int, first_epoch: int) -> None:
        self._epochs, self._steps = epochs, steps_per_epoch
        self.finished = first_epoch - 1
        # A bar over all epochs: what a person wants to know is when the training ends.
        self._task = self._progress.add_task(
            f"epoch {first_epoch}/{epochs}",
            total=epochs * steps_per_epoch,
            completed=self.finished * steps_per_epoch,
            figures="",
        )

    def step(self, epoch: int, step: int, loss: float, accuracy: float) -> None:
        if self._task is not None:
            self._progress.update(
                self._task,
                completed=(epoch - 1) * self._steps + step,
                description=f"epoch {epoch}/{self._epochs}",
                figures=f"loss {loss:.3f}  accuracy {percent(accuracy)}",
            )

    def epoch_end(
        self,
        epoch: int,
        train_loss: float,
        train_accuracy: float,
        validation_accuracy: float,
        seconds: float,
        is_best: bool,
    ) -> None:
        self.finished = epoch
        line = Text(f"epoch {epoch}/{self._epochs}  loss {train_loss:.4f}  accuracy {percent(train_accuracy)}  ")
        line.append(f"validation {percent(validation_accuracy)}", style="bold" if is_best else "")
        line.append("  best so far" if is_best else "", style="green")
        line.append(f"  {seconds:.1f} s", style="dim")
        self._write(line)

    def message(self, text: str) -> None:
        self._write(Text("\n".join(map(visible, text.splitlines()))))

    def _write(self, line: Text) -> None:
        self._progress.console.print(line, markup=False, emoji=False, highlight=False, soft_wrap=True)


def _columns(width: int) -> list[ProgressColumn | str]:
    columns: list[ProgressColumn | str] = [TextColumn("{task.description}", markup=False)]
    if width >= _ROOM_FOR_ALL:
        columns += [BarColumn(bar_width=None), MofNCompleteColumn()]
    columns.append(TextColumn("{task.fields[figures]}", markup=False))
    return [*columns, TimeRemainingColumn(compact=True)] if width >= _ROOM_FOR_ALL else columns
