"""What a tokenizer makes of a text, or of a pair of texts: tokens, and the characters that each stands for.

A pair stays a pair where one of its texts is empty: it has all special tokens of a pair then, which transformers leaves
out where it is asked about a single pair with an empty second text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight.core.arrays import Integers
from limelight.errors import CapabilityError, InputError
from limelight.inputs.document import JOINT, Span, Text
from limelight.models.huggingface.folder import shortened

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
