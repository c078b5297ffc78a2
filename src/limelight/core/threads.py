"""One thread for small arrays.

LIME's regression and its samples are products of a few megabytes: a second thread gains little, and on a busy machine
waiting for it takes ten times as long as the product. One thread also makes the bytes of a result independent of the
number of cores.

OpenMP's limit belongs to the calling thread. That of a BLAS library belongs to the process: the first of those who are
inside sets it, the last one to leave restores it, whatever happens in between.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any


@cache
def _pools() -> tuple[Any, Any] | None:
    """The pools of OpenMP and of BLAS libraries; None where threadpoolctl is missing: then only time is lost.

    Apart, because threadpoolctl restores all libraries of a controller, also those that it did not limit.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    pools = ThreadpoolController()
    return pools.select(user_api="openmp"), pools.select(user_api="blas")


def _take_control() -> None:
    """Let this thread set the limit of OpenBLAS.

    threadpoolctl leaves it to the first thread that set one, and ignores all others without a word. Here the last to
    leave restores what the first set: who may set it is our own count.
    """
    from threadpoolctl import OpenBLASController

    if hasattr(OpenBLASController, "clear_controlling_thread"):  # 3.8 has it, older versions set it for everyone
        OpenBLASController.clear_controlling_thread(force=True)


class _SharedLimit:
    """A limit of the whole process that is in force while anybody is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: set[object] = set()
        self._limit: Any = None

    def enter(self, pools: Any, who: object) -> None:
        with self._lock:
            if self._limit is None:
                _take_control()
                self._limit = pools.limit(limits=1)
            self._inside.add(who)

    def leave(self, who: object) -> None:
        """Also for one who never got in: an interruption may come at any moment of `enter`."""
        with self._lock:
            self._inside.discard(who)
            if not self._inside and self._limit is not None:
                _take_control()
                self._limit.restore_original_limits()
                self._limit = None
                _take_control()


_blas = _SharedLimit()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """NumPy and torch use one thread inside this block."""
    pools = _pools()
    if pools is None:
        yield
        return
    openmp, blas = pools
    who = object()
    if "torch" in sys.modules:
        # torch sets the threads of a thread when it is first asked there: let it do so now, not inside.
        sys.modules["torch"].get_num_threads()
    with openmp.limit(limits=1):
        try:
            _blas.enter(blas, who)
            yield
        finally:
            _blas.leave(who)
