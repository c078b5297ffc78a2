"""Sign: how often removing a word moves the output the way its weight says, weighted by the size of the weight.

1 where every word does what its weight says, 0 where each does the opposite; a word whose removal moves nothing counts
half. Methods without signs have none. Leave-one-out is right by construction under the removal it was made with.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from limelight.evaluation.case import Case
from limelight.evaluation.measure import Measure, Score, score


def words_alone(case: Case) -> None:
    if case.signed:
        for answers in case.answers.values():
            answers.want(~np.eye(case.d, dtype=bool))


def of_methods(case: Case) -> Iterator[Score]:
    if not case.signed:
        return
    for removal, output in case.places:
        logits = case.answers[removal](~np.eye(case.d, dtype=bool))
        lost = case.whole[output] - case.quantity(output).of(logits)
        moved = np.where(np.abs(lost) <= case.rounding(output), 0.0, np.sign(lost))
        for entry in case.signed:
            sizes = np.abs(entry.weights)
            if sizes.sum() > 0.0:
                agrees = 0.5 * (1.0 + moved * np.sign(entry.weights))
                value = (sizes * agrees).sum() / sizes.sum()
                yield score("", value, method=entry.name, removal=removal, output=output)


sign = Measure(
    "sign",
    label="Sign",
    summary="How often removing one word moves the output the way its weight says, weighted by size",
    better="higher",
    coin=0.5,
    wants=words_alone,
    scores=(of_methods,),
)
