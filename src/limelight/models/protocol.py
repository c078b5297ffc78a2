"""What a method may ask of a model.

Every model reads texts and predicts; the rest are capabilities of their own. A method names the ones it needs, a model
has those whose functions it defines, and nothing else connects the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from limelight.document import Document, Features
from limelight.theory.ratio_game import Coalitions, RatioGame

if TYPE_CHECKING:  # it brings torch along, which a list of methods does without
    from limelight.theory.folding import FoldedDocument

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Removal = Literal["mask", "delete"]
Game = Callable[[Coalitions], Floats]
"""Logits (n, C) of a document under each row of kept (True) and removed (False) features (n, d)."""


def probabilities(logits: Floats) -> Floats:
    """The softmax of logits (..., C), without overflow."""
    g = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return g / g.sum(axis=-1, keepdims=True)


class Classifier(Protocol):
    """Any text classifier."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    def read(self, text: str) -> Document: ...

    def predict_logits(self, texts: Sequence[str]) -> Floats: ...

    def predict_proba(self, texts: Sequence[str]) -> Floats: ...


@runtime_checkable
class Perturbable(Protocol):
    """Predicts a document with features removed."""

    def perturb(self, document: Document, features: Features, removal: Removal) -> Game: ...


@dataclass(frozen=True)
class Attentions:
    """What [CLS] pays to each position of a word: `weights` (heads, P); position p belongs to word `words[p]`."""

    weights: Floats
    words: Integers


@runtime_checkable
class Attentive(Protocol):
    """Shows its attention."""

    def attentions(self, document: Document) -> Attentions: ...


@dataclass(frozen=True)
class Gradients:
    """At each position of a word: the gradient of the output and the vector it is taken at (P, d_e)."""

    gradients: Floats
    embeddings: Floats
    words: Integers


@runtime_checkable
class Differentiable(Protocol):
    """Gives the gradient of Σ_c direction_c · logit_c with respect to each e_t (Eq. 12)."""

    def gradients(self, document: Document, direction: Floats) -> Gradients: ...


@runtime_checkable
class RatioModel(Protocol):
    """Is a ratio game when features are masked: exact values exist."""

    def ratio_game(self, document: Document, features: Features) -> RatioGame: ...


@runtime_checkable
class Folded(Protocol):
    """Is a single attention layer: one score and C values per head tell all of a token."""

    def fold_document(self, document: Document) -> FoldedDocument: ...


CAPABILITIES: dict[str, type] = {
    "perturbation": Perturbable,
    "attention": Attentive,
    "gradient": Differentiable,
    "ratio game": RatioModel,
    "folded attention": Folded,
}
