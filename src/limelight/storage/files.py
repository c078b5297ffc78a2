"""Files and folders that are written whole or not at all, and by one writer at a time.

What is new is written beside its place, under a hidden name that ends in .part, and moved there when it is on the disk.
Whatever goes wrong before, a Ctrl-C too, leaves what stood there as it was and nothing beside it. Only a kill leaves a
part behind: its writer holds a lock on it, which ends with the process, so the next writer knows it and removes it.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import hashlib
import json
import os
import platform
import re
import secrets
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from limelight.errors import CheckpointError, InputError

Content = bytes | Callable[[BinaryIO], object]
"""What a file is to hold: bytes, or a function that writes them to an open file."""

_PART = re.compile(r"\..{1,40}\.[0-9a-f]{16}\.part", re.DOTALL)
_COMMAND_SHOWN = 200
"""Characters of a holder's command line: enough to know it again."""
_PATIENCE = 0.2
"""Seconds for the holder of a new lock to write down who it is."""
_ATTEMPTS = 100
"""How often a lock is asked for whose file its holder removes at that moment."""


def reason(error: Exception) -> str:
    """What the system says went wrong, without the names of files that a user never sees."""
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__


def expanded(path: str) -> Path:
    """A path with ~ replaced by the home of its user, where they have one."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def save(content: bytes, path: Path, advice: str = "choose another place") -> None:
    """Write what a user asked for to the file that they named, over what it held."""
    try:
        target = Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {path}: {reason(error)}; {advice}") from error
    # os.path answers False where a name is too long to exist; Path would raise.
    if os.path.isdir(target):
        raise InputError(f"cannot write {path}: it is a folder; name a file in it")
    if not os.path.isdir(target.parent):
        raise InputError(f"cannot write {path}: there is no folder {target.parent}; create it first")
    try:
        if target.exists() and not target.is_file():  # a pipe or device such as /dev/stdout cannot be replaced
            target.write_bytes(content)
        else:
            remove_dead_parts(target.parent, target.name)
            replace_file(target, content)
    except OSError as error:
        raise InputError(f"cannot write {path}: {reason(error)}; {advice}") from error


def replace_file(target: Path, content: Content, *, durable: bool = False) -> None:
    """Write a file in one move; one that stood there hands on its permissions.

    `durable`: after this returns it survives a loss of power.
    """
    with _part(target) as fresh:
        _write(fresh, content)
        if target.exists():
            shutil.copymode(target, fresh)
        fresh.replace(target)
    if durable and sys.platform != "win32":  # a rename is on the disk when its folder is; there none can be opened
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder that holds these files and nothing else; one that stood there goes when the new one is complete.

    A folder cannot be replaced in one move: for an instant the old one is beside its place and the new one not yet in
    it. What is interrupted there puts the old one back.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    former = _beside(target)
    try:
        with _part(target, folder=True) as fresh:
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
        if target.exists():  # else the old folder could not be put back, and is all there is
            shutil.rmtree(former, ignore_errors=True)
    remove_dead_parts(target.parent, target.name)


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def remove_dead_parts(folder: Path, name: str | None = None) -> None:
    """Remove the parts in a folder whose writers are no more: all of them, or those of the file `name`."""
    if sys.platform == "win32":  # there a part is not held while it is written
        return
    with contextlib.suppress(OSError):
        parts = [entry for entry in folder.iterdir() if is_part(entry.name)]
        for part in parts:
            if name is None or part.name.startswith(_part_prefix(name)):
                _remove_if_dead(part)


def is_part(name: str) -> bool:
    """Whether a file or folder of this name is one that was not moved to its place yet."""
    return _PART.fullmatch(name) is not None


def _remove_if_dead(part: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(part, os.O_RDONLY)
        try:
            if _lock(descriptor):
                remove(part)
        finally:
            os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _part_prefix(name: str) -> str:
    return f".{name[:40]}."


def _beside(target: Path) -> Path:
    """A name in the same folder, thus on the same disk, that nobody else uses."""
    return target.with_name(f"{_part_prefix(target.name)}{secrets.token_hex(8)}.part")


@contextlib.contextmanager
def _part(target: Path, folder: bool = False) -> Iterator[Path]:
    """A new file or folder beside its place, held until it is moved there, and removed if it is not."""
    fresh = _beside(target)
    descriptor: int | None = None
    try:
        while True:
            fresh.mkdir() if folder else fresh.touch(exist_ok=False)
            if sys.platform == "win32":
                break
            descriptor = os.open(fresh, os.O_RDONLY)
            with contextlib.suppress(OSError):  # without locks, parts of the dead stay where they are
                _lock(descriptor)
            if _is_at(descriptor, fresh):
                break
            os.close(descriptor)  # it was taken for dead between the two calls
            descriptor = None
        yield fresh
    finally:
        if descriptor is not None:
            os.close(descriptor)
        with contextlib.suppress(OSError):
            remove(fresh)


def _write(path: Path, content: Content) -> None:
    with path.open("wb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content)
        file.flush()
        os.fsync(file.fileno())


# ── one writer at a time ──────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def only_writer(folder: Path, lock: Path) -> Iterator[None]:
    """Keep all others who ask for this lock out of a folder: other processes, and other threads of this one.

    `lock` is a file in the folder that says who holds it. It and the folders that had to be made for it go at the end,
    if nothing else is in them. The lock itself is the system's and ends with the process, so that what a kill leaves is
    a file that locks nobody out. Readers need no lock.
    """
    made: list[Path] = []
    descriptor: int | None = None
    try:
        try:
            descriptor = _take(folder, lock, made)
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {reason(error)}; choose another folder") from error
        yield
    finally:
        if descriptor is not None:
            _give_back(descriptor, lock)
        for path in reversed(made):
            with contextlib.suppress(OSError):  # not empty
                path.rmdir()


def _take(folder: Path, lock: Path, made: list[Path]) -> int:
    for attempts_left in reversed(range(_ATTEMPTS)):
        _make_folders(lock.parent, made)
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # its folder went, with the end of the run that held it
            if attempts_left:
                continue
            raise
        if not _take_lock(descriptor, folder, lock):
            os.close(descriptor)
            raise InputError(
                f"{folder} is being written by {_holder(lock)}: wait until it has ended, or choose another folder"
            )
        if _is_at(descriptor, lock):
            try:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, json.dumps(_self()).encode())
            except BaseException:
                _give_back(descriptor, lock)
                raise
            return descriptor
        os.close(descriptor)  # the file was removed by its holder between the two calls
    raise InputError(f"{folder} is being written by others, one after the other: wait until they have ended")


def _take_lock(descriptor: int, folder: Path, lock: Path) -> bool:
    try:
        return _lock(descriptor)
    except OSError as error:
        _give_back(descriptor, lock)
        raise InputError(
            f"{folder} is on a file system without locks ({reason(error)}), so two runs could write to it at once: "
            "choose a folder on another disk, and copy the result"
        ) from error


def _give_back(descriptor: int, lock: Path) -> None:
    if sys.platform == "win32":  # an open file cannot be removed there
        os.close(descriptor)
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)
    else:
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)
        os.close(descriptor)


def _make_folders(folder: Path, made: list[Path]) -> None:
    """Like mkdir(parents=True), and note which there were to make."""
    if not folder.parent.is_dir() and folder.parent != folder:
        _make_folders(folder.parent, made)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        made.append(folder)


def _self() -> dict[str, object]:
    program, *arguments = sys.argv or ["python"]
    name = Path(program).parent.name if Path(program).name == "__main__.py" else Path(program).name
    command = " ".join(map(shlex.quote, [name, *arguments]))
    now = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    return {"process": os.getpid(), "command": command[:_COMMAND_SHOWN], "since": now, "host": platform.node()}


def _holder(lock: Path) -> str:
    """Who wrote down that they hold a lock."""
    give_up = time.monotonic() + _PATIENCE
    while True:
        try:
            who = json.loads(lock.read_bytes())
            host = "" if who["host"] == platform.node() else f" on {who['host']}"
            return f"process {who['process']}{host} ({who['command']}) since {who['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            if time.monotonic() > give_up:
                return "another process, which has not said who it is"
            time.sleep(0.01)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> bool:
    """Take the lock of an open file or folder, which ends with its descriptor; False where another has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 2**30, os.SEEK_SET)  # behind the content, which others read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def digest_of_files(folder: str, *patterns: str) -> str:
    """A digest of a model's files of these names; of its name, where it has none here, such as one on a hub."""
    files = sorted(file for pattern in patterns for file in Path(folder).glob(pattern))
    digest = hashlib.sha256(b"" if files else folder.encode())
    for file in files:
        try:
            digest.update(file.read_bytes())
        except OSError as error:
            raise CheckpointError(f"could not read {file}: {reason(error)}; check its permissions") from error
    return digest.hexdigest()[:16]
