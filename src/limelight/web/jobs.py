"""Work that requests wait for: computed in threads, so many at once, with progress, and stopped where nobody waits.

A job is stopped through its `Progress`, which raises inside the work: at the next step that the work tells of. What
only waits for a thread is dropped at once. Every method of `Jobs` is called in the event loop's own thread.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal

from limelight.core.progress import Silent
from limelight.web.refusals import Limits, Refusal

Lane = Literal["quick", "long"]
"""Answers that a typing hand waits for have threads of their own: no sampling run stands in their way."""
_TOLD_EVERY = 0.1
"""Seconds between two events that tell of progress."""


class Stopped(Exception):
    """How a job ends that was stopped."""


class _Stop(KeyboardInterrupt):
    """Raised inside the work: samplers hand over what they have, as they do on Ctrl-C. It never leaves the thread."""


class Job:
    """One piece of work. The thread that does it tells its events; the event loop reads them in their order."""

    def __init__(self, client: str, lane: Lane, seconds: float) -> None:
        self.id = secrets.token_urlsafe(16)
        self.client, self.lane, self.waits = client, lane, True
        self.events: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._seconds, self._ends = seconds, float("inf")
        self.future: Future[Any]

    def begin(self) -> None:
        """The work has a thread from now on: its time runs."""
        self.waits = False
        self._ends = time.monotonic() + self._seconds

    def stop(self) -> None:
        """Drop a job that waits; one that runs ends at its next step."""
        self._stop.set()
        self.future.cancel()

    def check(self) -> None:
        """Raise where the work is not wanted any more, or takes too long."""
        if self._stop.is_set():
            raise _Stop
        if time.monotonic() > self._ends:
            message = f"this took more than {self._seconds:g} seconds and was stopped: ask for "
            raise Refusal(503, message + "fewer samples or a shorter text")

    def tell(self, event: str, data: Any, *, last: bool = False) -> None:
        """An event for those who wait, from the thread of the work; `last`: what was reached before it was stopped."""
        if not last:
            self.check()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.events.put_nowait, (event, data))


class JobProgress(Silent):
    """A `limelight.Progress` that tells a job's events, a few a second, and ends work that is not wanted any more."""

    def __init__(self, job: Job, about: dict[str, Any] | None = None) -> None:
        self._job, self._about = job, about or {}
        self._task, self._steps, self._done, self._told = "", 0, 0, 0.0

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        self._job.check()
        self._task, self._steps, self._done = task, steps, done

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._job.check()
        self._done += steps
        if time.monotonic() - self._told >= _TOLD_EVERY:
            self._told = time.monotonic()
            done = {"task": self._task, "steps": self._steps, "done": self._done}
            self._job.tell("progress", {**self._about, **done})


class Jobs:
    """The queue: so many jobs at once in each lane, so many that wait, so many of one client."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pools = {lane: ThreadPoolExecutor(limits.parallel, f"limelight-{lane}") for lane in ("quick", "long")}
        self._jobs: dict[str, Job] = {}

    @property
    def running(self) -> int:
        """Jobs that run or wait."""
        return len(self._jobs)

    def start(self, client: str, lane: Lane, work: Callable[[Job], Any]) -> Job:
        """Begin some work, or refuse it: what is refused was never begun."""
        waiting = sum(job.waits and job.lane == lane for job in self._jobs.values())
        own = sum(job.client == client for job in self._jobs.values())
        if waiting >= self._limits.queue:
            message = f"the server is busy, and {waiting} requests wait already: try again soon"
            raise Refusal(503, message, {"Retry-After": "1"})
        if own >= self._limits.per_client:
            message = f"{own} requests of yours are being worked on: wait for one of them, or stop it"
            raise Refusal(429, message, {"Retry-After": "1"})
        job = Job(client, lane, self._limits.seconds)
        loop = asyncio.get_running_loop()

        def run() -> Any:
            job.begin()
            try:
                job.check()
                return work(job)
            except KeyboardInterrupt:  # it must not reach the event loop, which would end
                raise Stopped from None

        def over(_: object) -> None:
            self._jobs.pop(job.id, None)
            job.events.put_nowait(None)

        job.future = self._pools[lane].submit(run)
        self._jobs[job.id] = job
        job.future.add_done_callback(lambda done: None if loop.is_closed() else loop.call_soon_threadsafe(over, done))
        return job

    def stop(self, id: str) -> bool:
        """Stop a job by its id, which only those know who began it; False where there is none."""
        if id in self._jobs:
            self._jobs[id].stop()
            return True
        return False

    def close(self) -> None:
        """Stop all of them; the threads end by themselves."""
        for job in list(self._jobs.values()):
            job.stop()
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
