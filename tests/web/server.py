"""A real server on a free port, in a thread of the test's own process, and a client that knows nothing but HTTP."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import limelight
from limelight.web.app import bound, server_of
from limelight.web.jobs import Jobs
from limelight.web.refusals import Limits
from limelight.web.security import Door
from limelight.web.site import Served, Site


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        said: str = self.json["error"]["message"]
        return said


@dataclass(frozen=True)
class Running:
    """A server that answers; `jobs` is its queue."""

    port: int
    jobs: Jobs

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}/"

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        connection = self.connect()
        connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        connection.close()
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, content: Any, headers: dict[str, str] | None = None) -> Answer:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.ask("POST", f"/api/v1{path}", body, headers)

    def events(self, path: str, content: Any) -> Iterator[tuple[str, Any]]:
        """Server-sent events as they come; closing the iterator goes away from the server."""
        connection = self.connect()
        try:
            connection.request("POST", f"/api/v1{path}", json.dumps(content), {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert response.status == 200, response.read()
            assert response.getheader("content-type", "").startswith("text/event-stream")
            name = ""
            while line := response.readline().decode().rstrip("\n") or (None if response.isclosed() else " "):
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                if line.startswith("data: "):
                    yield name, json.loads(line.removeprefix("data: "))
        finally:
            with suppress(UnboundLocalError):
                response.close()
            connection.close()


@contextmanager
def running(
    models: Sequence[Served], door: Door | None = None, limits: Limits | None = None, port: int = 0, **more: Any
) -> Any:
    site = Site(models, limits, **more)
    listener = bound("127.0.0.1", port)
    server = server_of(site, door or Door())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until(lambda: server.started)
    guard: Any = server.config.app
    try:
        yield Running(listener.getsockname()[1], guard._app.state.jobs)
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        listener.close()
        assert not thread.is_alive()


def until(condition: Any, seconds: float = 20.0) -> float:
    """Wait for something to be so, and say how long it took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, "it never came to be so"
        time.sleep(0.01)
    return time.monotonic() - started


class Slow:
    """A function from texts to probabilities that takes its time, and counts what it was asked."""

    def __init__(self, seconds: float = 0.002) -> None:
        self.seconds, self.asked = seconds, 0

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.asked += len(texts)
        time.sleep(self.seconds * len(texts))
        chances = [0.1 + 0.8 * (len(text) % 17) / 17 for text in texts]
        return [[1 - p, p] for p in chances]

    def served(self, name: str = "slow") -> Served:
        return Served(name, limelight.wrap(self, labels=["no", "yes"], batch_texts=16))
