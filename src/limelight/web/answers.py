"""Predict, explain and remove: the work of jobs, from a request to what is answered."""

from __future__ import annotations

from typing import Any

import numpy as np

from limelight.attribution.request import predict
from limelight.core.progress import SILENT
from limelight.core.sanitize import visible
from limelight.errors import CapabilityError, Interrupted, LimelightError, ParameterError, shown
from limelight.explanation.result import Comparison, Explanation, Prediction
from limelight.models.interface import Perturbable
from limelight.models.outputs import probabilities
from limelight.web.jobs import Job, JobProgress
from limelight.web.recipes import recipe
from limelight.web.requests import (
    ExplainRequest,
    Plan,
    RemoveRequest,
    TextRequest,
    echo,
    looked_at,
    output_of,
    planned,
    text_of,
)
from limelight.web.row_data import drawn_prediction, drawn_row, drawn_text
from limelight.web.site import Site


def predicted(request: TextRequest, site: Site) -> dict[str, Any]:
    """What the model says of a text."""
    served = site.model(request.model)
    return {"asked": echo(request, site), **drawn_prediction(predict(site.view(served, text_of(request, site))))}


def explained(request: ExplainRequest, site: Site, job: Job) -> dict[str, Any]:
    """All methods at once: the object that `limelight explain --format json` prints, and how to draw it."""
    plan = planned(request, site)
    explanations = []
    for i, method in enumerate(plan.methods):
        explanations += plan.asked(i, JobProgress(job)).explanations(plan.view, [method])
    comparison = Comparison(tuple(explanations))
    return {
        "asked": echo(request, site),
        "comparison": comparison.to_dict(),
        "prediction": drawn_prediction(comparison.prediction),
        "text": drawn_text(plan.view, plan.features),
        "rows": [drawn_row(explanation) for explanation in explanations],
        "recipe": recipe(plan),
    }


def explained_in_steps(request: ExplainRequest, site: Site, job: Job) -> None:
    """The same as events: what is asked, then each row as it comes, sampled ones again and again as they settle.

    A method that cannot be asked says so in its own row, and the others go on.
    """
    plan, asked = planned(request, site), echo(request, site)
    job.tell(
        "begun",
        {
            "asked": asked,
            "job": job.id,
            "methods": [{"id": method.id, "label": method.label} for method in plan.methods],
            "prediction": drawn_prediction(predict(plan.view)),
            "text": drawn_text(plan.view, plan.features),
            "recipe": recipe(plan),
        },
    )
    # What is quick is there at once: nobody waits for samples to see a gradient.
    for i in sorted(range(len(plan.methods)), key=lambda i: plan.implementations[i].sampled):
        try:
            about = {"asked": asked, "row": i}
            progress = RowProgress(job, about) if request.settle else JobProgress(job, about)
            explanation = plan.asked(i, progress).explanations(plan.view, [plan.methods[i]])[0]
            job.tell("row", {**about, **_row(explanation, True)})
        except Interrupted as cut:
            job.tell_last("row", {**about, **_row(cut.explanation, True)})
            raise
        except LimelightError as error:
            job.tell("failed", {**about, "message": visible(str(error))})
    job.tell("done", {"asked": asked})


class RowProgress(JobProgress):
    """Shows a row while its samples are drawn, each time that they have about doubled."""

    def __init__(self, job: Job, about: dict[str, Any]) -> None:
        super().__init__(job, about)
        self._tell = job.tell

    def seen(self, explanation: Explanation) -> None:
        self._tell("row", {**self._about, **_row(explanation, False)})


def _row(explanation: Explanation, last: bool) -> dict[str, Any]:
    return {"last": last, "explanation": explanation.to_dict(), "drawn": drawn_row(explanation)}


def removed(request: RemoveRequest, site: Site) -> dict[str, Any]:
    """What the model says without some features, beside what it says of the whole text."""
    plan = looked_at(request, site)
    kept = np.ones((2, len(plan.features)), dtype=bool)
    for j in request.removed:
        if not 0 <= j < len(plan.features):
            raise ParameterError(f"removed must be numbers from 0 to {len(plan.features) - 1}: got {shown(j)}")
        kept[1, j] = False
    logits = checked_removal(plan).game(plan.features, request.removal, SILENT)(kept)
    outputs = plan.quantity.of(logits)
    return {
        "asked": echo(request, site),
        "before": drawn_prediction(_prediction_of(plan, logits[0])),
        "after": drawn_prediction(_prediction_of(plan, logits[1])),
        "output": output_of(plan),
        "outputs": outputs.tolist(),
    }


def checked_removal(plan: Plan) -> Perturbable:
    """The view, if it takes words out as was asked."""
    view, removal = plan.view, plan.request.removal
    if not isinstance(view, Perturbable) or removal not in view.removals:
        offered = " or ".join(map(repr, view.removals)) if isinstance(view, Perturbable) else "no removal"
        raise CapabilityError(f"this model does not take words out by {removal!r}: use {offered}")
    return view


def _prediction_of(plan: Plan, logits: Any) -> Prediction:
    view = plan.view
    chances = None if view.kind == "regression" else probabilities(logits, view.kind)
    return Prediction(view.labels[int(logits.argmax())], view.labels, logits, chances, view.kind)
