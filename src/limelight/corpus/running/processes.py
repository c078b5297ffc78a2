"""Worker processes on this machine, each with a model of its own.

They are started as programs, not forked: a fork would inherit torch's threads half alive, and multiprocessing would run
the caller's script again. Each has one socket to the driver, which no other process holds: when the driver is no more,
the worker sees its end, and a watch on its parent ends it even in the middle of a shard.
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
from multiprocessing.connection import Connection, wait
from typing import Any

from limelight.corpus.running.explain_rows import Questions
from limelight.corpus.running.model_source import Loading
from limelight.corpus.running.workers import Computer, Done, Lost, Ready, Said, Task, Workers
from limelight.corpus.store.schema import Layout
from limelight.errors import LimelightError

_WATCH_SECONDS = 1.0
_LAST_SECONDS = 5.0
"""For a worker to end when it is asked to."""


class WorkerFailed(RuntimeError):
    """An error in a worker that is the program's, with the traceback that it had there."""


class _Worker:
    """One process and the socket to it."""

    def __init__(self, loading: Loading, questions: Questions, layout: Layout) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "limelight.corpus.running.processes", str(theirs.fileno()), str(os.getpid())]
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
    from limelight.corpus.running.processes import main as run

    run()
