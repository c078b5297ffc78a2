"""`/api/v1`: what can be asked, one route each. Texts are in bodies, never in addresses, and are not logged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from limelight.web import refusals
from limelight.web.answers import MEDIA, curves, explained, explained_in_steps, exported, predicted, removed
from limelight.web.folders import RowRequest, ServedCorpus, TextsRequest, WordsRequest
from limelight.web.jobs import Jobs, Lane
from limelight.web.requests import (
    CancelRequest,
    CurveRequest,
    ExplainRequest,
    ExportRequest,
    RemoveRequest,
    TextRequest,
    echo,
    text_of,
)
from limelight.web.responses import Events, answered, client_of, json_response
from limelight.web.site import Site, described_methods

ROOT = "/api/v1"
_JSON: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {}}},
    413: {"description": "the text or the request is too large"},
    422: {"description": "what was asked cannot be answered; the sentence says why"},
    429: {"description": "too many requests of this client are being worked on"},
    503: {"description": "the queue is full, or the work took too long"},
}
_EVENTS: dict[int | str, dict[str, Any]] = {**_JSON, 200: {"content": {"text/event-stream": {}}}}


def add_routes(app: FastAPI, site: Site, jobs: Jobs) -> None:
    """All of them, on one site and one queue."""

    @app.get(f"{ROOT}/models", responses=_JSON)
    async def models() -> Response:
        """The models, their labels and outputs, what can be asked of each, and the server's limits."""
        return json_response(site.described())

    @app.get(f"{ROOT}/methods", responses=_JSON)
    async def methods() -> Response:
        """Every method with its implementations and options."""
        return json_response(described_methods())

    @app.post(f"{ROOT}/predict", responses=_JSON)
    async def predict(body: TextRequest, request: Request) -> Response:
        """What a model says of a text."""
        return json_response(await answered(request, jobs, "quick", lambda _: predicted(body, site)))

    @app.post(f"{ROOT}/explain", responses=_JSON)
    async def explain(body: ExplainRequest, request: Request) -> Response:
        """Why it says so, by one method or several: the numbers of `limelight explain --format json`."""
        # One method is what a typing hand waits for; several take their time.
        lane: Lane = "quick" if body.methods is not None and len(body.methods) == 1 else "long"
        return json_response(await answered(request, jobs, lane, lambda job: explained(body, site, job)))

    @app.post(f"{ROOT}/compare", responses=_EVENTS)
    async def compare(body: ExplainRequest, request: Request) -> Response:
        """The same as server-sent events: `begun`, `progress`, a `row` for each method as it comes, `done`."""
        text_of(body, site)  # what is too long is refused before it is worked on
        return Events(jobs, client_of(request), echo(body, site), lambda job: explained_in_steps(body, site, job))

    @app.post(f"{ROOT}/remove", responses=_JSON)
    async def remove(body: RemoveRequest, request: Request) -> Response:
        """What the model says with some words taken out."""
        return json_response(await answered(request, jobs, "quick", lambda _: removed(body, site)))

    @app.post(f"{ROOT}/curve", responses=_JSON)
    async def curve(body: CurveRequest, request: Request) -> Response:
        """What it says while words are taken out in several orders, beside chance and the best possible."""
        return json_response(await answered(request, jobs, "long", lambda job: curves(body, site, job)))

    @app.post(f"{ROOT}/export", responses=_JSON)
    async def export(body: ExportRequest, request: Request) -> Response:
        """A comparison as a file of its own."""
        content = await answered(request, jobs, "long", lambda _: exported(body))
        headers = {
            "content-type": MEDIA[body.format],
            "content-disposition": f'attachment; filename="limelight.{body.format}"',
        }
        return Response(content, headers=headers)

    @app.post(f"{ROOT}/cancel", responses=_JSON)
    async def cancel(body: CancelRequest) -> Response:
        """Stop a job of yours."""
        if not jobs.stop(body.job):
            raise refusals.unknown_thing("job")
        return json_response({"stopped": True})

    _add_folders(app, site, jobs)


def _add_folders(app: FastAPI, site: Site, jobs: Jobs) -> None:
    """Routes of what was computed before the server was started."""

    async def of_corpus(request: Request, ask: Callable[[ServedCorpus], Any]) -> Response:
        corpus = site.corpus
        if corpus is None:
            raise refusals.Refusal(404, "this server was started without a corpus: give it one by --corpus")
        return json_response(await answered(request, jobs, "long", lambda _: ask(corpus)))

    @app.get(f"{ROOT}/corpus", responses=_JSON)
    async def corpus_(request: Request) -> Response:
        """What the corpus is of."""
        return await of_corpus(request, ServedCorpus.described)

    @app.post(f"{ROOT}/corpus/texts", responses=_JSON)
    async def texts(body: TextsRequest, request: Request) -> Response:
        """Its texts, by filters."""
        return await of_corpus(request, lambda corpus: corpus.texts(body))

    @app.post(f"{ROOT}/corpus/words", responses=_JSON)
    async def words(body: WordsRequest, request: Request) -> Response:
        """Its words, with their mean effects and intervals."""
        return await of_corpus(request, lambda corpus: corpus.words(body))

    @app.post(f"{ROOT}/corpus/text", responses=_JSON)
    async def text(body: RowRequest, request: Request) -> Response:
        """One of its texts, with what each method said of it."""
        return await of_corpus(request, lambda corpus: corpus.text(body))

    @app.get(f"{ROOT}/evaluation", responses=_JSON)
    async def evaluation() -> Response:
        """The verdict, the tables and the curves of an evaluation."""
        if site.evaluation is None:
            raise refusals.Refusal(404, "this server was started without an evaluation: give it one by --evaluation")
        return json_response(site.evaluation)
