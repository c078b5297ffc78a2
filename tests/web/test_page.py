"""What a person does with the page, done in a real browser."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import limelight
from conftest import small_model
from limelight.web.security import Door
from limelight.web.site import Served
from render import browser
from render.browser import Browser
from web import accessibility
from web.fixtures import server
from web.server import Running, Slow, running, until

__all__ = ["server"]

ATTACK = "\"><script>document.title='attacked'</script><img src=x onerror=\"document.title='attacked'\">"
PATIENCE = 0.3
"""Seconds from a keystroke to colours, on any machine; `benchmarks/serve_keystrokes.py` measures it."""

pytestmark = pytest.mark.skipif(
    browser.found() is None,
    reason=f"needs Chromium: install it (apt-get install chromium), or name it in {browser.VARIABLE}",
)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = browser.found()
    assert program is not None
    with Browser(program, tmp_path_factory.mktemp("profile")) as tab:
        yield tab


def opened(tab: Browser, address: str, **look: Any) -> None:
    """The page, when all methods have answered."""
    tab.open("about:blank")
    tab.open(address, **look)
    settled(tab)


def settled(tab: Browser) -> None:
    """Wait until nothing is being asked any more."""
    quiet = """((all) => all.length > 0 && all.every((rows) => rows.getAttribute("aria-busy") === "false"))(
        [...document.querySelectorAll(".rows")]
    )"""
    until(lambda: tab.evaluate(quiet))


def typed(tab: Browser, text: str) -> None:
    """The whole text anew, as a hand types it."""
    tab.evaluate("(() => { const area = document.querySelector('textarea'); area.focus(); area.select(); })()")
    tab.ask("Input.insertText", text=text)


def chosen(tab: Browser, label: str, value: str) -> None:
    """An option of the chooser with this label."""
    tab.evaluate(
        f"""(() => {{
        const own = [...document.querySelectorAll('label')].find((one) => one.textContent === {json.dumps(label)});
        const control = document.getElementById(own.htmlFor);
        control.value = {json.dumps(value)};
        control.dispatchEvent(new Event('change', {{bubbles: true}}));
    }})()"""
    )


def said(tab: Browser) -> str:
    return str(tab.evaluate("document.querySelector('.prediction')?.innerText ?? ''"))


def words(tab: Browser, row: str) -> list[tuple[str, str]]:
    """The words of a method's row, and what the page says of each."""
    found = tab.evaluate(
        f"""((row) => [...(row?.querySelectorAll(".word") ?? [])].map((word) => [word.textContent, word.title]))(
            [...document.querySelectorAll(".row")].find((own) => own.getAttribute("aria-label") === {json.dumps(row)})
        )"""
    )
    return [(text, title) for text, title in found]


def press_word(tab: Browser, word: str) -> None:
    tab.evaluate(
        f"[...document.querySelectorAll('.toggle')].find((own) => own.textContent === {json.dumps(word)}).click()"
    )


# ── typing ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_prediction_and_colours_follow_as_one_types(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    typed(tab, "An awful film.")
    until(lambda: "negative" in said(tab).split("\n")[0])
    settled(tab)
    marks = "[...document.querySelectorAll('.behind mark')].map((mark) => [mark.textContent, mark.className])"
    coloured = dict(tab.evaluate(marks))
    assert coloured["awful"].startswith("o"), "orange speaks for the first label"
    typed(tab, "A great film.")
    until(lambda: dict(tab.evaluate(marks)).get("great", "").startswith("b"))
    assert tab.evaluate("document.querySelector('.behind').textContent") == "A great film.\n"
    settled(tab)
    assert [word for word, _ in words(tab, "Shapley")] == ["A", "great", "film", "."]
    assert tab.complaints() == []


def test_colours_come_while_one_types(tab: Browser, server: Running) -> None:
    """The best of several keystrokes: what others do on this machine is not the page's fault."""
    opened(tab, server.address)
    typed(tab, "The plot is thin, but the actors carry it, and the music is wonderful. I would see it agai")
    settled(tab)
    times = []
    for letter in "n, twice":
        before = tab.evaluate("performance.getEntriesByName('limelight-coloured').length")
        tab.ask("Input.insertText", text=letter)
        until(lambda before=before: tab.evaluate("performance.getEntriesByName('limelight-coloured').length") > before)
        times.append(
            tab.evaluate(
                "((last) => last('limelight-coloured') - last('limelight-key'))"
                "((name) => performance.getEntriesByName(name).at(-1).startTime)"
            )
            / 1000
        )
    assert min(times) < PATIENCE, times


def test_first_paint(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    opened(tab, server.address)
    painted = tab.evaluate(
        "performance.getEntriesByType('paint').find((one) => one.name === 'first-contentful-paint')?.startTime"
    )
    assert painted is not None
    assert painted < 1000


def test_an_empty_text_gets_words_and_the_page_goes_on(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    typed(tab, " ")
    until(lambda: "no words" in tab.evaluate("document.querySelector('[role=alert]:not([hidden])')?.textContent ?? ''"))
    typed(tab, "x " * 11_000)
    until(lambda: "shorter" in tab.evaluate("document.querySelector('[role=alert]:not([hidden])')?.textContent ?? ''"))
    typed(tab, "good")
    until(lambda: tab.evaluate("document.querySelector('[role=alert]:not([hidden])') === null"))
    settled(tab)
    assert [word for word, _ in words(tab, "Shapley")] == ["good"]


# ── what if ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_a_removed_word_moves_the_prediction(tab: Browser, server: Running, removal: str) -> None:
    opened(tab, server.address)
    typed(tab, "A great film with a bad end.")
    settled(tab)
    chosen(tab, "Take a word out by", removal)
    settled(tab)
    press_word(tab, "great")
    until(lambda: tab.evaluate("!document.querySelector('.what-if').hidden"))
    expected = server.post("/remove", {"text": "A great film with a bad end.", "removal": removal, "removed": [1]}).json
    change = expected["outputs"][1] - expected["outputs"][0]
    shown = f"{'−' if change < 0 else '+'}{abs(change):.3f}"
    told = tab.evaluate("document.querySelector('.what-if').innerText")
    assert f"moves by {shown}" in told
    assert "LIME, unsampled" in told
    assert "→" in said(tab)
    assert tab.evaluate("document.querySelectorAll('.row .gone').length") > 1
    assert tab.evaluate("document.querySelector('.toggle[aria-pressed=true]').textContent") == "great"
    press_word(tab, "great")
    until(lambda: tab.evaluate("document.querySelector('.what-if').hidden"))
    assert "→" not in said(tab)
    assert tab.complaints() == []


def test_words_are_reached_by_keyboard(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    tab.evaluate("document.querySelector('.toggle[tabindex=\"0\"]').focus()")
    tab.press("ArrowRight")
    assert tab.evaluate("document.activeElement.textContent") == "great"
    tab.press(" ")
    until(lambda: tab.evaluate("!document.querySelector('.what-if').hidden"))
    assert tab.evaluate("document.querySelectorAll('.toggle[tabindex=\"0\"]').length") == 1


# ── choosing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_target_and_contrast(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    typed(tab, "A great film.")
    settled(tab)
    before = dict(words(tab, "Shapley"))
    chosen(tab, "Explain", "negative")
    settled(tab)
    after = dict(words(tab, "Shapley"))
    assert before["great"].startswith("+")
    assert after["great"].startswith("−")
    chosen(tab, "rather than", "positive")
    settled(tab)
    expected = limelight.explain(limelight.load(), "A great film.", "shapley", target=("negative", "positive"))
    shown = dict(words(tab, "Shapley"))["great"].replace("−", "-")
    assert abs(float(shown) - expected.weights[1]) < 1e-3
    assert abs(expected.weights[1]) > 1.5 * abs(float(after["great"].replace("−", "-"))), "both labels, not one"


def test_the_numbers_of_the_table_are_those_of_the_command_line(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    typed(tab, "A great film.")
    settled(tab)
    chosen(tab, "Samples", "600")
    settled(tab)
    until(
        lambda: (
            "600 samples" in tab.evaluate("document.querySelector('.rows').innerText")
            or "every combination" in tab.evaluate("document.querySelector('.rows').innerText")
        )
    )
    tab.evaluate("document.querySelector('.weights').open = true")
    tab.evaluate(
        "[...document.querySelectorAll('.numbers thead button')].find((own) => own.textContent === 'Shapley').click()"
    )
    cells = tab.evaluate(
        "[...document.querySelectorAll('.numbers tbody tr')]"
        ".map((row) => [row.cells[0].textContent, row.lastElementChild.textContent])"
    )
    weights = limelight.explain(limelight.load(), "A great film.", "shapley")
    order = sorted(range(4), key=lambda j: -weights.weights[j])
    assert [word for word, _ in cells] == [weights.features[j] for j in order]
    for (_, shown), j in zip(cells, order, strict=True):
        assert abs(float(shown.replace("−", "-")) - weights.weights[j]) < 1e-4
    assert tab.evaluate("document.querySelector('[aria-sort]').textContent") == "Shapley"


def test_two_texts_and_two_models_side_by_side(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    tab.evaluate("document.querySelector('.beside').click()")
    settled(tab)
    assert tab.evaluate("document.querySelectorAll('.pane').length") == 2
    tab.evaluate(
        """((own) => { own.value = "small"; own.dispatchEvent(new Event("change", {bubbles: true})); })(
            document.querySelectorAll(".pane")[1].querySelector("select")
        )"""
    )
    settled(tab)
    until(
        lambda: (
            "neutral" in tab.evaluate("document.querySelectorAll('.pane')[1].querySelector('.prediction').innerText")
        )
    )
    assert "neutral" not in said(tab)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.complaints() == []


def test_the_removal_curve(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    tab.evaluate("document.querySelector('.curves').open = true")
    until(lambda: tab.evaluate("document.querySelectorAll('.curve path.line').length") > 4)
    assert "what no choice of words goes below" in tab.evaluate("document.querySelector('.key').innerText")
    assert tab.complaints() == []


# ── long runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_settles_in_view_and_is_stopped(tab: Browser) -> None:
    slow = Slow(0.0006)
    with running([slow.served()]) as own:
        tab.open("about:blank")
        tab.open(own.address)
        until(lambda: tab.evaluate("document.querySelectorAll('textarea').length") > 0)
        typed(tab, " ".join(f"word{k}" for k in range(30)))
        chosen(tab, "Samples", "200000")
        until(lambda: "drawing on" in tab.evaluate("document.querySelector('.rows').innerText"))
        until(lambda: tab.evaluate("document.querySelector('progress').value") > 0)
        tab.evaluate("document.querySelector('.stop').click()")
        until(lambda: own.jobs.running == 0, 5)
        settled(tab)
        assert "stopped" in tab.evaluate("document.querySelector('.rows').innerText")
        assert tab.evaluate("document.querySelector('.stop').hidden")
        assert slow.asked < 100_000
        # A page that is closed frees its work, too.
        chosen(tab, "Seed", "5")
        until(lambda: own.jobs.running > 0)
        tab.open("about:blank")
        assert until(lambda: own.jobs.running == 0) < 1.0


# ── sharing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_link_leads_to_the_same_view(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    typed(tab, "Ça alors 🎉 — a “great” film & <b>bold</b>.")
    settled(tab)
    chosen(tab, "Explain", "negative")
    chosen(tab, "Seed", "11")
    press_word(tab, "great")
    until(lambda: tab.evaluate("!document.querySelector('.what-if').hidden"))
    settled(tab)
    before = words(tab, "LIME"), tab.evaluate("document.querySelector('.what-if').innerText")
    until(lambda: tab.evaluate("location.hash").startswith("#v1="))
    time.sleep(0.4)  # the link is written when the hand has rested
    link = tab.evaluate("location.href")
    opened(tab, link)
    until(lambda: tab.evaluate("!document.querySelector('.what-if').hidden"))
    assert tab.evaluate("document.querySelector('textarea').value") == "Ça alors 🎉 — a “great” film & <b>bold</b>."
    assert (words(tab, "LIME"), tab.evaluate("document.querySelector('.what-if').innerText")) == before
    assert tab.complaints() == []


@pytest.mark.parametrize(
    "fragment",
    [
        "#v1=AAAA",
        "#v1=eyJhIjo1fQ",
        "#nonsense",
        "#v1="
        + base64.urlsafe_b64encode(
            b'{"a":{"model":"gone","text":"good","second":""},"methods":["no"],"seed":-4,"removal":"burn","removed":[999]}'
        )
        .decode()
        .rstrip("="),
    ],
)
def test_a_damaged_link_does_no_harm(tab: Browser, server: Running, fragment: str) -> None:
    tab.open("about:blank")
    tab.open(server.address + fragment)
    until(lambda: tab.evaluate("document.querySelectorAll('textarea').length > 0"))
    until(
        lambda: (
            "negative" in (tab.evaluate("document.querySelector('.prediction')?.innerText ?? ''"))
            or tab.evaluate("document.querySelector('[role=alert]:not([hidden])') !== null")
        )
    )
    assert [line for line in tab.complaints() if "422" not in line] == []


@pytest.mark.parametrize("format", ["html", "json", "csv", "png", "svg"])
def test_an_export_is_saved_and_opens(tab: Browser, server: Running, tmp_path: Path, format: str) -> None:
    tab.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    opened(tab, server.address)
    tab.evaluate("document.querySelector('.share').open = true")
    tab.evaluate(f"document.querySelector('[data-format={format}]').click()")
    file = tmp_path / f"limelight.{format}"
    until(lambda: file.exists() and file.stat().st_size > 0)
    if format == "html":
        tab.open(file.as_uri())
        assert "great" in tab.evaluate("document.body.innerText")
        assert tab.complaints() == []
    if format == "json":
        read = limelight.Comparison.from_dict(json.loads(file.read_text()))
        assert read == limelight.compare(limelight.load(), read[0].text, until="stable")
    if format in ("png", "svg"):
        tab.open(file.as_uri())
        assert tab.complaints() == []


# ── strangers, other readers, other machines ──────────────────────────────────────────────────────────────────────────


def test_hostile_text_and_labels_are_shown_and_do_nothing(tab: Browser) -> None:
    model = small_model(labels=(ATTACK, "\x1b[31mred", "\u202eback"))
    with running([Served(ATTACK, model), Served("other", model)]) as own:
        opened(tab, own.address)
        typed(tab, f"{ATTACK} great film \u202e it is")
        settled(tab)
        tab.evaluate("document.querySelectorAll('details').forEach((own) => { own.open = true; })")
        press_word(tab, "great")
        until(lambda: tab.evaluate("!document.querySelector('.what-if').hidden"))
        assert tab.evaluate("document.title") == "limelight"
        assert tab.evaluate("document.querySelectorAll('img, body script').length") == 0
        assert "<script>" in tab.evaluate("document.querySelector('.prediction').innerText")
        assert "\u202e" not in tab.evaluate(
            "document.querySelector('.rows').innerText + document.querySelector('.what-if').innerText"
        )
        assert tab.complaints() == []


def test_a_token_opens_the_page_and_leaves_the_address(tab: Browser) -> None:
    token = "a-token-that-nobody-guesses"
    with running([Served("small", small_model())], Door("0.0.0.0", token)) as own:
        tab.open("about:blank")
        tab.open(own.address)
        until(lambda: "token" in tab.evaluate("document.querySelector('[role=alert]')?.textContent ?? ''"))
        opened(tab, f"{own.address}#token={token}")
        assert token not in tab.evaluate("location.href")
        assert "positive" in said(tab)


LOOKS = [(1200, "light"), (1200, "dark"), (400, "light"), (400, "dark"), (360, "light")]


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_it_fits_and_can_be_read(tab: Browser, server: Running, tmp_path: Path, width: int, scheme: str) -> None:
    """Pictures go to LIMELIGHT_SCREENSHOTS, where it names a folder, for people to look at."""
    opened(tab, server.address, width=width, height=900, scheme=scheme)
    tab.evaluate("document.querySelectorAll('.pane details').forEach((own) => { own.open = true; })")
    press_word(tab, "great")
    until(
        lambda: tab.evaluate(
            "!document.querySelector('.what-if').hidden && document.querySelectorAll('.curve').length > 0"
        )
    )
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(
        "[...document.querySelectorAll('.editor')]"
        ".every((own) => own.firstChild.clientHeight === own.lastChild.clientHeight)"
    )
    folder = Path(os.environ.get("LIMELIGHT_SCREENSHOTS", tmp_path))
    tab.screenshot(folder / f"page-{width}-{scheme}.png")
    assert tab.complaints() == []


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return accessibility.checker(tmp_path_factory.mktemp("axe"))


@pytest.mark.parametrize(("width", "scheme"), LOOKS[:4])
def test_an_accessibility_checker_finds_nothing_serious(
    tab: Browser, server: Running, axe: str, width: int, scheme: str
) -> None:
    opened(tab, server.address, width=width, scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach((own) => { own.open = true; })")
    press_word(tab, "great")
    until(
        lambda: tab.evaluate(
            "!document.querySelector('.what-if').hidden && document.querySelectorAll('.curve').length > 0"
        )
    )
    assert accessibility.serious(tab, axe) == []
