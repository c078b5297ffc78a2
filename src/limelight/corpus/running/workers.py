"""Who computes the shards: one interface for this process, for processes of its own, and for Ray.

A crew is given tasks while it has room, one for each worker: so a crash costs one shard per worker at most. It answers
with shards that are done, as the bytes of their files, which the driver alone writes; or with those that were lost,
because who computed them is no more. A worker that loads a model of its own says what it is before its first shard.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from limelight.corpus.running.explain_rows import Questions, Shard, answer, read_rows
from limelight.corpus.running.model_source import Loaded
from limelight.corpus.running.shard_rows import Row, as_parquet
from limelight.corpus.store.schema import Layout
from limelight.models.interface import Classifier


@dataclass(frozen=True)
class Task:
    """A shard that is to be computed."""

    number: int
    rows: Sequence[Row]


@dataclass(frozen=True)
class Done:
    """A shard that was computed: what its file is to hold, and how it went."""

    number: int
    content: bytes
    documents: int
    errors: int
    seconds: float
    cpu_seconds: float
    """Of the process that computed it: what does not grow where others use the machine."""


@dataclass(frozen=True)
class Lost:
    """A shard whose worker is no more; `why` says how that was seen."""

    number: int
    why: str


@dataclass(frozen=True)
class Ready:
    """A worker that has loaded the model, and what it is: the driver lets it go on, or refuses it."""

    host: str
    process: int
    identity: Mapping[str, Any]

    @classmethod
    def here(cls, loaded: Loaded, questions: Questions) -> Ready:
        """As the process that calls this one."""
        return cls(socket.gethostname(), os.getpid(), loaded.identity(questions.memory_bytes))


class Crew(Protocol):
    """Workers that compute shards."""

    @property
    def room(self) -> int:
        """How many tasks can be given at this moment."""

    @property
    def busy(self) -> int:
        """How many tasks were given and not answered yet."""

    def give(self, task: Task) -> None:
        """Let a worker begin with it."""

    def answers(self) -> list[Done | Lost | Ready]:
        """Wait until at least one task is answered, or a worker is ready; it is before it has done a task."""

    def close(self) -> None:
        """Let all workers go; what they are at is given up."""


def compute(model: Classifier, task: Task, questions: Questions, layout: Layout) -> Done:
    """A shard, from its rows to the bytes of its file."""
    clocks = _clocks()
    return _finished(task, read_rows(model, task.rows, questions), questions, layout, clocks)


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _finished(task: Task, shard: Shard, questions: Questions, layout: Layout, started: tuple[float, float]) -> Done:
    answers = answer(shard, questions)
    content = as_parquet(answers, layout)
    errors = len({own.row.number for own in answers if own.error is not None})
    seconds, cpu_seconds = (now - then for now, then in zip(_clocks(), started, strict=True))
    return Done(task.number, content, len(task.rows), errors, seconds, cpu_seconds)


class InProcess:
    """This process alone, with a model that is in memory.

    `ahead`: the next shard is read by a thread while a GPU computes this one.
    """

    def __init__(self, model: Classifier, questions: Questions, layout: Layout, ahead: bool = False) -> None:
        self._model, self._questions, self._layout = model, questions, layout
        self._tasks: list[tuple[Task, Future[Shard] | None]] = []
        self._most = 2 if ahead else 1
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="limelight-reader") if ahead else None

    @property
    def room(self) -> int:
        return self._most - len(self._tasks)

    @property
    def busy(self) -> int:
        return len(self._tasks)

    def give(self, task: Task) -> None:
        reading = None
        if self._reader is not None:
            reading = self._reader.submit(read_rows, self._model, task.rows, self._questions)
        self._tasks.append((task, reading))

    def answers(self) -> list[Done | Lost | Ready]:
        started = _clocks()
        task, reading = self._tasks[0]
        shard = read_rows(self._model, task.rows, self._questions) if reading is None else reading.result()
        done = _finished(task, shard, self._questions, self._layout, started)
        self._tasks.pop(0)
        return [done]

    def close(self) -> None:
        self._tasks.clear()
        if self._reader is not None:
            self._reader.shutdown(wait=True, cancel_futures=True)
