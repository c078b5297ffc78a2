"""Code that was written for version 0.2 still runs, and its names say what they are called now."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import limelight

BLOCKS = {
    heading: re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    for heading, text in re.findall(
        r"^## (\S+)\n(.*?)(?=^## \S+\n|\Z)",
        (Path(__file__).parent / "blocks-0.2.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )
}


@pytest.mark.parametrize("page", BLOCKS)
def test_blocks_of_its_pages_run(page: str) -> None:
    """In one namespace, from top to bottom. Only new warnings about explanations and old names are allowed."""
    assert BLOCKS[page]
    namespace: dict[str, object] = {"__name__": "of_0_2"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("default", DeprecationWarning)
        warnings.filterwarnings("default", category=UserWarning, module="of_0_2")
        for block in BLOCKS[page]:
            exec(compile(block, page, "exec"), namespace)  # noqa: S102


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Way", "Implementation", limelight.Implementation),
        ("document", "inputs.document", limelight.inputs.document),
        ("view", "models.interface", limelight.models.interface),
    ],
)
def test_old_names_say_what_they_are_called_now(old: str, new: str, expected: Any) -> None:
    with pytest.warns(DeprecationWarning, match=rf"limelight\.{old} is called limelight\.{re.escape(new)}$"):
        found = getattr(limelight, old)
    assert found is expected


def test_old_names_of_methods_and_explanations() -> None:
    (lime,) = [method for method in limelight.methods() if method.id == "lime"]
    with pytest.warns(DeprecationWarning, match=r"Method\.implementations"):
        assert lime.ways == lime.implementations
    explanation = limelight.explain(limelight.load(), "A great film.", "gxi")
    with pytest.warns(DeprecationWarning, match=r"Explanation\.method_label"):
        assert explanation.label == explanation.method_label
