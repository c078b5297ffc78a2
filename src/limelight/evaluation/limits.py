"""What an order of removal can reach at best and at worst on one text.

How it is known: "certified" on a single attention layer, where a bound holds for every order; "enumerated" for few
words, exact; "searched" by a beam; "found" as the best of all orders that the methods and chance gave. The last two are
lower bounds of the best, so that a score that is normalised by them is at most what it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.evaluation.case import Case, area
from limelight.models.interface import RatioView, Removal, SeenAlong
from limelight.models.outputs import Output
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_rankings import MOST_ENUMERATED, Order, all_coalitions, beam_search, limits_by_enumeration

How = Literal["certified", "enumerated", "searched", "found"]
LIMITS = ("auto", "search", "found")
"""What may be asked for: exact where that is cheap; also by search; or nothing beyond the orders that there are."""
BEAM = 5
_SEARCHED = 40
"""Words up to which a beam is sent: beyond, it would cost more than all else together."""


@dataclass(frozen=True)
class Limits:
    """The area over the curve of the best and of the worst order; no order is above `bound`."""

    best: float
    worst: float
    bound: float
    how: How
    best_curve: Floats | None


def limits_of(case: Case, removal: Removal, output: Output) -> Limits:
    """Computed once for each text, removal and output."""
    return cast(Limits, case.once(("limits", removal, output), lambda: _limits(case, removal, output)))


def _limits(case: Case, removal: Removal, output: Output) -> Limits:
    if case.limits != "found" and case.has_exact_chance(removal, output):
        return _certified(case, output)
    if enumerates(case, removal) and output == case.output:
        return _enumerated(case, removal, output)
    if case.limits == "search" and case.d <= _SEARCHED and output == case.output:
        return _searched(case, removal, output)
    return _found(case, removal, output)


def enumerates(case: Case, removal: Removal) -> bool:
    """Whether the model is asked about all sets of words."""
    return case.limits != "found" and case.d <= MOST_ENUMERATED and not case.has_exact_chance(removal, case.output)


def ratio_game(case: Case, output: Output) -> RatioGame:
    """The game of masking words, with the output as its one class."""
    direction = case.quantity(output).direction_at(case.prediction.logits[None])[0]
    view = case.view.seen_along(direction) if isinstance(case.view, SeenAlong) else case.view
    game = cast(RatioView, view).ratio_game(case.features)
    return game if view is not case.view else game.along(direction)


def exact_chance(case: Case, output: Output) -> Floats:
    from limelight.core.threads import one_thread
    from limelight.theory.subsets import size_means

    with one_thread():
        return size_means(ratio_game(case, output), 0)


def _certified(case: Case, output: Output) -> Limits:
    """A search finds the order; the bound adds up the lowest outputs of each size."""
    from limelight.core.threads import one_thread
    from limelight.theory.removal_bounds import EFFORT
    from limelight.theory.subsets import best_order

    game, effort = ratio_game(case, output), EFFORT if case.limits == "search" else 0
    with one_thread():
        best = best_order(game, 0, effort=effort)
        worst = best_order(game, 0, worst=True, effort=0)
    return _reached(case, "mask", output, best, worst, "certified")


def _enumerated(case: Case, removal: Removal, output: Output) -> Limits:
    outputs = case.quantity(output).of(case.answers[removal](all_coalitions(case.d)))
    limits = limits_by_enumeration(outputs, case.d)
    return _reached(case, removal, output, limits.best, limits.worst, "enumerated")


def _searched(case: Case, removal: Removal, output: Output) -> Limits:
    quantity, answers = case.quantity(output), case.answers[removal]

    def ask(kept: Coalitions) -> Floats:
        return quantity.of(answers(kept))

    best, worst = beam_search(ask, case.d, BEAM), beam_search(ask, case.d, BEAM, worst=True)
    return _reached(case, removal, output, best, worst, "searched")


def _reached(case: Case, removal: Removal, output: Output, best: Order, worst: Order, how: How) -> Limits:
    """What these orders reach, or the orders at hand where they reach more.

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
    whole = case.whole[output]
    areas = [whole - area(curve) for curve in _curves(case, removal, output)]
    return Limits(max(areas), min(areas), np.inf, "found", None)


def _curves(case: Case, removal: Removal, output: Output) -> Iterator[Floats]:
    """Every order that there is, and each backwards: its last words removed is its first ones kept."""
    for judged, order in case.orders():
        yield case.curve_of(judged, order, removal, output)
        yield case.curve_of(judged, order, removal, output, kept=True)[::-1]
    for drawn in case.random_orders:
        yield case.curve(drawn, removal, output)
