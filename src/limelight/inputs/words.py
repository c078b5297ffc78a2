"""How texts are divided into words for models other than limelight's own.

`plain_words` is the rule of `read_words`, put right where that rule is wrong for a script or a symbol. A text with
none of what follows has the same words as before, and nothing is imported for it.

- Thai, Lao, Khmer and Myanmar are written without spaces: ICU, the library of the Unicode consortium, divides them with
  its dictionaries. It also finds the syllables of Tibetan and the punctuation of Ethiopic.
- The tsheg between Tibetan syllables, the Ethiopic word space and the zero width space only separate.
- A mark belongs to what it stands behind: a voicing mark to its kana, a variation selector to its ideograph or emoji.
- Emoji that the rule leaves in words, as in "good⭐⭐", are words of their own, and so are keycaps.
- The hyphens U+2010 and U+2011, the dot of Catalan "pel·lícula" and Armenian signs of tone are part of their word.

`words_by` reads the words that a user's own rule finds (jieba, MeCab, spaCy, a regular expression), and checks them.

>>> [word.form for word in plain_words("ฉันรัก Bangkok!")]
['ฉัน', 'รัก', 'bangkok', '!']
>>> [word.form for word in words_by(str.split, "Well-made, all in all.")]
['well-made,', 'all', 'in', 'all.']
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from itertools import islice
from typing import Any

from limelight.errors import InputError, ParameterError, shown
from limelight.inputs.document import Span, Word, check_text, form_of, read_words

WordRule = Callable[[str], Iterable[Any]]
"""A text in, its words out: as strings, as (start, end) pairs, or as tokens with `idx` and `text`."""

MARKS = (
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # combining marks of no script in particular
    "\u302a-\u302f\u3099\u309a"  # tone marks and voicing marks of East Asia
    "\ufe00-\ufe0f\U000e0100-\U000e01ef\U000e0020-\U000e007f"  # variation selectors, tags
    "\u200c-\u200f\u202a-\u202e\u2060-\u206f"  # joiners and signs of direction
)
"""Characters that belong to the one before them, for a character class of a regular expression."""

_BLOCKS = {
    "Thai": "\u0e00-\u0e7f",
    "Lao": "\u0e80-\u0eff",
    "Khmer": "\u1780-\u17ff\u19e0-\u19ff",
    "Myanmar": "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f",
    "Tibetan": "\u0f00-\u0fff",
    "Ethiopic": "\u1200-\u139f\u2d80-\u2ddf\uab00-\uab2f",
}
"""The scripts that ICU divides, and where they stand in Unicode."""
_SEPARATORS = "\u200b\u0f0b\u0f0c\u1361"
_SYMBOLS = "\u2190-\u25ff\u27c0-\u2bff"  # less those that `read_words` splits off
_EMOJI = "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2b1b\u2b1c\u2b50\u2b55"
"""The symbols that are emoji without a variation selector."""
_INNER_SIGNS = "\u2010\u2011\u055b\u055c\u055e"
_LETTERS = "0-9A-Za-z\u00c0-\u024f\u0370-\u052f\u0531-\u0587\u1e00-\u1fff"  # Latin, Greek, Cyrillic, Armenian; digits

_CONCERNED = re.compile(f"[{MARKS}{''.join(_BLOCKS.values())}{_SEPARATORS}{_EMOJI}{_INNER_SIGNS}\u00b7]")
_MARK_RUN = re.compile(f"(?:\u200d[{_SYMBOLS}]|[{MARKS}])+")
_INNER_SIGN = re.compile(f"(?<=[{_LETTERS}{MARKS}])[{_INNER_SIGNS}](?=[{_LETTERS}])|(?<=[lL])\u00b7(?=[lL])")
# What is cut out of a word of `read_words`; the group says how it is divided. Digits end a stretch of a script, and so
# does another script: ICU would leave them in one piece.
_STRETCH = re.compile(
    f"(?P<separator>[{_SEPARATORS}])"
    f"|(?P<emoji>\u200d?(?:[{_EMOJI}]|[{_SYMBOLS}\u3030\u303d\u3297\u3299](?=\ufe0f)|[0-9#*](?=\ufe0f?\u20e3))[{MARKS}]*)"
    + "".join(
        rf"|(?P<{script}>(?![\d{_SEPARATORS}])[{block}](?:(?![\d{_SEPARATORS}])[{block}{MARKS}])*)"
        for script, block in _BLOCKS.items()
    )
)
_SHOWN_BEHIND = 40
"""Characters of the text that a message shows where a word was looked for in vain."""


def plain_words(text: str) -> tuple[Word, ...]:
    """All words of a text with their character spans, in every language."""
    words = read_words(text)
    if text.isascii() or _CONCERNED.search(text) is None:
        return words
    pieces = [piece for word in words for piece in _divided(text, word.start, word.end)]
    return _words(text, _signs_joined(text, _marks_joined(text, pieces)))


def _words(text: str, spans: Iterable[Span]) -> tuple[Word, ...]:
    return tuple([Word(form_of(text[start:end].strip()), start, end) for start, end in spans])


def _divided(text: str, start: int, end: int) -> Iterator[Span]:
    """One word of `read_words`, with the stretches in it that this rule divides."""
    done = start
    for stretch in _STRETCH.finditer(text, start, end):
        at, stop = stretch.span()
        if stretch.lastgroup in _BLOCKS:
            # Vowel signs and tone marks of the script itself stay with the letter or digit before them.
            while start < at < stop and unicodedata.category(text[at]).startswith("M"):
                at += 1
            if at == stop:
                continue
        if done < at:
            yield done, at
        if stretch.lastgroup == "emoji":
            yield at, stop
        elif stretch.lastgroup in _BLOCKS:
            for piece in _icu_pieces(text[at:stop], stretch.lastgroup):
                yield at, at + len(piece)
                at += len(piece)
        done = stop
    if done < end:
        yield done, end


def _icu_pieces(stretch: str, script: str) -> Iterable[str]:
    """The pieces of a stretch of one script, which together are the stretch."""
    try:
        from icu4py.breakers import WordBreaker
    except ImportError as error:
        raise InputError(
            f"the text has {script} letters, got {shown(stretch)}: dividing them into words needs icu4py, which is not "
            "installed: pip install icu4py, or give a rule of your own as words="
        ) from error
    # Pieces, not offsets: ICU counts in UTF-16, where some characters are two.
    return WordBreaker(stretch, "root")


def _marks_joined(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Marks at the start of a word go to the word before; behind a separator they belong to no word."""
    word: Span | None = None
    for start, end in spans:
        marks = _MARK_RUN.match(text, start, end)
        if marks and start > 0 and not text[start - 1].isspace():
            if word and word[1] == start:
                word = word[0], marks.end()
            start = marks.end()
        if start < end:
            if word:
                yield word
            word = start, end
    if word:
        yield word


def _signs_joined(text: str, spans: Iterable[Span]) -> list[Span]:
    """A sign that stands within a word, and what follows it, joined to what stands before."""
    joined: list[Span] = []
    behind_sign = -1
    for start, end in spans:
        sign = bool(joined and joined[-1][1] == start and _INNER_SIGN.match(text, start))
        if sign or start == behind_sign:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
        behind_sign = end if sign else -1
    return joined


def rule_of(words: WordRule | None) -> Callable[[str], tuple[Word, ...]]:
    """The rule by which a model's texts are divided: `plain_words`, or one that was given."""
    if words is None:
        return plain_words
    if not callable(words):
        raise ParameterError(f"words must be a function that divides a text into words: got {shown(words)}")
    return partial(words_by, words)


def words_by(rule: WordRule, text: str) -> tuple[Word, ...]:
    """The words that a user's rule finds in a text, each with its place.

    The rule returns, or yields, words of one kind: strings, each looked for behind the one before; (start, end)
    pairs; or tokens with `idx` and `text`, as spaCy makes them. What is only white space is no word.
    """
    check_text(text)
    if not callable(rule):
        raise InputError(
            f"a rule for words must be a function of a text: got {shown(rule)}; give for example jieba.cut"
        )
    return _words(text, _spans(_items(rule, text), text))


def _items(rule: WordRule, text: str) -> list[Any]:
    """What the rule returned, as a list that is not longer than a text can have words."""
    most = 2 * len(text) + 1  # as many as re.split(r"(\W)", text) gives, empty strings among them
    try:
        result = rule(text)
        readable = isinstance(result, Iterable) and not isinstance(result, str | bytes | Mapping | Set)
        items = list(islice(result, most + 1)) if readable else []
    except Exception as error:  # the rule is the caller's own code
        raise InputError(
            f"the rule for words failed on {shown(text)}: {type(error).__name__}: {shown(str(error))}; "
            "call it on that text by itself"
        ) from error
    if not readable:
        hint = "split it" if isinstance(result, str) else "give them in the order of the text"
        raise InputError(
            "a rule for words must return a list of words or of (start, end) pairs: got "
            f"{type(result).__name__} {shown(result)}; {hint}"
        )
    if len(items) > most:
        raise InputError(
            f"the rule for words returned more than {most:,} items for a text of {len(text):,} characters, "
            f"the last one {shown(items[-1])}; a word must not come twice, nor words without end"
        )
    return items


def _spans(items: list[Any], text: str) -> Iterator[Span]:
    """The places of the words, checked."""
    first, at = "", 0
    for item in items:
        kind, start, end = _place(item, text, at)
        if first not in ("", kind):
            raise InputError(f"a rule for words must return words of one kind: got {shown(item)} after a {first}")
        first = kind
        if not 0 <= start <= end <= len(text):
            raise InputError(
                f"a word must lie in the text, which has {len(text):,} characters: the rule for words returned "
                f"{shown(item)}; its numbers are where the word starts and where it ends"
            )
        if start == end and kind == "pair":
            raise InputError(f"a word must have a character: the rule for words returned {shown(item)}; leave it out")
        if not text[start:end].strip():
            continue
        if start < at:
            raise InputError(
                f"words must be in order and not overlap: the rule for words returned {shown(item)} after a word that "
                f"ends at {at}; sort them, and give each character to one word"
            )
        yield start, end
        at = end


def _place(item: Any, text: str, at: int) -> tuple[str, int, int]:
    """What kind of word a rule returned, and where it stands; `at` is where the word before ended."""
    if isinstance(item, str):
        string = str.__str__(item)
        start = text.find(string, at) if string.strip() else at
        if start < 0:
            raise InputError(
                f"the rule for words returned {shown(string)}, which is not in the text behind the word before it: "
                f"there stands {shown(text[at : at + _SHOWN_BEHIND])}; return words as the text writes them, "
                "or (start, end) pairs"
            )
        return "string", start, start + len(string) if string.strip() else at
    try:
        if hasattr(item, "idx") and hasattr(item, "text"):
            kind, start, written = "token", operator.index(item.idx), str.__str__(item.text)
            end = start + len(written)
            if text[max(start, 0) : end] != written:
                raise ValueError("its text is not what stands there")
        else:
            kind, start, end = "pair", operator.index(item[0]), operator.index(item[1])
            if len(item) != 2 or isinstance(item[0], bool) or isinstance(item[1], bool):
                raise TypeError("a pair has two whole numbers")
    except Exception as error:  # the item is the caller's own object
        raise InputError(
            f"a word must be a string, a pair of whole numbers (start, end) or a token with idx and text: the rule for "
            f"words returned {type(item).__name__} {shown(item)}: {shown(str(error))}"
        ) from error
    return kind, start, end
