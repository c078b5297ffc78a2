"""Seals: hashes by which whoever reads a run sees that it is what was written.

A seal stands in the file that it is of, so it moves with the file and there is no moment at which one is there without
the other. The manifest ends with the SHA-256 of itself. A shard has the SHA-256 of the manifest, its own number and the
SHA-256 of itself among the metadata of its Parquet file, where other readers pass over them. Each hash is taken with
zeros in its own place.

Runs of version 0.2 have no seals. That a manifest should have one is said at its beginning as well, and shards of a
sealed manifest have one: no change of one place makes a sealed file look like an old one. Damage to an old one may not
be seen, but what is read of it hangs together (`check_unsealed`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from limelight.corpus.store.schema import Layout, arrow_library

PLACE = "limelight.corpus.seal"
"""The key of a Parquet file's own metadata under which the seal stands."""
ALGORITHM = "sha256"
_HASHES, _OWN = "hashes", "sha256"
"""The first and the last entry of a sealed manifest."""
_DIGEST = 64
_NUMBER = 8
_SEAL = _DIGEST + 1 + _NUMBER + 1 + _DIGEST
BLANK = "0" * _SEAL
"""What stands in the place of a seal until there is one."""
_END = re.compile(rb'"sha256": "([0-9a-f]{64})"\n}\n\Z')
_SEALED = re.compile(rb"([0-9a-f]{64}) ([0-9]{8}) ([0-9a-f]{64})\Z")


class Broken(ValueError):
    """Not what was written; the message says how that is seen."""


class Foreign(ValueError):
    """A whole shard, but of another run."""


def _digest(content: bytes, at: int) -> bytes:
    """The hash of these bytes, with zeros in its own place."""
    digest = hashlib.sha256()
    for piece in (memoryview(content)[:at], b"0" * _DIGEST, memoryview(content)[at + _DIGEST :]):
        digest.update(piece)
    return digest.hexdigest().encode()


def _sealed(content: bytes, at: int) -> bytes:
    return content[:at] + _digest(content, at) + content[at + _DIGEST :]


def _check(content: bytes, at: int) -> None:
    if content[at : at + _DIGEST] != _digest(content, at):
        raise Broken("its content is not that of its SHA-256")


# ── the manifest ──────────────────────────────────────────────────────────────────────────────────────────────────────


def seal_manifest(manifest: Mapping[str, Any]) -> bytes:
    """A manifest as its file holds it, with its seal."""
    entries = {_HASHES: ALGORITHM, **manifest, _OWN: "0" * _DIGEST}
    written = json.dumps(entries, indent=1, ensure_ascii=False) + "\n"
    content = written.encode("utf-8", "backslashreplace")
    found = _END.search(content)
    assert found is not None
    return _sealed(content, found.start(1))


def open_manifest(content: bytes) -> tuple[Any, str | None]:
    """What a manifest says, and its hash, which the shards of its run have in their seals; None in a run of 0.2.

    Broken where it is not what was written.
    """
    found = _END.search(content)
    if found is None:
        if f'"{_HASHES}"'.encode() in content:
            raise Broken("its hash is missing at its end")
        return _json(content), None
    _check(content, found.start(1))
    return _json(content), found[1].decode()


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Broken(f"it is no JSON: {error!s:.100}" if content else "it is empty") from error


# ── shards ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Shards:
    """What a run says of its shards: the hash of its manifest, None in a run of 0.2, and how many there are."""

    run: str | None
    count: int

    def seal(self, number: int, content: bytes) -> bytes:
        """The bytes of a shard with the seal of this run; as they are in a run of 0.2, which goes on without."""
        if self.run is None:
            return content
        at = _place(content)
        if at is None:
            raise ValueError("these are not the bytes of a shard: there is no place for a seal")
        head = f"{self.run} {number:0{_NUMBER}d} ".encode()  # one of another run may stand there
        return _sealed(content[:at] + head + content[at + len(head) :], at + len(head))

    def check(self, number: int, content: bytes) -> None:
        """Broken where these are not the bytes of this shard as they were written, Foreign where they are another
        run's."""
        at = _place(content)
        found = None if at is None else _SEALED.match(content[at : at + _SEAL])
        if at is None or found is None:
            if self.run is not None:
                raise Broken("it is not what was written" if content else "it is empty")
            return
        _check(content, at + found.start(3))
        if self.run is None or found[1] != self.run.encode():
            raise Foreign("its seal names another manifest")
        if int(found[2]) != number:
            raise Broken(f"it holds shard {int(found[2])}")


def _place(content: bytes) -> int | None:
    """Where the seal of a shard begins: Parquet writes a string behind its length, and this one behind its key."""
    head = PLACE.encode() + b"\x18" + bytes([_SEAL & 0x7F | 0x80, _SEAL >> 7])
    at = content.rfind(head)
    return None if at < 0 else at + len(head)


# ── shards of version 0.2 ─────────────────────────────────────────────────────────────────────────────────────────────

_LONGEST = 2**26
"""Characters of a text: where a feature stands beyond them, its place was damaged, and blanks up to it fill memory."""


def check_unsealed(table: Any, layout: Layout, rows: int) -> None:
    """A ValueError where the columns that were read are not what a run of so many rows writes."""
    table.validate(full=True)
    schema = layout.arrow()
    for field in table.schema:
        if field.name not in schema.names or schema.field(field.name).type != field.type:
            raise ValueError(f"there is a column {field.name!r} of type {field.type}")
    # What depends on several columns is looked at where all of them are read.
    columns = {name: table[name].to_pylist() for name in table.column_names}
    for name in ("row", "method"):
        if None in columns.get(name, []):
            raise ValueError(f"the column {name!r} has a null")
    if any(not 1 <= row <= rows for row in columns.get("row", [])):
        raise ValueError("the number of a row is out of range")
    if not {own for name in ("label", "target") for own in columns.get(name, [])} <= {None, *layout.labels}:
        raise ValueError("there is a label that the model has not")
    if any(own is not None and own not in layout.methods for own in columns.get("method", [])):
        raise ValueError("there is a method that was not asked for")
    for details in columns.get("details", []):
        _check_details(details)
    _check_places(table)
    errors = columns.get("error")
    for name in ("details", "features", "weights", "label", "target", "logits"):
        if errors is not None and any((own is None) != (e is not None) for own, e in _pairs(columns.get(name), errors)):
            raise ValueError(f"the column {name!r} does not fit the column 'error'")
    for name, count in (("logits", len(layout.labels)), ("probabilities", len(layout.labels))):
        if any(own is not None and len(own) != count for own in columns.get(name, [])):
            raise ValueError(f"the column {name!r} has lists of another length")
    for name in ("weights", "spans", "sides", "stderr"):
        for own, features in _pairs(columns.get(name), columns.get("features") or []):
            if own is not None and (features is None or len(own) != len(features)):
                raise ValueError(f"the column {name!r} does not fit the column 'features'")


def _pairs(values: Any, others: Any) -> Any:
    return () if not values or not others else zip(values, others, strict=True)


def _check_details(details: str | None) -> None:
    if details is None:
        return
    read = json.loads(details)
    if not isinstance(read, dict) or not all(isinstance(read.get(own), dict) for own in ("parameters", "diagnostics")):
        raise ValueError("the column 'details' has something else")


def _check_places(table: Any) -> None:
    if "spans" not in table.column_names:
        return
    compute = arrow_library().compute
    places = compute.list_flatten(compute.list_flatten(table["spans"]))
    start, end = (compute.struct_field(places, name) for name in ("start", "end"))
    if len(places) and (places.null_count or compute.min(start).as_py() < 0 or compute.max(end).as_py() > _LONGEST):
        raise ValueError("the column 'spans' has places outside of any text")
