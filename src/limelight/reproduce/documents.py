"""Documents ready for closed forms: token numbers, features, and the tables that a folded model needs to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from limelight.document import word_forms
from limelight.models.words.attention import AttentionClassifier, sinusoidal_positions
from limelight.reproduce.texts import strip_punctuation
from limelight.theory.folding import FoldedDocument, FoldedHeads
from limelight.theory.ratio_game import RatioGame

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Prepared:
    """One document without its punctuation; features are its distinct words, in the order of first occurrence."""

    index: int  # in the data set
    text: str
    features: tuple[str, ...]
    ids: Integers  # (T,)
    owner: Integers  # (T,) the feature of each word

    @property
    def T(self) -> int:
        return len(self.ids)

    @property
    def d(self) -> int:
        return len(self.features)

    @cached_property
    def multiplicity(self) -> Integers:
        """(d,) how often each feature occurs."""
        return np.bincount(self.owner, minlength=self.d)

    @cached_property
    def owners(self) -> list[list[int]]:
        """The positions of each feature; position 0 is [CLS]."""
        groups: list[list[int]] = [[] for _ in self.features]
        for i, j in enumerate(self.owner.tolist()):
            groups[j].append(i + 1)
        return groups

    def per_feature(self, per_word: Floats) -> Floats:
        """(T, ...) summed over the words of each feature: (d, ...)."""
        total = np.zeros((self.d, *per_word.shape[1:]))
        np.add.at(total, self.owner, per_word)
        return total


def prepare(model: AttentionClassifier, texts: Sequence[str], chosen: Sequence[int]) -> list[Prepared]:
    """The chosen texts as the model reads them; a text without letters or digits is left out."""
    found = (prepare_one(model, index, texts[index]) for index in chosen)
    return [document for document in found if document is not None]


def prepare_one(model: AttentionClassifier, index: int, text: str) -> Prepared | None:
    forms = word_forms(strip_punctuation(text))[: model.config.T_max - 1]
    if not forms:
        return None
    number: dict[str, int] = {}
    owner = [number.setdefault(form, len(number)) for form in forms]
    return Prepared(
        index=index,
        text=" ".join(forms),
        features=tuple(number),
        ids=np.asarray(model.vocabulary.ids(forms), dtype=np.int64),
        owner=np.asarray(owner, dtype=np.int64),
    )


class Tables:
    """Scores and values of every word and position for one class, in float64: folding a document is looking them up."""

    @torch.no_grad()
    def __init__(self, model: AttentionClassifier, target: int) -> None:
        weights = (w.detach().cpu().double() for w in (model.W_e, model.W_q, model.W_k, model.W_v, model.W_l))
        W_e, W_q, W_k, W_v, W_l = weights
        W_p = sinusoidal_positions(model.config.T_max, model.config.d_e)
        heads = FoldedHeads.fold(W_e[model.vocabulary.cls_id] + W_p[0], W_q, W_k, W_v, W_l[:, [target]])
        self.target = target
        self.r = heads.r.numpy()  # (K, d_e): W_kᵀ q / √d_att
        self.u = heads.u[:, 0].numpy()  # (K, d_e): W_vᵀ W_ℓᵀ
        self.W_e, self.W_p = W_e.numpy(), W_p.numpy()
        self._words = [x.numpy() for x in heads.score_and_value(W_e)]
        self._positions = [x.numpy() for x in heads.score_and_value(W_p)]
        self._special = model.vocabulary.cls_id, model.vocabulary.unknown_id

    def fold(self, document: Prepared) -> FoldedDocument:
        """The document with one class, the target: its number is 0 here."""
        (scores, values), (cls, unknown) = self._words, self._special
        return FoldedDocument(
            scores[document.ids], values[document.ids], scores[cls], values[cls], scores[unknown], values[unknown],
            *self._positions,
        )  # fmt: skip

    def game(self, document: Prepared) -> RatioGame:
        """Masking the document's features, as a ratio game with one class."""
        return game_of(self.fold(document), document)

    def embeddings(self, document: Prepared) -> Floats:
        """e_t of every word (T, d_e)."""
        return self.W_e[document.ids] + self.W_p[1 : 1 + document.T]


def game_of(folded: FoldedDocument, document: Prepared) -> RatioGame:
    return RatioGame.from_positions(
        folded.scores, folded.values, folded.removed_scores, folded.removed_values, document.owners
    )
