"""The page: complete, harmless whatever it shows, and true without stylesheet and script."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.core.sanitize import visible
from limelight.errors import InputError
from limelight.explanation.result import Comparison, Explanation
from limelight.inputs.document import read_words
from limelight.render.entries import Entry
from limelight.render.html.page import fragment, page, page_of
from limelight.render.html.page_frame import SCRIPT
from render.samples import comparison_of

VOID = {"meta", "br", "hr", "img", "input", "link"}
ELEMENTS = re.compile(
    "html|head|meta|title|style|body|main|nav|article|footer|div|h1|h2|h3|p|ul|ol|li|a|span|mark|strong|small|bdi|i|br"
    "|details|summary|table|thead|tbody|tr|th|td|script"
)
ATTACK = "\"><script>alert(1)</script><img src=x onerror='alert(2)'> </style></title>&lt; javascript:x"

hostile_texts = st.text(
    st.one_of(
        st.sampled_from("ab .,!'\"[]<>&/=\n\t\x00\x07\x1b\u202e\u2066\u200d\u2028\ud800\ufffe非👍שلé"), st.characters()
    ),
    max_size=80,
).map(lambda text: f"word {text}")


class Page(HTMLParser):
    """Reads a page as a browser would and notes all that matters here."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, str]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.told: dict[str, list[str]] = {}
        self.feed(source)
        self.close()
        assert self.open == [], "elements left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), "an attribute given twice"
        if tag in VOID:
            return
        name = (dict(attrs).get("class") or "").split(" ")[0]
        self.open.append((tag, name))
        for key in {tag, name}:
            self.told.setdefault(key, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for key in {key for own in self.open for key in own}:
            self.told[key][-1] += data

    def all(self, name: str, **attributes: str) -> list[dict[str, str | None]]:
        return [a for tag, a in self.elements if tag == name and all(a.get(k) == v for k, v in attributes.items())]


def plain(source: str) -> str:
    """What is read of a page, in one line."""
    body = source[source.index("</style>") :].replace(f"<script>{SCRIPT}</script>", "")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def in_order(words: list[str], text: str) -> bool:
    at = 0
    for word in words:
        found = text.find(word, at)
        if found < 0:
            return False
        at = found + len(word)
    return True


# ── whatever it shows ─────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=150, deadline=None)
@given(hostile_texts, st.sampled_from([page, fragment]))
def test_any_text_is_shown_and_none_acts(text: str, make: Any) -> None:
    comparison = comparison_of(
        text,
        methods=("lime", text[:30]),
        labels=(text, "other"),
        notices=(text,),
        parameters={text: text, "output": text},
        diagnostics={"warnings": [text]},
    )
    source = make(comparison)
    source.encode("utf-8")
    parsed = Page(source)
    for tag, attributes in parsed.elements:
        assert ELEMENTS.fullmatch(tag)
        assert not any(name.startswith("on") or name in ("src", "href", "srcset", "srcdoc") for name in attributes)
    assert parsed.told["script"] == [SCRIPT]
    words = [visible(text[word.start : word.end]) for word in read_words(text)]
    assert len(parsed.told["words"]) == 2
    for shown in parsed.told["words"]:
        assert in_order(words, shown)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", source)


def test_scripts_in_all_that_is_shown_are_only_shown() -> None:
    comparison = comparison_of(
        f"fine {ATTACK}", labels=("b", ATTACK), methods=(ATTACK,), notices=(ATTACK,), parameters={ATTACK: ATTACK}
    )
    entries = [Entry(ATTACK, list(comparison), ATTACK), Entry((ATTACK, ATTACK), (), ATTACK, ATTACK)]
    for source in (page(comparison, {ATTACK: ATTACK}), fragment(comparison), page_of(entries, {"model": ATTACK})):
        assert source.count("<script") == 1
        assert "<img" not in source
        assert source.count("</style>") == 1
        assert source.count("</title>") == source.count("<title>")
        assert any(ATTACK in told for told in Page(source).told["t0"])


def test_quotes_inside_a_feature_stay_inside_it() -> None:
    # Words never hold a quote; the spans of a user's own method may.
    text = 'x" onclick="alert(1)'
    explanation = replace(comparison_of("x")[0], text=text, spans=(((0, len(text)),),))
    parsed = Page(page([explanation]))
    assert parsed.told["words"] == [text]
    assert not any("onclick" in attributes for _, attributes in parsed.elements)


def test_page_allows_its_own_script_and_needs_nothing_else() -> None:
    source = page(comparison_of("A fine film."))
    parsed = Page(source)
    digest = base64.b64encode(hashlib.sha256(parsed.told["script"][0].encode()).digest()).decode()
    policy = parsed.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert [meta["content"] for meta in policy] == [
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    ]
    assert parsed.elements[2] == ("meta", {"charset": "utf-8"})
    assert not re.search(r"https?:|url\(|@import|fetch|innerHTML|eval", source)
    assert source.startswith("<!DOCTYPE html>")


def test_fragment_leaves_the_host_alone() -> None:
    source = fragment(comparison_of("A fine film."))
    # No heading either: a notebook's headings are its table of contents.
    assert not re.search(r"<(html|head|body|meta|title|main|article|h\d)\b", source)
    style = source[source.index("<style>") + 7 : source.index("</style>")]
    selectors = re.sub(r"@(media|container)[^{]*\{|\}", "", re.sub(r"\{[^{}]*\}", "\n", style))
    parts = [part.strip() for part in re.split(r"\n|,(?![^(]*\))", selectors) if part.strip()]
    assert len(parts) > 100
    assert all(":is(.limelight, #_)" in part for part in parts), parts
    assert not re.search(r"[\d.]rem\b|prefers-color-scheme", style)


def test_same_input_same_bytes() -> None:
    first = page(comparison_of("A fine film.", parameters={"b": 1, "a": 2}))
    assert first == page(comparison_of("A fine film.", parameters={"b": 1, "a": 2}))


def test_a_long_page_stays_small() -> None:
    text = " ".join(f"word{i}" for i in range(300))
    nine = tuple(f"method {i}" for i in range(9))
    rng = np.random.default_rng(0)
    comparison = comparison_of(text, rng.normal(size=300), methods=("lime", *nine[1:]), stderr=[0.1] * 300)
    assert len(page(comparison)) < 260_000
    assert len(page([comparison[0]])) < 66_000


# ── what is true ──────────────────────────────────────────────────────────────────────────────────────────────────────


def shown_words(explanation: Explanation) -> list[tuple[str, str]]:
    """The words of the only row with their classes."""
    source = page([explanation])
    row = source[source.index('<div class="words"') : source.index('<p class="legend')]
    return re.findall(r'<(?:mark|span)(?: class="([^"]*)")?>([^<]*)<', row)


def test_words_have_the_colour_of_the_label_that_they_speak_for() -> None:
    weights = [1.0, -1.0, 0.5, 0.0]
    for target, expected in (("positive", ["b20", "o20", "b10", ""]), ("negative", ["o20", "b20", "o10", ""])):
        comparison = comparison_of("good bad so nil", weights, methods=("gxi",), target=target)
        assert [name for name, _ in shown_words(comparison[0])] == expected


def test_what_is_not_told_from_zero_has_no_colour() -> None:
    comparison = comparison_of("good bad so", [0.15, 0.9, 0.001], stderr=[0.15, 0.01, 0.01])
    assert [name for name, _ in shown_words(comparison[0])] == ["", "b20", ""]
    text = plain(page(comparison))
    assert "bad +0.9000 ± 0.0239" in text  # one of three is significant: 2.39 standard errors
    assert "without colour: not distinguishable from 0" in text
    assert "good +0.1500" not in text.partition("Weights as numbers")[0]


def test_a_row_of_noise_says_so() -> None:
    comparison = comparison_of("xyzzy qwertz", [-6.6e-13, 1e-13], stderr=[1e-12, 1e-12])
    assert "no word is distinguishable from zero" in plain(page(comparison))
    assert [name for name, _ in shown_words(comparison[0])] == ["", ""]


def test_methods_without_sign_are_grey_and_the_legend_is_true() -> None:
    unsigned = comparison_of("good so", [1.0, 0.5], methods=("alpha-avg",))
    assert [name for name, _ in shown_words(unsigned[0])] == ["g20", "g10"]
    text = plain(page(unsigned))
    assert "how much a word matters, for no side" in text
    assert "for positive" not in text
    signed = plain(page(comparison_of("good so", [1.0, 0.5], methods=("gxi",))))
    assert "for positive" in signed
    assert "for negative (underlined unless faint)" in signed
    assert "for no side" not in signed


def test_unknown_words_are_marked() -> None:
    comparison = comparison_of("good xyzzy", [1.0, 0.0], methods=("gxi",), diagnostics={"unknown": [1]})
    assert [name for name, _ in shown_words(comparison[0])] == ["b20", "u"]
    assert "dotted : the model does not know the word" in plain(page(comparison))
    assert "dotted" not in plain(page(comparison_of("good")))


def test_verdicts_and_notices_come_before_the_words() -> None:
    comparison = comparison_of(
        "one two", [1.0], limit=1, stderr=[0.1], diagnostics={"warnings": ["do not rely on it", "few samples"]}
    )
    text = plain(page(comparison))
    places = [text.index(said) for said in ("the text has 2 words", "do not rely on it", "few samples", "for positive")]
    assert places == sorted(places)


def test_exact_is_told_by_what_it_means() -> None:
    text = plain(page(comparison_of("fine", methods=("gxi", "lime"), diagnostics={"error": 2e-12})))
    assert "no sampling, error below 2e-12" in text
    assert "exact" not in text


def test_table_has_all_numbers_with_bars() -> None:
    comparison = comparison_of("so good", [0.5, -0.25], methods=("lime", "gxi"), stderr=[0.011, 0.02])
    source = page(comparison)
    text = plain(source).partition("Weights as numbers")[2]
    assert re.search(
        r"word\s+LIME\s+G×I\s+so\s+\+0\.5000 ± 0\.0216\s+\+0\.5000\s+good\s+−0\.2500 ± 0\.0392\s+−0\.2500", text
    )
    cells = re.findall(r'<td class="(\w)" style="([^"]*)">', source)
    # Hundredths of the longest bar, which reaches to the end of its interval: 0.5 + 1.96 · 0.011.
    assert cells == [("b", "--v:96;--i:4"), ("b", "--v:100"), ("o", "--v:-48;--i:8"), ("o", "--v:-50")]


def test_prediction_parameters_and_time_are_told() -> None:
    comparison = comparison_of(
        "one two",
        [1.0, 0.5],
        stderr=[0.25, 0.25],
        logits=(-1.0, 2.0),
        target="negative",
        parameters={"n_samples": 5000, "output": "log-odds"},
        evaluations=4321,
    )
    text = plain(page(comparison))
    for expected in (
        "positive : one and two speak for negative",
        "positive 95.3 %",
        "Why negative ?",
        "n_samples = 5,000",
        "weights are in units of the log-odds",
        "sampled",
        "0.013",
        "4,321 times",
    ):
        assert expected in text
    assert 'style="width:95.3%"' in page(comparison)


def test_footer_says_what_it_is_told_and_nothing_else() -> None:
    about = {"model": "/models/<x>", "date": "2026-01-02", "command": "limelight explain …", "seed": "7"}
    footer = plain(page(comparison_of("fine"), about)).rpartition("How it was computed")[2]
    for expected in ("model: /models/&lt;x&gt;", "date: 2026-01-02", "command: limelight explain …", "seed: 7"):
        assert expected in footer.replace(" :", ":").replace(":  ", ": ")
    assert "date" not in plain(page(comparison_of("fine"))).rpartition("none")[2]


# ── all that can be explained ─────────────────────────────────────────────────────────────────────────────────────────


def test_breaks_are_signs_in_short_rows_and_breaks_in_long_ones() -> None:
    assert Page(page(comparison_of("one<br /><br />two"))).told["words"] == ["one ⏎ two"]
    long = " ".join(f"w{i}" for i in range(70))
    assert "w69<" in page(comparison_of(f"{long}<br /><br />{long}"))
    assert "<br><br>" in page(comparison_of(f"{long}<br /><br />{long}"))


def test_a_long_text_is_coloured_once_before_the_others() -> None:
    text = " ".join(f"w{i}" for i in range(70))
    comparison = comparison_of(text, methods=("alpha-avg", "lime", "gxi", "shapley"), stderr=[0.01] * 70)
    source = page(comparison)
    open_rows = source[source.index('<div class="rows leading"') : source.index("The text by 3 other methods")]
    assert open_rows.count('<div class="row"') == 1
    assert source.count('<div class="row"') == 4
    assert "The text by" not in page(comparison_of("short text", methods=("lime",)))


def test_what_was_not_read_is_there_to_be_opened() -> None:
    text = " ".join(f"w{i}" for i in range(40))
    parsed = Page(page(comparison_of(text, limit=3)))
    assert parsed.told["words"] == ["w0 w1 w2 […]"]
    assert "w39" in next(told for told in parsed.told["details"] if "What was not read" in told)


def test_several_texts_have_an_index_and_those_that_failed_say_why() -> None:
    mixed = [*comparison_of("first text"), *comparison_of("second one here")]
    assert Page(page(mixed)).told["words"] == ["first text", "second one here"]
    entries = [
        Entry("first text", list(comparison_of("first text")), "row 1"),
        Entry("", (), "row 2", "the text has no words"),
    ]
    source = page_of(entries)
    parsed = Page(source)
    assert [a["href"] for a in parsed.all("a")] == ["#text-1", "#text-2"]
    assert [a["id"] for a in parsed.all("article")] == ["text-1", "text-2"]
    for expected in ("2 texts", "row 1", "positive · 73.1 %", "row 2 could not be explained", "the text has no words"):
        assert expected in plain(source)


def test_the_same_text_twice_in_a_list_is_twice_on_the_page() -> None:
    entries = [Entry("so so", list(comparison_of("so so")), name) for name in ("a", "b")]
    assert Page(page_of(entries)).told["words"] == ["so so", "so so"]


def test_pairs_show_both_texts() -> None:
    pair = ("a man plays", "music plays")
    both = page(comparison_of(pair, [1.0, 0.5, 0.25, -1.0, -0.5], methods=("gxi",)))
    assert Page(both).told["side"] == ["1st a man plays", "2nd music plays"]
    assert plain(both).count("plays (2nd)") >= 1
    # A text without features is context: whole, and without colour.
    long = " ".join(f"w{i}" for i in range(30))
    second = comparison_of((long, "music plays"), [1.0, -0.5], methods=("gxi",), parts="second")
    sides = Page(page(second)).told["side"]
    assert sides == [f"1st {long}", "2nd music plays"]
    assert [name for name, _ in shown_words(second[0])] == ["b20", "o10"]


def test_two_levels_are_sentences_around_words() -> None:
    text = "It is good. It is bad!"
    weights = [0.5, 0.5, 1.0, 0.0, -1.0, -0.5, -0.5, 0.0]
    source = page(comparison_of(text, weights, kind=("sentences", "words"), methods=("gxi",)))
    parsed = Page(source)
    assert [told.strip() for told in parsed.told["group"]] == ["+2.000 It is good.", "−2.000 It is bad!"]
    assert "Weights of each sentence as numbers" in source
    assert "It is good. +2.000" in plain(source)


def test_features_of_many_places_tell_the_script_which_they_are() -> None:
    source = page(comparison_of("so good so bad"))
    assert 'data-order="0 1 0 2"' in source
    assert "data-order" not in page(comparison_of("so good")).partition("</style>")[2].replace(SCRIPT, "")


def test_labels_that_do_not_exclude_each_other_and_numbers() -> None:
    several = comparison_of("fine", [1.0], labels=("a", "b", "c"), logits=(1.0, 2.0, -1.0), model="multi-label")
    text = plain(page(several))
    assert text.startswith(" b , mainly because of fine b 88.1 %")
    assert "against b" in text
    nothing = comparison_of("fine", [1.0], labels=("a", "b"), logits=(-1.0, -2.0), model="multi-label")
    assert plain(page(nothing)).startswith(" not a : fine speaks for a")
    value = plain(page(comparison_of("fine", [1.0], labels=("stars",), logits=(3.25,), model="regression")))
    assert value.startswith(" stars 3.25 : fine raises it")
    assert "raises stars" in value
    assert "lowers stars" in value
    contrast = comparison_of("fine", [1.0], labels=("a", "b", "c"), target="c", against="a")
    text = plain(page(contrast))
    assert "Why c rather than a ?" in text
    assert "for a (underlined" in text
    asked = comparison_of("fine", [1.0], labels=("a", "b"), target="b", against="a", parameters={"output": "logit"})
    told = "Weights are in units of the logit: that of b less that of a, +1.000 − 0.000 = +1.000"
    assert told in plain(page(asked))


def test_several_labels_have_a_section_each() -> None:
    labels = ("a", "b", "c")
    all_labels = [e for target in labels for e in comparison_of("so good", labels=labels, target=target)]
    parsed = Page(page(all_labels))
    assert parsed.told["t1"] == ["Why c?", "Why a?", "Why b?"], "the page opens on the label that the model gives"
    assert parsed.told["t0"] == ["c, mainly because of so; good speaks against it"]
    assert parsed.told["words"] == ["so good"] * 3
    assert len(parsed.all("article")) == 1


def test_explanations_show_themselves() -> None:
    comparison = comparison_of("A fine film.", methods=("lime", "gxi"))
    assert comparison.to_html() == page(comparison)
    assert comparison[0]._repr_html_() == fragment([comparison[0]])


def test_spans_that_overlap_show_each_letter_once() -> None:
    explanation = replace(comparison_of("abc def")[0], spans=(((0, 3),), ((1, 7),)))
    assert Page(page([explanation])).told["words"] == ["abc def"]


def test_numbers_that_are_none_are_shown_and_not_drawn() -> None:
    explanation = comparison_of("a b c", [np.nan, np.inf, 1.0], methods=("gxi",))[0]
    assert [name for name, _ in shown_words(explanation)] == ["", "", "b20"]
    assert "nan" in plain(page([explanation]))


def test_nothing_to_show_is_an_error() -> None:
    for make in (page, fragment):
        with pytest.raises(InputError, match="no explanation to show"):
            make(Comparison(()))
    with pytest.raises(InputError, match="no explanation to show"):
        page_of([Entry("", (), "a", "an error")])
