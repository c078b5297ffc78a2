"""The folder of a corpus: a manifest, shards that are there whole or not at all, and times beside them.

DIR/manifest.json            what was asked of which data and model; written first, never changed
DIR/shards/00000000.parquet  the rows 1 to n of the input, and so on
                             (both with a hash of themselves: see `hashes.py`)
DIR/times.jsonl              how long each shard took: the one file that differs between two runs
DIR/lock                     who writes at this moment; the lock itself ends with its process
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limelight.core.progress import SILENT, Progress, working
from limelight.corpus.store.hashes import Broken, Foreign, Shards, open_manifest, seal_manifest
from limelight.errors import DataError, InputError
from limelight.storage.files import reason
from limelight.storage.run_folder import RunFolder

MANIFEST = "manifest.json"
SHARDS = "shards"
TIMES = "times.jsonl"

_SHARD = re.compile(r"(\d{8})\.parquet")


def shard_name(number: int) -> str:
    return f"{number:08d}.parquet"


def shard_number(name: str) -> int | None:
    """The number of the shard in a file of this name; None for any other file."""
    match = _SHARD.fullmatch(name)
    return None if match is None else int(match[1])


def read_shard(file: Path, shards: Shards) -> bytes:
    """The bytes of a shard, as they were written: an error says what to do where they are not."""
    try:
        return _whole_shard(file, shards)
    except Broken as error:
        raise DataError(
            f"{file} is damaged ({error}): give the same limelight corpus run again, which computes this shard again"
        ) from error


def _whole_shard(file: Path, shards: Shards) -> bytes:
    """The bytes of a shard; Broken where it could be computed again, a DataError where something else is to be done."""
    number = shard_number(file.name)
    assert number is not None
    if number >= shards.count:
        raise DataError(
            f"{file} is no part of this run, which has {shards.count:,} shards: remove it, or move it to where it "
            "belongs"
        )
    try:
        content = file.read_bytes()
        shards.check(number, content)
    except OSError as error:
        raise DataError(f"cannot read {file}: {reason(error)}; check its permissions and the disk") from error
    except Foreign as error:
        raise DataError(
            f"{file} belongs to another run ({error}): move it to where it belongs, or remove it, and give the same "
            "limelight corpus run again, which computes this shard; where all shards are said to, it is the "
            f"{MANIFEST} that is another run's: put the right one back"
        ) from error
    return content


class Folder(RunFolder):
    """What one run may do to the folder; only inside `writing`, which keeps all other runs out."""

    RECORD, LOCK, FOLDERS = MANIFEST, "lock", (SHARDS,)
    FOREIGN = (
        "{folder} is no corpus: it holds {first} and no {record}; choose an empty folder, or one that does not exist"
    )
    OTHER = (
        "{folder} holds a run of something else, which cannot go on like this: {changes}; give the same command with "
        "the same data, or choose another folder"
    )
    UNWRITABLE = (
        "cannot write {name} to {folder}: {reason}; what was written before is whole: make room, or check the folder's "
        "permissions, and give the same command again to go on"
    )

    def manifest(self) -> tuple[dict[str, Any], str | None] | None:
        """What an earlier run wrote down, and its hash, which runs of 0.2 have not; None where there was no run."""
        try:
            read, run = read_manifest(self.path)
        except FileNotFoundError:
            return None
        if not is_manifest(read):
            raise InputError(f"{self.path} is no corpus: its {MANIFEST} is something else's; choose another folder")
        return read, run

    def write_manifest(self, manifest: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
        """Write it down with its seal; returns it as the file has it, and its hash."""
        content = seal_manifest(manifest)
        self.write_file(MANIFEST, content, durable=True)
        return open_manifest(content)

    def done(self, shards: Shards, progress: Progress = SILENT) -> set[int]:
        """The numbers of the shards that are there as they were written; one that is damaged is as one that is not
        there, which is said. Every one is read."""
        try:
            numbers = sorted(own for name in os.listdir(self.path / SHARDS) if (own := shard_number(name)) is not None)
        except FileNotFoundError:
            return set()
        whole: set[int] = set()
        damaged: list[str] = []
        with working(progress, "looking at what is done", len(numbers)):
            for number in numbers:
                file = self.path / SHARDS / shard_name(number)
                try:
                    _whole_shard(file, shards)
                    whole.add(number)
                except Broken as error:
                    damaged.append(f"{file} is damaged ({error}): it is computed again")
                progress.advance(1)
        for line in damaged:
            progress.say(line)
        return whole

    def write_shard(self, number: int, content: bytes) -> None:
        """Put a shard in its place."""
        self.write_file(f"{SHARDS}/{shard_name(number)}", content, durable=True)

    def note_time(self, **values: Any) -> None:
        """A line beside the shards. It is of no account: what cannot be written here is let go."""
        line = json.dumps({**values, "crc32": zlib.crc32(json.dumps(values).encode())})
        with contextlib.suppress(OSError), (self.path / TIMES).open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def times(self, checked: bool) -> list[dict[str, Any]]:
        """The lines that are whole; a kill may leave half of one. Those of 0.2 have no sum that could be `checked`."""
        lines = []
        with contextlib.suppress(OSError):
            for line in (self.path / TIMES).read_text(encoding="utf-8", errors="replace").splitlines():
                with contextlib.suppress(ValueError, RecursionError):
                    values = json.loads(line)
                    if isinstance(values, dict):
                        stated = values.pop("crc32", None)
                        if stated == zlib.crc32(json.dumps(values).encode()) or (stated is None and not checked):
                            lines.append(values)
        return lines


def read_manifest(folder: Path) -> tuple[Any, str | None]:
    """What stands in the manifest of a folder, and its hash; a FileNotFoundError where there is none."""
    file = folder / MANIFEST
    try:
        return open_manifest(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(file) from error
    except OSError as error:
        raise DataError(f"{file} cannot be read ({reason(error)}): check its permissions and the disk") from error
    except Broken as error:
        raise DataError(
            f"{file} is damaged ({error}), so it is not known what its shards were asked: put a copy of it back, or "
            "run the corpus again in another folder; nothing was changed"
        ) from error


def is_manifest(read: Any) -> bool:
    """Whether this is what a run writes down, as far as others rely on it."""
    if not isinstance(read, dict) or not all(isinstance(read.get(own), dict) for own in ("layout", "input", "shards")):
        return False
    return all(
        type(read[part].get(name)) is int for part, name in (("input", "rows"), ("shards", "size"), ("shards", "count"))
    )
