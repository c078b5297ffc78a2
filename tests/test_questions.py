"""docs/questions.md and docs/trust.md: every block of Python runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(("page", "least"), [("questions.md", 9), ("trust.md", 2)])
def test_every_block_runs(page: str, least: int) -> None:
    """In one namespace, from top to bottom, as a reader would."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(blocks) >= least
    namespace: dict[str, object] = {"__name__": page.removesuffix(".md")}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)  # noqa: S102
