"""Warnings in a notebook: once, and never lost."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import limelight
from limelight.errors import ExplanationWarning
from limelight.explanation.result import Explanation


class Shell:
    """As much of a notebook's shell as is asked: a kernel, and events."""

    kernel = object()

    def __init__(self) -> None:
        self.events, self.waiting = self, list[Callable[..., None]]()

    def register(self, _: str, callback: Callable[..., None]) -> None:
        self.waiting.append(callback)

    def unregister(self, _: str, callback: Callable[..., None]) -> None:
        self.waiting.remove(callback)

    def end_the_cell(self) -> None:
        for callback in list(self.waiting):
            callback(None)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    own, module = Shell(), types.ModuleType("IPython")
    module.get_ipython = lambda: own  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    return own


def warned_of() -> Explanation:
    """Of words that the model does not know no weight is distinguishable from zero."""
    return limelight.explain(limelight.load(), "xyzzy qwertz", "shapley")


def seen(shell: Shell, cell: Callable[[], Any]) -> int:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        cell()
        shell.end_the_cell()
    assert shell.waiting == []
    return sum(issubclass(one.category, ExplanationWarning) for one in said)


def test_a_warning_is_in_the_view_or_below_the_cell_and_not_in_both(shell: Shell) -> None:
    assert warned_of().warnings
    shell.end_the_cell()
    assert seen(shell, warned_of) == 1
    assert seen(shell, lambda: warned_of()._repr_html_()) == 0
    assert seen(shell, lambda: (warned_of(), warned_of()._repr_html_())) == 1


def test_filters_hold_in_a_notebook(shell: Shell) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore", ExplanationWarning)
        warned_of()
        shell.end_the_cell()
    assert said == []
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExplanationWarning)
        with pytest.raises(ExplanationWarning):
            warned_of()


def test_elsewhere_python_warns_at_once() -> None:
    with pytest.warns(ExplanationWarning):
        warned_of()
