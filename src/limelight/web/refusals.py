"""Answers to requests that cannot be served: a status and one sentence that says what to do."""

from __future__ import annotations

from typing import Any

from limelight.core.sanitize import visible
from limelight.errors import LimelightError, TooLargeError


class Refusal(Exception):
    """A request that is not served; `headers` go with the answer."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}

    def body(self) -> dict[str, Any]:
        return {"error": {"status": self.status, "message": visible(self.message)}}


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
