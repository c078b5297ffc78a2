"""Sign: how often removing a word moves the output the way its weight says, weighted by the size of the weight.

1 where every word does what its weight says, 0 where each does the opposite; a word whose removal moves nothing counts
half. Methods without signs have none. Leave-one-out is right by construction under the removal it was made with.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from limelight.evaluation.case import Case
from limelight.evaluation.measure import Score, measure
from limelight.evaluation.shared_answers import each_alone

sign = measure(
    "sign",
    label="Sign",
    summary="How often removing one word moves the output the way its weight says, weighted by size",
    better="higher",
)


@sign.wants
def words_alone(case: Case) -> None:
    if any(judged.signed for judged in case.judged.values()):
        for answers in case.answers.values():
            answers.want(each_alone(case.d))


@sign.scores
def of_methods(case: Case) -> Iterator[Score]:
    for removal in case.removals:
        for output in case.outputs:
            signed = [judged for judged in case.judged.values() if judged.signed]
            if not signed:
                continue
            lost = case.losses_alone(removal, output)
            moved = np.where(np.abs(lost) <= case.rounding(output), 0.0, np.sign(lost))
            for judged in signed:
                size = np.abs(judged.weights)
                if not size.sum() > 0.0:
                    continue
                agrees = 0.5 * (1.0 + moved * np.sign(judged.weights))
                value = float((size * agrees).sum() / size.sum())
                yield Score(case.key("sign", "", method=judged.name, removal=removal, output=output), value)
