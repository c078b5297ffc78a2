"""A view: one model looking at one document. It is all that a method sees of either.

`model.view(text)` reads the text once. Whatever the model knows of it is computed when it is first asked for and kept:
logits, tokens, folded tables, attentions. What a view can do beyond its logits are capabilities, each a protocol of its
own; a method names the one it needs, and nothing else connects the two. A view may be shared between threads.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from limelight.core.arrays import Array, Coalitions, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.errors import InputError
from limelight.inputs.document import Document, Word
from limelight.inputs.features import Features
from limelight.models.outputs import Kind, Output, Quantity
from limelight.theory.ratio_game import RatioGame

if TYPE_CHECKING:  # it brings torch along, which a list of methods does without
    from limelight.theory.folding import FoldedDocument

Removal = Literal["mask", "delete", "attention"]
"""How a word is taken out: replaced in place, cut out, or left in place where attention cannot see it."""
T = TypeVar("T")


class View(Protocol):
    """What every model knows of a document."""

    @property
    def document(self) -> Document: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def kind(self) -> Kind:
        """How logits become probabilities."""

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What can be explained; the first is, where nothing is asked for."""

    @property
    def logits(self) -> Floats:
        """(C,), asked of the model once."""


class Classifier(Protocol):
    """Any text classifier. One that reads pairs of texts says so by `pairs = True`."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    def view(self, text: Any) -> View: ...

    def predict_logits(self, texts: Sequence[Any]) -> Floats: ...

    def predict_proba(self, texts: Sequence[Any]) -> Floats: ...


@runtime_checkable
class ReadsMany(Protocol):
    """A model that reads many texts faster than one after the other."""

    def views_or_errors(self, texts: Sequence[str]) -> Sequence[View | InputError]: ...


@runtime_checkable
class Divisible(Protocol):
    """A view whose words may be divided otherwise: the model does not read words, but characters or pieces of words."""

    def divided(self, words: tuple[Word, ...]) -> View:
        """The same text, with these words."""


ROUNDING = 1e-6
"""How far logits are rounded where a view does not say: a few times the precision of float32."""


class ViewFacts:
    """What a view may know of its model beside its capabilities; it inherits this to state any of it."""

    @property
    def cheap(self) -> bool:
        """Whether the model answers so fast that every method is shown by default."""
        return False

    @property
    def repeats_itself(self) -> bool:
        """Whether the model, asked twice about one input, says the same."""
        return True

    @property
    def rounding(self) -> float | None:
        """How far logits are rounded, as a fraction of the largest; None where that is not known."""
        return None

    def unknown_words(self) -> frozenset[int]:
        """The numbers of the document's words that the model does not know, and reads as one and the same."""
        return frozenset()

    def notes(self, output: Output) -> tuple[str, ...]:
        """What every reader of an explanation of this output must know."""
        return ()

    def reason_against(self, removal: Removal) -> str:
        """Why a removal is not offered: a clause that follows "by 'mask'"; empty where there is no more to say."""
        return ""


def facts_of(view: object) -> ViewFacts:
    """What a view states of its model; the defaults for a view that inherits none of it."""
    return view if isinstance(view, ViewFacts) else ViewFacts()


def rounding_of(view: object) -> float:
    """How far a view's logits are rounded, as a fraction of the largest."""
    stated = facts_of(view).rounding
    return ROUNDING if stated is None else stated


@dataclass(frozen=True)
class AskedTwice:
    """What is known of answers in a lower precision, `dtype`, that were given to so many `inputs`.

    Some inputs were asked in the model's own precision too: logits `exact` and `rounded` (k, C), the latter with
    `shift` (C,), the mean difference, added as to all others.
    """

    dtype: str
    inputs: int
    exact: Floats
    rounded: Floats
    shift: Floats


@dataclass(frozen=True)
class Answered:
    """Logits (n, C), and how many inputs the model was given for them."""

    logits: Floats
    asked: int


@runtime_checkable
class Masking(Protocol):
    """A view that can put its mask into the text where nothing is removed."""

    @property
    def mask_is_unusual(self) -> bool:
        """Whether the model may not have learned that its mask stands for any word."""

    @property
    def mask_is_given(self) -> bool:
        """Whether the mask is the model's own, which nobody can choose."""

    @property
    def mask_name(self) -> str:
        """The mask for a message, in quotes."""

    def with_masks(self, counts: Integers) -> Answered | None:
        """Logits of the text with counts[i, 0] masks before its first word and counts[i, j + 1] behind word j.

        None where the model has no room for them.
        """


class Memo:
    """What a view has computed already: each thing once, also where several threads ask for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._known: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        with self._lock:
            if key not in self._known:
                self._known[key] = compute()
            return cast(T, self._known[key])

    def known(self, key: Hashable) -> Any:
        """What was computed already, or None."""
        with self._lock:
            return self._known.get(key)


# ── capabilities ──────────────────────────────────────────────────────────────────────────────────────────────────────


STEP = 256
"""Coalitions that are asked for between two looks at the clock, where a game does not say."""


@dataclass(frozen=True)
class GameFacts:
    """What a game knows of the answers that it gave so far.

    `rounding`: how far logits are rounded, as a fraction of the largest; None: as far as the view's. `notices`: what a
    reader must know of the logits. `clipped`: the fraction of answers whose logits would be infinite, and were cut.
    `precision`: what was measured of answers in a lower precision. `noise`: how far the logits of the whole text moved
    when it was asked again, and `beside`, when it was asked in a batch; 0 where that is rounding.
    """

    rounding: float | None = None
    notices: tuple[str, ...] = ()
    clipped: float = 0.0
    precision: AskedTwice | None = None
    noise: float = 0.0
    beside: float = 0.0


class Game(ABC):
    """The model as a function of which features are kept: logits (n, C) of a matrix of coalitions (n, d)."""

    @property
    @abstractmethod
    def asked(self) -> int:
        """How many inputs the model was given so far: a game may know one that it was given before."""

    @abstractmethod
    def __call__(self, kept: Coalitions) -> Floats: ...

    @property
    def facts(self) -> GameFacts:
        """What is known of the answers so far."""
        return GameFacts()

    @property
    def step(self) -> int:
        """How many coalitions are best asked for between two looks at the clock."""
        return STEP

    def again(self, kept: Coalitions, time: int) -> Floats:
        """Logits of coalitions that were asked for before, asked for once more: for the time number 1, 2, …"""
        return self(kept)

    def look_around(self) -> None:
        """Ask about a text alone and in a batch, where the answer to it may depend on the texts beside it."""
        return


class PlainGame(Game):
    """A game that does not inherit from `Game`: it has `asked`, and can be called."""

    def __init__(self, game: Any) -> None:
        self._game = game

    @property
    def asked(self) -> int:
        return int(self._game.asked)

    def __call__(self, kept: Coalitions) -> Floats:
        logits: Floats = self._game(kept)
        return logits


def game_of(view: Perturbable, features: Features, removal: Removal, progress: Progress = SILENT) -> Game:
    """The game of a view, whoever wrote it."""
    game = view.game(features, removal, progress)
    return game if isinstance(game, Game) else PlainGame(game)


@runtime_checkable
class Perturbable(Protocol):
    """Predicts the document with features removed."""

    @property
    def removals(self) -> tuple[Removal, ...]: ...

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> Game:
        """`progress` advances by one for each coalition that is answered."""


@dataclass(frozen=True)
class Attentions:
    """What the reader ([CLS]) pays to each position of a word: `weights` (layers, heads, P), `words` (P,) says whose.

    A text that is read in several windows has one of these for each; `part` is the window's part in the prediction.
    `forwards`: how many forward passes it took.
    """

    weights: Floats
    words: Integers
    part: float = 1.0
    forwards: int = 0


@runtime_checkable
class Attentive(Protocol):
    """Shows what the reader attends to."""

    def attentions(self) -> Sequence[Attentions]: ...


Reader = int | Integers
"""The position that the head of a classifier reads ([CLS], the last token), or several whose mean it reads."""


@dataclass(frozen=True)
class AttentionLayers:
    """All attention of one forward: `weights` (layers, heads, T, T), row s the attention that position s pays.

    Positions `positions` (P,) belong to words: positions[p] to word `words[p]` with the part `token_parts[p]` (below 1
    where a token covers several words).

    A text that is read in several windows has one of these for each; `part` is the window's part in the prediction.
    `forwards`: how many passes it took.
    """

    weights: Array
    reader: Reader
    positions: Integers
    words: Integers
    token_parts: Floats
    part: float = 1.0
    forwards: int = 1

    def paid_by_reader(self) -> Attentions:
        """The row of the reader, or the mean of those of several, given to the words."""
        rows = self.weights[:, :, np.atleast_1d(self.reader)].astype(np.float64).mean(axis=2)
        paid = rows[:, :, self.positions] * self.token_parts
        return Attentions(paid, self.words, self.part, self.forwards)


@runtime_checkable
class Layered(Protocol):
    """Shows the attention of every layer, between all positions."""

    def attention_layers(self) -> Sequence[AttentionLayers]: ...


@dataclass(frozen=True)
class Gradients:
    """At each position of a word: the gradient of the output and the vector it is taken at (P, d_e).

    `forwards`: how many forward passes with their backward it took.
    """

    gradients: Floats
    embeddings: Floats
    words: Integers
    forwards: int = 0


@runtime_checkable
class Differentiable(Protocol):
    """Gives the gradient of Σ_c direction_c · logit_c with respect to each e_t (Eq. 12)."""

    def gradients(self, direction: Floats) -> Gradients: ...


@dataclass(frozen=True)
class PathGradients:
    """On the straight line from a baseline to the text, at m points: `logits` (m, C), and `slopes` (m, P), the part of
    each position in the derivative of the output along the line."""

    logits: Floats
    slopes: Floats
    words: Integers
    forwards: int = 0


Direction = Callable[[Floats], Floats]
"""From logits (m, C) to the derivative of the explained output with respect to each of them (m, C)."""


@runtime_checkable
class Integrable(Protocol):
    """Gives gradients at points between a baseline (point 0) and the text (point 1)."""

    def path_gradients(self, baseline: str, moved: Integers, points: Floats, direction: Direction) -> PathGradients:
        """`moved`: the numbers of the words that the baseline replaces; all others are themselves at every point."""


RulesName = Literal["decomposition", "attnlrp", "deepshap"]


@dataclass(frozen=True)
class Propagated:
    """What one pass back under a method's rules gives each position of a word (P,), and what it adds up to.

    `outputs`: the explained output of the text and, where it was run beside it, of the masked text. `rest`: what biases
    and tables contribute. `missing`: how far the weights of all tokens do not add up to what they should; None where no
    sum is known beforehand.
    """

    weights: Floats
    words: Integers
    outputs: Floats
    rest: float = 0.0
    missing: float | None = None
    forwards: int = 0


@runtime_checkable
class Propagating(Protocol):
    """Goes back through the model once, under the rules of a method."""

    def propagated(self, rules: RulesName, quantity: Quantity, moved: Integers, baseline: str) -> Propagated:
        """`moved`: the numbers of the words that the baseline replaces, for rules that compare with a masked text."""


@dataclass(frozen=True)
class RecordedLayers:
    """All attention of one forward with its gradient, and what positions bring (L: layers, H: heads, T: positions).

    `attention` and `slopes` (L, H, T, T): weights and the derivative of the output with respect to each; `relevance`
    (L, T): the state of each position times the output's gradient there; `norms` (L, T): the length of the vector that
    each position brings to the reader, None where heads are not joined by a plain projection. The rest is as in
    `AttentionLayers`.
    """

    attention: Floats
    slopes: Floats
    relevance: Floats
    norms: Floats | None
    reader: Integers
    positions: Integers
    words: Integers
    token_parts: Floats
    part: float = 1.0
    forwards: int = 1


@runtime_checkable
class Recorded(Protocol):
    """Records a forward and the gradient of Σ_c direction_c · logit_c with respect to its attention."""

    def recorded(self, direction: Floats) -> Sequence[RecordedLayers]:
        """One of each window."""


@runtime_checkable
class RatioView(Protocol):
    """Is a ratio game when features are masked: exact values exist."""

    @property
    def device(self) -> str:
        """Where many documents are best computed."""

    def ratio_game(self, features: Features) -> RatioGame: ...


@runtime_checkable
class RatioViewAlong(RatioView, Protocol):
    """Is a ratio game, and folds one class for less than all of them."""

    def ratio_game_along(self, features: Features, direction: Floats) -> RatioGame:
        """The game with one class, whose logit is Σ_c direction_c · logit_c; the view keeps it."""


@runtime_checkable
class FoldedView(Protocol):
    """Is a single attention layer: one score and C values per head tell all of a token."""

    @property
    def device(self) -> str:
        """Where many documents are best computed."""

    def folded(self) -> FoldedDocument: ...


@runtime_checkable
class SeenAlong(Protocol):
    """Can leave out the classes that a question is not about."""

    def seen_along(self, direction: Floats) -> Any:
        """A view of the same kind whose one logit is Σ_c direction_c · logit_c; the view itself where few are there."""


CAPABILITIES: dict[type, str] = {
    Perturbable: "perturbation",
    Attentive: "attention",
    Layered: "attention layers",
    Differentiable: "gradient",
    Integrable: "embedding path",
    Propagating: "propagation",
    Recorded: "recorded attention",
    RatioView: "ratio game",
    FoldedView: "folded attention",
}
"""What each capability is called in front of people."""
