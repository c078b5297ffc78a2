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
from limelight.evaluation.measure import Measure, Score, score
from limelight.evaluation.report.numbers import percent, removed
from limelight.evaluation.result import Evaluation
from limelight.models.interface import Classifier, View

OUTSIDE, EMPTY = "outside", "without words"
_EDGES = (0.01, 0.99)
LEAST_TEXTS = 20
"""Below, a range says nothing."""
_OFTEN = 0.1


def few_texts(model: Classifier, view: View, texts: int) -> str | None:
    return None if texts >= LEAST_TEXTS else f"with fewer than {LEAST_TEXTS} texts their range says nothing"


def of_text(case: Case) -> Iterator[Score]:
    low, high = np.quantile(case.quantity(case.output).of(case.plan.logits), _EDGES)
    for removal in case.removals:
        place = {"removal": removal, "output": case.output}
        outputs = np.array([case.curve(one, removal, case.output)[1:] for one in case.random_rankings])
        yield score(OUTSIDE, ((outputs < low) | (outputs > high)).mean(), **place)
        yield score(EMPTY, outputs[0, -1], **place)


def often_outside(evaluation: Evaluation) -> Iterator[str]:
    summary = evaluation.summary
    for removal in summary.removals:
        outside = summary.mean(distribution.key(OUTSIDE, removal=removal, output=summary.output)).value
        if outside > _OFTEN:
            yield (
                f"With words {removed(removal)}, {percent(outside)} of the outputs lie outside the range of whole "
                "texts: the model is asked about inputs that it was not made for."
            )


distribution = Measure(
    "out-of-distribution",
    label="Out of distribution",
    summary="How often outputs with random words removed leave the range of the outputs of whole texts: a warning",
    unfit=few_texts,
    wants=Case.want_random,
    scores=(of_text,),
    says=("caveat", often_outside),
)
