"""A bar for what takes long: the inputs that a model still has to read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextlib.contextmanager
def watched(model: Any, console: Console) -> Iterator[None]:
    """Inside, a model that tells how far it is has a bar on the terminal; it vanishes in the end."""
    if not console.is_terminal or not hasattr(model, "progress"):
        yield
        return
    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    former = model.progress
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        # A model counts what it is given at once; a method may come back with more, and the bar never goes back.
        earlier, last, last_total = 0, 0, 0

        def tell(done: int, total: int) -> None:
            nonlocal earlier, last, last_total
            if done <= last:
                earlier += last_total
            last, last_total = done, total
            bar.update(task, completed=earlier + done, total=earlier + total)

        model.progress = tell
        try:
            yield
        finally:
            model.progress = former
