"""Sufficiency: what the output loses when a method's strongest words alone are kept; the less, the better.

f(text) - f(the k strongest words alone), as the mean over all k and at fixed parts of the words. Keeping k random words
is removing d - k of them, so chance is that of comprehensiveness, read backwards.
"""

from __future__ import annotations

from collections.abc import Iterator

from limelight.evaluation.case import Case, area, part_name, spread_parts
from limelight.evaluation.measure import Score, measure

ALL, BELOW_CHANCE = "all", "below chance"

sufficiency = measure(
    "sufficiency",
    label="Sufficiency",
    summary="What the output loses when the strongest words alone are kept: over all steps, and at parts of them",
    better="lower",
)


@sufficiency.wants
def curves(case: Case) -> None:
    for judged, order in case.orders():
        case.want_curves(case.order(judged.weights, order), kept=True)
    for drawn in case.random_orders:
        case.want_curves(drawn, kept=False)


@sufficiency.scores
def of_methods(case: Case) -> Iterator[Score]:
    for removal in case.removals:
        for output in case.outputs:
            whole = case.whole[output]
            chance = whole - case.chance(removal, output, kept=True)
            place = {"removal": removal, "output": output}
            yield Score(case.key("sufficiency", ALL, **place), area(chance))
            for part in spread_parts(output == case.output):
                value = float(chance[case.step_of(part)])
                yield Score(case.key("sufficiency", part_name(part), **place), value)
            for judged, order in case.orders():
                own = {**place, "method": judged.name, "order": order}
                lost = whole - case.curve_of(judged, order, removal, output, kept=True)
                yield Score(case.key("sufficiency", ALL, **own), area(lost))
                yield Score(case.key("sufficiency", BELOW_CHANCE, **own), area(chance) - area(lost))
                for part in spread_parts(output == case.output and order == judged.own_order):
                    value = float(lost[case.step_of(part)])
                    yield Score(case.key("sufficiency", part_name(part), **own), value)
