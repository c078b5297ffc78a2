"""One thread for small arrays.

LIME's regression and its samples are products of a few megabytes: a second thread gains little, and on a busy machine
waiting for it takes ten times as long as the product. One thread also makes the bytes of a result independent of the
number of cores.
"""

from __future__ import annotations

import contextlib
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


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """NumPy and torch use one thread inside this block."""
    pools = _pools()
    with contextlib.nullcontext() if pools is None else pools.limit(limits=1):
        yield
