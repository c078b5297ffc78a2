"""Whose numbers the page shows: those of the model, text and settings that stand beside them, and no others.

`looking.py` walks the page: every part that shows something of an answer says what was asked (`data-asked`), and that
is compared with what the controls beside it say at the same moment. Besides, the models here tell who they are in every
number, so that a part that says the wrong thing of itself is found as well.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
from limelight.web.refusals import Limits
from limelight.web.site import Served
from render import browser
from render.browser import Browser
from web.acting import beside, done, linked, opened, removed, set_to, typed, unfolded, with_model
from web.looking import kinds, looked, wrong
from web.server import Running, running, until

pytestmark = pytest.mark.skipif(
    browser.found() is None,
    reason=f"needs Chromium: install it (apt-get install chromium), or name it in {browser.VARIABLE}",
)
SLOW = 0.12
"""Seconds that the slow model takes for each batch."""


class Teller:
    """A function whose answers tell who gave them and of which text: the first digit of "yes" is the model's own."""

    def __init__(self, digit: int, seconds: float = 0.0) -> None:
        self.digit, self.seconds, self.asked = digit, seconds, 0

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.asked += 1
        time.sleep(self.seconds)
        yes = np.array([self.of(text) for text in texts])
        return np.stack([1 - yes, yes], axis=1)

    def of(self, text: str) -> float:
        """The probability of "yes"."""
        return self.digit / 10 + (sum(map(ord, text)) % 97) / 1000

    def served(self, name: str) -> Served:
        return Served(name, limelight.wrap(self, labels=["no", "yes"], batch_texts=512))


QUICK, LATE = Teller(6), Teller(8, SLOW)
TELLERS = {"quick": QUICK, "slow": LATE}


def both() -> list[Served]:
    return [own.served(name) for name, own in TELLERS.items()]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(both()) as own:
        yield own


@contextmanager
def fresh(folder: Path) -> Iterator[Browser]:
    program = browser.found()
    assert program is not None
    with Browser(program, folder) as tab:
        yield tab


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with fresh(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


# ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def checked(tab: Browser) -> dict[str, Any]:
    """One moment, in which nothing belongs to anything else."""
    seen = looked(tab)
    assert wrong(seen) == []
    for pane in seen["panes"]:
        teller = TELLERS.get(pane["model"])
        for line in pane["said"] if teller else []:
            label, number = line.split("\n")[0], line.split("\n")[-1].split("→")[0].strip()
            yes = teller.of(pane["text"])
            assert number == f"{100 * (yes if label == 'yes' else 1 - yes):.1f} %", (pane["model"], line)
    return seen


def watched(tab: Browser, seconds: float, so: Callable[[dict[str, Any]], bool] = lambda seen: True) -> dict[str, Any]:
    """Look all the time, for so long at least and until it is so."""
    started = time.monotonic()
    while True:
        seen = checked(tab)
        if time.monotonic() - started > seconds and so(seen):
            return seen
        assert time.monotonic() - started < seconds + 20, "it never came to be so: " + "; ".join(
            str({**pane, "places": sorted({place["kind"] for place in pane["places"]})}) for pane in seen["panes"]
        )


def is_quiet(seen: dict[str, Any]) -> bool:
    """Whether all has been answered."""
    return all(
        pane["busy"] == "false" and bool(pane["trouble"] or pane["said"]) and (not pane["removed"] or has_removed(pane))
        for pane in seen["panes"]
    )


def has_removed(pane: dict[str, Any]) -> bool:
    return any(place["kind"] == "removed" for place in pane["places"])


FULL = {"prediction", "text", "rows", "removed", "curve"}

# ── one after the other ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_word_is_removed_and_then_another_model_is_chosen(tab: Browser, server: Running) -> None:
    """In version 0.2 the first model's prediction and what-if came back, and stayed, under the second one's name."""
    opened(tab, server.address)
    watched(tab, 0.0, lambda seen: "text" in kinds(seen))
    removed(tab, 1)
    watched(tab, 0.0, lambda seen: "removed" in kinds(seen))
    with_model(tab, "slow")
    assert kinds(checked(tab)) <= {"run"}, "nothing of the first model is left"
    seen = watched(tab, 1.0, lambda seen: is_quiet(seen) and has_removed(seen["panes"][0]))
    assert seen["panes"][0]["model"] == "slow"
    assert tab.complaints() == []


def test_side_by_side_while_answers_are_on_their_way(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    watched(tab, 0.0, lambda seen: "text" in kinds(seen))
    removed(tab, 0)
    beside(tab)
    with_model(tab, "slow", 1)
    watched(tab, 0.4)
    removed(tab, 2, 1)
    typed(tab, "one or the other", 0)
    watched(tab, 0.3)
    set_to(tab, "Explain", "no")
    watched(tab, 0.3)
    removed(tab, 1, 0)
    set_to(tab, "Take a word out by", "delete")
    unfolded(tab)
    seen = watched(tab, 0.5, is_quiet)
    watched(tab, 0.0, lambda seen: all(kinds(seen, i) >= FULL for i in (0, 1)))
    assert [pane["model"] for pane in seen["panes"]] == ["quick", "slow"]
    assert [pane["removed"] for pane in seen["panes"]] == [[1], [0, 2]], "each text has removed words of its own"
    with_model(tab, "slow", 0)
    with_model(tab, "quick", 1)
    watched(tab, 0.5, is_quiet)
    assert tab.complaints() == []


def test_an_emptied_text_has_no_prediction(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    with_model(tab, "slow")
    watched(tab, 0.0, is_quiet)
    removed(tab, 1)
    watched(tab, 0.0, lambda seen: has_removed(seen["panes"][0]))
    typed(tab, "")
    seen = checked(tab)
    assert (seen["panes"][0]["said"], seen["panes"][0]["texts"]) == ([], [])
    seen = watched(tab, 1.0, lambda seen: bool(seen["panes"][0]["trouble"]) and is_quiet(seen))
    assert "no words" in seen["panes"][0]["trouble"]
    assert (seen["panes"][0]["said"], kinds(seen) - {"prediction", "run"}) == ([], set()), "an error, and nothing else"
    with_model(tab, "quick")
    watched(tab, 0.6, is_quiet)
    typed(tab, "again")
    watched(tab, 0.6, lambda seen: is_quiet(seen) and bool(seen["panes"][0]["said"]))


def test_quick_typing_into_a_slow_model(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    with_model(tab, "slow")
    asked = LATE.asked
    for end in range(1, 30):
        typed(tab, "what a hand types quickly, it types."[:end])
        checked(tab)
    watched(tab, 0.5, is_quiet)
    assert LATE.asked - asked < 29 + 30, "what nobody waits for any more is not asked"
    for text in ("one", "two", "one"):
        typed(tab, text)
    watched(tab, 0.5, is_quiet)


@pytest.mark.parametrize(
    ("label", "values"),
    [("Explain", ["no", "yes", ""]), ("Take a word out by", ["delete", "mask"]), ("Output", ["probability", ""]),
     ("Seed", ["3", "0"]), ("Samples", ["40", ""]), ("Weights on", ["occurrences", "sentences", "words"])],
)  # fmt: skip
def test_settings_change_while_answers_are_on_their_way(
    tab: Browser, server: Running, label: str, values: list[str]
) -> None:
    opened(tab, server.address)
    typed(tab, "no or yes")
    unfolded(tab)
    with_model(tab, "slow")
    watched(tab, 0.2, lambda seen: "text" in kinds(seen))
    removed(tab, 0)
    for value in values:
        set_to(tab, label, value)
        watched(tab, 0.15)
    watched(tab, 0.2, is_quiet)
    for value in values:
        set_to(tab, label, value)
        checked(tab)
    watched(tab, 0.2, is_quiet)
    assert tab.complaints() == []


def test_a_server_that_is_busy_is_asked_again(tab: Browser) -> None:
    """One request at a time: the page's second is refused, and comes again, as long as its answer is wanted."""
    with running(both(), limits=Limits(per_client=1)) as own:
        opened(tab, own.address)
        watched(tab, 0.0, lambda seen: kinds(seen) >= {"prediction", "text", "rows"})
        removed(tab, 1)
        with_model(tab, "slow")
        seen = watched(tab, 0.5, lambda seen: is_quiet(seen) and has_removed(seen["panes"][0]))
        assert seen["panes"][0]["trouble"] is None


# ── sharing ───────────────────────────────────────────────────────────────────────────────────────────────────────────

SHOWN = """(() => {
    const fields = [...document.querySelectorAll(".settings .field")].map((own) => [
        own.querySelector("label").textContent, own.querySelector("select, input").value
    ]);
    return {
        ...Object.fromEntries(fields),
        methods: [...document.querySelectorAll(".methods input:checked")].map((own) => own.value),
        panes: [...document.querySelectorAll(".pane")].map((pane) => [
            pane.querySelector("select").value, pane.querySelector("textarea").value,
            [...pane.querySelectorAll(".toggle[aria-pressed=true]")].map((own) => own.dataset.feature),
            pane.querySelector(".colours-of select, .field.inline select")?.value ?? null,
        ]),
    };
})()"""


def test_a_link_holds_every_setting(tab: Browser, server: Running, tmp_path: Path) -> None:
    """All that can be set is set to what it usually is not, and a browser that has seen nothing opens the link."""
    opened(tab, server.address)
    beside(tab)
    with_model(tab, "slow", 1)
    typed(tab, "Ça alors 🎉 <b>bold</b>", 0)
    typed(tab, "something else", 1)
    set_to(tab, "Explain", "no")
    set_to(tab, "rather than", "yes")
    set_to(tab, "Take a word out by", "delete")
    set_to(tab, "Weights on", "occurrences")
    set_to(tab, "Output", "probability")
    set_to(tab, "Samples", "64")
    set_to(tab, "Seed", "7")
    tab.evaluate("document.querySelectorAll('.methods input').forEach((own) => own.click())")
    watched(tab, 0.6, is_quiet)
    removed(tab, 1, 0)
    removed(tab, 0, 1)
    set_to_colour = "own.value = 'leave-one-out'; own.dispatchEvent(new Event('change', {bubbles: true}));"
    done(tab, ".field.inline select", set_to_colour, 0)
    watched(tab, 0.2, is_quiet)
    # The link that is copied is that of this moment, not of the moment when a hand rested last.
    tab.evaluate("window.kept = null; navigator.clipboard.writeText = async (text) => { window.kept = text; }")
    done(tab, ".share", "own.open = true;")
    tab.evaluate("document.querySelectorAll('.methods input')[0].click()")
    done(tab, "button.link", "own.click();")
    watched(tab, 0.3, is_quiet)
    before, link = tab.evaluate(SHOWN), tab.evaluate("window.kept")
    assert before["panes"][0][:3] == ["quick", "Ça alors 🎉 <b>bold</b>", ["1"]]
    assert before["panes"][1][:3] == ["slow", "something else", ["0"]]
    usual = {"Explain": "", "rather than": "", "Take a word out by": "mask", "Weights on": "words", "Output": ""}
    assert [name for name, value in {**usual, "Samples": "", "Seed": "0"}.items() if before[name] == value] == []
    with fresh(tmp_path / "stranger") as other:
        opened(other, link)
        watched(other, 0.5, is_quiet)
        assert other.evaluate(SHOWN) == before
        # What the server is asked is the same as well: the answers are.
        assert looked(other)["panes"][0]["places"] == looked(tab)["panes"][0]["places"]


def test_a_link_names_its_model_even_where_it_is_the_first(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    watched(tab, 0.5, is_quiet)
    link = tab.evaluate("location.href").split("#")[1]
    with running(both()[::-1]) as other:
        opened(tab, f"{other.address}#{link}")
        seen = watched(tab, 0.3, is_quiet)
        assert seen["panes"][0]["model"] == "quick"


def test_a_link_to_a_model_that_is_not_here_says_so(tab: Browser, server: Running) -> None:
    with running([Teller(7).served("another")]) as other:
        opened(tab, other.address)
        watched(tab, 0.5)
        link = tab.evaluate("location.href").split("#")[1]
    opened(tab, f"{server.address}#{link}")
    assert "no model “another”" in tab.evaluate("document.querySelector('main > .notice').textContent")
    assert watched(tab, 0.0, is_quiet)["panes"][0]["model"] == "quick"


def test_a_link_of_version_0_2_keeps_its_removed_words(tab: Browser, server: Running) -> None:
    opened(tab, server.address + linked(a={"model": None, "text": "one two three", "second": ""}, removed=[1]))
    seen = watched(tab, 0.3, is_quiet)
    assert (seen["panes"][0]["text"], seen["panes"][0]["removed"]) == ("one two three", [1])


# ── adversaries ───────────────────────────────────────────────────────────────────────────────────────────────────────

TEXTS = ["", " ", "one", "one two", "a great film , a mess", "no. yes. no.", "🎉 und Ça", "two  spaces\nand a line"]

# Back and forward between entries of this page alone: a link that cannot be read makes another one.
WALK = [
    "window.most = window.at = (window.at ?? 0) + 1; location.hash += 'A'",
    "if (window.at > 0) { window.at -= 1; history.back(); }",
    "if (window.at < window.most) { window.at += 1; history.forward(); }",
]


def acted(tab: Browser, draw: random.Random) -> str:
    """Something that a person might do next, by chance."""
    count = len(tab.evaluate("[...document.querySelectorAll('.pane')].map(() => 0)"))
    pane, act = draw.randrange(count), draw.randrange(14)
    if act <= 2:
        removed(tab, draw.randrange(4), pane)
    elif act <= 4:
        with_model(tab, draw.choice(["quick", "slow"]), pane)
    elif act <= 6:
        typed(tab, draw.choice(TEXTS), pane)
    elif act == 7:
        beside(tab)
    elif act == 8:
        set_to(tab, "Explain", draw.choice(["", "no", "yes"]))
    elif act == 9:
        set_to(tab, "Take a word out by", draw.choice(["mask", "delete"]))
    elif act == 10:
        set_to(tab, "Weights on", draw.choice(["words", "occurrences", "sentences"]))
    elif act == 11:
        label, values = draw.choice([("Seed", "01"), ("Output", ["", "probability"]), ("Samples", ["", "30"])])
        set_to(tab, label, draw.choice(list(values)))
    elif act == 12:
        selector = draw.choice([".stop", ".what-if button", "thead button", ".colours-of select"])
        done(tab, selector, "own.click();", pane)
    else:
        tab.evaluate(WALK[draw.randrange(len(WALK))])
    return f"{act} in {pane}"


def played(tab: Browser, server: Running, seed: int, actions: int) -> None:
    draw, acts = random.Random(seed), []
    opened(tab, server.address)
    unfolded(tab)
    for number in range(actions):
        acts.append(acted(tab, draw))
        try:
            watched(tab, draw.choice([0.0, 0.0, 0.02, 0.1, 0.3]))
            if number % 8 == 7:
                unfolded(tab)
                watched(tab, 0.0, is_quiet)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, after {acts}") from error
    # What has no words is refused, and so is who asks too much at once; the console tells of both.
    assert [line for line in tab.complaints() if "422" not in line and "429" not in line] == []


def test_whatever_is_done_in_whatever_order(tab: Browser, server: Running) -> None:
    played(tab, server, seed=1, actions=32)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_whatever_is_done_for_longer(tab: Browser, server: Running, seed: int) -> None:
    played(tab, server, seed, actions=60)


def test_a_server_that_is_started_anew_with_other_models(tab: Browser) -> None:
    """The same name, another model: nothing of the first is left beside anything of the second."""
    first, second = Teller(6), Teller(4)
    with ExitStack() as stack:
        one = stack.enter_context(running([first.served("own"), LATE.served("slow")]))
        opened(tab, one.address)
        watched(tab, 0.3, is_quiet)
        removed(tab, 1)
        watched(tab, 0.0, lambda seen: has_removed(seen["panes"][0]))
        stack.close()
        stack.enter_context(running([second.served("own")], port=one.port))
        # Only this is asked of the second server: without more, all else would stay as the first one had answered it.
        removed(tab, 0)

        def answered(seen: dict[str, Any]) -> bool:
            return is_quiet(seen) and bool(seen["panes"]) and bool(seen["panes"][0]["said"])

        until(lambda: second.asked > 0)
        until(lambda: len(looked(tab)["panes"]) == 1 and answered(looked(tab)))
        pane = looked(tab)["panes"][0]
        yes = next(line for line in pane["said"] if line.startswith("yes"))
        assert f"{100 * second.of(pane['text']):.1f} %" in yes
        assert {place["asked"]["server"] for place in pane["places"]} == {tab.evaluate(SERVER)}
        models = "[...document.querySelector('.pane select').options].map((own) => own.value)"
        assert tab.evaluate(models) == ["own"], "the page has read anew what there is"
        assert pane["removed"] == [0, 1], "what was set is kept"


SERVER = "fetch('/api/v1/models').then((answer) => answer.headers.get('Limelight-Server'))"


def test_two_tabs_have_nothing_to_do_with_each_other(tab: Browser, server: Running, tmp_path: Path) -> None:
    with fresh(tmp_path / "other") as other:
        for own, text in ((tab, "one text"), (other, "quite another text")):
            opened(own, server.address)
            typed(own, text)
        with_model(other, "slow")
        for own in (tab, other, tab, other):
            removed(own, 1)
            watched(own, 0.2)
        seen = [watched(own, 0.3, is_quiet)["panes"][0] for own in (tab, other)]
        assert [(pane["model"], pane["text"]) for pane in seen] == [
            ("quick", "one text"),
            ("slow", "quite another text"),
        ]


def test_back_and_forward_between_two_links(tab: Browser, server: Running) -> None:
    opened(tab, server.address)
    typed(tab, "the first text")
    watched(tab, 0.6, is_quiet)
    first = tab.evaluate("location.hash")
    opened(tab, server.address)
    with_model(tab, "slow")
    typed(tab, "the second")
    watched(tab, 0.6, is_quiet)
    texts = {"the first text": "quick", "the second": "slow"}
    tab.evaluate(f"location.hash = {json.dumps(first)}")
    for go in ("0", "history.back()", "history.forward()", "history.back()"):
        before = looked(tab)["panes"][0]["text"]
        tab.evaluate(go)
        if go != "0":
            until(lambda before=before: looked(tab)["panes"][0]["text"] != before)
        seen = watched(tab, 0.2)
        assert texts[seen["panes"][0]["text"]] == seen["panes"][0]["model"]
    # Away from the page and back, while it is being asked.
    tab.open("about:blank")
    tab.evaluate("history.back()")
    until(lambda: tab.evaluate("document.querySelectorAll('.pane').length") > 0)
    watched(tab, 0.3, is_quiet)
