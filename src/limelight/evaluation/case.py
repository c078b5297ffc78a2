"""The evaluation of one text: explained by every method, asked about with words removed, measured.

A `Case` holds what each method says of the text, and what the model says when words are removed.
Steps are the numbers of words that are removed, or kept, the same for every method. The area of a curve is its mean
over k = 1 … d words, whichever of them were computed: between two steps it is a straight line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from limelight.attribution.request import Resolved
from limelight.attribution.run import explanations
from limelight.core.arrays import Array, Coalitions, Floats, Integers
from limelight.core.threads import one_thread
from limelight.errors import CapabilityError, NumericalError, TooLargeError
from limelight.evaluation.external import weights_of
from limelight.evaluation.measure import Key, Order, Score, score
from limelight.evaluation.shared_answers import Answers, sharing
from limelight.explanation.result import Comparison, Explanation, Prediction
from limelight.inputs.features import NOBODY, Features
from limelight.models.interface import Memo, Perturbable, RatioView, Removal, SeenAlong, View
from limelight.models.outputs import Output, Quantity
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_rankings import all_coalitions, sets_removing_first
from limelight.theory.subsets import size_means

if TYPE_CHECKING:
    from limelight.evaluation.plan import Plan


PARTS = (0.05, 0.1, 0.2, 0.5)
"""Fractions of the words at which curves are also read."""
GRID = tuple(i / 20 for i in range(1, 21))
"""Fractions of the words at which a report draws curves."""
CANNOT = (CapabilityError, NumericalError, TooLargeError)
"""Errors of a method on one text that leave the other methods going on."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One method's weights for a text, one per feature. `explanation` is None for a method from outside."""

    name: str
    label: str
    signed: bool
    weights: Floats
    explanation: Explanation | None = None

    @property
    def is_sampled(self) -> bool:
        """Whether its weights vary with the seed."""
        return self.explanation is not None and self.explanation.stderr is not None

    @property
    def own_order(self) -> Order:
        """The order of its words in the table that is its own."""
        return own_order(self.signed)

    def worth(self, order: Order) -> Floats:
        """Values that words are ranked by, the largest first."""
        return np.abs(self.weights) if order == "absolute" else self.weights


def own_order(signed: bool) -> Order:
    """The order of words in the table of methods with signs, or without."""
    return "towards" if signed else "absolute"


@dataclass(eq=False)
class Case:
    """Text `number` of a plan, the methods' weights, and the model's answers so far.

    `signed` and `explained` are the entries with signs, and those of methods that can be asked again.
    `resolved` explains this text again with another seed or other options.
    """

    plan: Plan
    number: int
    view: View
    features: Features
    prediction: Prediction
    target: int
    entries: Sequence[Entry]
    answers: Mapping[Removal, Answers]
    resolved: Resolved
    memo: Memo = field(default_factory=Memo)

    def __post_init__(self) -> None:
        self.d, self.text = len(self.features), self.plan.texts[self.number]
        self.output, self.outputs = self.plan.output, self.plan.outputs
        self.removals = tuple(self.answers)
        self.places = [(removal, output) for removal in self.removals for output in self.outputs]
        self.seed = self.plan.arguments.seed
        self.signed = [one for one in self.entries if one.signed]
        self.explained = [one for one in self.entries if one.explanation is not None]

    # ── the words ─────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def steps(self) -> Integers:
        """Numbers of words that are gone: all of them, or so many of them that lie at equal distances, and PARTS."""
        most = self.plan.arguments.steps
        if most is None or self.d <= most:
            return np.arange(self.d + 1)
        places = np.rint(np.linspace(0, self.d, most + 1)).astype(np.int64)
        return np.unique([*places, *(self.step_of(part) for part in PARTS)])

    def step_of(self, part: float) -> int:
        """The number of words that a fraction of them is: at least one."""
        return max(1, math.ceil(part * self.d - 1e-9))

    def rng(self, purpose: int) -> np.random.Generator:
        """Draws of this text, whatever other texts there are."""
        return np.random.default_rng([self.seed, self.number, purpose])

    @cached_property
    def _ties(self) -> Integers:
        return self.rng(0).permutation(self.d)

    def ranking(self, entry: Entry, order: Order) -> Integers:
        """Features, those that go first first; ties in one random order, the same for all methods."""
        return np.lexsort((self._ties, -entry.worth(order))).astype(np.int64)

    def orders(self) -> Iterator[tuple[Entry, Order]]:
        """All methods by absolute value, and the signed ones by what speaks for the target."""
        for one in self.entries:
            if one.signed:
                yield one, "towards"
            yield one, "absolute"

    def owned_words(self) -> Integers:
        """The numbers of the document's words that belong to a feature."""
        return np.flatnonzero(self.features.owners != NOBODY)

    def again(self, resolved: Resolved, entries: Sequence[Entry]) -> Iterator[tuple[Entry, Explanation]]:
        """These methods, each with its explanation of another question, where it has one."""
        for entry in entries:
            try:
                yield entry, explanations(resolved.only(entry.name))[0]
            except CANNOT:
                continue

    def resolve(self, view: View) -> Resolved | None:
        """This question about another text or model; None where it cannot be asked."""
        try:
            return self.plan.resolve(view, self.prediction.labels[self.target])
        except CANNOT:
            return None

    # ── outputs ───────────────────────────────────────────────────────────────────────────────────────────────────

    def quantity(self, output: Output) -> Quantity:
        return Quantity(len(self.prediction.labels), self.target, None, output, self.prediction.kind)

    def value(self, output: Output, logits: Floats) -> float:
        """An output of a text with these logits (C,)."""
        return float(self.quantity(output).of(logits[None])[0])

    @cached_property
    def whole(self) -> Mapping[Output, float]:
        """Each output of the whole text."""
        return {output: self.value(output, self.prediction.logits) for output in self.outputs}

    def rounding(self, output: Output) -> float:
        """A difference of two outputs that is no more than this may be rounding."""
        return 1e-6 * max(abs(self.whole[output]), 1e-12)

    def holds(self, logits: Floats) -> Array:
        """Whether the model gives the target to texts with these logits (n, C): (n,).

        Of labels that do not exclude each other: where its probability is at least one half. A regression says none.
        """
        if self.prediction.kind == "regression":
            return np.zeros(len(logits), dtype=bool)
        if self.prediction.kind == "multi-label":
            return np.asarray(logits[:, self.target] >= 0.0)
        return np.asarray(logits.argmax(axis=1) == self.target)

    def want(self, ranking: Integers, *, kept: bool = False) -> None:
        """The curve of a ranking will be asked for, under each removal."""
        for answers in self.answers.values():
            answers.want(self.sets_along(ranking, kept))

    def want_orders(self, *both: bool) -> None:
        """The curves of all methods' rankings will be asked for, with words removed, or kept, or both."""
        for entry, order in self.orders():
            for kept in both:
                self.want(self.ranking(entry, order), kept=kept)

    def sets_along(self, ranking: Integers, kept: bool) -> Coalitions:
        """One row per step k: the first k features of a ranking are removed, or they alone are kept."""
        without_first = sets_removing_first(ranking, self.steps)
        return ~without_first if kept else without_first

    def logits_along(self, ranking: Integers, removal: Removal, *, kept: bool = False) -> Floats:
        """Logits at each step: the first words of the ranking removed, or they alone kept."""
        name = ("logits", ranking.tobytes(), removal, kept)
        return self.memo.get(name, lambda: self.answers[removal](self.sets_along(ranking, kept)))

    def curve(self, ranking: Integers, removal: Removal, output: Output, *, kept: bool = False) -> Floats:
        """The output after 0, 1, … d words: (d + 1,)."""
        return self.at_all(self.quantity(output).of(self.logits_along(ranking, removal, kept=kept)))

    def at_all(self, at_steps: Floats) -> Floats:
        return np.interp(np.arange(self.d + 1), self.steps, at_steps)

    # ── random rankings ───────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def random_rankings(self) -> list[Integers]:
        """Rankings in pairs, one and its reverse: what one removes first the other removes last."""
        rng, count, drawn = self.rng(1), self.plan.arguments.chance_orders, []
        for _ in range((count + 1) // 2):
            ranking = rng.permutation(self.d)
            drawn += [ranking, ranking[::-1].copy()]
        return drawn[:count]

    def want_random(self) -> None:
        for ranking in self.random_rankings:
            self.want(ranking)

    def has_exact_chance(self, removal: Removal, output: Output) -> bool:
        """Whether the mean over all sets of each size is known without drawing any."""
        return removal == "mask" and isinstance(self.view, RatioView) and self.quantity(output).is_linear

    def enumerate(self, removal: Removal) -> None:
        """The outputs of all sets of words will be known under this removal: chance is then exact, too."""
        self.answers[removal].want(all_coalitions(self.d))
        self.memo.get(("enumerated", removal), lambda: True)

    def is_enumerated(self, removal: Removal) -> bool:
        return self.memo.known(("enumerated", removal)) is not None

    def chance(self, removal: Removal, output: Output, *, kept: bool = False) -> Floats:
        """The mean output when 0, 1, … d words are removed at random, or they alone kept: (d + 1,)."""
        return self.memo.get(("chance", removal, output, kept), lambda: self._chance(removal, output, kept))

    def _chance(self, removal: Removal, output: Output, kept: bool) -> Floats:
        """Read at the same steps as the curves of methods."""
        if self.has_exact_chance(removal, output):
            exact = self.memo.get(("exact chance", output), lambda: self._exact_chance(output))
            return self.at_all((exact[::-1] if kept else exact)[self.steps])
        if self.is_enumerated(removal):
            kept_sets = all_coalitions(self.d)
            outputs, sizes = self.quantity(output).of(self.answers[removal](kept_sets)), kept_sets.sum(axis=1)
            means = np.bincount(sizes, outputs) / np.bincount(sizes)  # with 0, 1, … d words kept
            return self.at_all((means if kept else means[::-1])[self.steps])
        mean: Floats = np.mean([self.curve(own, removal, output) for own in self.random_rankings], axis=0)
        return mean[::-1] if kept else mean

    def _exact_chance(self, output: Output) -> Floats:
        with one_thread():
            return size_means(self.ratio_game(output), 0)

    def ratio_game(self, output: Output) -> RatioGame:
        """The game of masking words on a single attention layer, with the output as its one class."""
        direction = self.quantity(output).direction_at(self.prediction.logits[None])[0]
        view = self.view.seen_along(direction) if isinstance(self.view, SeenAlong) else self.view
        game = cast(RatioView, view).ratio_game(self.features)
        return game if view is not self.view else game.along(direction)

    def scores_at(self, curve: Floats, drawn: bool, before: str = "", **place: str) -> Iterator[Score]:
        """The values of a curve at fractions of the words: all of the grid for what a report draws."""
        for part in GRID if drawn else PARTS:
            yield score(f"{before}{part_name(part)}", curve[self.step_of(part)], **place)


def area(curve: Floats) -> float:
    """The mean over 1 … d words."""
    return float(curve[1:].mean())


def part_name(part: float) -> str:
    return f"{part:.0%}"


# ── one text evaluated ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Record:
    """What came out for one text. `methods` says of each how it was made, `notices` what did not work.

    `holds`: whether the model gives the target to the text; a regression gives none. `given` inputs the model was asked
    about here, of which `distinct` were different. `noise`: how far logits moved when it was asked the same again.
    """

    number: int
    id: int | str
    words: int
    label: str
    target: str
    values: Mapping[Key, float]
    methods: Mapping[str, Mapping[str, Any]]
    notices: tuple[str, ...] = ()
    holds: bool = True
    given: int = 0
    distinct: int = 0
    noise: float = 0.0
    explained: Comparison | None = field(default=None, compare=False)


def evaluate_text(plan: Plan, number: int) -> Record:
    """The record of text `number`; deterministic, whatever other texts there are."""
    resolved = plan.resolve(plan.model.view(plan.texts[number])) if number else plan.first
    plain, features, prediction = resolved.view, resolved.features, resolved.prediction
    assert isinstance(plain, Perturbable)
    answers = {removal: Answers(plain, features, removal) for removal in plan.removals}
    target = resolved.questions[0].quantity.target
    resolved = resolved.asking(view=sharing(plain, features, answers))
    found: list[Explanation] = []
    notices = []
    for method in plan.methods:
        try:
            found += explanations(resolved.only(method.id))
        except CANNOT as error:
            notices.append(f"{method.id}: {error}")
    entries = [Entry(one.method, one.method_label, one.signed, one.weights, one) for one in found]
    for own in plan.external.values():
        weights = weights_of(own, number, plan.ids[number], plain.document, features)
        entries.append(Entry(own.name, own.name, own.signed, weights))
    asked, noise = [*answers.values()], max(own.noise for own in answers.values())
    if noise > 0.0:  # what a method was made from does not judge it
        answers = {removal: Answers(plain, features, removal, again=True) for removal in plan.removals}
        asked += answers.values()
        resolved = resolved.asking(view=plain)
        whole = answers[plan.request.removal](np.ones((1, len(features)), dtype=bool))
        prediction = replace(prediction, logits=whole[0])
    case = Case(plan, number, resolved.view, features, prediction, target, entries, answers, resolved)
    return Record(
        number=number,
        id=plan.ids[number],
        words=len(features),
        label=prediction.label,
        target=prediction.labels[target],
        values=_measured(case),
        methods={one.name: _made(one) for one in entries},
        notices=(*(plain.document.notices if number not in plan.in_windows else ()), *notices),
        holds=bool(case.holds(prediction.logits[None])[0]),
        given=sum(own.evaluations for own in asked),
        distinct=sum(own.distinct for own in asked),
        noise=noise,
        explained=Comparison((*found, *_external(found[0], entries))) if found else None,
    )


def _measured(case: Case) -> dict[Key, float]:
    for measure in case.plan.measures:
        measure.wants(case)
    values: dict[Key, float] = {}
    for measure in case.plan.measures:
        for key, value in measure.of(case):
            assert key not in values, key
            values[key] = value if math.isfinite(value) else math.nan
    return values


def _made(entry: Entry) -> dict[str, Any]:
    """How a method was made."""
    explanation = entry.explanation
    said = {"label": entry.label, "signed": entry.signed, "elsewhere": explanation is None}
    if explanation is None:
        return {**said, "removal": None, "accuracy": None}
    size = float(np.abs(explanation.weights).mean())
    known = np.zeros(0) if explanation.stderr is None else explanation.stderr[np.isfinite(explanation.stderr)]
    return {
        **said,
        "removal": explanation.parameters.get("removal"),
        "accuracy": explanation.accuracy,
        "samples": explanation.parameters.get("n_samples"),
        "error": float(np.mean(known)) / size if len(known) and size > 0.0 else None,
        "evaluations": explanation.evaluations,
        "seconds": explanation.seconds,
    }


def _external(like: Explanation, entries: Sequence[Entry]) -> list[Explanation]:
    """Methods made elsewhere as explanations that a page can show beside one of ours."""
    return [
        replace(
            like,
            method=own.name,
            method_label=own.label,
            signed=own.signed,
            weights=own.weights,
            stderr=None,
            exact=False,
            seconds=0.0,
            evaluations=None,
            parameters={"features": like.parameters["features"]},
            diagnostics={"approximation": "made elsewhere: nothing is known of its error", "warnings": []},
            notices=(),
        )
        for own in entries
        if own.explanation is None
    ]
