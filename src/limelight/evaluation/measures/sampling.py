"""Sampling: whether a method that draws samples would stand elsewhere with four times as many.

The first twenty texts are explained again with four times the samples, and comprehensiveness above chance is taken of
both. A method may rank low only for want of samples; this is apart from the interval over texts.
"""

from __future__ import annotations

from collections.abc import Iterator

from limelight.attribution.run import explanations
from limelight.evaluation.case import Case, area
from limelight.evaluation.explainer import CANNOT
from limelight.evaluation.measure import Score, measure

TEXTS = 20
TIMES = 4
BEFORE, AFTER, BEST = "above chance", f"above chance, {TIMES} × samples", "best above chance"

sampling = measure(
    "sampling",
    label="Sampling error",
    summary="What comprehensiveness above chance becomes with four times the samples, on the first 20 texts",
    default=False,
)


@sampling.scores
def of_methods(case: Case) -> Iterator[Score]:
    if case.number >= TEXTS:
        return
    removal = case.explainer.request.removal
    chance = area(case.chance(removal, case.output))
    for judged in case.judged.values():
        place = {"method": judged.name, "removal": removal, "output": case.output, "order": judged.own_order}
        before = chance - area(case.curve_of(judged, judged.own_order, removal, case.output))
        yield Score(case.key("sampling", BEFORE, **place), before)
        explanation = judged.explanation
        if explanation is None or explanation.stderr is None or "n_samples" not in explanation.parameters:
            continue
        more = TIMES * int(explanation.parameters["n_samples"])
        try:
            (other,) = explanations(case.resolved.only(judged.name).with_options(n_samples=more))
        except CANNOT:
            continue
        order = case.order(other.weights, judged.own_order)
        after = chance - area(case.curve(order, removal, case.output))
        yield Score(case.key("sampling", AFTER, **place), after)
