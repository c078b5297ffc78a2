"""How long a run waits for a place for its workers on a Ray cluster, and what it says meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable

from limelight.corpus.store.status import duration
from limelight.errors import LimelightError

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
