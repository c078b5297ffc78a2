"""From a keystroke to colours: the page in a real browser, the embedded model behind it.

    python benchmarks/serve_keystrokes.py

A hundred letters are typed behind a sentence, one after the other; the page marks when a key came and when the colours
of what it made were there.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import limelight
from limelight.web.site import Served
from official import machine
from render import browser
from render.browser import Browser
from web.server import running, until
from web.test_page import opened, settled, typed

SENTENCE = "The plot is thin, but the actors carry it, and the music is wonderful. I would see it agai"
LETTERS = "n, and twice or more, if they would only let me into the hall once more, and so would most of my friends"
COLOURED = "performance.getEntriesByName('limelight-coloured').length"
TOOK = (
    "((last) => last('limelight-coloured') - last('limelight-key'))"
    "((name) => performance.getEntriesByName(name).at(-1).startTime)"
)


def main() -> None:
    program = browser.found()
    if program is None:
        sys.exit("needs Chromium: apt-get install chromium")
    times = []
    with (
        tempfile.TemporaryDirectory() as profile,
        running([Served("embedded", limelight.load())]) as server,
        Browser(program, Path(profile)) as tab,
    ):
        opened(tab, server.address)
        typed(tab, SENTENCE)
        settled(tab)
        for letter in LETTERS:
            before = tab.evaluate(COLOURED)
            tab.ask("Input.insertText", text=letter)
            until(lambda before=before: tab.evaluate(COLOURED) > before)
            times.append(tab.evaluate(TOOK))
    print(machine())
    deciles = statistics.quantiles(times, n=10)
    print(f"{len(times)} keystrokes: median {statistics.median(times):.0f} ms, nine of ten within {deciles[-1]:.0f} ms")


if __name__ == "__main__":
    main()
