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
Removal = Literal["mask", "delete", "attention"]
"""How a word is taken out: replaced in place, cut out, or left in place where attention cannot see it."""
Game = Callable[[Coalitions], Floats]
"""Logits (n, C) of a document under each row of kept (True) and removed (False) features (n, d)."""


def probabilities(logits: Floats) -> Floats:
    """The softmax of logits (..., C), without overflow."""
    g = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return g / g.sum(axis=-1, keepdims=True)


REMOVALS: tuple[Removal, ...] = ("mask", "delete")
"""What a model that can be perturbed is expected to offer; one that offers other ways has them in `removals`."""


def removals_of(model: object) -> tuple[Removal, ...]:
    """The ways in which this model can take a word out."""
    offered: tuple[Removal, ...] = getattr(model, "removals", REMOVALS)
    return offered


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
class AttentionLayers:
    """All attention of one forward: `weights` (layers, heads, T, T), row s the attention that position s pays.

    The classifier reads position `reader`. Rows `positions` (P,) of it belong to words: positions[p] to word `words[p]`
    with the part `shares[p]` (below 1 where a token covers several words). A text that is read in several windows has
    one of these for each; `share` is the window's part in the prediction.
    """

    weights: Floats
    reader: int
    positions: Integers
    words: Integers
    shares: Floats
    share: float = 1.0


@runtime_checkable
class Layered(Protocol):
    """Shows the attention of every layer, between all positions."""

    def attention_layers(self, document: Document) -> Sequence[AttentionLayers]: ...


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


@dataclass(frozen=True)
class PathGradients:
    """On the straight line from a baseline to the text, at m points: `logits` (m, C), and `slopes` (m, P), the part of
    each position in the derivative of the output along the line."""

    logits: Floats
    slopes: Floats
    words: Integers


Direction = Callable[[Floats], Floats]
"""From logits (m, C) to the derivative of the explained output with respect to each of them (m, C)."""


@runtime_checkable
class Integrable(Protocol):
    """Gives gradients at points between a baseline (point 0) and the text (point 1)."""

    def path_gradients(
        self, document: Document, baseline: str, points: Floats, direction: Direction
    ) -> PathGradients: ...


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
    "attention layers": Layered,
    "gradient": Differentiable,
    "embedding path": Integrable,
    "ratio game": RatioModel,
    "folded attention": Folded,
}
