"""Answers to requests that cannot be served: a status and one sentence that says what to do; and the stated limits."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from starlette.responses import Response

from limelight.core.sanitize import visible
from limelight.errors import LimelightError, ParameterError, TooLargeError, shown


class Refusal(Exception):
    """A request that is not served; `headers` go with the answer."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}

    def body(self) -> dict[str, Any]:
        return {"error": {"status": self.status, "message": visible(self.message)}}

    def response(self) -> Response:
        return Response(json.dumps(self.body()), self.status, self.headers, "application/json")


def unknown_thing(thing: str) -> Refusal:
    return Refusal(404, f"there is no such {thing} here: see /api/v1/openapi.json for what there is")


def body_too_large(limit: int) -> Refusal:
    return Refusal(413, f"the request is larger than the {limit:,} bytes that this server takes: ask for less at once")


def stopped() -> Refusal:
    return Refusal(409, "this was stopped before it was done")


def of_error(error: BaseException) -> Refusal:
    """The answer to any error. The library's sentences say what was given and what to do; all others may hold the text
    and stay inside."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, LimelightError):
        return Refusal(413 if isinstance(error, TooLargeError) else 422, str(error))
    return Refusal(500, "the server has made an error, which is none of yours: the terminal that it runs in says where")


@dataclass(frozen=True)
class Limits:
    """The stated limits; `/api/v1/models` tells them to the page."""

    text: int = 20_000
    """Characters of a text, of both of a pair together: 413."""
    body: int = 8_000_000
    """Bytes of a request, such as a comparison that is to be exported: 413."""
    samples: int = 200_000
    """Samples or permutations of one method: 422."""
    methods: int = 20
    """Methods of one request: 422."""
    parallel: int = 2
    """Explanations that are computed at the same time; quick answers have as many threads of their own."""
    queue: int = 64
    """Requests that wait for a thread; the next is refused: 503."""
    per_client: int = 8
    """Requests of one client that run or wait; the next is refused: 429."""
    seconds: float = 600.0
    """After which a computation is stopped: 503."""
    views: int = 16
    """Texts whose tables are kept, so that a click on a word does not read the text again."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ParameterError(f"the limit {field.name!r} must be a number above 0: got {shown(value)}")
