"""Comprehensiveness: what the output loses when a method's strongest words are removed.

f(text) - f(text without the k strongest words), as the mean over all k (the area over the perturbation curve, AOPC),
and at fixed parts of the words (DeYoung et al. 2020; Samek et al. 2017). Against chance it is

    (area - that of random orders) / (the best order's - that of random orders)

as a ratio of means over texts: 0 is chance, 1 the best possible. Numerator and denominator are kept apart, because text
by text the quotient explodes where both are small. Normalised (Edin et al. 2024) it is (area - worst) / (best - worst).
"""

from __future__ import annotations

from collections.abc import Iterator

from limelight.evaluation.case import Case, area, part_name, spread_parts
from limelight.evaluation.limits import enumerates, limits_of
from limelight.evaluation.measure import Score, measure
from limelight.models.outputs import Output

ABOVE_CHANCE, BEST_ABOVE_CHANCE, BOUND_ABOVE_CHANCE = "above chance", "best above chance", "bound above chance"
ABOVE_WORST, BEST_ABOVE_WORST = "above worst", "best above worst"
ALL = "all"

comprehensiveness = measure(
    "comprehensiveness",
    label="Comprehensiveness",
    summary="What the output loses when the strongest words are removed: mean over all steps, and at parts of them",
    better="higher",
)


@comprehensiveness.wants
def curves(case: Case) -> None:
    """Both curves of every order: the words that are kept tell what the reverse order removes, for the limits."""
    for judged, order in case.orders():
        for kept in (False, True):
            case.want_curves(case.order(judged.weights, order), kept=kept)
    for drawn in case.random_orders:
        case.want_curves(drawn, kept=False)
    for removal in case.removals:
        if enumerates(case, removal):
            case.enumerate(removal)


@comprehensiveness.scores
def of_methods(case: Case) -> Iterator[Score]:
    for removal in case.removals:
        for output in case.outputs:
            whole, chance = case.whole[output], area(case.chance(removal, output))
            worst = limits_of(case, removal, output).worst
            for judged, order in case.orders():
                place = {"method": judged.name, "removal": removal, "output": output, "order": order}
                lost = whole - case.curve_of(judged, order, removal, output)
                yield Score(case.key("comprehensiveness", ALL, **place), area(lost))
                yield Score(case.key("comprehensiveness", ABOVE_CHANCE, **place), area(lost) - (whole - chance))
                yield Score(case.key("comprehensiveness", ABOVE_WORST, **place), area(lost) - worst)
                is_drawn = output == case.output and order == judged.own_order
                for part in spread_parts(is_drawn):
                    value = float(lost[case.step_of(part)])
                    yield Score(case.key("comprehensiveness", part_name(part), **place), value)


@comprehensiveness.scores
def of_texts(case: Case) -> Iterator[Score]:
    """Chance and the limits, which belong to no method."""
    for removal in case.removals:
        for output in case.outputs:
            place = {"removal": removal, "output": output}
            lost = case.whole[output] - case.chance(removal, output)
            limits = limits_of(case, removal, output)
            above = _above(case, output, limits.best, area(lost))
            width = _above(case, output, limits.best, limits.worst)
            yield Score(case.key("comprehensiveness", ALL, **place), area(lost))
            yield Score(case.key("comprehensiveness", BEST_ABOVE_CHANCE, **place), above)
            yield Score(case.key("comprehensiveness", BOUND_ABOVE_CHANCE, **place), limits.bound - area(lost))
            yield Score(case.key("comprehensiveness", BEST_ABOVE_WORST, **place), width)
            yield Score(case.key("comprehensiveness", limits.how, **place), 1.0)
            for part in spread_parts(output == case.output):
                value = float(lost[case.step_of(part)])
                yield Score(case.key("comprehensiveness", part_name(part), **place), value)
            if output == case.output and limits.best_curve is not None:
                for part in spread_parts(own=True):
                    value = case.whole[output] - float(limits.best_curve[case.step_of(part)])
                    yield Score(case.key("comprehensiveness", f"best {part_name(part)}", **place), value)


def _above(case: Case, output: Output, best: float, other: float) -> float:
    """By how much; what is rounding, as where no order differs from another, is nothing."""
    above = best - other
    return above if case.d > 1 and above > case.rounding(output) else 0.0
