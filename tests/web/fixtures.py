"""One server for all tests of a file that only ask: the embedded model, and the small random one with three labels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="the page needs the extra web: pip install limelight[web]")
pytest.importorskip("uvicorn", reason="the page needs the extra web: pip install limelight[web]")

import limelight
from conftest import small_model
from limelight.web.site import Served
from web.server import Running, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    labels = ("negative", "neutral", "positive")
    with running([Served("embedded", limelight.load()), Served("small", small_model(labels=labels))]) as own:
        yield own
