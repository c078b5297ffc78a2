"""One text under judgement: what each method says of it, and what the model says when words are removed.

Steps are the numbers of words that are removed, or kept, the same for every method. The area of a curve is its mean
over k = 1 … d words, whichever of them were computed: between two steps it is a straight line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from limelight.attribution.request import Resolved
from limelight.core.arrays import Array, Floats, Integers
from limelight.evaluation.explainer import Explainer
from limelight.evaluation.measure import Key, Order
from limelight.evaluation.shared_answers import Answers, each_alone, only_first, without_first
from limelight.explanation.result import Explanation, Prediction
from limelight.inputs.document import Span, Text
from limelight.inputs.features import Features
from limelight.models.interface import RatioView, Removal, View
from limelight.models.outputs import Output, Quantity
from limelight.theory.removal_rankings import all_coalitions

PARTS = (0.05, 0.1, 0.2, 0.5)
"""Parts of the words at which curves are also read."""
GRID = tuple(i / 20 for i in range(1, 21))
"""Where the curves of a report are drawn."""
TOWARDS: Order = "towards"
ABSOLUTE: Order = "absolute"


@dataclass(frozen=True)
class Judged:
    """What one method says of a text: a weight per feature. `explanation` is None where it was made elsewhere."""

    name: str
    label: str
    signed: bool
    weights: Floats
    explanation: Explanation | None = None

    @property
    def own_order(self) -> Order:
        """How its words are ranked in the table that is its own."""
        return TOWARDS if self.signed else ABSOLUTE


@dataclass(frozen=True)
class Beside:
    """What is known of a text beside its words."""

    rationale: tuple[Span, ...] | None = None
    counterfactual: Text | None = None


@dataclass
class Case:
    """A text, the methods' weights, and the model's answers so far.

    `resolved` explains this text again with another seed or other options, and `explainer` a variant of it or another
    model.
    """

    number: int
    id: int | str
    text: Text
    view: View
    features: Features
    prediction: Prediction
    target: int
    output: Output
    outputs: tuple[Output, ...]
    judged: Mapping[str, Judged]
    answers: Mapping[Removal, Answers]
    beside: Beside
    seed: int
    chance_orders: int
    limits: str
    most_steps: int | None
    texts_outputs: Floats
    rationale_share: float
    explainer: Explainer
    resolved: Resolved
    _memo: dict[Any, Any] = field(default_factory=dict)

    # ── the words ─────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def d(self) -> int:
        return len(self.features)

    @property
    def removals(self) -> tuple[Removal, ...]:
        return tuple(self.answers)

    @property
    def steps(self) -> Integers:
        """How many words are gone: all numbers, or so many of them that lie at equal distances, and PARTS."""
        most = self.d if self.most_steps is None else self.most_steps
        if self.d <= most:
            return np.arange(self.d + 1)
        places = np.rint(np.linspace(0, self.d, most + 1)).astype(np.int64)
        return np.unique([*places, *(self.step_of(part) for part in PARTS)])

    def step_of(self, part: float) -> int:
        """The number of words that a part of them is: at least one."""
        return max(1, math.ceil(part * self.d - 1e-9))

    def rng(self, purpose: int) -> np.random.Generator:
        """Draws of this text, whatever other texts there are."""
        return np.random.default_rng([self.seed, self.number, purpose])

    def order(self, weights: Floats, order: Order) -> Integers:
        """Features, those that go first first; ties in one random order, the same for all methods."""
        ties = self._once("ties", lambda: self.rng(0).permutation(self.d))
        worth = np.abs(weights) if order == ABSOLUTE else weights
        return np.lexsort((ties, -worth)).astype(np.int64)

    def orders(self) -> Iterator[tuple[Judged, Order]]:
        """All methods by absolute value, and the signed ones by what speaks for the target."""
        for one in self.judged.values():
            if one.signed:
                yield one, TOWARDS
            yield one, ABSOLUTE

    # ── outputs ───────────────────────────────────────────────────────────────────────────────────────────────────

    def quantity(self, output: Output) -> Quantity:
        return Quantity(len(self.prediction.labels), self.target, None, output, self.prediction.kind)

    @property
    def whole(self) -> Mapping[Output, float]:
        """Each output of the whole text."""
        return {o: float(self.quantity(o).of(self.prediction.logits[None])[0]) for o in self.outputs}

    def rounding(self, output: Output) -> float:
        """A difference of two outputs that is no more than this may be rounding."""
        return 1e-6 * max(abs(self.whole[output]), 1e-12)

    def holds(self, logits: Floats) -> Array:
        """Where the target is what the model says of texts with these logits (n, C): (n,).

        Of labels that do not exclude each other: where its probability is at least one half. A regression says none.
        """
        if self.prediction.kind == "regression":
            return np.zeros(len(logits), dtype=bool)
        if self.prediction.kind == "multi-label":
            return np.asarray(logits[:, self.target] >= 0.0)
        return np.asarray(logits.argmax(axis=1) == self.target)

    def want_curves(self, order: Integers, *, kept: bool) -> None:
        for answers in self.answers.values():
            answers.want((only_first if kept else without_first)(order, self.steps))

    def logits_along(self, order: Integers, removal: Removal, *, kept: bool = False) -> Floats:
        """At each step: the first words of the order removed, or they alone kept."""
        name = ("logits", order.tobytes(), removal, kept)
        chosen = (only_first if kept else without_first)(order, self.steps)
        return cast(Floats, self._once(name, lambda: self.answers[removal](chosen)))

    def curve(self, order: Integers, removal: Removal, output: Output, *, kept: bool = False) -> Floats:
        """The output after 0, 1, … d words: (d + 1,)."""
        at_steps = self.quantity(output).of(self.logits_along(order, removal, kept=kept))
        return self.at_all(at_steps)

    def at_all(self, at_steps: Floats) -> Floats:
        return np.interp(np.arange(self.d + 1), self.steps, at_steps)

    def curve_of(self, judged: Judged, order: Order, removal: Removal, output: Output, *, kept: bool = False) -> Floats:
        return self.curve(self.order(judged.weights, order), removal, output, kept=kept)

    def losses_alone(self, removal: Removal, output: Output) -> Floats:
        """What the output loses when each feature is removed by itself: (d,)."""
        logits = self.answers[removal](each_alone(self.d))
        return self.whole[output] - self.quantity(output).of(logits)

    # ── random orders ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def random_orders(self) -> list[Integers]:
        """In pairs, an order and its reverse: what one removes first the other removes last."""

        def draw() -> list[Integers]:
            rng, drawn = self.rng(1), []
            for _ in range((self.chance_orders + 1) // 2):
                order = rng.permutation(self.d)
                drawn += [order, order[::-1].copy()]
            return drawn[: self.chance_orders]

        return cast(list[Integers], self._once("random orders", draw))

    def has_exact_chance(self, removal: Removal, output: Output) -> bool:
        """Whether the mean over all sets of each size is known without drawing any."""
        return removal == "mask" and isinstance(self.view, RatioView) and self.quantity(output).is_linear

    def enumerate(self, removal: Removal) -> None:
        """The outputs of all sets of words will be known under this removal: chance is then exact, too."""
        self.answers[removal].want(all_coalitions(self.d))
        self._memo["enumerated", removal] = True

    def is_enumerated(self, removal: Removal) -> bool:
        return ("enumerated", removal) in self._memo

    def chance(self, removal: Removal, output: Output, *, kept: bool = False) -> Floats:
        """The mean output when 0, 1, … d words are removed at random, or they alone kept: (d + 1,)."""
        return cast(Floats, self._once(("chance", removal, output, kept), lambda: self._chance(removal, output, kept)))

    def _chance(self, removal: Removal, output: Output, kept: bool) -> Floats:
        """Read at the same steps as the curves of methods."""
        if self.has_exact_chance(removal, output):
            from limelight.evaluation.limits import exact_chance

            exact = cast(Floats, self._once(("exact chance", output), lambda: exact_chance(self, output)))
            return self.at_all((exact[::-1] if kept else exact)[self.steps])
        if self.is_enumerated(removal):
            kept_sets = all_coalitions(self.d)
            outputs, sizes = self.quantity(output).of(self.answers[removal](kept_sets)), kept_sets.sum(axis=1)
            means = np.bincount(sizes, outputs) / np.bincount(sizes)  # with 0, 1, … d words kept
            return self.at_all((means if kept else means[::-1])[self.steps])
        mean: Floats = np.mean([self.curve(order, removal, output) for order in self.random_orders], axis=0)
        return mean[::-1] if kept else mean

    # ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def key(self, measure: str, part: str = "", **names: str) -> Key:
        return Key(measure, part, **names)

    def _once(self, name: Any, compute: Any) -> Any:
        if name not in self._memo:
            self._memo[name] = compute()
        return self._memo[name]

    def once(self, name: Any, compute: Any) -> Any:
        """What measures share."""
        return self._once(("shared", name), compute)


def area(curve: Floats) -> float:
    """The mean over 1 … d words."""
    return float(curve[1:].mean())


def part_name(part: float) -> str:
    return f"{part:.0%}"


def spread_parts(own: bool) -> Sequence[float]:
    """At which parts a curve is read: all of the grid for what a report draws."""
    return GRID if own else PARTS
