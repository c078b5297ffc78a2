"""How much memory there is, and refusing in good time what would take more."""

from __future__ import annotations

import os
from pathlib import Path

from limelight.errors import ParameterError

MEMORY_SHARE = 0.5
"""Of the machine's memory that one question may take; the rest is for the model and for everybody else."""
_ASSUMED_MEMORY = 8 * 2**30
"""Where the system does not say how much there is."""
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def machine_memory() -> int:
    """Bytes that this process may use: what the machine has, or what a container leaves of it."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _ASSUMED_MEMORY
    try:
        return min(physical, int(_GROUP_LIMIT.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such file, or the word "max"
        return physical


def check_memory(needed: int, what: str, advice: str, available: int | None = None) -> None:
    """Refuse, before any work, what would take more than `MEMORY_SHARE` of the memory."""
    limit = int(MEMORY_SHARE * (machine_memory() if available is None else available))
    if needed > limit:
        raise ParameterError(
            f"{what} would take {gigabytes(needed)} of memory, and at most {gigabytes(limit)} (half of what there is) "
            f"may be used: {advice}"
        )


def gigabytes(size: int) -> str:
    """`size` bytes for people."""
    return f"{size / 1e9:,.1f} GB"
