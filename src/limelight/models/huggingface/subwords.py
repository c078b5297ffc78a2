"""From the subwords of a tokenizer back to the words of the text.

A token belongs to each word whose characters it covers. Most tokens have one; a token such as `'s` covers the words `'`
and `s`, is removed with either of them, and splits what it is given equally between them. Tokens between words (quotes,
`<br />`) and special tokens belong to none and are never removed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from limelight.arrays import Floats, Integers
from limelight.document import Document, Span, Word
from limelight.errors import EmptyTextError, InputError
from limelight.models.huggingface.folder import shortened

LongTexts = Literal["refuse", "truncate", "window"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which no tokenizer takes: it is read as U+FFFD, one character too, so that places stay."""


@dataclass(frozen=True)
class TokenWindow:
    """One input of the model: token numbers (T,), and which of them belong to words.

    Row p of `positions`, `words` and `token_parts`: the token at positions[p] belongs to word words[p], with the part
    token_parts[p]. `part` is the part of this window in the prediction.
    """

    ids: Integers
    types: Integers
    positions: Integers
    words: Integers
    token_parts: Floats
    part: float = 1.0


@dataclass(frozen=True)
class Encoding:
    """A tokenizer's answer, taken apart: the tokens of the text, and the special ones before and after them."""

    ids: Integers
    types: Integers
    offsets: tuple[Span, ...]
    before: tuple[Integers, Integers]  # numbers and types of the special tokens that the tokenizer puts first
    after: tuple[Integers, Integers]  # and last

    @property
    def all_ids(self) -> Integers:
        return np.concatenate([self.before[0], self.ids, self.after[0]])

    @property
    def n_special(self) -> int:
        return len(self.before[0]) + len(self.after[0])

    @property
    def length(self) -> int:
        return len(self.ids) + self.n_special


class Stretch(NamedTuple):
    """Tokens start..end of an encoding, which the model reads in one window; `part` is its part in the prediction."""

    start: int
    end: int
    part: float


def encode(tokenizer: Any, text: str, types: bool = True) -> Encoding:
    """Tokenise a text once, with the characters that each token stands for; without `types` all of them are zero."""
    if not isinstance(text, str):
        raise InputError(f"a text must be a string: got {type(text).__name__}; decode bytes first")
    try:
        answer = tokenizer(
            _LONE_SURROGATE.sub("\ufffd", text),
            add_special_tokens=True,
            truncation=False,
            padding=False,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            return_token_type_ids=types,
            verbose=False,
        )
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of Rust, no Exception
            raise
        raise InputError(
            f"the tokenizer cannot read the text {shortened(repr(text), 80)}: {shortened(str(error))}; give another "
            "text, or wrap the model with a tokenizer that can"
        ) from error
    special = np.asarray(answer["special_tokens_mask"], dtype=bool)
    ids = np.asarray(answer["input_ids"], dtype=np.int64)
    typed = types and "token_type_ids" in answer
    kinds = np.asarray(answer["token_type_ids"], dtype=np.int64) if typed else np.zeros_like(ids)
    own = np.flatnonzero(~special)
    # A text of which nothing is left (characters that the tokenizer drops) stands between first and last.
    first, last = (int(own[0]), int(own[-1]) + 1) if len(own) else ((len(ids) + 1) // 2,) * 2
    return Encoding(
        ids[first:last],
        kinds[first:last],
        tuple((int(start), int(end)) for start, end in answer["offset_mapping"][first:last]),
        (ids[:first], kinds[:first]),
        (ids[last:], kinds[last:]),
    )


def stretches(encoding: Encoding, limit: int | None, long_texts: LongTexts) -> list[Stretch]:
    """What of an encoding the model reads: all of it, its beginning, or windows that overlap by half.

    All windows are equally long, so each has the same part in the prediction.
    """
    n = len(encoding.ids)
    if limit is None or encoding.length <= limit:
        return [Stretch(0, n, 1.0)]
    room = limit - encoding.n_special
    if room < 1:
        raise InputError(f"this model reads {limit} tokens, which leaves no room for a word: give a larger max_length")
    if long_texts == "refuse":
        raise InputError(
            f"the text has {encoding.length} tokens but this model reads {limit}: load the model with truncate=True to "
            f"keep the first {limit}, or with window=True to explain all of it in overlapping parts"
        )
    if long_texts == "truncate":
        return [Stretch(0, room, 1.0)]
    starts = [*range(0, n - room, max(1, room // 2)), n - room]
    return [Stretch(start, start + room, 1.0 / len(starts)) for start in starts]


def read_subwords(
    document: Document, encoding: Encoding, limit: int | None, long_texts: LongTexts
) -> tuple[Document, tuple[TokenWindow, ...]]:
    """The document as far as the model reads it, and its windows; `limit` is how many tokens it reads at once."""
    read = stretches(encoding, limit, long_texts)
    words, last = document.words, read[-1].end
    if last < len(encoding.ids):
        # A word that is cut in two still is a word that the model saw something of.
        seen = max((end for _, end in encoding.offsets[:last]), default=0)
        words = tuple(word for word in words if word.start < seen)
        if not words:
            raise InputError(f"none of the first {limit} tokens belongs to a word: load the model with window=True")
    notices = (*document.notices, *_notices(encoding.length, limit, len(document.words), len(words), len(read)))
    windows = tuple(window_of(encoding, stretch, words) for stretch in read)
    if not any(len(window.positions) for window in windows):
        raise EmptyTextError(
            f"the model's tokenizer reads no word of the text: got {shortened(repr(document.text), 80)}; give a text "
            "with at least one word that it does not drop"
        )
    return Document(document.text, words, notices), windows


def _notices(tokens: int, limit: int | None, n_words: int, n_read: int, n_windows: int) -> tuple[str, ...]:
    """What a reader must know of a text that is longer than the model reads."""
    if n_read < n_words:
        return (
            f"the text has {tokens} tokens, this model reads {limit}: of its {n_words} words "
            f"the last {n_words - n_read} were cut",
        )
    if n_windows > 1:
        return (
            f"the text has {tokens} tokens, this model reads {limit}: it was read in {n_windows} "
            "overlapping windows, and what is explained is the mean of their logits",
        )
    return ()


def window_of(encoding: Encoding, stretch: Stretch, words: Sequence[Word] = ()) -> TokenWindow:
    """One input of the model: special tokens, a stretch of the text, special tokens."""
    start, end, part = stretch
    first = len(encoding.before[0])
    owners = owners_of_tokens(encoding.offsets[start:end], words) if words else []
    pairs = [(first + t, word, 1.0 / len(own)) for t, own in enumerate(owners) for word in own]
    return TokenWindow(
        ids=np.concatenate([encoding.before[0], encoding.ids[start:end], encoding.after[0]]),
        types=np.concatenate([encoding.before[1], encoding.types[start:end], encoding.after[1]]),
        positions=np.array([position for position, _, _ in pairs], dtype=np.int64),
        words=np.array([word for _, word, _ in pairs], dtype=np.int64),
        token_parts=np.array([token_part for _, _, token_part in pairs], dtype=np.float64),
        part=part,
    )


def owners_of_tokens(offsets: Sequence[Span], words: Sequence[Word]) -> list[tuple[int, ...]]:
    """For each token the words whose characters it covers."""
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
