"""Flips: the part of the words, strongest first, that must go until the label changes (Serrano and Smith 2019).

A text whose label never changes counts as one whose words must all go, and the share of texts that flip stands beside.
Each label of a model whose labels do not exclude each other is a question of its own: it changes when its probability
falls below one half. A regression has no label.
On a single attention layer the fewest words that flip are known, or bounded, for every text.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from limelight.core.threads import one_thread
from limelight.evaluation.case import Case
from limelight.evaluation.measure import Measure, Score, score
from limelight.models.interface import Classifier, RatioView, View
from limelight.theory.subsets import smallest_flip

PART, FLIPPED, FEWEST, FEWEST_BOUND = "part", "flipped", "fewest found", "fewest possible"


def without_labels(model: Classifier, view: View, texts: int) -> str | None:
    return "a regression has no label that could change" if view.kind == "regression" else None


def of_methods(case: Case) -> Iterator[Score]:
    if not case.holds(case.prediction.logits[None])[0]:  # only what is given can be taken away
        return
    for removal in case.removals:
        for entry, order in case.orders():
            logits = case.logits_along(case.ranking(entry, order), removal)
            gone = np.flatnonzero(~case.holds(logits))
            place = {"method": entry.name, "removal": removal, "order": order}
            yield score(PART, case.steps[gone[0]] / case.d if len(gone) else 1.0, **place)
            yield score(FLIPPED, len(gone) > 0, **place)
        if removal == "mask" and isinstance(case.view, RatioView) and len(case.prediction.labels) == 2:
            yield from fewest(case)


def fewest(case: Case) -> Iterator[Score]:
    """Fewest words that flip a single attention layer of two labels: one logit less the other changes its sign."""
    with one_thread():
        flip = smallest_flip(case.ratio_game("log-odds"), 0, effort=0)
    yield score(FEWEST, 1.0 if flip.size is None else flip.size / case.d, removal="mask")
    yield score(FEWEST_BOUND, min(flip.at_least / case.d, 1.0), removal="mask")


flips = Measure(
    "flips",
    label="Flips",
    summary="The part of the words, strongest first, that must go until the label changes; all, where it never does",
    better="lower",
    unfit=without_labels,
    wants=lambda case: case.want_orders(False),
    scores=(of_methods,),
)
