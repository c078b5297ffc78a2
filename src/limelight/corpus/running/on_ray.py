"""A corpus on a Ray cluster: actors that load the model once and are given one shard after the other.

Ray's core alone is used. The driver reads the data and writes the shards; actors get rows and give back the bytes of a
file, so they need no common disk, but limelight and the model must be there. An actor that dies, or whose node does, is
replaced by a new one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from limelight.core.progress import SILENT
from limelight.corpus.running.explain_rows import Questions
from limelight.corpus.running.model_source import Loading
from limelight.corpus.running.workers import Computer, Done, Lost, Ready, Said, Task, Workers
from limelight.corpus.store.reading import duration
from limelight.corpus.store.schema import Layout
from limelight.errors import InputError, LimelightError

LOCAL = "local"
"""The address of a cluster that is begun on this machine, and ends with the run."""
_LOOK_SECONDS = 1.0
"""Between two looks at the clock and the keyboard while nothing is answered."""


class ShardActor:
    """A computer that loads its model when it is asked what it is; errors that a user can put right are answers."""

    def __init__(self, loading: Loading, questions: Questions, layout: Layout) -> None:
        self._setup = loading, questions, layout

    def has_begun(self) -> None:
        """Answered as soon as the actor has a place: loading a model may take much longer."""

    def ready(self) -> Ready | LimelightError:
        """What this actor is, for the driver to compare."""
        try:
            self._computer = Computer.loading(*self._setup)
            return self._computer.ready()
        except LimelightError as error:
            return error

    def compute(self, task: Task) -> Done | LimelightError:
        """A shard."""
        try:
            return self._computer.compute(task)
        except LimelightError as error:
            return error


@dataclass(eq=False)
class _Worker:
    """An actor, and the answers that it owes: whether it has begun, what it is, and its shard. Each is None once it is
    there."""

    actor: Any
    begun: Any
    ready: Any
    result: Any = None
    task: Task | None = None

    @property
    def owes(self) -> Any:
        """The answer that is next; None of one that has nothing to do."""
        return next((own for own in (self.begun, self.ready, self.result) if own is not None), None)


class RayActors(Workers):
    """Actors. A shard is given to one that has said what it is: one that never gets a place holds none."""

    def __init__(
        self,
        workers: int,
        loading: Loading,
        questions: Questions,
        layout: Layout,
        address: str | None,
        gpus_per_worker: float,
        say: Callable[[str], None] = SILENT.say,
    ) -> None:
        self._ray = _library()
        self._began = not self._ray.is_initialized()
        if self._began:
            self._connect(address, workers)
        self._setup, self.size = (loading, questions, layout), workers
        self._actor = self._ray.remote(num_cpus=1, num_gpus=gpus_per_worker, max_restarts=0)(ShardActor)
        self._queue: deque[Task] = deque()
        """What is not given to an actor yet."""
        gpus = f" and {gpus_per_worker:g} GPU" if gpus_per_worker else ""
        wanted = f"{workers} worker{'' if workers == 1 else 's'} of 1 CPU{gpus} asked for"
        self._patience = Patience(self._began and address is None, wanted, say)
        self.workers: list[_Worker] = [self._begin() for _ in range(workers)]

    def _connect(self, address: str | None, workers: int) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is None:  # without a word Ray takes a cluster that runs here already, or that RAY_ADDRESS names
            options |= {"address": LOCAL, "num_cpus": workers, "include_dashboard": False}
        else:
            options["address"] = address
        try:
            self._ray.init(**options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = "on this machine" if address is None else f"at {address}"
            raise InputError(f"no Ray cluster could be reached {where} ({error!s:.200}): check its address") from error

    def _begin(self) -> _Worker:
        """A new actor, which is asked what it is before anything else."""
        actor = self._actor.remote(*self._setup)
        return _Worker(actor, actor.has_begun.remote(), actor.ready.remote())

    @property
    def busy(self) -> int:
        return len(self._queue) + sum(worker.task is not None for worker in self.workers)

    def give(self, task: Task) -> None:
        self._queue.append(task)
        self._hand_out()

    def _hand_out(self) -> None:
        """Let actors that are ready and idle begin; where one is missing for what is left, a new one begins."""
        for worker in self.workers:
            if self._queue and worker.owes is None:
                worker.task = self._queue.popleft()
                worker.result = worker.actor.compute.remote(worker.task)
        coming = sum(worker.ready is not None for worker in self.workers)
        for _ in range(min(len(self._queue) - coming, self.size - len(self.workers))):
            self.workers.append(self._begin())

    def answers(self) -> list[Said]:
        while True:
            self._hand_out()
            owed = {worker.owes: worker for worker in self.workers if worker.owes is not None}
            there, _ = self._ray.wait(list(owed), num_returns=1, timeout=_LOOK_SECONDS)
            answers = [said for own in there if (said := self._answer(owed[own])) is not None]
            if answers:
                return answers
            self._patience.look(any(worker.begun is None for worker in self.workers), self._nodes)

    def _answer(self, worker: _Worker) -> Said | None:
        """What an actor says: that it has begun, what it is, then its shard. None where the driver need not know."""
        try:
            said = self._ray.get(worker.owes)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.OutOfMemoryError) as error:
            return self._lost(worker, f"an actor of Ray is gone ({' '.join(str(error).split()):.160})")
        except self._ray.exceptions.ObjectLostError as error:
            return self._lost(worker, f"Ray lost a shard ({error!s:.160})")
        except self._ray.exceptions.RayTaskError as error:
            if worker.ready is None:
                raise
            return self._lost(worker, f"an actor of Ray could not load the model ({error.cause!r:.160})")
        if isinstance(said, LimelightError):
            raise said
        if worker.begun is not None:
            worker.begun = None
            return None
        if worker.ready is not None:
            worker.ready = None
        else:
            worker.task = worker.result = None
        answer: Said = said
        return answer

    def _lost(self, worker: _Worker, why: str) -> Lost | None:
        """Its shard, or, of an actor that died before it had one, the shard that it would have been given: a model that
        no actor survives ends the run. A new one begins when there is a shard for it."""
        self.workers.remove(worker)
        self._ray.kill(worker.actor)
        task = worker.task
        if task is None and self._queue:
            task = self._queue.popleft()
        return None if task is None else Lost(task.number, why)

    def _nodes(self) -> int | None:
        """How many nodes of the cluster are alive; None where it does not answer."""
        try:
            return sum(bool(node["Alive"]) for node in self._ray.nodes())
        except Exception:  # what is wrong there is not told here: the clock goes on
            return None

    def close(self) -> None:
        for worker in self.workers:
            self._ray.kill(worker.actor)
        self.workers = []
        if self._began:
            self._ray.shutdown()


def _library() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError('a corpus on Ray needs ray, which is not installed: pip install "limelight[ray]"') from error
    return ray


# ── how long a run waits for a place ──────────────────────────────────────────────────────────────────────────────────

HERE_SECONDS = 120.0
"""On the cluster that a run began on its own machine, which gets no other nodes: a place is there at once or never, and
this is for a machine that is slow to start a process."""
ELSEWHERE_SECONDS = 3600.0
"""On a cluster that others keep: a node that died may be replaced, and one that is busy may become free."""
FIRST_WORD, NEXT_WORD = 20.0, 60.0
"""Seconds of waiting until that is said, and said again."""


class NoPlaceError(LimelightError):
    """Ray has no place for any worker. What was written is whole, and the same command goes on."""


class Patience:
    """Looks at the clock as long as no worker has a place.

    `is_here`: the cluster was begun by this run. `wanted` says what was asked for, `say` is told that it waits.
    """

    def __init__(
        self, is_here: bool, wanted: str, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._is_here, self._wanted, self._say, self._clock = is_here, wanted, say, clock
        self._most = HERE_SECONDS if is_here else ELSEWHERE_SECONDS
        self._since: float | None = None
        self._next_word = 0.0

    def look(self, has_place: bool, nodes: Callable[[], int | None]) -> None:
        """To be called about once a second; `nodes` counts those that are alive, None where that is not known."""
        now = self._clock()
        if has_place:
            self._since = None
            return
        if self._since is None:
            self._since, self._next_word = now, now + FIRST_WORD
        waited = now - self._since
        count = nodes()
        if self._is_here and count == 0:
            raise NoPlaceError(
                "the Ray cluster that this run began on this machine has died (no node of it is alive), so no worker "
                "has a place; what was written is whole, and the same command goes on"
            )
        alive = "" if count is None else f"; {count} node{'' if count == 1 else 's'} alive"
        said = f"Ray has had no place for any worker for {duration(waited)} ({self._wanted}{alive})"
        if waited >= self._most:
            raise NoPlaceError(
                f"{said}: make room on the cluster, or ask for less; what was written is whole, and the same command "
                "goes on"
            )
        if now >= self._next_word:
            self._next_word = now + NEXT_WORD
            self._say(
                f"{said}: waiting up to {duration(self._most)} for one, {duration(self._most - waited)} more; Ctrl-C "
                "stops, and the same command goes on"
            )
