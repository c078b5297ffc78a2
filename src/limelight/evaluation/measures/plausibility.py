"""Plausibility: whether a method's strongest words are those that people marked (DeYoung et al. 2020).

Average precision over all words; F1 and intersection over union of the strongest words with the marked ones, as many as
people marked on average of these texts. It measures agreement with people, not with the model.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from limelight.core.arrays import Floats
from limelight.evaluation.case import Case
from limelight.evaluation.measure import Score, measure
from limelight.inputs.document import Span
from limelight.inputs.features import NOBODY

PRECISION, F1, IOU = "average precision", "F1", "IOU"

plausibility = measure(
    "plausibility",
    label="Plausibility",
    summary="Average precision, F1 and IOU of the strongest words against human rationales: people, not the model",
    better="higher",
    needs="rationales",
)


@plausibility.scores
def of_methods(case: Case) -> Iterator[Score]:
    if case.beside.rationale is None:
        return
    owned = np.flatnonzero(case.features.owners != NOBODY)
    marked = marked_words(case, case.beside.rationale)[owned]
    if not marked.any() or marked.all():
        return
    yield Score(case.key("plausibility", PRECISION), float(marked.mean()))  # that of a random order, about
    for judged, order in case.orders():
        per_word = (np.abs(judged.weights) if order == "absolute" else judged.weights)[case.features.owners[owned]]
        place = {"method": judged.name, "order": order}
        yield Score(case.key("plausibility", PRECISION, **place), average_precision(per_word, marked))
        k = max(1, min(len(owned), round(case.rationale_share * len(owned))))
        strongest = np.zeros(len(owned), dtype=bool)
        ties = case.rng(2).permutation(len(owned))
        strongest[np.lexsort((ties, -per_word))[:k]] = True
        both = float((strongest & marked).sum())
        yield Score(case.key("plausibility", F1, **place), 2.0 * both / (k + float(marked.sum())))
        yield Score(case.key("plausibility", IOU, **place), both / float((strongest | marked).sum()))


def marked_words(case: Case, spans: tuple[Span, ...]) -> Floats:
    """Which words of the document a span touches."""
    words = case.view.document.words
    return np.array([any(w.start < end and start < w.end for start, end in spans) for w in words], dtype=bool)


def average_precision(scores: Floats, marked: Floats) -> float:
    """The mean, over the marked words, of the precision at each: words of one score share a step."""
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], np.cumsum(marked[order].astype(np.float64))
    last = np.flatnonzero(np.append(np.diff(ordered) != 0.0, True))
    precision, recall = hits[last] / (last + 1.0), hits[last] / hits[-1]
    return float((np.diff(recall, prepend=0.0) * precision).sum())
