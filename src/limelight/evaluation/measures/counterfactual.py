"""Counterfactual pairs: where an edit turns the label, do the words that were edited rank first?

The edited words are those of the text that its counterfactual does not have in the same place. Average precision of
them by a method's weights; a random order has about their share. Only pairs count to which the model gives different
labels, or, where labels do not exclude each other, of which it gives the target to one: elsewhere the edit says nothing
of the model.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from limelight.core.arrays import Floats
from limelight.evaluation.case import Case
from limelight.evaluation.measure import Measure, Score, score
from limelight.evaluation.measures.plausibility import average_precision
from limelight.inputs.document import Document
from limelight.models.interface import Classifier, View

PRECISION, FOLLOWED = "average precision", "label follows"


def without_labels(model: Classifier, view: View, texts: int) -> str | None:
    return "a regression has no label that an edit could turn" if view.kind == "regression" else None


def of_methods(case: Case) -> Iterator[Score]:
    other = case.plan.besides[case.number].counterfactual
    if other is None:
        return
    view = case.plan.model.view(other)
    follows = follows_edit(case, view.logits)
    yield score(FOLLOWED, follows)
    owned = case.owned_words()
    edited = edited_words(placed_words(case.view.document), placed_words(view.document))[owned]
    if not follows or not edited.any() or edited.all():
        return
    yield score(PRECISION, edited.mean())
    for entry, order in case.orders():
        per_word = entry.worth(order)[case.features.owners[owned]]
        yield score(PRECISION, average_precision(per_word, edited), method=entry.name, order=order)


def follows_edit(case: Case, logits: Floats) -> bool:
    """Whether the model says something else of the edited text, whose logits (C,) these are."""
    before = case.prediction.logits
    if case.prediction.kind == "multi-label":
        held, holds = case.holds(np.stack([before, logits]))
        return bool(held != holds)
    return int(np.argmax(logits)) != int(np.argmax(before))


def placed_words(document: Document) -> list[tuple[int, str]]:
    """The words of a text, or of a pair: a word that moved from one text to the other was edited."""
    return [(document.side_of(word.start), word.form) for word in document.words]


def edited_words(words: Sequence[Hashable], others: Sequence[Hashable]) -> Floats:
    """A mask of the words that were replaced or taken out; those next to an insertion were not."""
    edited = np.zeros(len(words), dtype=bool)
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    for kind, start, end, _, _ in matcher.get_opcodes():
        if kind in ("replace", "delete"):
            edited[start:end] = True
    return edited


counterfactual = Measure(
    "counterfactual",
    label="Counterfactual pairs",
    summary="Average precision of the words that an edit changed, where it also changed what the model says",
    better="higher",
    needs="counterfactuals",
    unfit=without_labels,
    scores=(of_methods,),
)
