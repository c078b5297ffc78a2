from __future__ import annotations

import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import InputError
from limelight.inputs.document import UNKNOWN, read_words
from limelight.inputs.words import plain_words, words_by

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
SEPARATORS = "\u200b\u0f0b\u0f0c\u1361"
SPECIAL = (
    "ฉันรักิ๑ຂ້ອຍខ្ញុំ។ဒီရုပ်။བོད་།ሰላም፡። \u200b\u200c\u200d\u200f\ufe0e\ufe0f\u20e3\u0301\u3099かカ葛\U000e0100"
    "⭐⬛↔🐈👍🏽🏴\U000e0067\U000e007f🇫🇷1#*·lLՀա՞‑-‐éя\"';.!?()[]<br/>中\n\ud800\udc00"
)
texts = st.lists(st.one_of(st.characters(), st.sampled_from([*SPECIAL, UNKNOWN, ENGLAND]))).map("".join)
"""Any text, with more than its share of what the rule is about; lone surrogates too."""


def written(text: str) -> list[str]:
    return [text[word.start : word.end] for word in plain_words(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # Sentences that their readers divide so: "I love this film very much", and "I like this film".
        ("ฉันรักภาพยนตร์เรื่องนี้มาก", "ฉัน รัก ภาพยนตร์ เรื่อง นี้ มาก"),
        ("ຂ້ອຍມັກຮູບເງົານີ້", "ຂ້ອຍ ມັກ ຮູບເງົາ ນີ້"),
        ("ខ្ញុំចូលចិត្តភាពយន្តនេះ។", "ខ្ញុំ ចូលចិត្ត ភាពយន្ត នេះ ។"),
        ("ဒီရုပ်ရှင်ကိုကြိုက်တယ်။", "ဒီ ရုပ်ရှင် ကို ကြိုက် တယ် ။"),
        ("iPhoneรุ่นใหม่ปี2563ดีมาก!", "iPhone รุ่น ใหม่ ปี 2563 ดี มาก !"),
        ("ปี๒๕๖๓", "ปี ๒๕๖๓"),
        ("ไทยລາວខ្មែរမြန်မာ", "ไทย ລາວ ខ្មែរ မြန်မာ"),
        ("ខ្ញុំ\u200bចូលចិត្ត", "ខ្ញុំ ចូលចិត្ត"),
        ("བོད་ཡིག་ནི་ཡག་པོ་འདུག།", "བོད ཡིག ནི ཡག པོ འདུག །"),
        ("ሰላም፡ነው። ጥሩ ነው።", "ሰላም ነው ። ጥሩ ነው ።"),
        ("one\u200btwo", "one two"),
        ("か\u3099く ハ\u309aン", "か\u3099 く ハ\u309a ン"),
        ("葛\U000e0100城", "葛\U000e0100 城"),
        ("‼\ufe0fwow", "‼\ufe0f wow"),
        ("☺\ufe0ex", "☺\ufe0e x"),
        (f"{ENGLAND}{ENGLAND}!", f"{ENGLAND} {ENGLAND} !"),
        ("⭐\ufe0f⭐⭐good⭐", "⭐\ufe0f ⭐ ⭐ good ⭐"),
        ("▶\ufe0fplay", "▶\ufe0f play"),
        ("1\ufe0f\u20e32\ufe0f\u20e3 #\u20e3x", "1\ufe0f\u20e3 2\ufe0f\u20e3 #\u20e3 x"),
        ("🐈\u200d⬛ok 🙂\u200d↔\ufe0fno", "🐈\u200d⬛ ok 🙂\u200d↔\ufe0f no"),
        ("une pel·lícula·nova", "une pel·lícula · nova"),
        ("Ինչո՞ւ ես այո՞", "Ինչո՞ւ ես այո ՞"),
        ("e‑mail, COVID‑19, cafe\u0301‐bar ‐ 中‐国", "e‑mail , COVID‑19 , cafe\u0301‐bar ‐ 中 ‐ 国"),
        ('"\ufe0f x', "x"),
        ('"\u0301‑x', "‑ x"),
        ('a"\u0301 b"\u0301‑x', "a b ‑ x"),
        ("\ud800ก\udc00", "\ud800 ก \udc00"),
        ("ก\U000e0100\U0001d400x", "ก\U000e0100 \U0001d400x"),  # two characters beyond 16 bits
    ],
)
def test_scripts_and_symbols_that_the_other_rule_leaves_whole_or_splits(text: str, words: str) -> None:
    assert written(text) == words.split()
    assert written(text) != [text[word.start : word.end] for word in read_words(text)]


@pytest.mark.parametrize(
    "text",
    [
        "It's GREAT.<br />Really! [UNK] naïve cafe\u0301 — “quoted” well-made 3/10…",
        unicodedata.normalize("NFD", "Ça été très naïf, élève Ångström ñandú; Việt Nam"),
        "हिन्दी में फ़िल्म बहुत अच्छी है। क्\u200dष पर्\u200cवत",
        "আমি বাংলায় গান গাই। ਪੰਜਾਬੀ ગુજરાતી ଓଡ଼ିଆ தமிழ் తెలుగు ಕನ್ನಡ മലയാളം ශ්\u200dරී",
        "שָׁלוֹם עֲלֵיכֶם! صِرَاطَ الَّذِينَ أَنْعَمْتَ، می\u200cخواهم",
        unicodedata.normalize("NFD", "한국어 영화"),
        "我喜欢这部电影。とても楽しい！ ﾃﾚﾋﾞ Ｈｅｌｌｏ",
        "👍🏽 👨\u200d👩\u200d👧 🇫🇷🇩🇪 ❤\ufe0f\u200d🔥 ✌\ufe0f ★★★ ™ © €5",
        "卡尔·马 aิb 2ิ 中‐国 x \u0301y \ufe0f",
        "Ελληνικά ΣΟΦΟΣ, русский язык, հայերեն, ქართული",
    ],
)
def test_other_texts_keep_their_words(text: str) -> None:
    assert plain_words(text) == read_words(text)


def test_no_mark_of_unicode_parts_a_word() -> None:
    marks = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("M")]
    assert len(marks) > 2000
    for mark in marks:
        assert written(f"x{mark} क{mark}") == [f"x{mark}", f"क{mark}"], f"{ord(mark):04X}"
        # Behind the voicing marks of kana the next word begins, as behind every kana.
        assert len(written(f"x{mark}y")) == (2 if mark in "\u3099\u309a" else 1), f"{ord(mark):04X}"


@given(texts)
def test_words_are_in_order_and_hold_what_was_written(text: str) -> None:
    at = 0
    for word in plain_words(text):
        surface = text[word.start : word.end]
        assert at <= word.start < word.end <= len(text)
        assert not any(map(str.isspace, surface))
        straight = surface.lower().replace("‘", "'").replace("’", "'").replace("‛", "'")
        assert word.form == (surface if surface == UNKNOWN else straight)
        at = word.end


@given(texts)
def test_nothing_is_lost_but_separators_and_marks(text: str) -> None:
    def held(words: Iterable[Any]) -> set[int]:
        return {i for word in words for i in range(word.start, word.end)}

    before, now = held(read_words(text)), held(plain_words(text))
    assert now <= before
    for i in before - now:
        marked = unicodedata.category(text[i]) in ("Mn", "Mc", "Me", "Cf", "Cn")
        assert text[i] in SEPARATORS or marked or (text[i - 1] == "\u200d" and "\u2190" <= text[i] <= "\u2bff")


@given(st.text(alphabet=st.characters(max_codepoint=0x2FF, exclude_characters="\u00b7")))
def test_latin_texts_keep_their_words(text: str) -> None:
    assert plain_words(text) == read_words(text)


def test_without_icu_only_its_scripts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icu4py", None)
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    for script, text in [("Thai", "a ฉัน"), ("Lao", "ຂ້ອຍ"), ("Khmer", "ខ្ញុំ"), ("Myanmar", "ဒီ"), ("Ethiopic", "ነው")]:
        with pytest.raises(InputError, match=f"{script} letters.*pip install icu4py") as raised:
            plain_words(text)
        assert isinstance(raised.value.__cause__, ImportError)
    assert written("good⭐ cafe\u0301‑bar か\u3099 हिन्दी") == ["good", "⭐", "cafe\u0301‑bar", "か\u3099", "हिन्दी"]


@dataclass
class Token:
    """As spaCy's: where it begins in the text, and its text."""

    idx: int
    text: str


def tokens(text: str) -> Iterator[Token]:
    """Words and the white space between them, as spaCy tells them apart."""
    at = 0
    for piece in re.split("( )", text):
        yield Token(at, piece)
        at += len(piece)


def pairs_of_characters(text: str) -> Iterator[str]:
    """Two characters at a time, white space as it comes: the whole text, as jieba gives it."""
    return (text[i : i + 2] for i in range(0, len(text), 2))


RULES: list[Callable[[str], Iterable[Any]]] = [
    str.split,
    lambda text: text.split(" "),
    lambda text: re.split(r"(\W)", text),
    lambda text: iter(text.split()),
    lambda text: [(word.start, word.end) for word in read_words(text)],
    lambda text: [[np.int64(word.start), np.int32(word.end)] for word in read_words(text)],
    lambda text: np.array([(word.start, word.end) for word in read_words(text)]).reshape(-1, 2),
    tokens,
    pairs_of_characters,
    list,
    lambda text: [],
    lambda text: [text] if text else [],
]


@given(texts, st.sampled_from(RULES))
def test_a_users_words_are_found_where_they_stand(text: str, rule: Callable[[str], Iterable[Any]]) -> None:
    words = words_by(rule, text)
    if rule in (str.split, RULES[3]):
        assert [text[word.start : word.end] for word in words] == text.split()
    at = 0
    for word in words:
        assert at <= word.start < word.end <= len(text)
        assert text[word.start : word.end].strip()
        assert word.form == word.form.strip()
        at = word.end


def test_a_users_words_of_each_kind() -> None:
    text = "New York, 東京都 New"
    expected = [("new york", 0, 8), ("東京", 10, 12), ("都", 12, 13), ("new", 14, 17)]
    for rule in (
        lambda _: ["New York", " ", "東京", "都", "", "New"],
        lambda _: ((0, 8), (8, 9), (9, 10), (10, 12), (12, 13), (14, 17)),
        lambda _: [Token(0, "New York"), Token(9, " "), Token(10, "東京"), Token(12, "都"), Token(14, "New")],
    ):
        found = [tuple(word) for word in words_by(rule, text) if word.form != ","]
        assert found == expected
    assert words_by(str.split, " \n") == ()


def test_a_rule_that_normalises_white_space_is_followed() -> None:
    words = words_by(lambda text: ["a", " ", "b"], "a\u00a0\n b")
    assert [(word.start, word.end) for word in words] == [(0, 1), (4, 5)]


def without_end() -> Iterator[str]:
    while True:
        yield "a"


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (5, "must be a function of a text: got 5"),
        (lambda text: None, "must return a list of words.*NoneType"),
        (lambda text: 7, "must return a list of words.*int 7"),
        (lambda text: text, "str 'abc def'; split it"),
        (lambda text: b"abc", "must return a list of words.*bytes"),
        (lambda text: {"abc", "def"}, "set.*in the order of the text"),
        (lambda text: {"abc": 1}, "dict"),
        (lambda text: ["abc", None], "a string, a pair .* or a token.*NoneType None"),
        (lambda text: [1, 2], "a string, a pair.*int 1"),
        (lambda text: [1.5], "float 1.5"),
        (lambda text: [(0.0, 1.0)], "a pair of whole numbers"),
        (lambda text: [(True, 2)], "two whole numbers"),
        (lambda text: [(0, 1, 2)], "two whole numbers"),
        (lambda text: [(0,)], "a pair of whole numbers"),
        (lambda text: [range(0, 10**15)], "two whole numbers"),
        (lambda text: [("abc", (0, 3))], "a pair of whole numbers"),
        (lambda text: [Hostile()], "whose repr raises"),
        (lambda text: [Token(1, "abc")], "not what stands there"),
        (lambda text: [Token(-3, "def")], "not what stands there"),
        (lambda text: [Token(0, 5)], "a token with idx and text"),  # type: ignore[arg-type]
        (lambda text: [(0, 3), (2, 5)], r"not overlap.*\(2, 5\) after a word that ends at 3"),
        (lambda text: [(4, 7), (0, 3)], "in order"),
        (lambda text: [(0, 8)], "must lie in the text, which has 7 characters"),
        (lambda text: [(-1, 2)], "must lie in the text"),
        (lambda text: [(3, 1)], "must lie in the text"),
        (lambda text: [(1, 1)], "must have a character"),
        (lambda text: ["abc", (4, 7)], r"one kind: got \(4, 7\) after a string"),
        (lambda text: [(0, 3), Token(4, "def")], "one kind.*after a pair"),
        (lambda text: without_end(), "more than 15 items for a text of 7 characters"),
        (lambda text: ["abc", "abc"], "'abc', which is not in the text.*there stands ' def'"),
        (lambda text: ["ABC"], "'ABC', which is not in the text.*there stands 'abc def'"),
    ],
)
def test_nonsense_of_a_rule_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        words_by(rule, "abc def")


def test_what_a_rule_raises_is_kept() -> None:
    def at_once(text: str) -> list[str]:
        raise KeyError("model")

    def later(text: str) -> Iterator[str]:
        yield "abc"
        raise InputError("out of words")

    for rule, kind in ((at_once, KeyError), (later, InputError)):
        with pytest.raises(InputError, match=f"failed on 'abc def': {kind.__name__}") as raised:
            words_by(rule, "abc def")
        assert isinstance(raised.value.__cause__, kind)
    with pytest.raises(InputError, match="decode it"):
        words_by(str.split, b"abc")  # type: ignore[arg-type]


def test_random_spans_are_taken_exactly_when_they_are_in_order() -> None:
    generator = random.Random(0)
    text = "abcdef"
    for _ in range(300):
        spans = [(generator.randint(-1, 7), generator.randint(-1, 7)) for _ in range(generator.randint(1, 3))]
        bounds = [0, *(edge for span in spans for edge in span), len(text)]
        good = bounds == sorted(bounds) and all(start < end for start, end in spans)
        try:
            words = words_by(lambda _, spans=spans: spans, text)
        except InputError:
            assert not good
        else:
            assert good
            assert [(word.start, word.end) for word in words] == spans
