"""docs/questions.md: every recipe runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "questions.md"


def test_every_recipe_runs() -> None:
    """In one namespace, from top to bottom, as a reader would."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 9
    namespace: dict[str, object] = {"__name__": "questions"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), namespace)  # noqa: S102


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).exists(), target
