"""Workers that compute shards: one interface for this process, for processes of its own, and for Ray.

They are given tasks while they have room, one for each worker: so a crash costs one shard per worker at most. They
answer with shards that are done, as the bytes of their files, which the driver alone writes; or with those that were
lost, because the process that computed them is no more. A worker that loads a model of its own says what it is before
its first shard.

Worker processes are started as programs, not forked: a fork would inherit torch's threads half alive, and
multiprocessing would run the caller's script again. Each has one socket to the driver, which no other process holds:
when the driver is no more, the worker sees its end, and a watch on its parent ends it even in the middle of a shard.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from limelight.corpus.running.explain_rows import Questions, Shard, answer, read_rows
from limelight.corpus.running.model_source import Loaded, Loading
from limelight.corpus.running.shard_rows import Row, as_parquet
from limelight.corpus.store.schema import Layout
from limelight.errors import LimelightError


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


Said = Done | Lost | Ready


class Computer:
    """The model and the questions of a run, in the process that computes its shards."""

    def __init__(self, loaded: Loaded, questions: Questions, layout: Layout) -> None:
        self._loaded, self._questions, self._layout = loaded, questions, layout

    @classmethod
    def loading(cls, loading: Loading, questions: Questions, layout: Layout) -> Computer:
        """With a model of its own."""
        return cls(Loaded(loading.load(), loading), questions, layout)

    def ready(self) -> Ready:
        """What this process is."""
        return Ready(socket.gethostname(), os.getpid(), self._loaded.identity(self._questions.memory_bytes))

    def read(self, task: Task) -> Shard:
        """The first half of the work, which another thread may do ahead of time."""
        return read_rows(self._loaded.model, task.rows, self._questions)

    def compute(self, task: Task, read: Callable[[], Shard] | None = None) -> Done:
        """A shard, from its rows to the bytes of its file; `read` gives the first half of the work."""
        started, cpu_started = time.perf_counter(), time.process_time()
        answers = answer(self.read(task) if read is None else read(), self._questions)
        content = as_parquet(answers, self._layout)
        errors = len({own.row.number for own in answers if own.error is not None})
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
        return Done(task.number, content, len(task.rows), errors, seconds, cpu_seconds)


class Workers(ABC):
    """Workers of one kind; `size` of them, or as many tasks as can be given at once."""

    size: int

    @property
    def room(self) -> int:
        """How many tasks can be given at this moment."""
        return self.size - self.busy

    @property
    @abstractmethod
    def busy(self) -> int:
        """How many tasks were given and not answered yet."""

    @abstractmethod
    def give(self, task: Task) -> None:
        """Let a worker begin with it."""

    @abstractmethod
    def answers(self) -> list[Said]:
        """Wait until at least one task is answered, or a worker is ready; it is before it has done a task."""

    @abstractmethod
    def close(self) -> None:
        """Let all workers go; what they are at is given up."""


class InProcess(Workers):
    """This process alone, with a model that is in memory.

    `ahead`: the next shard is read by a thread while a GPU computes this one.
    """

    def __init__(self, computer: Computer, ahead: bool = False) -> None:
        self._computer, self.size = computer, 2 if ahead else 1
        self.tasks: list[tuple[Task, Callable[[], Shard]]] = []
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="limelight-reader") if ahead else None

    @property
    def busy(self) -> int:
        return len(self.tasks)

    def give(self, task: Task) -> None:
        read = partial(self._computer.read, task)
        self.tasks.append((task, read if self._reader is None else self._reader.submit(read).result))

    def answers(self) -> list[Said]:
        done = self._computer.compute(*self.tasks[0])
        self.tasks.pop(0)
        return [done]

    def close(self) -> None:
        self.tasks.clear()
        if self._reader is not None:
            self._reader.shutdown(wait=True, cancel_futures=True)


# ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_WATCH_SECONDS = 1.0
_LAST_SECONDS = 5.0
"""For a worker to end when it is asked to."""


class WorkerFailed(RuntimeError):
    """An error in a worker that is the program's, with the traceback that it had there."""


class _Worker:
    """One process and the socket to it."""

    def __init__(self, loading: Loading, questions: Questions, layout: Layout) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "limelight.corpus.running.workers", str(theirs.fileno()), str(os.getpid())]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        with theirs:
            self.process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment
            )
        self.connection: Connection[Any, Any] = Connection(ours.detach())
        self.task: Task | None = None
        with contextlib.suppress(OSError):  # one that is gone already is seen when it is asked
            self.connection.send((loading, questions, layout))

    def give(self, task: Task) -> None:
        self.task = task
        with contextlib.suppress(OSError):
            self.connection.send(task)

    def answer(self) -> Said:
        """What it says of itself, then of its task; or that it is gone."""
        assert self.task is not None
        number = self.task.number
        try:
            said = self.connection.recv()
        except (EOFError, OSError):
            self.stop()
            return Lost(number, f"worker process {self.process.pid} ended with {_ending(self.process.returncode)}")
        if isinstance(said, Ready):
            return said
        if isinstance(said, Done):
            self.task = None
            return said
        if isinstance(said, LimelightError):
            raise said
        raise WorkerFailed(str(said))

    def stop(self) -> None:
        self.connection.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_LAST_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"status {code}"


class Processes(Workers):
    """Worker processes; one that is lost is replaced."""

    def __init__(self, workers: int, loading: Loading, questions: Questions, layout: Layout) -> None:
        self._setup, self.size = (loading, questions, layout), workers
        self.workers: list[_Worker] = []
        try:
            for _ in range(workers):
                self.workers.append(_Worker(*self._setup))
        except BaseException:
            self.close()
            raise

    @property
    def busy(self) -> int:
        return sum(worker.task is not None for worker in self.workers)

    def give(self, task: Task) -> None:
        next(worker for worker in self.workers if worker.task is None).give(task)

    def answers(self) -> list[Said]:
        waiting = {worker.connection: worker for worker in self.workers if worker.task is not None}
        answers: list[Said] = []
        for ready in wait(list(waiting)):
            worker = waiting[ready]  # type: ignore[index]
            answer = worker.answer()
            answers.append(answer)
            if isinstance(answer, Lost):
                self.workers[self.workers.index(worker)] = _Worker(*self._setup)
        return answers

    def close(self) -> None:
        for worker in self.workers:
            worker.stop()
        self.workers.clear()


# ── in the worker ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _watch(parent: int) -> None:
    """End with the process that started this one, whatever is being computed."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def serve(connection: Connection[Any, Any]) -> None:
    """Answer tasks until there are no more."""
    try:
        computer = Computer.loading(*connection.recv())
        connection.send(computer.ready())
        while True:
            connection.send(computer.compute(connection.recv()))
    except EOFError:
        return
    except LimelightError as error:
        connection.send(error)
    except Exception:
        connection.send(traceback.format_exc())


def main() -> None:
    descriptor, parent = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the driver, which lets its workers go
    threading.Thread(target=_watch, args=[parent], daemon=True).start()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        serve(Connection(descriptor))


if __name__ == "__main__":
    # Classes are pickled by the name of their module, which __main__ is not.
    from limelight.corpus.running.workers import main as run

    run()
