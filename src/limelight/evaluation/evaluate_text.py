"""The evaluation of one text: explained by every method, asked about with words removed, measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from limelight.attribution.run import explanations
from limelight.evaluation.case import CANNOT, Case, Entry
from limelight.evaluation.external import weights_of
from limelight.evaluation.measure import Key
from limelight.evaluation.plan import Plan
from limelight.evaluation.shared_answers import Answers, sharing
from limelight.explanation.result import Comparison, Explanation
from limelight.models.interface import Perturbable


@dataclass(frozen=True)
class Record:
    """What came out for one text. `methods` says of each how it was made, `notices` what did not work.

    `holds`: whether the model gives the target to the text; a regression gives none. `given` inputs the model was asked
    about here, of which `distinct` were different. `noise`: how far logits moved when it was asked the same again.
    """

    number: int
    id: int | str
    words: int
    label: str
    target: str
    values: Mapping[Key, float]
    methods: Mapping[str, Mapping[str, Any]]
    notices: tuple[str, ...] = ()
    holds: bool = True
    given: int = 0
    distinct: int = 0
    noise: float = 0.0
    explained: Comparison | None = field(default=None, compare=False)


def evaluate_text(plan: Plan, number: int) -> Record:
    """The record of text `number`; deterministic, whatever other texts there are."""
    resolved = plan.resolve(plan.model.view(plan.texts[number])) if number else plan.first
    plain, features, prediction = resolved.view, resolved.features, resolved.prediction
    assert isinstance(plain, Perturbable)
    answers = {removal: Answers(plain, features, removal) for removal in plan.removals}
    target = resolved.questions[0].quantity.target
    resolved = resolved.asking(view=sharing(plain, features, answers))
    found: list[Explanation] = []
    notices = []
    for method in plan.methods:
        try:
            found += explanations(resolved.only(method.id))
        except CANNOT as error:
            notices.append(f"{method.id}: {error}")
    entries = [Entry(one.method, one.method_label, one.signed, one.weights, one) for one in found]
    for own in plan.external.values():
        weights = weights_of(own, number, plan.ids[number], plain.document, features)
        entries.append(Entry(own.name, own.name, own.signed, weights))
    asked, noise = [*answers.values()], max(own.noise for own in answers.values())
    if noise > 0.0:  # what a method was made from does not judge it
        answers = {removal: Answers(plain, features, removal, again=True) for removal in plan.removals}
        asked += answers.values()
        resolved = resolved.asking(view=plain)
        whole = answers[plan.request.removal](np.ones((1, len(features)), dtype=bool))
        prediction = replace(prediction, logits=whole[0])
    case = Case(plan, number, resolved.view, features, prediction, target, entries, answers, resolved)
    return Record(
        number=number,
        id=plan.ids[number],
        words=len(features),
        label=prediction.label,
        target=prediction.labels[target],
        values=_measured(case),
        methods={one.name: _made(one) for one in entries},
        notices=(*(plain.document.notices if number not in plan.in_windows else ()), *notices),
        holds=bool(case.holds(prediction.logits[None])[0]),
        given=sum(own.evaluations for own in asked),
        distinct=sum(own.distinct for own in asked),
        noise=noise,
        explained=Comparison((*found, *_external(found[0], entries))) if found else None,
    )


def _measured(case: Case) -> dict[Key, float]:
    for measure in case.plan.measures:
        measure.want(case)
    values: dict[Key, float] = {}
    for measure in case.plan.measures:
        for key, value in measure.of(case):
            assert key not in values, key
            values[key] = value if math.isfinite(value) else math.nan
    return values


def _made(entry: Entry) -> dict[str, Any]:
    """How a method was made."""
    explanation = entry.explanation
    said = {"label": entry.label, "signed": entry.signed, "elsewhere": explanation is None}
    if explanation is None:
        return {**said, "removal": None, "accuracy": None}
    size = float(np.abs(explanation.weights).mean())
    known = np.zeros(0) if explanation.stderr is None else explanation.stderr[np.isfinite(explanation.stderr)]
    return {
        **said,
        "removal": explanation.parameters.get("removal"),
        "accuracy": explanation.accuracy,
        "samples": explanation.parameters.get("n_samples"),
        "error": float(np.mean(known)) / size if len(known) and size > 0.0 else None,
        "evaluations": explanation.evaluations,
        "seconds": explanation.seconds,
    }


def _external(like: Explanation, entries: Sequence[Entry]) -> list[Explanation]:
    """Methods made elsewhere as explanations that a page can show beside one of ours."""
    return [
        replace(
            like,
            method=own.name,
            method_label=own.label,
            signed=own.signed,
            weights=own.weights,
            stderr=None,
            exact=False,
            seconds=0.0,
            evaluations=None,
            parameters={"features": like.parameters["features"]},
            diagnostics={"approximation": "made elsewhere: nothing is known of its error", "warnings": []},
            notices=(),
        )
        for own in entries
        if own.explanation is None
    ]
