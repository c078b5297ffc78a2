"""The documents of a run, read once: as the authors fed them to LIME, without punctuation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from limelight.core.arrays import Integers
from limelight.errors import EmptyTextError
from limelight.inputs.document import Document
from limelight.inputs.features import Features, features_of
from limelight.models.words.attention import AttentionClassifier
from limelight.reproduce.texts import strip_punctuation


@dataclass(frozen=True)
class Prepared:
    """One document and its features, the distinct words in the order of first occurrence; or its occurrences."""

    index: int  # in the data set
    document: Document
    features: Features

    @property
    def text(self) -> str:
        """The words that the model reads, as it reads them: official LIME tells "The" from "the" and cuts nothing."""
        return " ".join(self.words)

    @property
    def words(self) -> list[str]:
        return [word.form for word in self.document.words]

    @property
    def T(self) -> int:
        return len(self.document.words)

    @property
    def d(self) -> int:
        return len(self.features)

    def by_occurrence(self) -> Prepared:
        """The same document, each occurrence of a word a feature of its own."""
        return replace(self, features=features_of(self.document, "occurrences"))

    @cached_property
    def multiplicity(self) -> Integers:
        """(d,) how often each feature occurs."""
        return np.array([len(group) for group in self.features.owned])


def prepare(model: AttentionClassifier, texts: Sequence[str], chosen: Sequence[int]) -> list[Prepared]:
    """The chosen texts as the model reads them; a text without letters or digits is left out."""
    documents = (prepare_one(model, index, texts[index]) for index in chosen)
    return [document for document in documents if document is not None]


def prepare_one(model: AttentionClassifier, index: int, text: str) -> Prepared | None:
    """One text, or None where nothing of it is left."""
    try:
        document = model.read(strip_punctuation(text))
    except EmptyTextError:
        return None
    return Prepared(index, document, features_of(document, "words"))
