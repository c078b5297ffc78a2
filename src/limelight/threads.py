"""One thread for small arrays.

LIME's regression and its samples are products of a few megabytes: a second thread gains little, and on a busy machine
waiting for it takes ten times as long as the product. One thread also makes the bytes of a result independent of the
number of cores.

OpenMP's limit belongs to the calling thread. That of a BLAS library belongs to the process: the first of those who are
inside sets it, the last one to leave restores it, whatever happens in between.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any


@cache
def _pools() -> Any:
    """The thread pools of NumPy and torch; None where threadpoolctl is missing: then only time is lost."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


class _SharedLimit:
    """A limit of the whole process that is in force while anybody is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: set[object] = set()
        self._limit: Any = None

    def enter(self, pools: Any, who: object) -> None:
        with self._lock:
            if self._limit is None:
                self._limit = pools.limit(limits=1, user_api="blas")
            self._inside.add(who)

    def leave(self, who: object) -> None:
        """Also for one who never got in: an interruption may come at any moment of `enter`."""
        with self._lock:
            self._inside.discard(who)
            if not self._inside and self._limit is not None:
                self._limit.restore_original_limits()
                self._limit = None


_blas = _SharedLimit()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """NumPy and torch use one thread inside this block."""
    pools = _pools()
    if pools is None:
        yield
        return
    who = object()
    with pools.limit(limits=1, user_api="openmp"):
        try:
            _blas.enter(pools, who)
            yield
        finally:
            _blas.leave(who)
