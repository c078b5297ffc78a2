"""Sufficiency: what the output loses when a method's strongest words alone are kept; the less, the better.

f(text) - f(the k strongest words alone), as the mean over all k and at fixed parts of the words. Keeping k random words
is removing d - k of them, so chance is that of comprehensiveness, read backwards.
"""

from __future__ import annotations

from collections.abc import Iterator

from limelight.evaluation.case import Case, area
from limelight.evaluation.measure import ALL, Curve, Measure, Score, score

BELOW_CHANCE = "below chance"


def curves(case: Case) -> None:
    case.want_orders(True)
    case.want_random()


def of_methods(case: Case) -> Iterator[Score]:
    for removal, output in case.places:
        whole = case.whole[output]
        chance = whole - case.chance(removal, output, kept=True)
        place = {"removal": removal, "output": output}
        yield score(ALL, area(chance), **place)
        yield from case.scores_at(chance, output == case.output, **place)
        for entry, order in case.orders():
            own = {**place, "method": entry.name, "order": order}
            lost = whole - case.curve(case.ranking(entry, order), removal, output, kept=True)
            yield score(ALL, area(lost), **own)
            yield score(BELOW_CHANCE, area(chance) - area(lost), **own)
            is_drawn = output == case.output and order == entry.own_order
            yield from case.scores_at(lost, is_drawn, **own)


sufficiency = Measure(
    "sufficiency",
    label="Sufficiency",
    summary="What the output loses when the strongest words alone are kept: over all steps, and at parts of them",
    better="lower",
    curve=Curve(
        "What the output loses as words are kept alone",
        "What the output loses when the strongest words alone are kept: the lower, the better.",
    ),
    wants=curves,
    scores=(of_methods,),
)
