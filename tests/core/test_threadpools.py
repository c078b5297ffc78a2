"""One thread for small arrays: inside, wherever that is; afterwards everything is as it was."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

import pytest
import torch
from threadpoolctl import ThreadpoolController, threadpool_info

from limelight.core import threads
from limelight.core.threads import one_thread

BEFORE = 3
"""Threads of every pool before a test: more than one, on any machine."""

WAIT = 30.0
"""Seconds after which a thread that does not answer fails its test."""

T = TypeVar("T")

ENDINGS: list[BaseException | None] = [None, ValueError("inside"), KeyboardInterrupt()]


def limits() -> tuple[int, int, int]:
    """Threads of BLAS (the process's), of OpenMP and of torch (the calling thread's)."""
    pools = {api: {info["num_threads"] for info in threadpool_info() if _is(info, api)} for api in APIS}
    assert all(len(numbers) == 1 for numbers in pools.values()), pools
    return (*(numbers.pop() for numbers in pools.values()), torch.get_num_threads())


def _is(info: dict[str, Any], api: str) -> bool:
    """NumPy's BLAS and torch's OpenMP: other packages may have brought their own along."""
    return info["user_api"] == api and APIS[api] in info["filepath"]


APIS = {"blas": "numpy", "openmp": "torch"}
FREE, ALONE = (BEFORE,) * 3, (1,) * 3


def in_a_new_thread(function: Callable[[], T]) -> T:
    results: list[T] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join(WAIT)
    return results[0]


def awake() -> tuple[int, int, int]:
    """The limits of this thread after torch has looked at them."""
    torch.get_num_threads()
    return limits()


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    former = torch.get_num_threads()
    torch.set_num_threads(BEFORE)
    with ThreadpoolController().limit(limits=BEFORE, user_api="blas"):
        assert awake() == in_a_new_thread(awake) == FREE
        yield
        # Not only the test but all that follow would suffer from a limit that was forgotten.
        assert awake() == in_a_new_thread(awake) == FREE
    torch.set_num_threads(former)


class Visitor(threading.Thread):
    """Goes into a block, waits there, and leaves it in the way that it is told."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.entered, self.leave = threading.Event(), threading.Event()
        self.ending: BaseException | None = None
        self.seen: list[tuple[int, int, int]] = []

    def run(self) -> None:
        torch.get_num_threads()
        try:
            with one_thread():
                self.seen.append(limits())
                self.entered.set()
                self.leave.wait(WAIT)
                self.seen.append(limits())
                if self.ending is not None:
                    raise self.ending
        except (ValueError, KeyboardInterrupt):
            pass
        self.seen.append(limits())

    def go_in(self) -> None:
        self.start()
        assert self.entered.wait(WAIT)

    def go_out(self, ending: BaseException | None) -> None:
        self.ending = ending
        self.leave.set()
        self.join(WAIT)
        assert not self.is_alive()


class Here:
    """The same in the thread of the test."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, int]] = []

    def go_in(self) -> None:
        self.block = one_thread()
        self.block.__enter__()
        self.seen.append(limits())

    def go_out(self, ending: BaseException | None) -> None:
        self.seen.append(limits())
        assert not self.block.__exit__(type(ending) if ending else None, ending, None)
        self.seen.append(limits())


@pytest.mark.parametrize("ending", ENDINGS, ids=repr)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("here", [None, 0, 1, 2])
def test_blocks_that_overlap(here: int | None, order: tuple[int, ...], ending: BaseException | None) -> None:
    visitors = [Here() if i == here else Visitor() for i in range(3)]
    for visitor in visitors:
        visitor.go_in()
    for left, i in enumerate(order, start=1):
        visitors[i].go_out(ending)
        assert visitors[i].seen == [ALONE, ALONE, (1 if left < 3 else BEFORE, BEFORE, BEFORE)]
    assert awake() == in_a_new_thread(awake) == FREE


@pytest.mark.parametrize("ending", ENDINGS, ids=repr)
def test_blocks_inside_each_other(ending: BaseException | None) -> None:
    outer, inner = Here(), Here()
    outer.go_in()
    inner.go_in()
    inner.go_out(ending)
    assert inner.seen == [ALONE, ALONE, ALONE]
    outer.go_out(None)
    assert outer.seen == [ALONE, ALONE, FREE]


def test_many_threads_come_and_go() -> None:
    start = threading.Barrier(8)
    seen: list[set[tuple[int, int, int]]] = []

    def work() -> None:
        mine = set()
        start.wait(WAIT)
        torch.get_num_threads()
        for _ in range(50):
            with one_thread():
                mine.add(limits())
        seen.append(mine)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(WAIT)
    assert seen == [{ALONE}] * 8


@pytest.mark.parametrize("function", [torch.get_num_threads, limits])
def test_a_thread_that_meets_torch_inside(function: Callable[[], Any]) -> None:
    """torch sets the number of threads of a thread when it is first used there, to what the process asked for."""

    def work() -> tuple[Any, tuple[int, int, int]]:
        with one_thread():
            function()
            inside = limits()
        return inside, limits()

    assert in_a_new_thread(work) == (ALONE, FREE)


class _Interrupt:
    """Raises KeyboardInterrupt before the n-th line of a function, as Ctrl-C may.

    Only when a line is first reached: the end of a `with` counts as its first line again, but no signal is handled
    between there and the release of a lock.
    """

    def __init__(self, function: Callable[..., Any], line: int) -> None:
        self.code, self.line = function.__code__, line
        self.reached: set[int] = set()
        self.struck = False

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code is not self.code:
            return None
        if event == "line" and frame.f_lineno not in self.reached:
            self.reached.add(frame.f_lineno)
            if len(self.reached) == self.line:
                self.struck = True
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("others", [0, 1])
def test_an_interruption_while_the_limit_is_set(others: int) -> None:
    """At every line of it, alone and while somebody else is inside."""
    visitors = [Visitor() for _ in range(others)]
    for visitor in visitors:
        visitor.go_in()
    struck = 0
    for line in range(1, 10):
        interrupt = _Interrupt(threads._SharedLimit.enter, line)
        former = sys.gettrace()
        sys.settrace(interrupt)
        try:
            with one_thread():
                pass
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(former)
        struck += interrupt.struck
        assert limits() == (1 if others else BEFORE, BEFORE, BEFORE)
    assert struck >= 3
    for visitor in visitors:
        visitor.go_out(None)
        assert visitor.seen == [ALONE, ALONE, FREE]


def test_without_threadpoolctl_only_time_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_pools", lambda: None)
    with one_thread():
        assert limits() == FREE
