"""What a person sees of the page and of a notebook's output, asked of a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limelight.explanation.result import Explanation
from limelight.inputs.document import Document
from limelight.inputs.features import features_of
from limelight.render.entries import Entry
from limelight.render.html.page import fragment, page, page_of
from render import browser
from render.browser import Browser
from render.samples import comparison_of

WCAG_AA = 4.5
ATTACK = "\"><script>document.title='attacked'</script><img src=x onerror=\"document.title='attacked'\"></style>"
NINE = ("alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi", "lime-limit", "shapley")
SENTENCE = "A great film, but the ending was a terrible mess."

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


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str], str]:
    """Writes a page, and gives its address."""

    def written(source: str) -> str:
        (tmp_path / "page.html").write_text(source, encoding="utf-8")
        return (tmp_path / "page.html").as_uri()

    return written


def sample(
    text: Any, *, kind: Any = "words", methods: Sequence[str] = ("lime", "gxi"), **more: Any
) -> list[Explanation]:
    """Weights of all sizes, and errors of which some cover them."""
    size = len(features_of(Document.read(text), kind, more.get("parts", "both")))
    weights = np.random.default_rng(size).normal(size=size)
    return list(comparison_of(text, weights, kind=kind, methods=methods, stderr=[0.2] * size, **more))


def adversarial() -> dict[str, list[Explanation]]:
    fifty = tuple(f"label number {i}" for i in range(50))
    levels = "The cast is superb. The music, though, is terrible! I would not watch it again."
    unknown = {"unknown": [0, 1], "warnings": ["the model knows none of the words"], "rounding": 1e-11}
    toxic = {"labels": ("toxic", "insult"), "logits": (2.0, -1.0), "model": "multi-label"}
    return {
        "plain": sample(SENTENCE, methods=NINE),
        "all words unknown": list(comparison_of("xyzzy qwertz", [-6.6e-13, 1e-13], diagnostics=unknown)),
        "one word": sample("great"),
        "ties": list(comparison_of("a b c d e f", [0.5] * 6)),
        "saturated": sample(SENTENCE, logits=(-40.0, 40.0), diagnostics={"warnings": ["the wrong sign " * 20]}),
        "600 words": sample(" ".join(f"word{i}" for i in range(600)), methods=NINE),
        "50 labels": sample(SENTENCE, labels=fifty, target=fifty[3]),
        "right to left": sample("الفيلم رائع جدا، لكن النهاية كانت سيئة great."),
        "emoji": sample("I ❤️ this 👨‍👩‍👧 film 👍🏽 非常好 naïve"),
        "hostile": sample(f"fine {ATTACK}", labels=("b", ATTACK), notices=(ATTACK,), parameters={ATTACK: ATTACK}),
        "long word": sample(f"a {'x' * 400} b", labels=("y" * 300, "z")),
        "pair": sample(("A man plays the guitar.", "Somebody makes music."), against="negative"),
        "levels": sample(levels, kind=("sentences", "words")),
        "sentences": sample(levels, kind="sentences"),
        "regression": sample(SENTENCE, labels=("stars",), logits=(3.2,), model="regression"),
        "several labels": [*sample(SENTENCE, target="toxic", **toxic), *sample(SENTENCE, target="insult", **toxic)],
    }


ADVERSARIAL = adversarial()
LAB_RULES = """
html {font-size: 10px}
.jp-RenderedHTMLCommon dt {float: left; width: 20%}
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th {text-align: right; padding: 0.5em; white-space: pre}
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) {background: red}
.jp-RenderedHTMLCommon table {table-layout: fixed; border: none; margin-left: auto; font-size: 30px}
.jp-RenderedHTMLCommon strong {color: red; font-weight: 100}
.row {margin: -15px; display: table}
.words, .name, mark, span, small {font-size: 40px; color: red}
p {margin: 3em} div {line-height: 4} ul {list-style: square}
"""


def notebook(source: str, *, dark: bool) -> str:
    """A page that holds a fragment as JupyterLab does, put there by innerHTML and with rules that would break it."""
    theme = "false" if dark else "true"
    # As JupyterLab does: scripts that innerHTML has left dead are made again.
    return f"""<!DOCTYPE html><meta charset="utf-8"><style>{LAB_RULES}</style>
<body data-jp-theme-light="{theme}" style="background: {"#111" if dark else "#fff"}">
<div class="jp-RenderedHTMLCommon" id="output"></div>
<script>
const output = document.getElementById("output");
output.innerHTML = {json.dumps(source).replace("</", "<" + chr(92) + "/")};
for (const dead of output.querySelectorAll("script")) {{
  const live = document.createElement("script");
  live.textContent = dead.textContent;
  dead.replaceWith(live);
}}
</script></body>"""


OPENED = "document.querySelectorAll('details').forEach((own) => { own.open = true; })"
WIDER = """(() => {
  document.querySelectorAll("details").forEach((own) => { own.open = true; });
  const wide = [...document.querySelectorAll("body *")].filter((own) => {
    const inside = own.closest(".scroll");
    return !(inside && inside !== own) && own.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  });
  return [document.documentElement.scrollWidth, wide.map((own) => own.outerHTML.slice(0, 120))];
})()"""

CONTRASTS = """(() => {
  document.querySelectorAll("details").forEach((own) => { own.open = true; });
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const over = (upper, lower) => {
    const alpha = upper[3] ?? 1;
    return [0, 1, 2].map((i) => alpha * upper[i] + (1 - alpha) * lower[i]);
  };
  const paper = (own) => (own
    ? over(channels(getComputedStyle(own).backgroundColor), paper(own.parentElement)) : [255, 255, 255]);
  const worst = {};
  const walker = document.createTreeWalker(document.querySelector(".limelight"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const own = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !own.getClientRects().length) continue;
    if (own.closest("script, style, option")) continue;
    const below = paper(own), letters = over(channels(getComputedStyle(own).color), below);
    const [a, b] = [luminance(letters), luminance(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const name = own.tagName + "." + own.className;
    worst[name] = Math.min(worst[name] ?? 99, ratio);
  }
  return worst;
})()"""


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_nothing_is_wider_than_the_page(tab: Browser, put: Callable[[str], str], name: str, width: int) -> None:
    about = {"model": "/a/very/long/" * 20, "command": ATTACK}
    for source in (page(ADVERSARIAL[name], about), notebook(fragment(ADVERSARIAL[name]), dark=False)):
        tab.open(put(source), width=width)
        scroll, wider = tab.evaluate(WIDER)
        assert scroll <= width
        assert wider == []
        assert tab.evaluate("document.title") != "attacked"
        assert tab.evaluate("document.querySelectorAll('[data-live]').length") == 1
        assert tab.complaints() == []


def every_level() -> list[Explanation]:
    """All colours at all depths, and everything else that has letters."""
    words = " ".join(f"w{i}" for i in range(45))
    weights = [*np.linspace(-1, 1, 42), 0.0, 0.0, 0.0]
    unknown = {"unknown": [44], "warnings": ["a verdict"]}
    signed = comparison_of(
        words, weights, methods=("gxi", "lime"), notices=("a notice",), stderr=[1e-4] * 45, diagnostics=unknown
    )
    unsigned = comparison_of(words, np.abs(weights), methods=("alpha-avg",), notices=("a notice",))
    return [*signed, *unsigned]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("make", ["page", "notebook"])
def test_all_letters_stand_out_in_both_themes(
    tab: Browser, put: Callable[[str], str], make: str, *, dark: bool
) -> None:
    if make == "page":
        tab.open(put(page(every_level())), scheme="dark" if dark else "light")
    else:  # the notebook's theme counts, not the system's
        tab.open(put(notebook(fragment(every_level()), dark=dark)), scheme="light" if dark else "dark")
    tab.point_at(".words .b20")
    ratios = tab.evaluate(CONTRASTS)
    shades = {name.split(" ")[0].split(".")[1] for name in ratios}
    assert {f"{hue}{level}" for hue in "bog" for level in (1, 10, 20)} <= shades
    assert {name: ratio for name, ratio in ratios.items() if ratio < WCAG_AA} == {}
    background = tab.evaluate("getComputedStyle(document.querySelector('.limelight')).backgroundColor")
    assert background == ("rgb(27, 28, 33)" if dark else "rgb(255, 255, 255)")


def test_the_host_of_a_fragment_changes_nothing_in_it(tab: Browser, put: Callable[[str], str]) -> None:
    """Every element looks in a hostile host as it does in an empty page."""
    looks = """[...document.querySelectorAll(".limelight *")].map((own) => {
      const look = getComputedStyle(own);
      return [own.tagName, own.className, look.fontSize, look.color, look.display, look.float, look.textAlign,
        look.lineHeight, look.padding, look.margin, look.backgroundColor, look.fontWeight, look.whiteSpace,
        look.listStyleType, Math.round(own.getBoundingClientRect().width)].join("|");
    })"""
    source = fragment([*every_level(), *ADVERSARIAL["levels"]])
    bare = notebook(source, dark=False).replace(LAB_RULES, "").replace("jp-RenderedHTMLCommon", "")
    tab.open(put(bare))
    expected = tab.evaluate(looks)
    tab.open(put(notebook(source, dark=False)))
    found = tab.evaluate(looks)
    assert len(found) == len(expected) > 300
    assert [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]] == []


def test_a_fragment_changes_nothing_of_its_host(tab: Browser, put: Callable[[str], str]) -> None:
    host = (
        '<p class="row quiet">text <mark class="b12">marked</mark></p><table><tr><td style="--v:3">1</td></tr></table>'
    )
    look = """[...document.querySelectorAll("#host *")].map((own) => {
      const all = getComputedStyle(own); return [...all].map((name) => name + ":" + all.getPropertyValue(name));
    })"""
    tab.open(put(f'<!DOCTYPE html><meta charset="utf-8"><div id="host">{host}</div>'))
    alone = tab.evaluate(look)
    tab.open(put(f'<!DOCTYPE html><meta charset="utf-8"><div id="host">{host}</div>{fragment(every_level())}'))
    assert tab.evaluate(look) == alone


def test_rows_are_aligned(tab: Browser, put: Callable[[str], str]) -> None:
    """Every word stands below itself, in one line or in many."""
    places = """[...document.querySelectorAll(".row .words")].map((row) => {
      const top = row.getBoundingClientRect().top;
      return [...row.querySelectorAll("mark, span")].map((word) => {
        const box = word.getClientRects()[0];
        return [Math.round(box.left), Math.round(box.top - top)];
      });
    })"""
    for text, width in ((SENTENCE, 1200), (SENTENCE * 4, 1200), (SENTENCE * 4, 400)):
        tab.open(put(page(sample(text, methods=NINE))), width=width)
        tab.evaluate(OPENED)
        _, *rows = tab.evaluate(places)  # the first is in larger letters
        assert len(rows) == 8
        assert all(row == rows[0] for row in rows)


def test_a_word_is_seen_in_all_rows(tab: Browser, put: Callable[[str], str]) -> None:
    comparison = comparison_of("so good so bad", [0.5, 1.0, -1.0], methods=("lime", "gxi"), stderr=[0.01, 0.02, 0.03])
    tab.open(put(page(comparison)))
    tab.evaluate(OPENED)
    tab.point_at("details .row .words mark:first-child")
    same = tab.evaluate("[...document.querySelectorAll('.same')].map((own) => own.textContent)")
    assert same == ["so"] * 4
    assert tab.evaluate("document.querySelector('.panel').innerText").split("\n") == [
        "so",
        "LIME +0.500 ± 0.020",
        "G×I +0.500",
    ]
    tab.point_at("h1")
    assert tab.evaluate("document.querySelector('.panel').hidden")


def test_all_is_reached_by_keyboard(tab: Browser, put: Callable[[str], str]) -> None:
    tab.open(put(page(sample(SENTENCE, methods=("lime", "gxi", "shapley")))))
    focused = "document.activeElement.tagName + ' ' + document.activeElement.textContent.trim()"
    reached = []
    for _ in range(8):
        tab.press("Tab")
        reached.append(tab.evaluate(focused))
    # One stop for all words, three switches, and what can be opened.
    assert reached[0].split(" ")[1] == "A"
    assert reached[1] == "SUMMARY The text by 2 other methods"
    assert reached[2:5] == ["INPUT "] * 3
    assert reached[5:7] == ["SUMMARY Weights as numbers", "SUMMARY How each was computed"]
    tab.press("Escape")
    tab.evaluate("document.querySelector('.words [tabindex=\"0\"]').focus()")
    tab.press("ArrowDown")  # what is folded away is no stop
    assert tab.evaluate("document.activeElement.closest('.row').querySelector('strong').textContent") == "Shapley"
    tab.evaluate(OPENED)
    tab.evaluate("document.querySelector('.words [tabindex=\"0\"]').focus()")
    for key, expected in (
        ("ArrowRight", "great"),
        ("ArrowRight", "film"),
        ("ArrowLeft", "great"),
        ("ArrowDown", "great"),
    ):
        tab.press(key)
        assert tab.evaluate("document.activeElement.textContent") == expected
        assert tab.evaluate("document.querySelector('.panel strong').textContent") == expected
    assert tab.evaluate("document.activeElement.closest('.row').querySelector('strong').textContent") == "LIME"
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px"
    tab.press("Escape")
    assert tab.evaluate("document.querySelector('.panel').hidden")


def test_methods_can_be_hidden(tab: Browser, put: Callable[[str], str]) -> None:
    tab.open(put(page(sample(SENTENCE, methods=("lime", "gxi", "shapley")))))
    tab.evaluate(OPENED)
    seen = """['.row strong', '.strongest strong', '.numbers thead th'].map((selector) =>
      [...document.querySelectorAll(selector)].filter((own) => own.getClientRects().length).map((own) =>
      own.textContent.trim()))"""
    order = ["LIME", "G×I", "Shapley"]
    assert tab.evaluate(seen) == [["Shapley", "LIME", "G×I"], order, ["word", *order]]
    tab.evaluate("document.querySelectorAll('.choice input')[1].click()")
    assert tab.evaluate(seen) == [["Shapley", "LIME"], ["LIME", "Shapley"], ["word", "LIME", "Shapley"]]
    assert tab.evaluate("document.querySelector('.numbers tbody tr').innerText").count("\t") == 2


def test_the_table_is_sorted_by_any_column(tab: Browser, put: Callable[[str], str]) -> None:
    weights = [0.5, -2.0, 1e-7, 10.0, -0.25]
    tab.open(put(page(comparison_of("a b c d e", weights, methods=("gxi", "lime")))))
    words = "[...document.querySelectorAll('.numbers tbody th')].map((own) => own.textContent).join('')"
    press = "document.querySelectorAll('.numbers thead button')[{}].click()"
    state = "[...document.querySelectorAll('.numbers thead th')].map((own) => own.getAttribute('aria-sort'))"
    assert tab.evaluate(words) == "abcde"
    tab.evaluate(press.format(1))
    assert tab.evaluate(words) == "daceb"
    assert tab.evaluate(state) == [None, "descending", None]
    tab.evaluate(press.format(1))
    assert tab.evaluate(words) == "becad"
    assert tab.evaluate(state) == [None, "ascending", None]
    tab.evaluate(press.format(0))
    assert tab.evaluate(words) == "abcde"
    tab.evaluate("document.querySelector('.words mark:nth-child(4)').click()")  # still its own line of the table
    assert tab.evaluate("document.querySelector('.panel strong').textContent") == "d"


def test_labels_can_be_switched(tab: Browser, put: Callable[[str], str]) -> None:
    tab.open(put(page(ADVERSARIAL["several labels"])))
    seen = "[...document.querySelectorAll('.question')].filter((own) => own.offsetParent).map((own) => own.textContent)"
    assert tab.evaluate(seen) == ["Why toxic?"]
    choose = """(() => {{
      const own = document.querySelector("select");
      own.selectedIndex = {};
      own.dispatchEvent(new Event("change"));
    }})()"""
    tab.evaluate(choose.format(1))
    assert tab.evaluate(seen) == ["Why insult?"]
    tab.evaluate(choose.format(2))
    assert tab.evaluate(seen) == ["Why toxic?", "Why insult?"]


def test_all_is_there_without_scripts_and_on_paper(tab: Browser, put: Callable[[str], str]) -> None:
    source = page(ADVERSARIAL["several labels"])
    dead = source[: source.index("<script>")] + "</body></html>"
    tab.open(put(dead), media="print", scheme="dark")
    shown = "[...document.querySelectorAll('.question, .row')].every((own) => own.getClientRects().length > 0)"
    assert tab.evaluate(shown)
    assert tab.evaluate("document.querySelectorAll('button, input, select').length") == 0
    # Ink on white, whatever the screen is.
    assert (
        tab.evaluate("getComputedStyle(document.querySelector('.limelight')).backgroundColor") == "rgb(255, 255, 255)"
    )
    assert tab.evaluate("getComputedStyle(document.querySelector('mark')).printColorAdjust") == "exact"


def test_nine_methods_fit_on_paper(tab: Browser, put: Callable[[str], str]) -> None:
    a4 = 718  # CSS pixels between margins of 1 cm
    tab.open(put(page(ADVERSARIAL["plain"])), media="print", width=a4)
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate("document.querySelector('.numbers').getClientRects().length") == 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= a4


def test_an_index_leads_to_each_text(tab: Browser, put: Callable[[str], str]) -> None:
    entries = [Entry(own[0].text, own, name) for name, own in ADVERSARIAL.items() if name != "600 words"]
    tab.open(put(page_of([*entries, Entry("", (), "row 17", "the text has no words")])), width=400)
    assert tab.evaluate("document.querySelectorAll('nav a').length") == len(entries) + 1
    tab.evaluate("document.querySelectorAll('nav a')[3].click()")
    assert abs(tab.evaluate("document.querySelector('#text-4').getBoundingClientRect().top")) < 2
    scroll, wider = tab.evaluate(WIDER)
    assert (scroll, wider) == (400, [])


@pytest.mark.parametrize("dark", [False, True])
def test_the_stripped_fragment_keeps_its_colours(tab: Browser, put: Callable[[str], str], *, dark: bool) -> None:
    """An untrusted notebook has neither stylesheet nor script; classes and colours at the words are left."""
    source = fragment(every_level())
    stripped = source[source.index("</style>") + 8 : source.index("<script>")]
    ink, paper = ("#fff", "#111") if dark else ("#000000de", "#fff")  # JupyterLab's own
    tab.open(put(f'<!DOCTYPE html><meta charset="utf-8"><body style="color: {ink}; background: {paper}">{stripped}'))
    colours = "[...document.querySelectorAll('.words [class]')].map((own) => getComputedStyle(own).backgroundColor)"
    assert len(set(tab.evaluate(colours))) > 40
    ratios = tab.evaluate(CONTRASTS)
    assert len(ratios) > 40
    assert {name: ratio for name, ratio in ratios.items() if ratio < WCAG_AA} == {}
