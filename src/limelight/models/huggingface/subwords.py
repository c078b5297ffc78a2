"""What a tokenizer makes of a text, or of a pair, and from its subwords back to the words of the text.

A token belongs to each word whose characters it covers. Most tokens have one; a token such as `'s` covers the words `'`
and `s`, is removed with either of them, and splits what it is given equally between them. Tokens between words (quotes,
`<br />`) and special tokens belong to none and are never removed.

The two texts of a pair stand in one window; no token covers words of both. A pair stays a pair where one of its texts
is empty: it has all special tokens of a pair then, which transformers leaves out where it is asked about a single pair
with an empty second text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.errors import CapabilityError, EmptyTextError, InputError, shortened
from limelight.inputs.document import JOINT, Document, Span, Text, Word

LongTexts = Literal["refuse", "truncate", "window"]


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


class Stretch(NamedTuple):
    """What one window has of an encoding: tokens start..end of each text; `part` is its part in the prediction."""

    texts: tuple[Span, ...]
    part: float = 1.0


@dataclass(frozen=True)
class Subwords:
    """A document as far as the model reads it, and the tokens that it is read as."""

    document: Document
    encoding: Encoding
    stretches: tuple[Stretch, ...]

    @cached_property
    def windows(self) -> tuple[TokenWindow, ...]:
        """The inputs that the text is read as."""
        return tuple(window_of(self.encoding, stretch, self.document.words) for stretch in self.stretches)

    def divided(self, words: Sequence[Word]) -> Subwords:
        """The same tokens, for a document with other words."""
        own = _seen(words, self.document, self.encoding, self.stretches[-1])
        return replace(self, document=replace(self.document, words=own))


def read_subwords(document: Document, encoding: Encoding, limit: int | None, long_texts: LongTexts) -> Subwords:
    """Tell which tokens belong to the words of a document; `limit` is how many tokens the model reads at once."""
    read = stretches(encoding, limit, long_texts)
    words = _seen(document.words, document, encoding, read[-1])
    if not words:
        which, instead = ("first", "load the model with window=True")
        if document.second is not None:
            which, instead = ("remaining", "give a larger max_length, or shorter texts")
        raise InputError(f"none of the {which} {limit} tokens belongs to a word: {instead}")
    notices = (*document.notices, *_notices(document, words, len(encoding), limit, len(read)))
    subwords = Subwords(replace(document, words=words, notices=notices), encoding, tuple(read))
    if not any(len(window.positions) for window in subwords.windows):
        raise EmptyTextError(
            f"the model's tokenizer reads no word of the text: got {shortened(repr(document.given), 80)}; give a text "
            "with at least one word that it does not drop"
        )
    return subwords


# ── what the model reads of a text ────────────────────────────────────────────────────────────────────────────────────


def stretches(encoding: Encoding, limit: int | None, long_texts: LongTexts) -> list[Stretch]:
    """What of an encoding the model reads: all of it, its beginning, or windows that overlap by half.

    All windows are equally long, so each has the same part in the prediction. Of a pair the longer text is cut until
    both are equally long, then either in turn, as transformers does by "longest_first".
    """
    if limit is None or len(encoding) <= limit:
        return [Stretch(encoding.texts)]
    room, is_pair = limit - encoding.n_special, len(encoding.texts) == 2
    if room < 1:
        raise InputError(f"this model reads {limit} tokens, which leaves no room for a word: give a larger max_length")
    if long_texts == "refuse":
        what, instead = (
            ("pair has", "cut the end of the longer text, or give shorter texts")
            if is_pair
            else ("text has", f"keep the first {limit}, or with window=True to explain all of it in overlapping parts")
        )
        raise InputError(
            f"the {what} {len(encoding)} tokens but this model reads {limit}: load the model with truncate=True to "
            f"{instead}"
        )
    if is_pair:
        kept = _longest_first(encoding.lengths, room)
        return [Stretch(tuple((start, start + n) for (start, _), n in zip(encoding.texts, kept, strict=True)))]
    ((first, last),) = encoding.texts
    if long_texts == "truncate":
        return [Stretch(((first, first + room),))]
    starts = [*range(first, last - room, max(1, room // 2)), last - room]
    return [Stretch(((start, start + room),), 1.0 / len(starts)) for start in starts]


def _longest_first(lengths: Sequence[int], room: int) -> tuple[int, int]:
    """How many tokens of each text of a pair fit: all of the shorter one where that leaves as many for the longer."""
    short = min(lengths)
    short, long = (short, room - short) if 2 * short <= room else (room // 2, room - room // 2)
    return (long, short) if lengths[0] > lengths[1] else (short, long)


def _seen(words: Sequence[Word], document: Document, encoding: Encoding, last: Stretch) -> tuple[Word, ...]:
    """The words that the model sees something of: one that is cut in two still is one."""
    ends = [np.inf] * len(encoding.texts)
    for side, ((_, end), (start, stop)) in enumerate(zip(encoding.texts, last.texts, strict=True)):
        if stop < end:
            ends[side] = max((place for _, place in encoding.offsets[start:stop]), default=0)
    return tuple(word for word in words if word.start < ends[document.side_of(word.start)])


def _notices(
    document: Document, read: Sequence[Word], tokens: int, limit: int | None, n_windows: int
) -> tuple[str, ...]:
    """What a reader must know of a text that is longer than the model reads."""
    if len(read) < len(document.words):
        if document.second is not None:
            return (f"the pair has {tokens} tokens, this model reads {limit}: {_cut_of_pair(document, read)}",)
        n_words = len(document.words)
        return (
            f"the text has {tokens} tokens, this model reads {limit}: of its {n_words} words "
            f"the last {n_words - len(read)} were cut",
        )
    if n_windows > 1:
        return (
            f"the text has {tokens} tokens, this model reads {limit}: it was read in {n_windows} "
            "overlapping windows, and what is explained is the mean of their logits",
        )
    return ()


def _cut_of_pair(document: Document, read: Sequence[Word]) -> str:
    cut = []
    for side, name in enumerate(("first", "second")):
        n_words, n_read = (sum(document.side_of(word.start) == side for word in of) for of in (document.words, read))
        if n_read < n_words:
            cut.append(f"of the {n_words} words of the {name} text the last {n_words - n_read} were cut")
    return ", ".join(cut)


# ── tokens and words ──────────────────────────────────────────────────────────────────────────────────────────────────


def window_of(encoding: Encoding, stretch: Stretch, words: Sequence[Word] = ()) -> TokenWindow:
    """One input of the model: the special tokens, and a stretch of each text in its place between them."""
    chosen: list[int] = []
    owned: list[tuple[int, int, float]] = []
    behind = 0
    for (first, last), (start, end) in zip(encoding.texts, stretch.texts, strict=True):
        chosen += range(behind, first)
        owners = owners_of_tokens(encoding.offsets[start:end], words) if words else []
        owned += [(len(chosen) + t, word, 1.0 / len(own)) for t, own in enumerate(owners) for word in own]
        chosen += range(start, end)
        behind = last
    chosen += range(behind, len(encoding))
    return TokenWindow(
        ids=encoding.ids[chosen],
        types=encoding.types[chosen],
        positions=np.array([position for position, _, _ in owned], dtype=np.int64),
        words=np.array([word for _, word, _ in owned], dtype=np.int64),
        token_parts=np.array([token_part for _, _, token_part in owned], dtype=np.float64),
        part=stretch.part,
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


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which no tokenizer takes: it is read as U+FFFD, one character too, so that places stay."""


@dataclass(frozen=True)
class Encoding:
    """Tokens in their order: numbers and types (T,), and the span of characters that each stands for.

    `texts`: from which token to which one the text stands, or each text of a pair; what is before, between and behind
    are special tokens. The characters of a pair are those of its `Document`, in which the two texts are one.
    """

    ids: Integers
    types: Integers
    offsets: tuple[Span, ...]
    texts: tuple[Span, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many tokens each text has."""
        return tuple(end - start for start, end in self.texts)

    @property
    def n_special(self) -> int:
        return len(self) - sum(self.lengths)


def encode(tokenizer: Any, text: Text, types: bool = True) -> Encoding:
    """Tokenise a text, or a pair, once; without `types` all of them are zero."""
    sides = text if isinstance(text, tuple) else (text,)
    answer = _asked(tokenizer, text, sides, types)
    ids = np.asarray(answer["input_ids"][0], dtype=np.int64)
    has_types = types and "token_type_ids" in answer
    kinds = np.asarray(answer["token_type_ids"][0], dtype=np.int64) if has_types else np.zeros_like(ids)
    offsets = [(int(start), int(end)) for start, end in answer["offset_mapping"][0]]
    if len(sides) == 1:
        own = np.flatnonzero(~np.asarray(answer["special_tokens_mask"][0], dtype=bool))
        # A text of which nothing is left (characters that the tokenizer drops) stands between first and last.
        place = (int(own[0]), int(own[-1]) + 1) if len(own) else ((len(ids) + 1) // 2,) * 2
        return Encoding(ids, kinds, tuple(offsets), (place,))
    owners = answer.sequence_ids(0)
    first, second = ([t for t, side in enumerate(owners) if side == wanted] for wanted in (0, 1))
    # Where a text without tokens stands is nobody's concern: no window has any of it.
    texts = (first[0], first[-1] + 1) if first else (0, 0), (second[0], second[-1] + 1) if second else (len(ids),) * 2
    if texts[1][0] < texts[0][1]:
        raise CapabilityError(
            "this tokenizer puts the second text of a pair before the first, or into it: give its post-processor a "
            "template in which the first comes first, and give the texts in the order in which the model reads them"
        )
    begins = len(sides[0]) + len(JOINT)
    behind = [(start + begins, end + begins) for start, end in offsets[texts[1][0] :]]
    return Encoding(ids, kinds, (*offsets[: texts[1][0]], *behind), texts)


def check_pairs(tokenizer: Any) -> None:
    """Refuse a tokenizer that does not tell the two texts of a pair apart."""
    try:
        pair, single = encode(tokenizer, ("a", "a")), encode(tokenizer, "a")
    except InputError as error:
        raise CapabilityError(f"this tokenizer cannot encode pairs of texts: {error}; {_TEMPLATE}") from error
    if any(single.lengths) and not all(pair.lengths):
        raise CapabilityError(
            f"this tokenizer reads {pair.lengths} tokens of the two texts of the pair ('a', 'a'), where it reads "
            f"{single.lengths[0]} of the text 'a'; {_TEMPLATE}"
        )
    if single.n_special and not pair.n_special:
        raise CapabilityError(
            f"this tokenizer puts {single.n_special} special tokens around a text, but none around or between the two "
            f"of a pair; {_TEMPLATE}"
        )


_TEMPLATE = "use the tokenizer that the model was trained with, or give its post-processor a template for pairs"


def _asked(tokenizer: Any, text: Text, sides: tuple[str, ...], types: bool) -> Any:
    """What the tokenizer answers; what it raises becomes an error that shows the text."""
    try:
        # Lists of one: a pair with an empty second text would be a single text otherwise.
        return tokenizer(
            *([_LONE_SURROGATE.sub("\ufffd", side)] for side in sides),
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
