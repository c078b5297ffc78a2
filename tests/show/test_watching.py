"""The bar that a person sees while a model reads."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from limelight.show.watching import watched


def test_the_bar_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float]] = []
    monkeypatch.setattr(Progress, "update", lambda self, task, completed, total: seen.append((completed, total)))
    before: Any = object()
    model = SimpleNamespace(progress=before)
    with watched(model, Console(file=io.StringIO(), force_terminal=True)):
        for done, total in [(1, 1), (500, 1000), (1000, 1000), (700, 800), (800, 800)]:
            model.progress(done, total)
    assert model.progress is before
    assert seen == [(1, 1), (500, 1000), (1000, 1000), (1700, 1800), (1800, 1800)]


def test_no_bar_where_nobody_watches() -> None:
    model = SimpleNamespace(progress=None)
    with watched(model, Console(file=io.StringIO())):
        assert model.progress is None
