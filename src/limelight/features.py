"""What an explanation gives weights to: words, or each occurrence of a word by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from limelight.arrays import Floats, Integers
from limelight.document import Document, Span
from limelight.errors import known_name

FeatureKind = Literal["words", "occurrences"]
NOBODY = -1
"""The owner of a word that belongs to no feature."""


@dataclass(frozen=True)
class Features:
    """Feature j owns the words `owned[j]` (indices into the document's words), which stand at `spans[j]`."""

    kind: FeatureKind
    names: tuple[str, ...]
    owned: tuple[tuple[int, ...], ...]
    spans: tuple[tuple[Span, ...], ...]
    owners: Integers
    """For each word of the document the feature that owns it."""

    def __len__(self) -> int:
        return len(self.names)

    def total(self, per_position: Floats, words: Integers) -> Floats:
        """What belongs to positions, summed into the words that they stand for, and these into their features."""
        owners = self.owners[words]
        owned = owners != NOBODY
        total: Floats = np.bincount(owners[owned], weights=per_position[owned], minlength=len(self)).astype(np.float64)
        return total


def features_of(document: Document, kind: FeatureKind) -> Features:
    """Group the words of a document into features."""
    owned = KINDS[known_name("kind of features", kind, KINDS)](document)
    owner_of = [NOBODY] * len(document.words)
    for j, group in enumerate(owned):
        for i in group:
            owner_of[i] = j
    owners = np.array(owner_of, dtype=np.int64)
    owners.flags.writeable = False
    spans = [(word.start, word.end) for word in document.words]
    return Features(
        kind=kind,
        names=tuple([document.words[group[0]].form for group in owned]),
        owned=tuple(map(tuple, owned)),
        spans=tuple([tuple([spans[i] for i in group]) for group in owned]),
        owners=owners,
    )


def _words(document: Document) -> list[list[int]]:
    """All occurrences of a word together, in the order of the first: LIME's bag of words."""
    groups: dict[str, list[int]] = {}
    for i, word in enumerate(document.words):
        groups.setdefault(word.form, []).append(i)
    return list(groups.values())


def _occurrences(document: Document) -> list[list[int]]:
    return [[i] for i in range(len(document.words))]


KINDS: dict[str, Callable[[Document], Sequence[Sequence[int]]]] = {"words": _words, "occurrences": _occurrences}
"""How each kind of feature groups the words of a document."""
