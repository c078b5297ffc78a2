"""A walk does each thing once: a request is resolved, features are found, significance is computed per explanation."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import pytest
from rich.console import Console

import limelight
from conftest import small_model
from limelight.attribution import request
from limelight.explanation import result
from limelight.render.terminal.page import render

TEXT = "A great film, but too long."
METHODS = ["lime", "alpha-avg"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of the three was called."""
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def counting(*arguments: Any, **named: Any) -> Any:
            counts[name] += 1
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, counting)

    count(result, "significance_of")
    count(request, "features_of")
    count(request.Request, "resolve")
    return counts


def shown(found: Any) -> None:
    """On a page and on a terminal: every view asks for significance."""
    found.to_html()
    compared = found if isinstance(found, limelight.Comparison) else limelight.Comparison((found,))
    render(compared, console=Console(file=io.StringIO()))


def test_explain(calls: Counter[str]) -> None:
    found = limelight.explain(small_model(), TEXT, "lime", n_samples=50)
    shown(found)
    assert found.intervals().shape == (len(found.significant), 2)
    assert calls == {"significance_of": 1, "features_of": 1, "resolve": 1}


@pytest.mark.parametrize("target", [None, "all"])
def test_compare(calls: Counter[str], target: str | None) -> None:
    found = limelight.compare(small_model(), TEXT, METHODS, target=target, n_samples=50)
    shown(found)
    assert calls == {"significance_of": len(found.explanations), "features_of": 1, "resolve": 1}


@pytest.mark.parametrize("way", ["/explain", "/compare"])
def test_an_answer_of_the_page(calls: Counter[str], way: str) -> None:
    pytest.importorskip("uvicorn", reason="the page needs the extra web: pip install limelight[web]")
    from limelight.web.site import Served
    from web.server import running

    asked = {"text": TEXT, "methods": METHODS, "samples": 50}
    with running([Served("small", small_model())]) as server:
        calls.clear()  # a server looks at its models before it is asked
        if way == "/explain":
            assert server.post(way, asked).status == 200
        else:
            assert [name for name, _ in server.events(way, asked)].count("row") == len(METHODS)
    assert calls == {"significance_of": len(METHODS), "features_of": 1, "resolve": 1}
