"""The page: complete, harmless whatever it shows, readable in any light."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.document import read_words
from limelight.errors import InputError
from limelight.explanation import Comparison
from limelight.show.colour import DARK, LEVELS, LIGHT, contrast
from limelight.show.html import fragment, page
from limelight.show.visible import visible
from show.samples import comparison_of

WCAG_AA = 4.5
VOID = {"meta", "br", "hr", "img", "input", "link"}
ELEMENTS = re.compile(
    "html|head|meta|title|style|body|main|div|h1|h2|p|ul|li|span|bdi|i|u|blockquote|dl|dt|dd|details|summary|table|thead"
    "|tbody|tr|th|td"
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
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(source)
        self.close()
        assert self.open == [], "elements left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), "an attribute given twice"
        if tag not in VOID:
            self.open.append(tag)
        self.text.setdefault(tag, []).append("") if tag in ("dd", "blockquote", "title", "h1") else None

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            if tag in self.text:
                self.text[tag][-1] += data

    def all(self, name: str, **attributes: str) -> list[dict[str, str | None]]:
        return [a for tag, a in self.elements if tag == name and all(a.get(k) == v for k, v in attributes.items())]


def in_order(words: list[str], text: str) -> bool:
    at = 0
    for word in words:
        found = text.find(word, at)
        if found < 0:
            return False
        at = found + len(word)
    return True


@settings(max_examples=150, deadline=None)
@given(hostile_texts, st.sampled_from([page, fragment]))
def test_any_text_is_shown_and_none_acts(text: str, make: type) -> None:
    comparison = comparison_of(
        text, methods=("lime", text[:30]), labels=(text, "other"), notices=(text,), parameters={text: text}
    )
    source = make(comparison)
    source.encode("utf-8")
    parsed = Page(source)
    for tag, attributes in parsed.elements:
        assert ELEMENTS.fullmatch(tag)
        assert not any(name.startswith("on") or name in ("src", "href", "srcset", "srcdoc") for name in attributes)
    words = [visible(text[word.start : word.end]) for word in read_words(text)]
    assert len(parsed.text["dd"]) == 2
    for shown in (*parsed.text["dd"], *parsed.text["blockquote"]):
        assert in_order(words, shown)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", source)


def test_scripts_in_text_labels_methods_and_parameters_are_only_shown() -> None:
    comparison = comparison_of(
        f"fine {ATTACK}", labels=("b", ATTACK), methods=(ATTACK,), notices=(ATTACK,), parameters={ATTACK: ATTACK}
    )
    for source in (page(comparison), fragment(comparison)):
        assert "<script" not in source
        assert "<img" not in source
        assert source.count("</style>") == 1
        assert ATTACK in Page(source).text["h1"][0]


def test_quotes_inside_a_feature_stay_inside_its_attribute() -> None:
    # Words never hold a quote; the spans of a user's own method may.
    text = 'x" onclick="alert(1)'
    explanation = replace(comparison_of("x")[0], text=text, spans=(((0, len(text)),),))
    words = [a for tag, a in Page(page([explanation])).elements if "title" in a]
    assert [sorted(word) for word in words] == [["class", "tabindex", "title"]]


def test_page_forbids_scripts_and_needs_nothing_else() -> None:
    source = page(comparison_of("A fine film."))
    parsed = Page(source)
    policy = parsed.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert [meta["content"] for meta in policy] == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert parsed.elements[2] == ("meta", {"charset": "utf-8"})
    assert not re.search(r"https?:|url\(|@import", source)
    assert source.startswith("<!DOCTYPE html>")


def test_fragment_is_scoped() -> None:
    source = fragment(comparison_of("A fine film."))
    assert not re.search(r"<(html|head|body|meta|title)\b", source)
    style = source[source.index("<style>") + 7 : source.index("</style>")]
    selectors = re.sub(r"@media[^{]*\{|\}", "", re.sub(r"\{[^{}]*\}", "\n", style))
    parts = [part.strip() for part in re.split(r"[\n,]", selectors) if part.strip()]
    assert len(parts) > 100
    assert all(part.startswith(".limelight-explanation") for part in parts), parts


def test_same_input_same_bytes() -> None:
    first = page(comparison_of("A fine film.", parameters={"b": 1, "a": 2}))
    assert first == page(comparison_of("A fine film.", parameters={"b": 1, "a": 2}))


def test_words_carry_their_weight_and_its_error() -> None:
    comparison = comparison_of("good bad so nil", [1.0, -1.0, 0.5, 0.0], stderr=[0.01, 0.02, 0.03, 0.0])
    words = [a for tag, a in Page(page(comparison)).elements if tag == "span" and "title" in a]
    assert [(word["title"], word["class"]) for word in words] == [
        ("good: +1.000 ± 0.010", "word p20"),
        ("bad: −1.000 ± 0.020", "word against n20"),
        ("so: +0.500 ± 0.030", "word p10"),
        ("nil: 0.000 ± 0.000", "word"),
    ]
    # Reached by a tap or a click, without a stop of the Tab key at each of a thousand words.
    assert {word["tabindex"] for word in words} == {"-1"}


def test_every_level_has_a_readable_colour_in_both_themes() -> None:
    source = page(comparison_of("fine"))
    light, dark = source.split("(prefers-color-scheme: dark) {\n", 1)
    for style, theme in ((light, LIGHT), (dark, DARK)):
        found = re.findall(r"\.([pn]\d+) \{background: #(\w{6})\}", style)
        assert len(found) == 2 * LEVELS
        for _, colour in found:
            assert contrast(tuple(bytes.fromhex(colour)), theme.ink) >= WCAG_AA
        quiet = re.search(r"--quiet: #(\w{6})", style)
        assert quiet
        assert contrast(tuple(bytes.fromhex(quiet[1])), theme.paper) >= WCAG_AA


def test_table_has_all_numbers() -> None:
    comparison = comparison_of("so good", [0.5, -0.25], methods=("lime", "gxi"), stderr=[0.011, 0.02])
    text = re.sub(r"<[^>]+>", " ", page(comparison)[page(comparison).index("Weights as numbers") :])
    assert re.search(
        r"word\s+LIME\s+G×I\s+so\s+\+0\.5000 ± 0\.0110\s+\+0\.5000\s+good\s+−0\.2500 ± 0\.0200\s+−0\.2500", text
    )


def test_prediction_notices_parameters_and_time_are_told() -> None:
    comparison = comparison_of(
        "one two",
        [1.0],
        stderr=[0.25],
        limit=1,
        logits=(-1.0, 2.0),
        target="negative",
        parameters={"n_samples": 5000},
        evaluations=4321,
    )
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page(comparison)))
    for expected in (
        "positive · 95.3 %",
        "why (not) negative",
        "the text has 2 words, this model reads 1",
        "n_samples = 5,000",
        "sampled, 12 ms",
        "0.013",
        "4,321 times",
    ):
        assert expected in text
    assert 'style="width:95.3%"' in page(comparison)


def test_methods_without_sign_say_so() -> None:
    assert page(comparison_of("fine", methods=("alpha-avg", "lime"))).count(", no sign") == 1
    assert "no sign" not in page(comparison_of("fine", methods=("gxi", "lime")))


def test_breaks_are_breaks_in_the_text_and_signs_in_the_rows() -> None:
    parsed = Page(page(comparison_of("one<br /><br />two")))
    assert parsed.text["blockquote"] == ["one\n\ntwo"]
    assert parsed.text["dd"] == ["one ⏎ two"]


def test_several_texts_make_several_parts() -> None:
    mixed = [*comparison_of("first text"), *comparison_of("second one here")]
    parsed = Page(page(mixed))
    assert parsed.text["blockquote"] == ["first text", "second one here"]


def test_explanations_show_themselves() -> None:
    comparison = comparison_of("A fine film.", methods=("lime", "gxi"))
    assert comparison.to_html() == page(comparison)
    assert comparison[0]._repr_html_() == fragment([comparison[0]])


def test_spans_that_overlap_show_each_letter_once() -> None:
    explanation = replace(comparison_of("abc def")[0], spans=(((0, 3),), ((1, 7),)))
    assert Page(page([explanation])).text["dd"] == ["abc def"]


def test_nothing_to_show_is_an_error() -> None:
    with pytest.raises(InputError, match="no explanation to show"):
        page(Comparison(()))
