"""Writing a result to a file, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from limelight.errors import InputError


def save(content: bytes, path: Path) -> None:
    """Put `content` at `path`, over what stood there; a failure leaves the old file as it was."""
    target = Path(os.path.realpath(path))
    # os.path answers False where a name is too long to exist; Path would raise.
    if os.path.isdir(target):
        raise InputError(f"cannot write {path}: it is a folder; name a file in it")
    if not os.path.isdir(target.parent):
        raise InputError(f"cannot write {path}: there is no folder {target.parent}; create it first")
    try:
        if target.exists() and not target.is_file():  # a pipe or device such as /dev/stdout cannot be replaced
            target.write_bytes(content)
        else:
            _replace(content, target)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; choose another place with --out") from error


def _replace(content: bytes, target: Path) -> None:
    beside = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
