"""Plausibility: whether a method's strongest words are those that people marked (DeYoung et al. 2020).

Average precision over all words; F1 and intersection over union of the strongest words with the marked ones, as many as
people marked on average of these texts. It measures agreement with people, not with the model.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from limelight.core.arrays import Floats
from limelight.evaluation.case import Case
from limelight.evaluation.external import marked_words
from limelight.evaluation.measure import Measure, Score, score

PRECISION, F1, IOU = "average precision", "F1", "IOU"


def of_methods(case: Case) -> Iterator[Score]:
    rationale = case.plan.besides[case.number].rationale
    if rationale is None:
        return
    owned = case.owned_words()
    marked = marked_words(case.view.document, rationale)[owned]
    if not marked.any() or marked.all():
        return
    yield score(PRECISION, marked.mean())  # that of a random ranking, about
    for entry, order in case.orders():
        per_word = entry.worth(order)[case.features.owners[owned]]
        place = {"method": entry.name, "order": order}
        yield score(PRECISION, average_precision(per_word, marked), **place)
        k = max(1, min(len(owned), round(case.plan.rationale_share * len(owned))))
        strongest = np.zeros(len(owned), dtype=bool)
        ties = case.rng(2).permutation(len(owned))
        strongest[np.lexsort((ties, -per_word))[:k]] = True
        both = float((strongest & marked).sum())
        yield score(F1, 2.0 * both / (k + float(marked.sum())), **place)
        yield score(IOU, both / float((strongest | marked).sum()), **place)


def average_precision(scores: Floats, marked: Floats) -> float:
    """The mean, over the marked words, of the precision at each: words of one score share a step."""
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], np.cumsum(marked[order].astype(np.float64))
    last = np.flatnonzero(np.append(np.diff(ordered) != 0.0, True))
    precision, recall = hits[last] / (last + 1.0), hits[last] / hits[-1]
    return float((np.diff(recall, prepend=0.0) * precision).sum())


plausibility = Measure(
    "plausibility",
    label="Plausibility",
    summary="Average precision, F1 and IOU of the strongest words against human rationales: people, not the model",
    better="higher",
    needs="rationales",
    scores=(of_methods,),
)
