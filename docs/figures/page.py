"""The pictures of docs/page.md: the embedded model's page in Chromium.

    python docs/figures/page.py

Needs Chromium and Pillow. Colours are reduced to 96, so that a picture stays small.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

import limelight  # noqa: E402
from limelight.web.site import Served  # noqa: E402
from render.browser import Browser, found  # noqa: E402
from web.server import running, until  # noqa: E402

READY = "document.querySelector('.rows')?.getAttribute('aria-busy') === 'false'"
PRESS = "[...document.querySelectorAll('.toggle')].find((own) => own.textContent === 'great').click()"
MOVED = "!document.querySelector('.what-if').hidden"
DRAWN = "document.querySelectorAll('.curve path.line').length > 4"


def picture(tab: Browser, name: str) -> None:
    """What the window shows, in few colours."""
    file = HERE / f"{name}.png"
    tab.screenshot(file, whole=False)
    with Image.open(file) as whole:
        reduced = whole.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    reduced.save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def main() -> None:
    program = found()
    assert program is not None, "needs Chromium"
    folder = tempfile.TemporaryDirectory()
    with folder, running([Served("embedded", limelight.load())]) as server, Browser(program, Path(folder.name)) as tab:
        tab.open(server.address, width=1200, height=1080)
        until(lambda: tab.evaluate(READY))
        tab.evaluate(PRESS)
        until(lambda: tab.evaluate(MOVED))
        time.sleep(0.3)  # bars move
        picture(tab, "page")
        tab.open("about:blank")
        tab.open(server.address, width=400, height=1080, scheme="dark")
        until(lambda: tab.evaluate(READY))
        tab.evaluate("document.querySelector('.curves').open = true")
        until(lambda: tab.evaluate(DRAWN))
        tab.evaluate("document.querySelector('.curves').previousElementSibling.scrollIntoView()")
        picture(tab, "page-narrow")


if __name__ == "__main__":
    main()
