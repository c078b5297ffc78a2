"""What the classifiers over words share: reading, token numbers, positions and the public predictions.

Word i of a document stands at position i + 1; position 0 is [CLS]; the rest up to T_max is [UNK].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from limelight.core.arrays import Floats, Integers, whole_number
from limelight.errors import ParameterError
from limelight.inputs.document import UNKNOWN, Document, check_text_of, listed_texts, word_forms
from limelight.models.interface import View
from limelight.models.outputs import probabilities

LARGEST_SIZE = 2**31
"""Of any size in a configuration: far beyond what can be computed with, and a product of three still has a meaning."""
LARGEST_POSITIONS = 2**24
"""T_max · d_e, the numbers in the table of positions: the one part of a model that its weights say nothing about."""


def checked_size(name: str, given: object, least: int = 1, hint: str = "") -> int:
    """A size as Python's own integer; numbers are refused that no model has, some of which no memory address has."""
    value = whole_number(name, given, least, hint)
    if value > LARGEST_SIZE:
        shown = f"{value:,}" if value < 2**64 else f"a number of {value.bit_length():,} bits"
        raise ParameterError(f"{name} must be at most {LARGEST_SIZE:,}: got {shown}")
    return value


@dataclass(frozen=True)
class Sizes:
    """The sizes that every classifier over words has, named as in the paper; the defaults are those of Appendix F."""

    kind: ClassVar[str]
    T_max: int = 256
    d_e: int = 128
    d_att: int = 64
    d_out: int = 64
    K: int = 6

    def __post_init__(self) -> None:
        for own in fields(self):
            if own.type == "int":
                object.__setattr__(self, own.name, checked_size(own.name, getattr(self, own.name)))
        if self.T_max < 2:
            raise ParameterError(f"T_max must leave room for [CLS] and a word, so at least 2: got {self.T_max}")
        if self.d_e % 2:
            raise ParameterError(f"d_e must be even, because positions come in sine and cosine pairs: got {self.d_e}")
        if self.T_max * self.d_e > LARGEST_POSITIONS:
            raise ParameterError(
                f"T_max · d_e, the table of positions, must be at most {LARGEST_POSITIONS:,} numbers: "
                f"got T_max = {self.T_max:,} and d_e = {self.d_e:,}; lower T_max"
            )


@cache
def sinusoidal_positions(T_max: int, d_e: int) -> Tensor:
    """W_p(t) of Eq. 3 for t = 1..T_max, in float64; read it only.

    The paper counts coordinates from 1: its 2i-1 is our even index.
    """
    t = torch.arange(1, T_max + 1, dtype=torch.float64)[:, None]
    i = torch.arange(1, d_e // 2 + 1, dtype=torch.float64)
    angle = t / T_max ** (2 * i / d_e)
    return torch.stack([angle.sin(), angle.cos()], dim=2).reshape(T_max, d_e)


class WordClassifier(nn.Module, ABC):
    """Text in, logits out, by way of one embedding per word and one per position (Eq. 2)."""

    W_p: Tensor

    def __init__(self, sizes: Sizes, vocabulary: Vocabulary, labels: Sequence[str]) -> None:
        super().__init__()
        if len(labels) < 2 or len(set(labels)) != len(labels):
            raise ParameterError(f"a classifier needs at least two labels, all different: got {list(labels)!r}")
        self.vocabulary = vocabulary
        self.labels = tuple(labels)
        self.W_e = nn.Parameter(torch.zeros(len(vocabulary), sizes.d_e))
        # A fixed function of the sizes: not part of a checkpoint.
        self.register_buffer("W_p", sinusoidal_positions(sizes.T_max, sizes.d_e).float(), persistent=False)

    def double(self) -> Self:
        """Float64 throughout; positions are computed anew rather than rounded twice."""
        super().double()
        self.W_p.copy_(sinusoidal_positions(*self.W_p.shape))
        return self

    @property
    def T_max(self) -> int:
        """Positions, [CLS] included."""
        return len(self.W_p)

    # ── what each architecture adds ───────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def initialise(self, seed: int, embedding: float, heads: float) -> None:
        """Random weights: embeddings normal with this standard deviation, matrices uniform in ± `heads`."""

    @abstractmethod
    def forward(self, ids: Tensor) -> Tensor:
        """Logits (n, C) of token numbers (n, T_max)."""

    @abstractmethod
    def logits_of_rows(self, rows: Tensor, slots: Tensor) -> Tensor:
        """Logits (n, C) from the rows of W_e that occur, [CLS] first, and which of them stands where (n, T_max)."""

    @abstractmethod
    def view(self, text: str) -> View:
        """This model looking at a text."""

    @property
    def documents_at_once(self) -> int:
        """Documents in one forward: large enough to amortise the calls, small enough to stay in the cache."""
        return 512

    # ── from text to token numbers ────────────────────────────────────────────────────────────────────────────────

    def read(self, text: str) -> Document:
        """The words of a text that this model reads: all of them, or the first T_max - 1."""
        check_text_of(text, pairs=False)
        return Document.read(text, limit=self.T_max - 1)

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Token numbers (n, T_max): [CLS], the words, then [UNK] up to T_max (Eq. 4). An empty text is all [UNK]."""
        return self.pad([self.vocabulary.ids(word_forms(text)) for text in texts])

    def ids_of(self, document: Document) -> Integers:
        """The token number of each word of a document that was read already."""
        return np.array(self.vocabulary.ids([word.form for word in document.words]), dtype=np.int64)

    def unknown_words(self, document: Document) -> frozenset[int]:
        """The numbers of the words that are not in the vocabulary."""
        return frozenset(np.flatnonzero(self.ids_of(document) == self.vocabulary.unknown_id).tolist())

    def encode_document(self, document: Document) -> Tensor:
        """Token numbers (T_max,) of a document, [CLS] and padding included."""
        return self.pad([self.ids_of(document)])[0]

    def pad(self, rows: Sequence[Sequence[int] | Integers]) -> Tensor:
        """Token numbers (n, T_max) of the words of n documents, [CLS] before and padding behind them."""
        ids = np.full((len(rows), self.T_max), self.vocabulary.unknown_id, dtype=np.int64)
        ids[:, 0] = self.vocabulary.cls_id
        for i, row in enumerate(rows):
            row = row[: self.T_max - 1]
            ids[i, 1 : 1 + len(row)] = row
        return torch.from_numpy(ids).to(self.W_e.device)

    def distinct_rows(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The distinct token numbers and, for each position, which of them stands there. Linear, unlike a sort."""
        present = torch.zeros(len(self.vocabulary), dtype=torch.bool, device=ids.device)
        present[ids.reshape(-1)] = True
        slot = present.cumsum(0) - 1
        return present.nonzero().squeeze(1), slot[ids]

    # ── the public contract ───────────────────────────────────────────────────────────────────────────────────────

    def predict_logits(self, texts: Sequence[str]) -> Floats:
        """The f of the paper for each text: (n, classes)."""
        texts, size = listed_texts(texts, False, "predict_logits"), self.documents_at_once
        batches = [self.logits_of_ids(self.encode(texts[i : i + size])) for i in range(0, len(texts), size)]
        return np.concatenate(batches) if batches else np.zeros((0, len(self.labels)))

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """The softmax of the logits: (n, classes), rows sum to 1."""
        return probabilities(self.predict_logits(texts))

    @torch.no_grad()
    def logits_of_ids(self, ids: Tensor) -> Floats:
        """Logits (n, classes) of token numbers (n, T_max), as an array."""
        logits: Floats = self(ids).double().cpu().numpy()
        return logits


CLS = "[CLS]"


class Vocabulary:
    """A list of words; the first two entries are always [CLS] and [UNK]."""

    cls_id = 0
    unknown_id = 1

    def __init__(self, words: Iterable[str]) -> None:
        self.words: tuple[str, ...] = (CLS, UNKNOWN, *words)
        self._ids = {word: i for i, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            word, count = Counter(self.words).most_common(1)[0]
            raise ValueError(f"a vocabulary names each word once: {word!r} stands in it {count} times; keep one")

    @classmethod
    def from_counts(cls, counts: Counter[str], max_size: int | None = None, min_count: int = 1) -> Vocabulary:
        """The most frequent words first; ties in alphabetical order, so that the same data gives the same numbers."""
        room = None if max_size is None else max_size - 2
        ranked = sorted(
            (word for word in counts if counts[word] >= min_count and word != UNKNOWN), key=lambda w: (-counts[w], w)
        )
        return cls(ranked[:room])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, form: str) -> bool:
        return form in self._ids

    def ids(self, forms: Sequence[str]) -> list[int]:
        """The number of each word form; unknown words get the one of [UNK]."""
        get, unknown = self._ids.get, self.unknown_id
        return [get(form, unknown) for form in forms]
