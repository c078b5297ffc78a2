"""Predict, explain and remove: the work of jobs, from a request to what is answered."""

from __future__ import annotations

from typing import Any

import numpy as np

from limelight.attribution.request import check_removal, predict, prediction_of
from limelight.attribution.run import explanations
from limelight.core.progress import SILENT
from limelight.core.sanitize import visible
from limelight.errors import Interrupted, LimelightError, ParameterError, shown
from limelight.explanation.result import Comparison, Explanation
from limelight.web.jobs import Job, JobProgress
from limelight.web.recipes import recipe
from limelight.web.requests import (
    ExplainRequest,
    RemoveRequest,
    TextRequest,
    echo,
    looked_at,
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
    resolved = plan.resolved.asking(progress=JobProgress(job))
    comparison = Comparison(tuple(one for method in plan.methods for one in explanations(resolved.only(method.id))))
    return {
        "asked": echo(request, site),
        "comparison": comparison.to_dict(),
        "prediction": drawn_prediction(comparison.prediction),
        "text": drawn_text(plan.view, plan.features),
        "rows": [drawn_row(explanation) for explanation in comparison.explanations],
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
            "prediction": drawn_prediction(plan.resolved.prediction),
            "text": drawn_text(plan.view, plan.features),
            "recipe": recipe(plan),
        },
    )
    # What is quick is there at once: nobody waits for samples to see a gradient.
    for i, chosen in sorted(enumerate(plan.resolved.chosen), key=lambda own: own[1].implementation.sampled):
        try:
            about = {"asked": asked, "row": i}
            progress = RowProgress(job, about) if request.settle else JobProgress(job, about)
            explanation = explanations(plan.resolved.only(chosen.method.id).asking(progress=progress))[0]
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
    logits = check_removal(plan.view, request.removal).game(plan.features, request.removal, SILENT)(kept)
    outputs = plan.quantity.of(logits)
    return {
        "asked": echo(request, site),
        "before": drawn_prediction(prediction_of(plan.view, logits[0])),
        "after": drawn_prediction(prediction_of(plan.view, logits[1])),
        "output": plan.quantity.output,
        "outputs": outputs.tolist(),
    }
