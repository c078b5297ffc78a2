"""Comprehensiveness: what the output loses when a method's strongest words are removed.

f(text) - f(text without the k strongest words), as the mean over all k (the area over the perturbation curve, AOPC),
and at fixed parts of the words (DeYoung et al. 2020; Samek et al. 2017). Against chance it is

    (area - that of random orders) / (the best order's - that of random orders)

as a ratio of means over texts: 0 is chance, 1 the best possible. Numerator and denominator are kept apart, because text
by text the quotient explodes where both are small. Normalised (Edin et al. 2024) it is (area - worst) / (best - worst).
"""

from __future__ import annotations

from collections.abc import Iterator

from limelight.evaluation.case import Case, area
from limelight.evaluation.limits import enumerates, limits_of
from limelight.evaluation.measure import (
    ABOVE_CHANCE,
    ABOVE_WORST,
    ALL,
    BEST_ABOVE_CHANCE,
    BEST_ABOVE_WORST,
    BOUND_ABOVE_CHANCE,
    Curve,
    Measure,
    Score,
    score,
)
from limelight.models.outputs import Output


def curves(case: Case) -> None:
    """Both curves of every ranking: the words that are kept tell what the reverse removes, for the limits."""
    case.want_orders(False, True)
    case.want_random()
    for removal in case.removals:
        if enumerates(case, removal):
            case.enumerate(removal)


def of_methods(case: Case) -> Iterator[Score]:
    for removal, output in case.places:
        whole, chance = case.whole[output], area(case.chance(removal, output))
        worst = limits_of(case, removal, output).worst
        for entry, order in case.orders():
            place = {"method": entry.name, "removal": removal, "output": output, "order": order}
            lost = whole - case.curve(case.ranking(entry, order), removal, output)
            yield score(ALL, area(lost), **place)
            yield score(ABOVE_CHANCE, area(lost) - (whole - chance), **place)
            yield score(ABOVE_WORST, area(lost) - worst, **place)
            is_drawn = output == case.output and order == entry.own_order
            yield from case.scores_at(lost, is_drawn, **place)


def of_texts(case: Case) -> Iterator[Score]:
    """Chance and the limits, which belong to no method."""
    for removal, output in case.places:
        place = {"removal": removal, "output": output}
        lost = case.whole[output] - case.chance(removal, output)
        limits = limits_of(case, removal, output)
        yield score(ALL, area(lost), **place)
        yield score(BEST_ABOVE_CHANCE, _above(case, output, limits.best, area(lost)), **place)
        yield score(BOUND_ABOVE_CHANCE, limits.bound - area(lost), **place)
        yield score(BEST_ABOVE_WORST, _above(case, output, limits.best, limits.worst), **place)
        yield score(limits.how, 1.0, **place)
        yield from case.scores_at(lost, output == case.output, **place)
        if output == case.output and limits.best_curve is not None:
            best = case.whole[output] - limits.best_curve
            yield from case.scores_at(best, True, "best ", **place)


def _above(case: Case, output: Output, best: float, other: float) -> float:
    """The difference; 0 where it is rounding, as where no ranking differs from another."""
    above = best - other
    return above if case.d > 1 and above > case.rounding(output) else 0.0


comprehensiveness = Measure(
    "comprehensiveness",
    label="Comprehensiveness",
    summary="What the output loses when the strongest words are removed: mean over all steps, and at parts of them",
    better="higher",
    primary=True,
    curve=Curve(
        "What the output loses as words are taken out",
        "What the output loses as a method's strongest words are removed: the higher, the better.",
    ),
    wants=curves,
    scores=(
        of_methods,
        of_texts,
    ),
)
