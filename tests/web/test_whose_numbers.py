"""Whose numbers the page shows: those of the model, text and settings that stand beside them, and no others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import limelight
from limelight.web.site import Served
from show import browser
from show.browser import Browser
from web.server import Running, running, until

pytestmark = pytest.mark.skipif(
    browser.found() is None,
    reason=f"needs Chromium: install it (apt-get install chromium), or name it in {browser.VARIABLE}",
)


class Teller:
    """A function whose every answer tells who gave it: the first digit of a probability is the model's own."""

    def __init__(self, digit: int, seconds: float = 0.0) -> None:
        self.digit, self.seconds = digit, seconds

    def __call__(self, texts: list[str]) -> list[list[float]]:
        time.sleep(self.seconds)
        chances = [self.digit / 10 + (sum(map(ord, text)) % 997) / 10_000 for text in texts]
        return [[1 - p, p] for p in chances]

    def served(self, name: str) -> Served:
        return Served(name, limelight.wrap(self, labels=["no", "yes"], batch_texts=64))


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running([Teller(6).served("quick"), Teller(8, 0.25).served("slow")]) as own:
        yield own


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = browser.found()
    assert program is not None
    with Browser(program, tmp_path_factory.mktemp("profile")) as tab:
        yield tab


TOLD = """[...document.querySelectorAll(".pane")].map((pane) => [
    pane.querySelector("select").value,
    [...pane.querySelectorAll(".prediction li")].filter((own) => own.querySelector(".label").textContent === "yes")
        .flatMap((own) => own.querySelector(".said").textContent.split("→").map((one) => one.trim())),
])"""


def tellers(tab: Browser) -> list[tuple[str, set[str]]]:
    """The model that each pane names, and the first digits of what it shows as this model's probabilities."""
    return [(model, {one[0] for one in shown}) for model, shown in tab.evaluate(TOLD)]


def chosen_model(tab: Browser, pane: int, name: str) -> None:
    tab.evaluate(
        f"""((own) => {{ own.value = "{name}"; own.dispatchEvent(new Event("change", {{bubbles: true}})); }})(
            document.querySelectorAll(".pane")[{pane}].querySelector("select")
        )"""
    )


OWN = {"quick": "6", "slow": "8"}


def watched(tab: Browser, seconds: float) -> set[tuple[str, str]]:
    """All that panes say for so long, as pairs of a model's name and a digit; the last of them is what stays."""
    seen: set[tuple[str, str]] = set()
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        seen |= {(model, digit) for model, digits in tellers(tab) for digit in digits}
    return seen


def test_a_word_is_removed_and_then_another_model_is_chosen(tab: Browser, server: Running) -> None:
    tab.open("about:blank")
    tab.open(server.address)
    until(lambda: tab.evaluate("document.querySelectorAll('.toggle').length > 3"))
    tab.evaluate("document.querySelectorAll('.toggle')[1].click()")
    until(lambda: tab.evaluate("document.querySelector('.what-if')?.hidden === false"))
    chosen_model(tab, 0, "slow")
    seen = watched(tab, 4.0)
    assert ("slow", "8") in seen, "it does answer"
    assert seen == {("slow", "8")}
    assert tab.complaints() == []
