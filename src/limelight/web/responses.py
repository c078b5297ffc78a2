"""How answers travel: JSON in one piece, or server-sent events; who goes away stops the work that was for them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from limelight.errors import LimelightError
from limelight.web import refusals
from limelight.web.jobs import Job, Jobs, Lane, Stopped
from limelight.web.refusals import Refusal
from limelight.web.security import Message, Receive, Send, report

_CLIENT = "limelight-client"
_LONGEST_CLIENT = 64


def written(content: Any) -> bytes:
    """JSON that is ASCII whatever it holds: half of a surrogate pair has no UTF-8."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def json_response(content: Any) -> Response:
    return Response(written(content), media_type="application/json")


def client_of(request: Request) -> str:
    """The name of a client: its address, and the page's own name for itself; pages of one machine count apart."""
    address = request.client.host if request.client is not None else ""
    return f"{address} {request.headers.get(_CLIENT, '')[:_LONGEST_CLIENT]}"


async def answered(request: Request, jobs: Jobs, lane: Lane, work: Callable[[Job], Any]) -> Any:
    """The result of a job, which is stopped when the client goes away."""
    job = jobs.start(client_of(request), lane, work)
    result = asyncio.wrap_future(job.future)
    gone = asyncio.create_task(_gone(request.receive))
    try:
        await asyncio.wait([result, gone], return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise refusals.stopped()
        return result.result()
    except (Stopped, asyncio.CancelledError) as error:
        raise refusals.stopped() from error
    finally:
        job.stop()
        gone.cancel()
        result.cancel()
        result.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody waits for what it raised


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Events(Response):
    """The events of a job as they come; the last one is `done`, `stopped` or `error`."""

    media_type = "text/event-stream"

    def __init__(self, jobs: Jobs, client: str, asked: dict[str, Any], work: Callable[[Job], Any]) -> None:
        super().__init__(media_type=self.media_type)
        self._asked, self._job = asked, jobs.start(client, "long", work)
        del self.headers["content-length"]

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        gone = asyncio.create_task(_gone(receive))
        told = asyncio.create_task(self._tell(send))
        try:
            await asyncio.wait([gone, told], return_when=asyncio.FIRST_COMPLETED)
            if told.done() and not told.cancelled() and told.exception() is not None:
                raise told.exception() or AssertionError
        finally:
            self._job.stop()
            for task in (gone, told):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError):
                    await task

    async def _tell(self, send: Send) -> None:
        await send(_event("job", {"job": self._job.id}))
        while (event := await self._job.events.get()) is not None:
            await send(_event(*event))
        await send(_last(self._job, self._asked))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _last(job: Job, asked: dict[str, Any]) -> Message:
    """How a job ended, if not by its own `done`. Like all errors, one that is told here holds nothing of the text."""
    error = None if job.future.cancelled() else job.future.exception()
    if job.future.cancelled() or isinstance(error, Stopped):
        return _event("stopped", {"asked": asked})
    if error is None:
        return _event("end", {"asked": asked})
    if not isinstance(error, LimelightError | Refusal):
        report(error)
    return _event("error", refusals.of_error(error).body()["error"])


def _event(name: str, data: Any) -> Message:
    body = b"event: " + name.encode() + b"\ndata: " + written(data) + b"\n\n"
    return {"type": "http.response.body", "body": body, "more_body": True}
