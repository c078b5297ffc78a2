"""What is said of a table of texts that cannot be read, at once (`data`) or as a stream (`corpus.records`)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from limelight.errors import DataError
from limelight.storage.files import reason

PATH_SHOWN = 200
"""Characters of a path: one that is too long to exist would fill the screen."""


def unreadable(file: Path, error: Exception) -> DataError:
    shown = str(file)
    shown = shown if len(shown) <= PATH_SHOWN else f"{shown[:PATH_SHOWN]}…"
    return DataError(f"cannot read {shown}: {reason(error)}; check its name, its permissions and the disk")


def not_utf8(file: Path, byte: int, offset: int, line: int) -> DataError:
    return DataError(f"{file} is not UTF-8: byte {byte:#04x} at offset {offset} (line {line}); save it again as UTF-8")


def not_well_formed(file: Path, line: int, error: csv.Error) -> DataError:
    return DataError(f"{file}, line {line}: not well-formed ({error}); save it again with quoted texts")


def uneven(file: Path, line: int, values: Sequence[str], header: Sequence[str]) -> DataError:
    return DataError(
        f"{file}, line {line}: {len(values)} fields, but the header has {len(header)}; "
        'put texts that hold the separator in quotes ("…")'
    )


def same_name(file: Path, names: Sequence[str]) -> DataError:
    return DataError(f"{file} has two columns of the same name: {', '.join(names):.200}; rename one of them")


def not_parquet(file: Path, error: Exception, beyond: str = "") -> DataError:
    """`beyond` says how far it could be read."""
    why = " ".join(f"{type(error).__name__}: {reason(error)}".split())
    return DataError(
        f"{file} cannot be read as Parquet{beyond} ({why:.200}): write it again, or give CSV or JSON lines"
    )
