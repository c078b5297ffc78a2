"""Predict, explain, remove and the removal curve: the work of jobs, from a request to what is answered.

A removal curve is what the model says while words are taken out, in each method's order. Beside the methods stand
chance, the mean over all orders, and the best that any set of so many words could do. Where the model is a ratio game
both are free of sampling, and the best is certified: a bound says what no set goes below. Elsewhere chance is the mean
of random orders, with its standard error, and the best is the lowest that was seen.

`recipe` is the Python and the command line that give the same numbers, to copy.
"""

from __future__ import annotations

import json
import shlex
import threading
from typing import Any

import numpy as np

from limelight.attribution.request import Resolved, check_removal, predict, prediction_of
from limelight.attribution.run import explanations
from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.core.progress import SILENT
from limelight.core.sanitize import visible
from limelight.errors import Interrupted, LimelightError, ParameterError, shown
from limelight.explanation.result import Comparison, Explanation
from limelight.explanation.serialization import numbers_written
from limelight.explanation.significance import INTERVAL
from limelight.models.interface import RatioView
from limelight.render.entries import Entry
from limelight.render.numbers import typed
from limelight.render.output import Delivery
from limelight.theory.ratio_game import RatioGame
from limelight.web.jobs import Job, JobProgress
from limelight.web.requests import (
    CurveRequest,
    ExplainRequest,
    ExportRequest,
    RemoveRequest,
    TextRequest,
    echo,
    looked_at,
    planned,
    target_of,
    view_of,
)
from limelight.web.row_data import drawn_prediction, drawn_row, drawn_text
from limelight.web.site import Served, Site

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


# ── the removal curve ─────────────────────────────────────────────────────────────────────────────────────────────────

_SIZES = 24
"""Numbers of removed words at which a curve of a long text is computed."""
_ORDERS = 24
"""Random orders where chance is sampled."""
_MOST_ORDERS = 20


def curves(request: CurveRequest, site: Site, job: Job) -> dict[str, Any]:
    """All orders of a request, and the envelope around them."""
    resolved = looked_at(request, site)
    view, features, quantity = resolved.view, resolved.features, resolved.questions[0].quantity
    orders = _checked(request, len(features))
    sizes, progress = _sizes(len(features)), JobProgress(job)
    kept = {name: _sets(order, sizes) for name, order in orders.items()}
    game = _game_along(resolved)
    random, orders_drawn = np.random.default_rng([request.seed, len(features)]), _ORDERS if game is None else 0
    rows = [*kept.values(), *(_sets(random.permutation(len(features)), sizes) for _ in range(orders_drawn))]
    progress.begin("removing words", sum(map(len, rows)))
    logits = check_removal(view, request.removal).game(features, request.removal, progress)(np.concatenate(rows))
    tables = quantity.of(logits).reshape(len(rows), len(sizes))
    around = _exact(game, sizes) if game is not None else _sampled(tables, len(kept))
    return {
        "asked": echo(request, site),
        "sizes": sizes.tolist(),
        "features": len(features),
        "orders": {name: numbers_written(own) for name, own in zip(kept, tables, strict=False)},
        **{name: numbers_written(own) for name, own in around.items()},
        "exact": game is not None,
        "area": {name: float(np.mean(own[0] - own[1:])) for name, own in zip(kept, tables, strict=False)},
    }


def _checked(request: CurveRequest, features: int) -> dict[str, Integers]:
    if not 0 < len(request.orders) <= _MOST_ORDERS:
        raise ParameterError(f"orders must hold 1 to {_MOST_ORDERS} orders: got {len(request.orders)}")
    for name, order in request.orders.items():
        if sorted(order) != list(range(features)):
            raise ParameterError(f"the order {name!r} must name each of the {features} features once, from 0")
    return {name: np.array(order, dtype=np.int64) for name, order in request.orders.items()}


def _sizes(features: int) -> Integers:
    """From nothing to everything: all sizes of a short text, and more of the first ones of a long one."""
    if features <= _SIZES:
        return np.arange(features + 1)
    spread = features * (np.arange(_SIZES + 1) / _SIZES) ** 1.7
    return np.unique(np.round(spread).astype(np.int64))


def _sets(order: Integers, sizes: Integers) -> Coalitions:
    """The features that are kept when the first so many of an order are gone."""
    place = np.argsort(order)
    kept: Coalitions = place[None, :] >= sizes[:, None]
    return kept


def _game_along(resolved: Resolved) -> RatioGame | None:
    """The game of the explained quantity, where it is a ratio game: masking, and an output linear in the logits."""
    quantity, view = resolved.questions[0].quantity, resolved.view
    if not isinstance(view, RatioView) or resolved.request.removal != "mask" or not quantity.is_linear:
        return None
    return view.ratio_game(resolved.features).along(quantity.direction_at(view.logits[None])[0])


def _exact(game: RatioGame, sizes: Integers) -> dict[str, Floats]:
    """At each size: the mean over all sets of this size with half of its 95 % interval, the lowest output that was
    found, and the bound below which none is."""
    from limelight.theory.subsets import lowest_outputs, size_means

    best = lowest_outputs(game, sizes)
    chance, none = size_means(game, 0)[sizes], np.zeros(len(sizes))
    return {"chance": chance, "half_width": none, "lowest": best.found, "bound": best.bound}


def _sampled(tables: Floats, named: int) -> dict[str, Floats]:
    """Like `_exact`, from the outputs of `named` orders and then random ones: nothing is proven of the bound."""
    random = tables[named:]
    half = INTERVAL * random.std(axis=0, ddof=1) / np.sqrt(len(random))
    unknown = np.full(tables.shape[1], np.nan)
    return {"chance": random.mean(axis=0), "half_width": half, "lowest": tables.min(axis=0), "bound": unknown}


# ── recipes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_FLAGS = {"truncate": "--truncate", "window": "--window"}
_SHORT = {
    "n_samples": "--samples",
    "precision": "--precision",
    "kernel_width": "--kernel-width",
    "ridge": "--ridge",
    "until": "--until",
}


def recipe(request: ExplainRequest, served: Served, resolved: Resolved) -> dict[str, str]:
    """Both forms of one request."""
    given, methods = resolved.view.document.given, [own.method.id for own in resolved.chosen]
    known = {name for own in resolved.chosen for name in own.implementation.options}
    options = {name: value for name, value in resolved.request.options.items() if name in known}
    source = [] if served.source is None else [repr(served.source)]
    loading = ", ".join([*source, *(f"{name}={value!r}" for name, value in served.loading.items())])
    arguments = {"target": target_of(request), **_changed(request), **options}
    changed = "".join(f", {name}={value!r}" for name, value in arguments.items() if value is not None)
    python = (
        "import limelight\n\n"
        f"model = limelight.load({loading})\n"
        f"text = {given!r}\n"
        f"comparison = limelight.compare(model, text, {methods!r}{changed})\n"
        "print(comparison.to_dict())\n"
    )
    words = ["limelight", "explain", "--format", "json", "--method", ",".join(methods)]
    if served.source is not None:
        words += ["--model", served.source]
    for name, value in served.loading.items():
        if name in _FLAGS:
            words += [_FLAGS[name]] if value else []
        elif name != "pairs":
            words += [f"--{name}", str(value)]
    if request.target is not None:
        words += ["--target", request.target if request.against is None else f"{request.target}:{request.against}"]
    for name, value in _changed(request).items():
        words += [f"--{name}", str(value)]
    for name, value in options.items():
        words += [_SHORT[name], str(value)] if name in _SHORT else ["--set", f"{name}={typed(value)}"]
    if not isinstance(given, str):
        words += ["--second", given[1]]
    return {"python": python, "command": shlex.join([*words, "--", given if isinstance(given, str) else given[0]])}


def _changed(request: ExplainRequest) -> dict[str, Any]:
    """The arguments that are not what they are by default."""
    arguments = {"features": "words", "removal": "mask", "output": None, "seed": 0}
    return {name: getattr(request, name) for name, own in arguments.items() if getattr(request, name) != own}
