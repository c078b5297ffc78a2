"""The one method that `limelight explain` shows where none is named, and why.

It is the one that an evaluation found best for this model; else Shapley values, which need no sampling for limelight's
own models.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from limelight.cli.application import note
from limelight.errors import InputError, shown

if TYPE_CHECKING:
    from limelight.explanation.result import Explanation

BESIDE = "evaluation"
"""The folder of a model's own evaluation, inside the folder of the model."""
USUAL = "shapley"
_OTHERS = "--compare shows the usual methods beside each other."


class Choice(NamedTuple):
    """A method, and why it is shown; None where that follows from its explanation."""

    id: str
    reason: str | None = None

    def why(self, explanation: Explanation) -> str:
        reason = self.reason
        if reason is None and explanation.accuracy in ("exact", "bounded"):
            reason = "this model needs no sampling for it"
        elif reason is None:
            reason = "no evaluation says which method to trust for this model (limelight evaluate makes one)"
        return f"shown because {reason}. {_OTHERS}"


def choices(
    evaluation: Path | None,
    model: str | None,
    labels: Sequence[str],
    asked: Mapping[str, Any],
) -> list[Choice]:
    """The methods to try, the best first."""
    best = _best(evaluation, model, labels, asked)
    if best is None:
        return [Choice(USUAL)]
    return [best] if best.id == USUAL else [best, Choice(USUAL)]


def _best(folder: Path | None, model: str | None, labels: Sequence[str], asked: Mapping[str, Any]) -> Choice | None:
    """What the evaluation of this folder, or of the one beside the model, found best."""
    beside = None if model is None else Path(model) / BESIDE
    if folder is None and (beside is None or not (beside / "evaluation.json").is_file()):
        return None
    from limelight.evaluation.run_folder import read_evaluation
    from limelight.explainers.method import methods

    place = folder or beside
    assert place is not None
    evaluation = read_evaluation(place)
    about, name = evaluation.about, "the embedded model" if model is None else os.path.basename(os.path.normpath(model))
    if list(about["labels"]) != list(labels) or (folder is not None and about.get("model", name) != name):
        other = shown(about.get("model", list(about["labels"])))
        raise InputError(f"{place} holds an evaluation of another model, {other}: give one of {shown(name)}")
    for question in ("removal", "output", "features"):
        if asked[question] is not None and asked[question] != about[question]:
            note(f"{place} is of {question} {shown(about[question])}, so it does not say which method to show here")
            return None
    if evaluation.best is None:
        note(f"the evaluation in {place} shows no method to be better than chance")
        return None
    if evaluation.best not in {method.id for method in methods()}:
        return None
    texts = f"{len(evaluation):,} text{'s' * (len(evaluation) != 1)}"
    ranked = len(evaluation.summary.standings("signed"))
    return Choice(evaluation.best, f"it scored highest of {ranked} methods for this model on {texts} ({place})")
