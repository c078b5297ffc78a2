"""Stability: how much of an explanation stays with another seed, and with a text that says the same.

Rank correlation, and the part of the ten strongest words that stay. The seed matters to methods that draw samples only.
The edits are of case, white space and final punctuation; words that both texts have are compared. The model itself may
answer an edited text differently: that is in `output moved`, and not the method's fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from limelight.attribution.run import explanations
from limelight.errors import InputError
from limelight.evaluation.case import Case
from limelight.evaluation.edits import EDITS, same_features
from limelight.evaluation.explainer import CANNOT
from limelight.evaluation.measure import Score, measure
from limelight.evaluation.similarity import rank_correlation, shared_top

TEXTS = 50

stability = measure(
    "stability",
    label="Stability",
    summary="How much of a ranking stays with another seed, and under edits of case, white space and punctuation",
    better="higher",
    default=False,
)


@stability.scores
def of_seeds(case: Case) -> Iterator[Score]:
    if case.number >= TEXTS or case.d < 2:
        return
    resolved = case.resolved.asking(seed=case.seed + 1)
    for judged in case.judged.values():
        if judged.explanation is None or judged.explanation.stderr is None:
            continue
        (other,) = explanations(resolved.only(judged.name))
        value = rank_correlation(judged.weights, other.weights)
        if math.isfinite(value):
            yield Score(case.key("stability", "seed", method=judged.name), value)
        yield Score(
            case.key("stability", "seed, top 10", method=judged.name), shared_top(judged.weights, other.weights)
        )


@stability.scores
def of_edits(case: Case) -> Iterator[Score]:
    if case.number >= TEXTS or case.d < 2:
        return
    sides = [case.view.document.side_of(own[0][0]) for own in case.features.spans]
    for name, edit in EDITS.items():
        edited = edit(case.text) if isinstance(case.text, str) else (edit(case.text[0]), edit(case.text[1]))
        if edited == case.text:
            continue
        try:
            view = case.explainer.model.view(edited)
        except InputError:  # longer than the model reads, or without words
            continue
        moved = float(case.quantity(case.output).of(view.logits[None])[0]) - case.whole[case.output]
        yield Score(case.key("stability", f"{name}: output moved"), abs(moved))
        try:
            resolved = case.explainer.resolve(view, case.prediction.labels[case.target])
        except CANNOT:
            continue
        for judged in case.judged.values():
            if judged.explanation is None:
                continue
            try:
                (other,) = explanations(resolved.only(judged.name))
            except CANNOT:
                continue
            mine, theirs = same_features(case.features.names, other.features, sides, other.sides)
            value = rank_correlation(judged.weights[mine], other.weights[theirs])
            if math.isfinite(value):
                yield Score(case.key("stability", name, method=judged.name), value)
            if mine:
                shared = shared_top(judged.weights[mine], other.weights[theirs])
                yield Score(case.key("stability", f"{name}, top 10", method=judged.name), shared)
