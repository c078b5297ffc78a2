"""Out of distribution: how often a text with random words removed has an output that no whole text has (Hase et al.
2021).

The range is that of the whole texts of the evaluation, from their 1 % to their 99 % quantile, for the same label. A
warning beside the scores, and not a score: where it is large, removal asks the model about inputs that it was not made
for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from limelight.evaluation.case import Case
from limelight.evaluation.measure import Score, measure
from limelight.models.interface import Classifier, View

OUTSIDE, EMPTY = "outside", "without words"
_EDGES = (0.01, 0.99)
LEAST_TEXTS = 20
"""Below, a range says nothing."""

distribution = measure(
    "out-of-distribution",
    label="Out of distribution",
    summary="How often outputs with random words removed leave the range of the outputs of whole texts: a warning",
)


@distribution.unfit
def few_texts(model: Classifier, view: View, texts: int) -> str | None:
    return None if texts >= LEAST_TEXTS else f"with fewer than {LEAST_TEXTS} texts their range says nothing"


@distribution.wants
def random_texts(case: Case) -> None:
    for order in case.random_orders:
        case.want_curves(order, kept=False)


@distribution.scores
def of_text(case: Case) -> Iterator[Score]:
    low, high = np.quantile(case.texts_outputs[:, case.target], _EDGES)
    for removal in case.removals:
        outputs = np.array([case.curve(order, removal, case.output)[1:] for order in case.random_orders])
        outside = float(((outputs < low) | (outputs > high)).mean())
        yield Score(case.key("out-of-distribution", OUTSIDE, removal=removal, output=case.output), outside)
        last = float(outputs[0, -1])
        yield Score(case.key("out-of-distribution", EMPTY, removal=removal, output=case.output), last)
