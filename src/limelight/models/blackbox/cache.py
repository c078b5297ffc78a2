"""Answers of a function, kept on disk: what was paid for once is not asked for again.

A folder holds the answers of one function: which one, `Identity` says. They lie in an SQLite database, each under the
SHA-256 of its text, so that texts themselves are not stored. A batch is one transaction. It is there or not there after
a kill, and a batch that was kept stays kept; processes and threads may share a folder.

The journal is SQLite's rollback journal, not its write-ahead log: that needs memory which processes share, and with it
a local disk. Every operation opens the database and closes it: a connection must not be taken into a fork or another
thread, and opening takes a tenth of a millisecond.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.core.sanitize import visible
from limelight.errors import DataError, InputError, ParameterError, shown
from limelight.inputs.document import Text
from limelight.models.outputs import Kind
from limelight.storage.files import expanded, reason

if TYPE_CHECKING:
    import sqlite3

FILE = "answers.sqlite3"
_APPLICATION = 0x4C696D65
"""Says in the head of the file whose it is: "Lime"."""
_FORMAT = 1
_NAMES = 2
"""The version of the names that functions go by: since 2 they say what a function holds."""
_PATIENCE = 60.0
"""Seconds to wait for others who write; a batch takes them milliseconds."""
_KEYS_AT_ONCE = 500
"""Keys in one query: SQLite takes 999 at least."""


@dataclass(frozen=True)
class Identity:
    """Whose answers a folder holds.

    `version` is that of the names: 1 where limelight 0.2 or an earlier one gave it, which called all functions of one
    factory, and all objects of one class, by one name.
    """

    name: str
    labels: tuple[str, ...]
    kind: Kind
    pairs: bool
    version: int = field(default=_NAMES, compare=False)

    def differences(self, here: Identity) -> list[str]:
        """In what another one differs."""
        names = [o.name for o in fields(self) if o.compare and getattr(self, o.name) != getattr(here, o.name)]
        return [f"{name} {shown(getattr(self, name))} there, {shown(getattr(here, name))} here" for name in names]

    def why(self, here: Identity) -> str:
        """What a reader must know of two names that differ in nothing but what the functions hold."""
        bare, own = here.name.partition(" [")[0], self.name.partition(" [")[0]
        if self.name == here.name or own != bare:
            return ""
        if self.name == bare and self.version < _NAMES:
            return (
                f"; it was written by limelight 0.2 or earlier under the name {shown(bare)}, which all functions of "
                "one factory and all objects of one class shared there, so whose answers it holds cannot be told; "
                f"nothing was deleted, and name={shown(bare)} takes it for this function's"
            )
        return "; the code is called the same, but what it holds differs: cells, defaults, arguments or attributes"


def key_of(text: Text, time: int | str = 0) -> bytes:
    """What an answer is found by. Lengths keep the texts of a pair apart; half surrogates are texts too.

    `time`: how often the same text was asked about before, where that is done again on purpose; or the occasion.
    """
    key = hashlib.sha256(b"" if time == 0 else f"again {time}: ".encode("utf-8", "surrogatepass"))
    for own in (text,) if isinstance(text, str) else text:
        written = own.encode("utf-8", "surrogatepass")
        key.update(len(written).to_bytes(8, "little") + written)
    return key.digest()


class AnswerCache:
    """A folder of answers. It is there, and can be written to, before anything is asked of a function."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = _path(folder)
        _sqlite()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            what = "it is a file" if os.path.isfile(self.folder) else reason(error)
            raise InputError(f"no cache can be kept in {self.where}: {what}; name a folder") from error
        with self._changing(create=True) as database:
            if not self._tables(database):
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute("CREATE TABLE identity (content TEXT NOT NULL)")
                database.execute(
                    "CREATE TABLE answers "
                    "(key BLOB PRIMARY KEY, numbers BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID"
                )
            # Written also where it is there: whether that can be done must not be found out with answers in hand.
            database.execute(f"PRAGMA user_version = {_FORMAT}")
            self.unit = self._unit(database)
            """How far the answers of the function were rounded when they were given, as a part of each."""

    @property
    def where(self) -> str:
        """The folder, for a message."""
        return visible(str(self.folder))

    # ── whose answers these are ───────────────────────────────────────────────────────────────────────────────────────

    def identity(self) -> Identity | None:
        """Whose answers are in the folder; None where it is new."""
        with self._opened() as database:
            return self._identity(database)

    def claim(self, own: Identity) -> None:
        """Make a new folder that of a function; one of another function is an error."""
        with self._changing() as database:
            there = self._identity(database)
            if there is None:
                database.execute("INSERT INTO identity VALUES (?)", [json.dumps(asdict(own))])
            elif differences := there.differences(own):
                raise InputError(
                    f"the cache {self.where} holds answers of another function: {'; '.join(differences)}"
                    f"{there.why(own)}; use another folder, or the same name=, labels, kind and pairs if it is the "
                    "same function"
                )

    def _identity(self, database: sqlite3.Connection) -> Identity | None:
        found = database.execute("SELECT content FROM identity ORDER BY rowid").fetchall()
        if not found:
            return None
        try:
            content = json.loads(found[0][0])
            return Identity(
                content["name"], tuple(content["labels"]), content["kind"], content["pairs"], content.get("version", 1)
            )
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged("it does not say whose answers it holds") from error

    def keep_unit(self, unit: float) -> None:
        """Write down that an answer was rounded by as much, where none was by more."""
        if unit > self.unit:
            with self._changing() as database:
                if unit > self._unit(database):
                    database.execute("INSERT INTO identity VALUES (?)", [json.dumps({"unit": unit})])
            self.unit = unit

    def _unit(self, database: sqlite3.Connection) -> float:
        """The largest that was written; earlier versions read the first row of this table alone."""
        found = database.execute("SELECT content FROM identity ORDER BY rowid").fetchall()[1:]
        try:
            return max((float(json.loads(content)["unit"]) for (content,) in found), default=0.0)
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged("it does not say how its answers were rounded") from error

    # ── answers ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The answers that there are, in the order of the keys."""
        with self._opened() as database:
            return self._known(database, keys)

    def keep(self, keys: Sequence[bytes], rows: Floats) -> Floats:
        """Keep answers, all of them or none; returns what is kept now: where others were faster, their answers."""
        written = [row.astype("<f8").tobytes() for row in rows]
        with self._changing() as database:
            database.executemany(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?)",
                [(key, numbers, _checksum(key, numbers)) for key, numbers in zip(keys, written, strict=True)],
            )
            kept = self._known(database, keys)
        return np.array([kept[key] for key in keys])

    def _known(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        found: dict[bytes, tuple[bytes, int]] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            own = keys[start : start + _KEYS_AT_ONCE]
            places = ", ".join("?" * len(own))
            rows = database.execute(f"SELECT key, numbers, checksum FROM answers WHERE key IN ({places})", own)
            found.update((key, (numbers, checksum)) for key, numbers, checksum in rows)
        for key, (numbers, checksum) in found.items():
            if not isinstance(numbers, bytes) or len(numbers) % 8 or _checksum(key, numbers) != checksum:
                raise self._damaged("an answer is not what was written")
        return {key: np.frombuffer(found[key][0], "<f8").astype(np.float64) for key in keys if key in found}

    # ── the database ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _tables(self, database: sqlite3.Connection) -> bool:
        """Whether it is ours already; False where it is new."""
        (application,), (version,) = (
            database.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if not application and not version and not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return False
        if application != _APPLICATION:
            raise DataError(
                f"{visible(str(self.folder / FILE))} is a database of another program, and was left alone: choose "
                "another folder for the cache"
            )
        if version != _FORMAT:
            raise DataError(
                f"the cache {self.where} has format {version}, and this limelight reads {_FORMAT}: use the limelight "
                "that wrote it, or another folder"
            )
        return True

    @contextlib.contextmanager
    def _changing(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that is there as a whole or not at all. Only one can change the database at a time."""
        with self._opened("rwc" if create else "rw") as database, database:
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            yield database

    @contextlib.contextmanager
    def _opened(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        """The database. What a kill left half-written is taken back by whoever comes next: a reader may write too."""
        sqlite3 = _sqlite()
        address = f"{(self.folder / FILE).as_uri()}?mode={mode}"
        try:
            with contextlib.closing(
                sqlite3.connect(address, timeout=_PATIENCE, isolation_level=None, uri=True)
            ) as database:
                yield database
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _explained(self, error: sqlite3.Error) -> InputError | DataError:
        sqlite3 = _sqlite()
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return InputError(
                f"the cache {self.where} was being written by others for {_PATIENCE:g} seconds ({error}): try again, "
                "or use a folder of its own for each run"
            )
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
            return InputError(
                f"the cache {self.where} cannot be opened and written to ({error}): check its permissions, or choose "
                "another folder"
            )
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM):
            return InputError(
                f"the cache {self.where} could not be read or written ({error}): what it held is still there; check "
                "the disk"
            )
        return self._damaged(str(error))

    def _damaged(self, what: str) -> DataError:
        return DataError(
            f"the cache {visible(str(self.folder / FILE))} is damaged ({what}), and was left alone: move it away, or "
            "choose another folder; the program sqlite3 may get answers out of it by its command .recover"
        )


def _checksum(key: bytes, numbers: bytes) -> int:
    return zlib.crc32(numbers, zlib.crc32(key))


def _path(folder: object) -> Path:
    given = os.fspath(folder) if isinstance(folder, str | os.PathLike) else None
    if not isinstance(given, str) or not given.strip():
        raise ParameterError(
            f"cache must be the path of a folder, which is made if it is not there: got {shown(folder)}"
        )
    return Path(os.path.abspath(expanded(given)))  # a run may change its folder


def _sqlite() -> Any:
    """The library, which some Pythons are built without."""
    try:
        import sqlite3
    except ImportError as error:
        raise ParameterError(
            f"cache needs SQLite, which this Python was built without ({error}): leave cache out, or use another Python"
        ) from error
    return sqlite3
