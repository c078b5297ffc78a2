"""Flips: the part of the words, strongest first, that must go until the label changes (Serrano and Smith 2019).

A text whose label never changes counts as one whose words must all go, and the share of texts that flip stands beside.
On a single attention layer the fewest words that flip are known, or bounded, for every text.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from limelight.arrays import Floats
from limelight.evaluation.case import Case
from limelight.evaluation.limits import ratio_game
from limelight.evaluation.measure import Score, measure
from limelight.outputs import probabilities
from limelight.view import RatioView

PART, FLIPPED, FEWEST, FEWEST_BOUND = "part", "flipped", "fewest found", "fewest possible"

flips = measure(
    "flips",
    label="Flips",
    summary="The part of the words, strongest first, that must go until the label changes; all, where it never does",
    better="lower",
)


@flips.wants
def curves(case: Case) -> None:
    for judged, order in case.orders():
        case.want_curves(case.order(judged.weights, order), kept=False)


@flips.scores
def of_methods(case: Case) -> Iterator[Score]:
    if not is_given(case):
        return
    for removal in case.removals:
        for judged, order in case.orders():
            logits = case.logits_along(case.order(judged.weights, order), removal)
            gone = np.flatnonzero(has_flipped(case, logits))
            place = {"method": judged.name, "removal": removal, "order": order}
            part = case.steps[gone[0]] / case.d if len(gone) else 1.0
            yield Score(case.key("flips", PART, **place), float(part))
            yield Score(case.key("flips", FLIPPED, **place), float(len(gone) > 0))
        if removal == "mask" and isinstance(case.view, RatioView) and len(case.prediction.labels) == 2:
            yield from fewest(case)


def fewest(case: Case) -> Iterator[Score]:
    """Of two labels one logit less the other changes its sign: a flip of a single attention layer."""
    from limelight.theory.subsets import smallest_flip
    from limelight.threads import one_thread

    with one_thread():
        flip = smallest_flip(ratio_game(case, "log-odds"), 0, effort=0)
    yield Score(case.key("flips", FEWEST, removal="mask"), 1.0 if flip.size is None else flip.size / case.d)
    yield Score(case.key("flips", FEWEST_BOUND, removal="mask"), min(flip.at_least / case.d, 1.0))


def is_given(case: Case) -> bool:
    """Whether the model gives the target to the whole text: only then it can be taken away."""
    return case.prediction.kind != "regression" and not bool(has_flipped(case, case.prediction.logits[None])[0])


def has_flipped(case: Case, logits: Floats) -> Floats:
    """Where the target is no longer what the model says."""
    if case.prediction.kind == "multi-label":
        return np.asarray(probabilities(logits, "multi-label")[:, case.target] < 0.5)
    return np.asarray(logits.argmax(axis=1) != case.target)
