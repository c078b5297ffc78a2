"""Counterfactual pairs: where an edit turns the label, do the words that were edited rank first?

The edited words are those of the text that its counterfactual does not have in the same place. Average precision of
them by a method's weights; a random order has about their share. Only pairs count to which the model gives different
labels: elsewhere the edit says nothing of the model.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import numpy as np

from limelight.arrays import Floats
from limelight.evaluation.case import Case
from limelight.evaluation.measure import Score, measure
from limelight.evaluation.measures.plausibility import average_precision
from limelight.features import NOBODY

PRECISION, FOLLOWED = "average precision", "label follows"

counterfactual = measure(
    "counterfactual",
    label="Counterfactual pairs",
    summary="Average precision of the words that an edit changed, where it also changed what the model says",
    better="higher",
    needs="counterfactuals",
)


@counterfactual.scores
def of_methods(case: Case) -> Iterator[Score]:
    other = case.beside.counterfactual
    if other is None or case.prediction.kind == "regression":
        return
    view = case.explainer.model.view(other)
    follows = int(np.argmax(view.logits)) != int(np.argmax(case.prediction.logits))
    yield Score(case.key("counterfactual", FOLLOWED), float(follows))
    owned = np.flatnonzero(case.features.owners != NOBODY)
    edited = edited_words([w.form for w in case.view.document.words], [w.form for w in view.document.words])[owned]
    if not follows or not edited.any() or edited.all():
        return
    yield Score(case.key("counterfactual", PRECISION), float(edited.mean()))
    for judged, order in case.orders():
        per_word = (np.abs(judged.weights) if order == "absolute" else judged.weights)[case.features.owners[owned]]
        value = average_precision(per_word, edited)
        yield Score(case.key("counterfactual", PRECISION, method=judged.name, order=order), value)


def edited_words(words: list[str], others: list[str]) -> Floats:
    """Which words were replaced or taken out; those next to an insertion were not."""
    edited = np.zeros(len(words), dtype=bool)
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    for kind, start, end, _, _ in matcher.get_opcodes():
        if kind in ("replace", "delete"):
            edited[start:end] = True
    return edited
