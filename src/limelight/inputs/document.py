"""A text as a sequence of words that know where they stand in it.

The word convention is the one of the paper's experiments: lower case; `. , ( ) ! ? '` are words of their own; `" ; :`
and `<br />` only separate. It is extended to what that convention was not made for: typographic quotes read as plain
ones, other Unicode punctuation is split off, and each CJK character or emoji is a word.

>>> [word.form for word in read_words("It's GREAT.<br />Really!")]
['it', "'", 's', 'great', '.', 'really', '!']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from limelight.errors import EmptyTextError, InputError, shown

UNKNOWN = "[UNK]"
"""The unknown token. Written literally in a text it reads as that token, so that other tools can mask with it."""

Span = tuple[int, int]
Text = str | tuple[str, str]
"""What a model reads: a text, or a pair of them."""
JOINT = "\n\n"
"""Between the two texts of a pair, where they are one: an empty line."""

_BREAK = r"<[bB][rR]\s*/?>"
_SEPARATOR = '";:\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a'
_PUNCTUATION = (
    "'.,()!?<\\[\\]"
    "\u00a1\u00a7\u00b6\u00b7\u00bf"  # Latin
    "\u055a-\u055f\u0589\u05be\u05c0\u05c3\u05f3\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965"
    "\u2010-\u201a\u201b\u2020-\u2027\u2030-\u2038\u203b-\u205e"  # dashes, single quotes, ellipsis, ...
    "\u3001-\u3003\u3008-\u3011\u3014-\u301f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"  # East Asian
)
_IDEOGRAPH = "\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
_EMOJI_MODIFIER = "\ufe0f\U0001f3fb-\U0001f3ff"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"

# The alternatives differ in their first character, but for [UNK] and <br>; the most frequent one stands first.
_WORD = re.compile(
    rf"([^\s{_SEPARATOR}{_PUNCTUATION}{_IDEOGRAPH}{_EMOJI}]+"
    rf"|{re.escape(UNKNOWN)}"
    rf"|{_FLAG}"
    rf"|[{_EMOJI}][{_EMOJI_MODIFIER}]*(?:\u200d[{_EMOJI}][{_EMOJI_MODIFIER}]*)*"
    rf"|[{_IDEOGRAPH}]"
    rf"|(?!{_BREAK})[{_PUNCTUATION}])"
    rf"|{_BREAK}"
)
_STRAIGHT_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201b": "'"})


def form_of(surface: str) -> str:
    """How a word is looked up: lower case, with plain quotes. The unknown token keeps its own spelling."""
    return UNKNOWN if surface == UNKNOWN else surface.lower().translate(_STRAIGHT_QUOTES)


def _forms(surfaces: list[str], text: str) -> list[str]:
    """The forms of the words of a text."""
    if UNKNOWN in text:
        return [form_of(surface) for surface in surfaces]
    # One call for all words; a line break separates them, so each is lowered as if it stood alone.
    forms = "\n".join(surfaces).lower()
    return (forms if text.isascii() else forms.translate(_STRAIGHT_QUOTES)).split("\n") if forms else []


def word_forms(text: str) -> list[str]:
    """The forms of all words of a text, without their places: the fast path for prediction and training."""
    return _forms([surface for surface in _WORD.findall(text) if surface], text)


class Word(NamedTuple):
    """One word of a text: `form` is how models look it up, text[start:end] how it was written."""

    form: str
    start: int
    end: int


def read_words(text: str) -> tuple[Word, ...]:
    """All words of a text with their character spans."""
    # A line break is matched, but is no word.
    spans = [span for match in _WORD.finditer(text) if (span := match.span(1))[0] >= 0]
    forms = _forms([text[start:end] for start, end in spans], text)
    new = tuple.__new__  # what Word() itself calls: half of the time to read a text would be the way there
    return tuple([new(Word, (form, *span)) for form, span in zip(forms, spans, strict=True)])


def check_text(text: object) -> None:
    """Say what is no text; an empty one is one."""
    if not isinstance(text, str):
        hint = "decode it first" if isinstance(text, bytes | bytearray | memoryview) else "give its words as one string"
        raise InputError(f"a text must be a string: got {type(text).__name__} {shown(text)}; {hint}")


def is_pair(text: object) -> bool:
    """Whether this is two texts that are read together."""
    return isinstance(text, tuple) and len(text) == 2 and all(isinstance(own, str) for own in text)


def check_text_of(text: object, pairs: bool) -> None:
    """Say what is no text for a model that reads one at a time, or no pair for one that reads `pairs`."""
    if pairs:
        check_pair(text)
    elif is_pair(text):
        raise InputError(
            f"this model reads single texts, and this is a pair: got {shown(text)}; give one text, or say that the "
            "model reads pairs, by pairs=True in limelight.load or limelight.wrap"
        )
    else:
        check_text(text)


def listed_texts(texts: object, pairs: bool, caller: str) -> list[Any]:
    """Several texts, or pairs, each of which is one that a model reads; `caller` is the method they were given to."""
    what, one = ("pairs of texts", "(first, second)") if pairs else ("texts", "text")
    if isinstance(texts, str) or (pairs and is_pair(texts)):
        given = "one string" if isinstance(texts, str) else "one pair"
        raise InputError(f"{caller} takes a list of {what}: got {given}; write {caller}([{one}])")
    if not isinstance(texts, Iterable):
        raise InputError(f"{caller} takes a list of {what}: got {shown(texts)}")
    listed = list(texts)
    for text in listed:
        check_text_of(text, pairs)
    return listed


def check_pair(text: object) -> None:
    """Say what is no pair of texts for a model that reads pairs."""
    if not is_pair(text):
        raise InputError(
            f"this model reads pairs of texts: got {type(text).__name__} {shown(text)}; give a tuple of two strings"
        )


@dataclass(frozen=True)
class Document:
    """A text and the words of it that a model reads; `notices` say what a reader must know about how it was read.

    A pair of texts is one text here, joined by an empty line; `second` is where the second one begins.
    """

    text: str
    words: tuple[Word, ...]
    notices: tuple[str, ...] = ()
    second: int | None = None

    @classmethod
    def read(
        cls, text: Text, limit: int | None = None, rule: Callable[[str], tuple[Word, ...]] = read_words
    ) -> Document:
        """Read a text, or a pair, by a rule for words; beyond `limit` words it is cut, with a notice."""
        if isinstance(text, tuple):
            check_pair(text)
            (first, second), start = text, len(text[0]) + len(JOINT)
            words = (*rule(first), *(Word(form, a + start, b + start) for form, a, b in rule(second)))
            joined, begins = f"{first}{JOINT}{second}", start
        else:
            check_text(text)
            words, joined, begins = rule(text), text, None
        if not words:
            raise EmptyTextError(f"the text has no words: got {shown(text)}; give a text with at least one word")
        if limit is None or len(words) <= limit:
            return cls(joined, words, (), begins)
        cut = f"the text has {len(words)} words, this model reads {limit}: the last {len(words) - limit} were cut"
        return cls(joined, words[:limit], (cut,), begins)

    @property
    def given(self) -> Text:
        """The text as it was given."""
        if self.second is None:
            return self.text
        return self.text[: self.second - len(JOINT)], self.text[self.second :]

    @property
    def sides(self) -> tuple[Span, ...]:
        """Where its texts stand: one, or two."""
        if self.second is None:
            return ((0, len(self.text)),)
        return (0, self.second - len(JOINT)), (self.second, len(self.text))

    def side_of(self, place: int) -> int:
        """Which of the texts, 0 or 1, a character belongs to."""
        return int(self.second is not None and place >= self.second)
