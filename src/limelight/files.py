"""Files and folders that are written whole or not at all.

What is new is written beside its place, under a hidden name that ends in .part, and moved there when it is on the disk.
Whatever goes wrong before, a Ctrl-C too, leaves what stood there as it was and nothing beside it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from limelight.errors import InputError

Content = bytes | Callable[[BinaryIO], object]
"""What a file is to hold: bytes, or a function that writes them to an open file."""


def save(content: bytes, path: Path) -> None:
    """Write what a user asked for to the file that they named, over what it held."""
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
            replace_file(target, content)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; choose another place with --out") from error


def replace_file(target: Path, content: Content) -> None:
    """Write a file in one move; one that stood there hands on its permissions."""
    fresh = _beside(target)
    try:
        _write(fresh, content)
        if target.exists():
            shutil.copymode(target, fresh)
        fresh.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def replace_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder that holds these files and nothing else; one that stood there goes when the new one is complete.

    A folder cannot be replaced in one move: for an instant the old one is beside its place and the new one not yet in
    it. What is interrupted there puts the old one back.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh, former = _beside(target), _beside(target)
    try:
        fresh.mkdir()
        for name, content in files.items():
            _write(fresh / name, content)
        if target.exists():
            shutil.copymode(target, fresh)
            target.rename(former)
        fresh.rename(target)
    except BaseException:
        if former.exists() and not target.exists():
            former.rename(target)
        raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if target.exists():  # else the old folder could not be put back, and is all there is
            shutil.rmtree(former, ignore_errors=True)


def _beside(target: Path) -> Path:
    """A name in the same folder, thus on the same disk, that nobody else uses."""
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.part")


def _write(path: Path, content: Content) -> None:
    with path.open("xb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content)
        file.flush()
        os.fsync(file.fileno())
