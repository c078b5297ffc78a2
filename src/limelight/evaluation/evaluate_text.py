"""One text is judged: explained by every method, asked about with words removed, measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from limelight.attribution.request import Resolved
from limelight.attribution.run import explanations
from limelight.evaluation.case import Case, Judged
from limelight.evaluation.explainer import CANNOT
from limelight.evaluation.external import weights_of
from limelight.evaluation.measure import Key
from limelight.evaluation.plan import Plan
from limelight.evaluation.shared_answers import Answers, sharing
from limelight.explanation.result import Comparison, Explanation, Prediction
from limelight.inputs.document import Text
from limelight.inputs.features import Features
from limelight.models.interface import Perturbable, View


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
    values: dict[Key, float]
    methods: dict[str, dict[str, Any]]
    notices: tuple[str, ...] = ()
    holds: bool = True
    given: int = 0
    distinct: int = 0
    noise: float = 0.0
    explained: Comparison | None = field(default=None, compare=False)


def judge(plan: Plan, number: int) -> Record:
    """The record of text `number`; deterministic, whatever other texts there are."""
    text, explainer = plan.texts[number], plan.explainer
    resolved = explainer.resolve(explainer.model.view(text)) if number else plan.first
    plain, features, prediction = resolved.view, resolved.features, resolved.prediction
    assert isinstance(plain, Perturbable)
    answers = {removal: Answers(plain, features, removal) for removal in plan.removals}
    view = sharing(plain, features, list(answers.items()))
    target = prediction.labels[resolved.questions[0].quantity.target]
    resolved = resolved.asking(view=view)
    found, notices = _explained(plan, resolved)
    judged = {one.method: Judged(one.method, one.label, one.signed, one.weights, one) for one in found}
    for own in plan.elsewhere.values():
        weights = weights_of(own, number, plan.ids[number], view.document, features)
        judged[own.name] = Judged(own.name, own.name, own.signed, weights)
    measured, seen = answers, view
    if any(own.noise > 0.0 for own in answers.values()):  # what a method was made from does not judge it
        measured = {removal: Answers(plain, features, removal, again=True) for removal in plan.removals}
        seen, resolved = plain, resolved.asking(view=plain)
        whole = measured[explainer.request.removal](np.ones((1, len(features)), dtype=bool))
        prediction = replace(prediction, logits=whole[0])
    case = _case(plan, number, text, seen, features, prediction, target, judged, measured, resolved)
    values = _measured(plan, case)
    asked = [*answers.values(), *(own for own in measured.values() if own not in answers.values())]
    return Record(
        number=number,
        id=plan.ids[number],
        words=len(features),
        label=prediction.label,
        target=target,
        values=values,
        methods={one.name: _about(one) for one in judged.values()},
        notices=(*(plain.document.notices if number not in plan.in_windows else ()), *notices),
        holds=bool(case.holds(prediction.logits[None])[0]),
        given=sum(own.spent for own in asked),
        distinct=sum(own.distinct for own in asked),
        noise=max(own.noise for own in answers.values()),
        explained=_comparison(found, judged, features),
    )


def _explained(plan: Plan, resolved: Resolved) -> tuple[list[Explanation], list[str]]:
    found, notices = [], []
    for method in plan.methods:
        try:
            found += explanations(resolved.only(method.id))
        except CANNOT as error:
            notices.append(f"{method.id}: {error}")
    return found, notices


def _case(
    plan: Plan,
    number: int,
    text: Text,
    view: View,
    features: Features,
    prediction: Prediction,
    target: str,
    judged: dict[str, Judged],
    answers: dict[Any, Answers],
    resolved: Resolved,
) -> Case:
    return Case(
        number=number,
        id=plan.ids[number],
        text=text,
        view=view,
        features=features,
        prediction=prediction,
        target=prediction.labels.index(target),
        output=plan.output,
        outputs=plan.outputs,
        judged=judged,
        answers=answers,
        beside=plan.besides[number],
        seed=plan.asking.seed,
        chance_orders=plan.asking.chance_orders,
        limits=plan.asking.limits,
        most_steps=plan.asking.steps,
        texts_outputs=plan.texts_outputs,
        rationale_share=plan.rationale_share,
        explainer=plan.explainer,
        resolved=resolved,
    )


def _measured(plan: Plan, case: Case) -> dict[Key, float]:
    for measure in plan.measures:
        measure.want(case)
    values: dict[Key, float] = {}
    for measure in plan.measures:
        for key, value in measure.score(case):
            assert key not in values, key
            values[key] = float(value) if math.isfinite(value) else math.nan
    return values


def _about(judged: Judged) -> dict[str, Any]:
    explanation = judged.explanation
    if explanation is None:
        return {"label": judged.label, "signed": judged.signed, "elsewhere": True, "removal": None, "accuracy": None}
    size = float(np.abs(explanation.weights).mean())
    known = None if explanation.stderr is None else explanation.stderr[np.isfinite(explanation.stderr)]
    error = float(known.mean()) if known is not None and len(known) else None
    return {
        "label": judged.label,
        "signed": judged.signed,
        "elsewhere": False,
        "removal": explanation.parameters.get("removal"),
        "accuracy": explanation.accuracy,
        "samples": explanation.parameters.get("n_samples"),
        "error": None if error is None or not size > 0.0 else error / size,
        "evaluations": explanation.evaluations,
        "seconds": explanation.seconds,
    }


def _comparison(explanations: list[Explanation], judged: dict[str, Judged], features: Features) -> Comparison | None:
    """All methods, those made elsewhere too, as explanations that a page can show."""
    if not explanations:
        return None
    others = [
        replace(
            explanations[0],
            method=own.name,
            label=own.label,
            signed=own.signed,
            weights=own.weights,
            stderr=None,
            exact=False,
            seconds=0.0,
            evaluations=None,
            parameters={"features": features.kind},
            diagnostics={"approximation": "made elsewhere: nothing is known of its error", "warnings": []},
            notices=(),
        )
        for own in judged.values()
        if own.explanation is None
    ]
    return Comparison((*explanations, *others))
