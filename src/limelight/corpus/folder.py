"""The folder of a corpus: a manifest, shards that are there whole or not at all, and times beside them.

DIR/manifest.json            what was asked of which data and model; written first, never changed
DIR/shards/00000000.parquet  the rows 1 to n of the input, and so on
DIR/times.jsonl              how long each shard took: the one file that differs between two runs
DIR/lock                     who writes at this moment; the lock itself ends with its process
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from limelight.errors import DataError, InputError, shown
from limelight.files import is_part, only_writer, reason, remove_dead_parts, replace_file

MANIFEST = "manifest.json"
SHARDS = "shards"
TIMES = "times.jsonl"
LOCK = "lock"

_SHARD = re.compile(r"(\d{8})\.parquet")
_DIFFERENCES_SHOWN = 3


def shard_name(number: int) -> str:
    return f"{number:08d}.parquet"


def shard_number(name: str) -> int | None:
    """The number of the shard in a file of this name; None for any other file."""
    match = _SHARD.fullmatch(name)
    return None if match is None else int(match[1])


class Folder:
    """What one run may do to the folder; only inside `writing`, which keeps all other runs out."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer; a crash leaves no lock behind."""
        if self.path.is_dir():
            self._check_is_ours()
        with only_writer(self.path, self.path / LOCK):
            self._check_is_ours()
            for folder in (self.path, self.path / SHARDS):
                remove_dead_parts(folder)
            yield

    def _check_is_ours(self) -> None:
        """Refuse a folder of something else: nothing is written among files that are not ours."""
        try:
            names = {name for name in os.listdir(self.path) if name != LOCK and not is_part(name)}
        except OSError as error:
            raise InputError(f"cannot write to {self.path}: {reason(error)}; choose another folder") from error
        if names and MANIFEST not in names:
            raise InputError(
                f"{self.path} is no corpus: it holds {shown(min(names))} and no {MANIFEST}; choose an empty folder, or "
                "one that does not exist"
            )

    def manifest(self) -> dict[str, Any] | None:
        """What an earlier run wrote down; None where there was none."""
        file = self.path / MANIFEST
        try:
            read = json.loads(file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise DataError(f"{file} cannot be read ({reason(error)}): choose another folder") from error
        if not isinstance(read, dict) or "layout" not in read:
            raise InputError(f"{self.path} is no corpus: its {MANIFEST} is something else's; choose another folder")
        return read

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        with self._explained(MANIFEST):
            content = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
            replace_file(self.path / MANIFEST, content.encode("utf-8", "backslashreplace"))
            _sync(self.path)

    def done(self) -> set[int]:
        """The numbers of the shards that are there."""
        try:
            numbers = (shard_number(name) for name in os.listdir(self.path / SHARDS))
        except FileNotFoundError:
            return set()
        return {number for number in numbers if number is not None}

    def write_shard(self, number: int, content: bytes) -> None:
        """Put a shard in its place: after this returns it survives a loss of power."""
        with self._explained(shard_name(number)):
            (self.path / SHARDS).mkdir(exist_ok=True)
            replace_file(self.path / SHARDS / shard_name(number), content)
            _sync(self.path / SHARDS)

    def note_time(self, **values: Any) -> None:
        """A line beside the shards. It is of no account: what cannot be written here is let go."""
        with contextlib.suppress(OSError), (self.path / TIMES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")

    def times(self) -> list[dict[str, Any]]:
        """The lines that are whole; a kill may leave half of one."""
        lines = []
        with contextlib.suppress(OSError):
            for line in (self.path / TIMES).read_text(encoding="utf-8", errors="replace").splitlines():
                with contextlib.suppress(ValueError):
                    lines.append(json.loads(line))
        return lines

    @contextlib.contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"cannot write {name} to {self.path}: {reason(error)}; what was written before is whole: make room, or "
                "check the folder's permissions, and give the same command again to go on"
            ) from error


def _sync(folder: Path) -> None:
    """A rename is on the disk when its folder is."""
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_same(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with another question, other data, another model or other versions."""
    if changes := differences(before, now, "{} was {} and is {}"):
        raise InputError(
            f"{folder} holds a run of something else, which cannot go on like this: {changes}; give the same command "
            "with the same data, or choose another folder"
        )


def differences(one: Mapping[str, Any], other: Mapping[str, Any], wording: str) -> str:
    """Where two nested dictionaries differ, for a message: place and both values, worded so; empty where nowhere."""
    found = [
        wording.format(name, shown(own), shown(others))
        for (name, own), (_, others) in zip(_leaves(one, other), _leaves(other, one), strict=True)
        if own != others
    ]
    more = len(found) - _DIFFERENCES_SHOWN
    return "; ".join(found[:_DIFFERENCES_SHOWN]) + (f"; and {more} more" if more > 0 else "")


_MISSING = "nothing"


def _leaves(one: Any, other: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """What stands at each place of two nested dictionaries, by the names of the places."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from _leaves(one.get(key, _MISSING), other.get(key, _MISSING), f"{name}.{key}".lstrip("."))
    else:
        yield name, one
