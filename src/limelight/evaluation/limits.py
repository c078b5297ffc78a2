"""Limits: the best and the worst area that any ranking of one text's words reaches when they are removed in its order.

Each is "certified" on a single attention layer, where a bound holds for every ranking; "enumerated" for few
words, exact; "searched" by a beam; "found" as the best of all rankings that the methods and chance gave. The last two
are lower bounds of the best, so that a score that is normalised by them is at most what it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from limelight.core.arrays import Floats
from limelight.core.threads import one_thread
from limelight.evaluation.case import Case, area
from limelight.models.interface import Removal
from limelight.models.outputs import Output
from limelight.theory.removal_bounds import EFFORT
from limelight.theory.removal_rankings import (
    MOST_ENUMERATED,
    Ranking,
    all_coalitions,
    beam_search,
    limits_by_enumeration,
)
from limelight.theory.subsets import best_ranking

How = Literal["certified", "enumerated", "searched", "found"]
HOWS: tuple[How, ...] = get_args(How)
KNOWN_FROM_BELOW = ("searched", "found")
LIMITS = ("auto", "search", "found")
"""Values of the argument `limits`: exact where that is cheap; by search too; or of the rankings at hand alone."""
BEAM = 5
_SEARCHED = 40
"""Words up to which a beam is sent: beyond, it would cost more than all else together."""


@dataclass(frozen=True)
class Limits:
    """The area over the curve of the best and of the worst ranking; none is above `bound`."""

    best: float
    worst: float
    bound: float
    how: How
    best_curve: Floats | None


def limits_of(case: Case, removal: Removal, output: Output) -> Limits:
    """The limits of a text, computed once for each removal and output."""
    return case.memo.get(("limits", removal, output), lambda: _limits(case, removal, output))


def enumerates(case: Case, removal: Removal) -> bool:
    """Whether the model is asked about all sets of words."""
    few = case.plan.arguments.limits != "found" and case.d <= MOST_ENUMERATED
    return few and not case.has_exact_chance(removal, case.output)


def _limits(case: Case, removal: Removal, output: Output) -> Limits:
    asked = case.plan.arguments.limits
    if asked != "found" and case.has_exact_chance(removal, output):
        game = case.ratio_game(output)
        with one_thread():  # a search finds the order; the bound adds up the lowest outputs of each size
            best = best_ranking(game, 0, effort=EFFORT if asked == "search" else 0)
            worst = best_ranking(game, 0, worst=True, effort=0)
        return _reached(case, removal, output, best, worst, "certified")
    quantity, answers = case.quantity(output), case.answers[removal]
    if enumerates(case, removal) and output == case.output:
        best, worst = limits_by_enumeration(quantity.of(answers(all_coalitions(case.d))), case.d)
        return _reached(case, removal, output, best, worst, "enumerated")
    if asked == "search" and case.d <= _SEARCHED and output == case.output:
        best, worst = (
            beam_search(lambda kept: quantity.of(answers(kept)), case.d, BEAM, worst=turned) for turned in (False, True)
        )
        return _reached(case, removal, output, best, worst, "searched")
    return _found(case, removal, output)


def _reached(case: Case, removal: Removal, output: Output, best: Ranking, worst: Ranking, how: How) -> Limits:
    """The limits that these rankings reach, or those at hand where they reach more.

    Their curves are read as those of methods are: from the output of the whole text, at the same steps. Where steps are
    left out nothing is proved of the lines between them, so that the best is known from below alone.
    """
    found, whole = _found(case, removal, output), case.whole[output]
    highest, lowest = (whole - area(case.at_all(own.outputs[case.steps])) for own in (best, worst))
    all_steps = len(case.steps) > case.d
    reached = max(highest, found.best)
    return Limits(
        best=reached,
        worst=min(lowest, found.worst),
        bound=max(highest + best.bound - best.aopc, reached) if all_steps else np.inf,
        how=how if all_steps else "searched",
        best_curve=best.outputs if highest >= found.best else None,
    )


def _found(case: Case, removal: Removal, output: Output) -> Limits:
    areas = [case.whole[output] - area(curve) for curve in _curves(case, removal, output)]
    return Limits(max(areas), min(areas), np.inf, "found", None)


def _curves(case: Case, removal: Removal, output: Output) -> Iterator[Floats]:
    """Every ranking that there is, and each backwards: its last words removed is its first ones kept."""
    for entry, order in case.orders():
        ranking = case.ranking(entry, order)
        yield case.curve(ranking, removal, output)
        yield case.curve(ranking, removal, output, kept=True)[::-1]
    for drawn in case.random_rankings:
        yield case.curve(drawn, removal, output)
