"""Measures: what is asked of explanations, one small file each in `measures/`.

A measure is declared once. `wants` says which inputs it will ask the model about, so that those of all methods and
measures are computed together; `scores` gives numbers, each with its place in the tables:

    flips = measure("flips", label="Flips", summary="…", better="lower")

    @flips.wants
    def curves(case: Case) -> None: ...

    @flips.scores
    def parts(case: Case) -> Iterator[Score]: ...

What a measure needs of a model, or of the texts, it says by `unfit`; where that is missing it is left out, and listed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from limelight.errors import CapabilityError, InputError, ParameterError, known_name, shown

if TYPE_CHECKING:
    from limelight.evaluation.case import Case
    from limelight.models.interface import Classifier, View

Order = Literal["towards", "absolute", ""]
"""Which words go first: those that speak most for the target, or those of the largest absolute weight."""
Better = Literal["higher", "lower", ""]


class Key(NamedTuple):
    """The place of a number: of which measure and part of it, for which method (and which other), and how.

    Empty where it makes no difference; a number of the text itself, such as that of random orders, has no method.
    """

    measure: str
    part: str = ""
    method: str = ""
    other: str = ""
    removal: str = ""
    output: str = ""
    order: str = ""


class Score(NamedTuple):
    """One number of one text."""

    key: Key
    value: float


Wants = Callable[["Case"], None]
Scores = Callable[["Case"], Iterator[Score]]
Unfit = Callable[["Classifier", "View", int], str | None]
"""Of a model, its view of a text, and the number of texts: why a measure does not apply, or None."""


@dataclass(eq=False)
class Measure:
    """A measure under its id. `default`: taken where none is named. `better`: which values are, if one can say so.

    `needs` says what of an evaluation it rests on beside the texts: "rationales", "counterfactuals".
    """

    id: str
    label: str
    summary: str
    better: Better
    default: bool
    needs: str
    _wants: list[Wants] = field(default_factory=list)
    _scores: list[Scores] = field(default_factory=list)
    _unfit: list[Unfit] = field(default_factory=list)

    def wants(self, run: Wants) -> Wants:
        self._wants.append(run)
        return run

    def scores(self, run: Scores) -> Scores:
        self._scores.append(run)
        return run

    def unfit(self, run: Unfit) -> Unfit:
        self._unfit.append(run)
        return run

    def why_not(self, model: Classifier, view: View, texts: int) -> str | None:
        """Why it cannot be asked; None where it can."""
        return next((why for run in self._unfit if (why := run(model, view, texts)) is not None), None)

    def want(self, case: Case) -> None:
        """Say which inputs will be asked for."""
        for run in self._wants:
            run(case)

    def score(self, case: Case) -> Iterator[Score]:
        for run in self._scores:
            yield from run(case)


_declared: dict[str, Measure] = {}


def measure(
    id: str, *, label: str, summary: str, better: Better = "", default: bool = True, needs: str = ""
) -> Measure:
    """Declare a measure."""
    if id in _declared:
        raise ValueError(f"two measures are called {id!r}")
    _declared[id] = Measure(id, label, summary, better, default, needs)
    return _declared[id]


def measures() -> tuple[Measure, ...]:
    """All measures, in the order of their ids."""
    _import_modules()
    return tuple(_declared[id] for id in sorted(_declared))


def chosen_measures(asked: Sequence[str] | str | None, given: Sequence[str]) -> tuple[Measure, ...]:
    """Those that were asked for: ids, "all", or None for the usual ones; `given` is what there is beside the texts."""
    if asked is None:
        return tuple(one for one in measures() if one.default and (not one.needs or one.needs in given))
    if asked == "all":
        return tuple(one for one in measures() if not one.needs or one.needs in given)
    if isinstance(asked, str) or not isinstance(asked, Sequence):
        raise ParameterError(f'measures must be a list of measure ids, or "all": got {shown(asked)}')
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
    reasons = {one.id: one.why_not(model, view, texts) for one in chosen}
    skipped = {id: why for id, why in reasons.items() if why is not None}
    fitting = tuple(one for one in chosen if one.id not in skipped)
    if not fitting:
        why = "; ".join(f"{id}: {why}" for id, why in skipped.items())
        raise CapabilityError(f"none of the measures applies to this model: {why}; name another, or none for the usual")
    return fitting, skipped


@cache
def _import_modules() -> None:
    folder = Path(__file__).parent / "measures"
    for module in pkgutil.iter_modules([str(folder)]):
        importlib.import_module(f"limelight.evaluation.measures.{module.name}")
