"""Warnings in a notebook, each once: with the result where a cell shows it, else below the cell."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limelight.explanation.result import Explanation

_waiting: list[tuple[Explanation, Sequence[warnings.WarningMessage]]] = []
"""Explanations that were made in the cell that runs, with the warnings that nobody has seen yet."""


def shell() -> Any:
    """The shell of the notebook that this runs in; None elsewhere, and in a terminal."""
    ipython = sys.modules.get("IPython")
    own = None if ipython is None else ipython.get_ipython()
    return own if hasattr(own, "kernel") else None


def wait(shell: Any, explanation: Explanation, passed: Sequence[warnings.WarningMessage]) -> None:
    """Keep what passed the filters until the cell has shown its result."""
    if not _waiting:
        shell.events.register("post_run_cell", _cell_is_over)
    _waiting.append((explanation, passed))


def seen(explanations: Iterable[Explanation]) -> None:
    """These are on the screen, and their warnings with them."""
    shown = {id(explanation) for explanation in explanations}
    _waiting[:] = [(own, passed if id(own) not in shown else ()) for own, passed in _waiting]


def _cell_is_over(*_: object) -> None:
    rest = [one for _, passed in _waiting for one in passed]
    _waiting.clear()
    if (own := shell()) is not None:
        own.events.unregister("post_run_cell", _cell_is_over)
    for one in rest:
        warnings.showwarning(one.message, one.category, one.filename, one.lineno)
