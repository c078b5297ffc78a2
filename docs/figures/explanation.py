"""The picture of the README: the page that `save("why.html")` writes for its example, in Chromium.

    python docs/figures/explanation.py

Needs Chromium and Pillow.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from page import picture

import limelight
from render.browser import Browser, found

REVIEW = "The actors were wonderful and I loved the music. But the story is a boring mess, and the end made no sense."
WIDTH, HEIGHT = 900, 505


def main() -> None:
    program = found()
    assert program is not None, "needs Chromium"
    why = limelight.explain(limelight.load(), REVIEW, method="lime", seed=0)
    with tempfile.TemporaryDirectory() as folder, Browser(program, Path(folder)) as tab:
        page = Path(folder) / "why.html"
        why.save(page)
        tab.open(page.as_uri(), width=WIDTH, height=HEIGHT)
        picture(tab, "explanation")


if __name__ == "__main__":
    main()
