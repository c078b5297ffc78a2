"""What a request is answered with where it cannot be served: a status and one sentence that says what to do."""

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


def too_long(given: int, limit: int) -> Refusal:
    return Refusal(413, f"the text has {given:,} characters, and this server takes {limit:,}: give a shorter one")


def body_too_large(limit: int) -> Refusal:
    return Refusal(413, f"the request is larger than the {limit:,} bytes that this server takes: ask for less at once")


def queue_full(waiting: int) -> Refusal:
    return Refusal(
        503, f"the server is busy, and {waiting} requests wait already: try again soon", {"Retry-After": "1"}
    )


def too_many(running: int) -> Refusal:
    message = f"{running} requests of yours are being worked on: wait for one of them, or stop it"
    return Refusal(429, message, {"Retry-After": "1"})


def too_slow(seconds: float) -> Refusal:
    message = f"this took more than {seconds:g} seconds and was stopped: ask for fewer samples or a shorter text"
    return Refusal(503, message)


def stopped() -> Refusal:
    return Refusal(409, "this was stopped before it was done")


def of_error(error: LimelightError) -> Refusal:
    """What the library says of a question; its sentences say what was given and what to do."""
    return Refusal(413 if isinstance(error, TooLargeError) else 422, str(error))


def of_fault() -> Refusal:
    """Of an error that is nobody's question: what it says may hold the text, and stays inside."""
    return Refusal(500, "the server has made an error, which is none of yours: the terminal that it runs in says where")
