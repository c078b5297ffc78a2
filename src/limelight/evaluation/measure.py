"""Measures: what is asked of explanations, one small file each in `measures/`.

A measure is declared once, with all that reports and summaries need to know of it; nobody else compares names:

    def curves(case: Case) -> None: ...

    def fractions(case: Case) -> Iterator[Score]: ...

    flips = Measure("flips", label="Flips", summary="…", better="lower", wants=curves, scores=(fractions,))
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from limelight.errors import CapabilityError, InputError, known_name

if TYPE_CHECKING:
    from limelight.evaluation.case import Case
    from limelight.evaluation.result import Evaluation
    from limelight.models.interface import Classifier, View

Order = Literal["towards", "absolute", ""]
"""Which words go first: those that speak most for the target, or those of the largest absolute weight."""
Better = Literal["higher", "lower", ""]
Place = Literal["after pairs", "caveat", "last caveat"]
"""Where a sentence of a measure stands in the verdict."""
ALL = "all"
"""The part of a curve measure that is its mean over all numbers of words."""
ABOVE_CHANCE, BEST_ABOVE_CHANCE, BOUND_ABOVE_CHANCE = "above chance", "best above chance", "bound above chance"
ABOVE_WORST, BEST_ABOVE_WORST = "above worst", "best above worst"
"""The parts that the primary measure has: what a method gains, and what there is to gain; and, with 1, how the best
ranking is known."""


class Key(NamedTuple):
    """The place of a number: of which measure and part of it, for which method (and which other), and how.

    Empty where it makes no difference; a number of the text itself, such as that of random rankings, has no method.
    """

    measure: str
    part: str = ""
    method: str = ""
    other: str = ""
    removal: str = ""
    output: str = ""
    order: str = ""


@dataclass(frozen=True)
class Curve:
    """What a measure's curve shows: its title on the page of the server, and its caption in a report."""

    title: str
    caption: str


Score = tuple[str, float, dict[str, str]]
"""One number of one text: the part of its measure, the value, and the other fields of its key."""


def score(part: str, value: float, **place: str) -> Score:
    return part, float(value), place


@dataclass(eq=False)
class Measure:
    """A measure under its id.

    `scores` give numbers, each with its place in the tables. `wants` says which inputs it will ask the model about, so
    that those of all methods and measures are computed together. `unfit` says why it does not apply to a model, its
    view of a text and the number of texts, or None; it is then left out, and listed. `says` adds sentences to a place
    of the verdict.

    `default`: taken where none is named. `better`: which values are, if one can say so.

    `needs`: what of an evaluation it rests on beside the texts, "rationales" or "counterfactuals". `primary`: methods
    are ranked and compared by it. `curve`: it has a value for each number of words. `coin`: it tells whether the signs
    of weights are right, and this is what guessing gets. `pairs`: it is of pairs of methods, and this is the part that
    says how far they agree.
    """

    id: str
    label: str
    summary: str
    scores: Sequence[Callable[[Case], Iterator[Score]]]
    better: Better = ""
    default: bool = True
    needs: str = ""
    primary: bool = False
    curve: Curve | None = None
    coin: float | None = None
    pairs: str = ""
    wants: Callable[[Case], None] = lambda case: None
    unfit: Callable[[Classifier, View, int], str | None] = lambda model, view, texts: None
    says: tuple[Place, Callable[[Evaluation], Iterator[str]]] | None = None

    def __post_init__(self) -> None:
        if self.id in _declared:
            raise ValueError(f"two measures are called {self.id!r}")
        _declared[self.id] = self

    def key(self, part: str = "", method: str = "", **place: str) -> Key:
        """The key of one of its numbers."""
        return Key(self.id, part, method, **place)

    def of(self, case: Case) -> Iterator[tuple[Key, float]]:
        """Every number of a case."""
        for part, value, place in chain.from_iterable(own(case) for own in self.scores):
            yield self.key(part, **place), value


_declared: dict[str, Measure] = {}


@cache
def measures() -> tuple[Measure, ...]:
    """All measures, in the order of their ids."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent / "measures")]):
        importlib.import_module(f"limelight.evaluation.measures.{module.name}")
    return tuple(_declared[id] for id in sorted(_declared))


@cache
def primary() -> Measure:
    """The measure that methods are ranked and compared by."""
    (found,) = (one for one in measures() if one.primary)
    return found


def chosen_measures(asked: Sequence[str] | str | None, given: Sequence[str]) -> tuple[Measure, ...]:
    """The measures for ids, "all", or None for the usual ones; `given` is what there is beside the texts."""
    if asked is None or asked == "all":
        usual = (one for one in measures() if one.default or asked == "all")
        return tuple(one for one in usual if not one.needs or one.needs in given)
    known = {one.id: one for one in measures()}
    chosen = tuple(known[known_name("measure", id, known)] for id in dict.fromkeys(asked))
    if not chosen:
        raise InputError("measures is empty: name at least one, or leave it out for the usual ones")
    for one in chosen:
        if one.needs and one.needs not in given:
            raise InputError(f"the measure {one.id!r} needs {one.needs}: give them, or leave it out")
    return chosen


def fitting_measures(
    chosen: Sequence[Measure], model: Classifier, view: View, texts: int
) -> tuple[tuple[Measure, ...], dict[str, str]]:
    """Those that apply to a model and so many texts, and why the others do not."""
    reasons = {one.id: one.unfit(model, view, texts) for one in chosen}
    skipped = {id: why for id, why in reasons.items() if why is not None}
    fitting = tuple(one for one in chosen if one.id not in skipped)
    if not fitting:
        why = "; ".join(f"{id}: {why}" for id, why in skipped.items())
        raise CapabilityError(f"none of the measures applies to this model: {why}; name another, or none for the usual")
    return fitting, skipped
