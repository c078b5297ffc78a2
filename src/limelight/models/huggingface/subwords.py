"""From the subwords of a tokenizer back to the words of the text.

A token belongs to each word whose characters it covers. Most tokens have one; a token such as `'s` covers the words `'`
and `s`, is removed with either of them, and shares what it is given equally between them. Tokens between words (quotes,
`<br />`) and special tokens belong to none and are never removed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from limelight.document import Document, Span, Word
from limelight.errors import InputError

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
LongTexts = Literal["refuse", "truncate", "window"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which no tokenizer takes: it is read as U+FFFD, one character too, so that places stay."""


@dataclass(frozen=True)
class TokenWindow:
    """One input of the model: token numbers (T,), and which of them belong to words.

    Row p of `positions`, `words` and `shares`: the token at positions[p] belongs to word words[p], with the part
    shares[p]. `share` is the part of this window in the prediction.
    """

    ids: Integers
    types: Integers
    positions: Integers
    words: Integers
    shares: Floats
    share: float = 1.0


@dataclass(frozen=True)
class SubwordDocument(Document):
    """A document with what the tokenizer made of it: one window, or several that overlap and cover a long text."""

    windows: tuple[TokenWindow, ...] = field(default=(), repr=False)
    tokens: int = 0
    limit: int | None = None

    @property
    def notices(self) -> tuple[str, ...]:
        if self.words_cut:
            total = len(self.words) + self.words_cut
            return (
                f"the text has {self.tokens} tokens, this model reads {self.limit}: of its {total} words "
                f"the last {self.words_cut} were cut",
            )
        if len(self.windows) > 1:
            return (
                f"the text has {self.tokens} tokens, this model reads {self.limit}: it was read in {len(self.windows)} "
                "overlapping windows, and what is explained is the mean of their logits",
            )
        return ()


@dataclass(frozen=True)
class Encoding:
    """A tokenizer's answer, taken apart: the tokens of the text, and the special ones before and after them."""

    ids: Integers
    types: Integers
    offsets: tuple[Span, ...]
    before: tuple[Integers, Integers]  # numbers and types of the special tokens that the tokenizer puts first
    after: tuple[Integers, Integers]  # and last

    @property
    def n_special(self) -> int:
        return len(self.before[0]) + len(self.after[0])

    @property
    def length(self) -> int:
        return len(self.ids) + self.n_special


Part = tuple[int, int, float]
"""Tokens start..end of an encoding, and the part of this window in the prediction."""


def encode(tokenizer: Any, text: str) -> Encoding:
    """Tokenise a text once, with the characters that each token stands for."""
    if not isinstance(text, str):
        raise InputError(f"a text must be a string: got {type(text).__name__}; decode bytes first")
    found = tokenizer(
        _LONE_SURROGATE.sub("\ufffd", text),
        add_special_tokens=True,
        truncation=False,
        padding=False,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_token_type_ids=True,
        verbose=False,
    )
    special = np.asarray(found["special_tokens_mask"], dtype=bool)
    ids = np.asarray(found["input_ids"], dtype=np.int64)
    types = np.asarray(found["token_type_ids"], dtype=np.int64) if "token_type_ids" in found else np.zeros_like(ids)
    own = np.flatnonzero(~special)
    # A text of which nothing is left (characters that the tokenizer drops) stands between first and last.
    first, last = (int(own[0]), int(own[-1]) + 1) if len(own) else ((len(ids) + 1) // 2,) * 2
    return Encoding(
        ids[first:last],
        types[first:last],
        tuple((int(start), int(end)) for start, end in found["offset_mapping"][first:last]),
        (ids[:first], types[:first]),
        (ids[last:], types[last:]),
    )


def parts(encoding: Encoding, limit: int | None, long_texts: LongTexts) -> list[Part]:
    """What of an encoding the model reads: all of it, its beginning, or windows that overlap by half.

    All windows are equally long, so each has the same part in the prediction.
    """
    n = len(encoding.ids)
    if limit is None or encoding.length <= limit:
        return [(0, n, 1.0)]
    room = limit - encoding.n_special
    if room < 1:
        raise InputError(f"this model reads {limit} tokens, which leaves no room for a word: give a larger max_length")
    if long_texts == "refuse":
        raise InputError(
            f"the text has {encoding.length} tokens but this model reads {limit}: load the model with truncate=True to "
            f"keep the first {limit}, or with window=True to explain all of it in overlapping parts"
        )
    if long_texts == "truncate":
        return [(0, room, 1.0)]
    starts = [*range(0, n - room, max(1, room // 2)), n - room]
    return [(start, start + room, 1.0 / len(starts)) for start in starts]


def read_subwords(tokenizer: Any, text: str, limit: int | None, long_texts: LongTexts) -> SubwordDocument:
    """The words of a text and which tokens belong to them; `limit` is how many tokens the model reads at once."""
    document = Document.read(text)
    encoding = encode(tokenizer, text)
    read = parts(encoding, limit, long_texts)
    words, last = document.words, read[-1][1]
    if last < len(encoding.ids):
        # A word that is cut in two still is a word that the model saw something of.
        seen = max((end for _, end in encoding.offsets[:last]), default=0)
        words = tuple(word for word in words if word.start < seen)
        if not words:
            raise InputError(f"none of the first {limit} tokens belongs to a word: load the model with window=True")
    return SubwordDocument(
        text,
        words,
        len(document.words) - len(words),
        windows=tuple(window_of(encoding, part, words) for part in read),
        tokens=encoding.length,
        limit=limit,
    )


def window_of(encoding: Encoding, part: Part, words: Sequence[Word] = ()) -> TokenWindow:
    """One input of the model: special tokens, a part of the text, special tokens."""
    start, end, share = part
    first = len(encoding.before[0])
    owners = owners_of_tokens(encoding.offsets[start:end], words) if words else []
    pairs = [(first + t, word, 1.0 / len(own)) for t, own in enumerate(owners) for word in own]
    return TokenWindow(
        ids=np.concatenate([encoding.before[0], encoding.ids[start:end], encoding.after[0]]),
        types=np.concatenate([encoding.before[1], encoding.types[start:end], encoding.after[1]]),
        positions=np.array([position for position, _, _ in pairs], dtype=np.int64),
        words=np.array([word for _, word, _ in pairs], dtype=np.int64),
        shares=np.array([part for _, _, part in pairs], dtype=np.float64),
        share=share,
    )


def owners_of_tokens(offsets: Sequence[Span], words: Sequence[Word]) -> list[tuple[int, ...]]:
    """For each token the words whose characters it covers.."""
    ends = [word.end for word in words]
    result = []
    for start, end in offsets:
        owners = []
        # The first word that ends behind the token's start is the first that it can cover.
        for i in range(bisect_right(ends, start), len(words)):
            if words[i].start >= end:
                break
            owners.append(i)
        result.append(tuple(owners))
    return result
