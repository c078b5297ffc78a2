"""Predict, explain and remove: the work of jobs, from a request to what is answered."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np

from limelight.attribution.request import check_removal, predict, prediction_of
from limelight.attribution.run import explanations
from limelight.core.progress import SILENT
from limelight.core.sanitize import visible
from limelight.errors import Interrupted, LimelightError, ParameterError, shown
from limelight.explanation.result import Comparison, Explanation
from limelight.render.entries import Entry
from limelight.render.output import Delivery
from limelight.web.jobs import Job, JobProgress
from limelight.web.recipes import recipe
from limelight.web.requests import (
    ExplainRequest,
    ExportRequest,
    RemoveRequest,
    TextRequest,
    echo,
    looked_at,
    planned,
    view_of,
)
from limelight.web.row_data import drawn_prediction, drawn_row, drawn_text
from limelight.web.site import Site

MEDIA = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
}
"""Media types of the forms of a file."""
_drawing = threading.Lock()
"""matplotlib draws one figure at a time."""


def predicted(request: TextRequest, site: Site) -> dict[str, Any]:
    """The prediction for a text."""
    return {"asked": echo(request, site), **drawn_prediction(predict(view_of(request, site)))}


def explained(request: ExplainRequest, site: Site, job: Job) -> dict[str, Any]:
    """All methods at once: the object that `limelight explain --format json` prints, and how to draw it."""
    resolved = planned(request, site).asking(progress=JobProgress(job))
    comparison = Comparison(tuple(one for own in resolved.chosen for one in explanations(resolved.only(own.method.id))))
    return {
        "asked": echo(request, site),
        "comparison": comparison.to_dict(),
        "prediction": drawn_prediction(comparison.prediction),
        "text": drawn_text(resolved.view, resolved.features),
        "rows": [drawn_row(explanation) for explanation in comparison.explanations],
        "recipe": recipe(request, site.model(request.model), resolved),
    }


def explained_in_steps(request: ExplainRequest, site: Site, job: Job) -> None:
    """All methods as events: the question, then each row as it comes, sampled ones again and again as more is drawn.

    A method that cannot be asked says so in its own row, and the others go on.
    """
    resolved, asked = planned(request, site), echo(request, site)
    job.tell(
        "begun",
        {
            "asked": asked,
            "job": job.id,
            "methods": [{"id": own.method.id, "label": own.method.label} for own in resolved.chosen],
            "prediction": drawn_prediction(resolved.prediction),
            "text": drawn_text(resolved.view, resolved.features),
            "recipe": recipe(request, site.model(request.model), resolved),
        },
    )
    # What is quick is there at once: nobody waits for samples to see a gradient.
    for i, chosen in sorted(enumerate(resolved.chosen), key=lambda own: own[1].implementation.sampled):
        try:
            about = {"asked": asked, "row": i}
            progress = RowProgress(job, about) if request.settle else JobProgress(job, about)
            explanation = explanations(resolved.only(chosen.method.id).asking(progress=progress))[0]
            job.tell("row", {**about, **_row(explanation, True)})
        except Interrupted as cut:
            job.tell("row", {**about, **_row(cut.explanation, True)}, last=True)
            raise
        except LimelightError as error:
            job.tell("failed", {**about, "message": visible(str(error))})
    job.tell("done", {"asked": asked})


class RowProgress(JobProgress):
    """Shows a row while its samples are drawn, each time that they have about doubled."""

    def seen(self, explanation: Explanation) -> None:
        self._job.tell("row", {**self._about, **_row(explanation, False)})


def _row(explanation: Explanation, last: bool) -> dict[str, Any]:
    return {"last": last, "explanation": explanation.to_dict(), "drawn": drawn_row(explanation)}


def exported(request: ExportRequest) -> bytes:
    """A comparison as a file. It came back from the page and is read as a saved result is: checked, and hostile."""
    comparison = Comparison.from_dict(request.comparison)
    if request.format == "json":
        return json.dumps(comparison.to_dict(), allow_nan=False).encode() + b"\n"
    with _drawing:
        return b"".join(Delivery(request.format, about=request.about).content([Entry.of(comparison)]))


def removed(request: RemoveRequest, site: Site) -> dict[str, Any]:
    """The prediction without some features, beside that for the whole text."""
    resolved = looked_at(request, site)
    view, features, quantity = resolved.view, resolved.features, resolved.questions[0].quantity
    kept = np.ones((2, len(features)), dtype=bool)
    for j in request.removed:
        if not 0 <= j < len(features):
            raise ParameterError(f"removed must be numbers from 0 to {len(features) - 1}: got {shown(j)}")
        kept[1, j] = False
    logits = check_removal(view, request.removal).game(features, request.removal, SILENT)(kept)
    return {
        "asked": echo(request, site),
        "before": drawn_prediction(prediction_of(view, logits[0])),
        "after": drawn_prediction(prediction_of(view, logits[1])),
        "output": quantity.output,
        "outputs": quantity.of(logits).tolist(),
    }
