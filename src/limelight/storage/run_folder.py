"""The folder of a run: a record of what it is a run of, and files beside it that let an interrupted run go on.

The record is written first and never changed. A run that finds the record of another is refused, with the settings that
differ; so is a folder that holds files and no record. One run at a time writes, and every file appears whole or not at
all: what a killed run left half written goes when the next one begins.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from limelight.errors import InputError, LimelightError, shown
from limelight.storage.files import Content, is_part, only_writer, reason, remove_dead_parts, replace_file

UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading JSON raises that is missing, cut short, damaged or of another kind."""
_DIFFERENCES_SHOWN = 3
_MISSING = "nothing"


class RunFolder:
    """Reads and writes one folder; a subclass says what its record is called, and what its messages say."""

    RECORD: ClassVar[str] = "run.json"
    LOCK: ClassVar[str] = "run.lock"
    FOLDERS: ClassVar[tuple[str, ...]] = ()
    """Patterns of the folders in it that a killed run may leave parts of files in."""
    KIND: ClassVar[str] = "the folder of a run"
    FOREIGN: ClassVar[str] = "--out {folder} holds files but no {record}, so it is not {kind}: choose another"
    UNWRITABLE: ClassVar[str] = (
        "could not write {name} in {folder}: {reason}; check the path and the free space, then give the same command "
        "again to go on"
    )
    OTHER: ClassVar[str] = (
        "--out {folder} holds another run: its {changes}; choose another folder, or give what that run was given"
    )
    CANNOT_WRITE: ClassVar[type[LimelightError]] = InputError

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one who writes here; a folder of something else is refused, and nothing in it touched."""
        self.check()
        with only_writer(self.path, self.path / self.LOCK):
            self.check()  # another run may have ended in the meantime
            for folder in (self.path, *(own for pattern in self.FOLDERS for own in self.path.glob(pattern))):
                remove_dead_parts(folder)
            yield

    def check(self) -> None:
        """Refuse a folder that no run of this kind can write to."""
        self.holds_run()

    def holds_run(self) -> bool:
        """Whether there is a record; False where the folder is new. A folder of something else is refused."""
        try:
            names = {name for name in os.listdir(self.path) if name != self.LOCK and not is_part(name)}
        except FileNotFoundError:
            return False
        except NotADirectoryError as error:
            raise InputError(f"--out {self.path} is a file: give a folder") from error
        except (OSError, ValueError) as error:
            raise InputError(f"--out {self.path} cannot be read: {reason(error)}; choose another folder") from error
        if names and self.RECORD not in names:
            own = {"folder": self.path, "record": self.RECORD, "kind": self.KIND, "first": shown(min(names))}
            raise InputError(self.FOREIGN.format(**own))
        return bool(names)

    def stored(self) -> Any:
        """The record, as `check_record` gives it back; None where the folder is new."""
        if not self.holds_run():
            return None
        file = self.path / self.RECORD
        try:
            return self.check_record(json.loads(file.read_bytes()))
        except UNREADABLE as error:
            raise InputError(f"{file} cannot be read ({reason(error)}): choose another --out") from error

    def check_record(self, record: Any) -> Any:
        """The record of a run of this kind; a ValueError, or another of UNREADABLE, for anything else."""
        return record

    def check_same(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Refuse to go on with other settings, data, versions or another model than the run began with."""
        if changes := differences(before, now, "{} was {} and is {}"):
            raise InputError(self.OTHER.format(folder=self.path, changes=changes))

    def write_file(self, name: str, content: Content, *, durable: bool = False) -> None:
        """Put a file in its place. `durable`: after this returns it survives a loss of power."""
        with self.explained(name):
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, content, durable=durable)

    @contextlib.contextmanager
    def explained(self, name: str) -> Iterator[None]:
        """Around the writing of `name`: where it fails, the error says how to go on."""
        try:
            yield
        except OSError as error:
            own = {"name": name, "folder": self.path, "reason": reason(error)}
            raise self.CANNOT_WRITE(self.UNWRITABLE.format(**own)) from error


def differences(one: Mapping[str, Any], other: Mapping[str, Any], wording: str) -> str:
    """Where two nested dictionaries differ, for a message: place and both values, worded so; empty where nowhere."""
    found = [
        wording.format(name, shown(own), shown(others))
        for (name, own), (_, others) in zip(_leaves(one, other), _leaves(other, one), strict=True)
        if own != others
    ]
    more = len(found) - _DIFFERENCES_SHOWN
    return "; ".join(found[:_DIFFERENCES_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _leaves(one: Any, other: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The value at each place of two nested dictionaries, by the names of the places."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from _leaves(one.get(key, _MISSING), other.get(key, _MISSING), f"{name}.{key}".lstrip("."))
    else:
        yield name, one
