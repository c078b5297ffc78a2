"""A corpus on a Ray cluster: actors that load the model once and are given one shard after the other.

Ray's core alone is used. The driver reads the data and writes the shards; actors get rows and give back the bytes of a
file, so they need no common disk, but limelight and the model must be there. An actor that dies, or whose node does, is
replaced by a new one.
"""

from __future__ import annotations

from typing import Any

from limelight.corpus.crew import Done, Lost, Ready, Task, compute
from limelight.corpus.engine import Questions
from limelight.corpus.loading import Loaded, Loading
from limelight.corpus.schema import Layout
from limelight.errors import InputError, LimelightError


class _Computer:
    """What runs in an actor: a model, loaded when the actor begins."""

    def __init__(self, loading: Loading, questions: Questions, layout: Layout) -> None:
        self._loaded, self._questions, self._layout = Loaded(loading.load(), loading), questions, layout

    def ready(self) -> Ready:
        """What this actor is, for the driver to compare."""
        return Ready.here(self._loaded, self._questions)

    def compute(self, task: Task) -> Done | LimelightError:
        """A shard; an error that a user can put right is an answer like any other."""
        try:
            return compute(self._loaded.model, task, self._questions, self._layout)
        except LimelightError as error:
            return error

    def process_id(self) -> int:
        import os

        return os.getpid()


class RayActors:
    """A crew of actors."""

    def __init__(
        self,
        workers: int,
        loading: Loading,
        questions: Questions,
        layout: Layout,
        address: str | None,
        gpus_per_worker: float,
    ) -> None:
        self._ray = _library()
        self._began = not self._ray.is_initialized()
        if self._began:
            self._connect(address, workers)
        self._setup = loading, questions, layout
        self._actor = self._ray.remote(num_cpus=1, num_gpus=gpus_per_worker, max_restarts=0)(_Computer)
        self._unheard: dict[int, Any] = {}
        """What actors that have just begun are to say of themselves, by their places."""
        self._actors = [self._begin(place) for place in range(workers)]
        self._given: dict[Any, tuple[int, Task]] = {}

    def _connect(self, address: str | None, workers: int) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
        if address is None:
            options["num_cpus"] = workers
        else:
            options = {"log_to_driver": False, "logging_level": "ERROR", "address": address}
        try:
            self._ray.init(**options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = "on this machine" if address is None else f"at {address}"
            raise InputError(f"no Ray cluster could be reached {where} ({error!s:.200}): check its address") from error

    def _begin(self, place: int) -> Any:
        """A new actor, which is asked what it is before anything else."""
        actor = self._actor.remote(*self._setup)
        self._unheard[place] = actor.ready.remote()
        return actor

    @property
    def room(self) -> int:
        return len(self._actors) - len(self._given)

    @property
    def busy(self) -> int:
        return len(self._given)

    def process_ids(self) -> list[int]:
        return list(self._ray.get([actor.process_id.remote() for actor in self._actors]))

    def give(self, task: Task) -> None:
        taken = {place for place, _ in self._given.values()}
        place = next(i for i in range(len(self._actors)) if i not in taken)
        self._given[self._actors[place].compute.remote(task)] = place, task

    def answers(self) -> list[Done | Lost | Ready]:
        awaited = {self._unheard.get(place, shard): shard for shard, (place, _) in self._given.items()}
        ready, _ = self._ray.wait(list(awaited), num_returns=1)
        return [self._answer(reference, awaited[reference]) for reference in ready]

    def _answer(self, reference: Any, shard: Any) -> Done | Lost | Ready:
        """What an actor says: of itself while it is unheard, then of the shard that it was given."""
        place, task = self._given.pop(shard)
        try:
            said = self._ray.get(reference)
        except self._ray.exceptions.RayActorError as error:
            self._actors[place] = self._begin(place)
            cause = " ".join(str(error).split())
            return Lost(task.number, f"an actor of Ray is gone ({cause:.160})")
        except self._ray.exceptions.ObjectLostError as error:
            return Lost(task.number, f"Ray lost a shard ({error!s:.160})")
        if isinstance(said, Ready):
            del self._unheard[place]
            self._given[shard] = place, task
            return said
        if isinstance(said, LimelightError):
            raise said
        result: Done = said
        return result

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []
        if self._began:
            self._ray.shutdown()


def _library() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError('a corpus on Ray needs ray, which is not installed: pip install "limelight[ray]"') from error
    return ray
