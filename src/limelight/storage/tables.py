"""Tables, read a row at a time: CSV, TSV, JSON lines and Parquet, never all of a file in memory.

A file that cannot be used is a DataError that names it, the place and what to do, whatever is wrong with it.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from limelight.errors import DataError, UnknownNameError
from limelight.storage.files import reason

Row = tuple[int, dict[str, Any]]
"""The place in a file, a line or a row from 1, and the values of the columns that were asked for."""
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_ADVICE = {
    "unpack it first": (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".7z"),
    "save the sheet as CSV": (".xlsx", ".xls", ".xlsm", ".ods", ".numbers"),
    "save it as plain text (UTF-8), or its texts as CSV": (".docx", ".doc", ".odt", ".rtf", ".pdf", ".epub", ".pages"),
    "write one object per line and name it .jsonl": (".json",),
    "save the data frame as Parquet or CSV": (".pkl", ".pickle", ".feather", ".arrow", ".h5", ".hdf5", ".npy", ".npz"),
}
"""What to do with files of other kinds, by their suffixes."""
_PATH_SHOWN = 200
"""Characters of a path: one that is too long to exist would fill the screen."""
_AT_ONCE = 256
"""Rows that are read before the caller sees the first of them."""
_BOM = b"\xef\xbb\xbf"


def read_table(
    file: Path, required: Sequence[str], optional: Sequence[str] = (), *, limit: int | None = None
) -> Iterator[Row]:
    """Rows of a file, at most the first `limit`, with the required columns and those of the optional ones it has.

    A value that a JSON line leaves out is None; a required column that all of the lines read leave out is an error.
    """
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        advice = advice_on(file)
        raise DataError(
            f"{file} has a suffix that limelight does not read: use one of {', '.join(SUFFIXES)}"
            f"{'' if advice is None else f'; {advice}'}"
        )
    if suffix == ".parquet":
        yield from islice(_parquet(file, required, optional), limit)
        return
    try:
        with file.open("rb") as opened:
            lines = _lines(file, opened)
            if suffix in (".jsonl", ".ndjson"):
                yield from _json(file, lines, required, optional, limit)
            else:
                yield from islice(_csv(file, lines, required, optional, "," if suffix == ".csv" else "\t"), limit)
    except OSError as error:
        raise unreadable(file, error) from error
    except MemoryError as error:
        raise DataError(
            f"{file} has {file.stat().st_size:,} bytes, more than the memory can hold: give a part of it"
        ) from error


def is_table(file: Path) -> bool:
    """Whether the name of a file says that it has rows and columns."""
    return file.suffix.lower() in SUFFIXES


def advice_on(file: Path) -> str | None:
    """What to do with a file whose name says that it is of a kind that limelight does not read."""
    suffix = file.suffix.lower()
    return next((advice for advice, suffixes in _ADVICE.items() if suffix in suffixes), None)


def place_name(file: Path) -> str:
    """What the places of a file's rows count."""
    return "row" if file.suffix.lower() == ".parquet" else "line"


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: pandas writes a missing value as a number that is not equal to itself."""
    return value is None or value == "" or value != value


def as_whole(value: Any) -> Any:
    """Whole numbers that passed through a column of floats are whole again."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_identifier(value: Any) -> bool:
    """Whether a value can name a row: a whole number or a string."""
    return isinstance(value, int | str) and not isinstance(value, bool)


def unreadable(file: Path, error: Exception) -> DataError:
    """The error for a file that the system does not open or read."""
    shown = str(file) if len(str(file)) <= _PATH_SHOWN else f"{file!s:.{_PATH_SHOWN}}…"
    return DataError(f"cannot read {shown}: {reason(error)}; check its name, its permissions and the disk")


def not_utf8(file: Path, byte: int, offset: int, line: int) -> DataError:
    """The error for a file that holds a byte which is no text."""
    return DataError(f"{file} is not UTF-8: byte {byte:#04x} at offset {offset} (line {line}); save it again as UTF-8")


# ── text ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lines(file: Path, opened: BinaryIO) -> Iterator[str]:
    """Lines with their ends: an error names the line that is not UTF-8."""
    offset = 0
    for number, line in enumerate(opened, start=1):
        if number == 1 and line.startswith(_BOM):
            line, offset = line[len(_BOM) :], len(_BOM)
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise not_utf8(file, line[error.start], offset + error.start, number) from error
        offset += len(line)


def _csv(
    file: Path, lines: Iterator[str], required: Sequence[str], optional: Sequence[str], delimiter: str
) -> Iterator[Row]:
    # Tables of old Macintoshes end lines with a carriage return alone.
    ended = (own for line in lines for own in (io.StringIO(line, newline="") if "\r" in line[:-2] else (line,)))
    reader = csv.reader(ended, delimiter=delimiter, strict=True)
    header = next(iter(_some(file, reader, 1)), (0, []))[1]
    if len(set(header)) != len(header):
        raise _same_name(file, header)
    chosen = _chosen(file, header, required, optional)
    while block := _some(file, reader, _AT_ONCE):
        for line, values in block:
            if not values:  # a blank line
                continue
            if len(values) != len(header):
                raise DataError(
                    f"{file}, line {line}: {len(values)} fields, but the header has {len(header)}; "
                    'put texts that hold the separator in quotes ("…")'
                )
            yield line, {name: values[place] for name, place in chosen.items()}


def _some(file: Path, reader: Any, count: int) -> list[tuple[int, list[str]]]:
    """The next lines of a table. The longest field that Python reads is a setting of the process: it is put back."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        return [(reader.line_num, values) for values in islice(reader, count)]
    except csv.Error as error:
        raise DataError(
            f"{file}, line {reader.line_num}: not well-formed ({error}); save it again with quoted texts"
        ) from error
    finally:
        csv.field_size_limit(limit)


def _json(
    file: Path, lines: Iterator[str], required: Sequence[str], optional: Sequence[str], limit: int | None
) -> Iterator[Row]:
    seen: dict[str, None] = {}
    wanted = (*required, *optional)
    filled = ((number, line) for number, line in enumerate(lines, start=1) if not line.isspace())
    for number, line in islice(filled, limit):
        record = _record(file, number, line.removesuffix("\n"))
        seen.update(dict.fromkeys(record))
        yield number, {name: record.get(name) for name in wanted}
    if seen:
        _chosen(file, list(seen), required, optional)


def _record(file: Path, number: int, line: str) -> dict[str, Any]:
    """The object in a line of JSON."""
    try:
        record = json.loads(line, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:  # ValueError: not JSON, or a number of thousands of digits
        raise DataError(
            f"{file}, line {number}: not valid JSON ({error!s:.100}); each line must be one object"
        ) from error
    if not isinstance(record, dict):
        raise DataError(f"{file}, line {number}: {line.strip()[:40]} is not an object; each line must be one")
    return record


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, in which no name stands twice."""
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.40} stands in it twice")
    return record


# ── Parquet ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _parquet(file: Path, required: Sequence[str], optional: Sequence[str]) -> Iterator[Row]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f'reading {file} needs pyarrow: pip install "limelight[data]"') from error
    row = 0
    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            names = parquet.schema_arrow.names
            read = list(_chosen(file, names, required, optional))
            if any(names.count(name) > 1 for name in read):
                raise _same_name(file, names)
            for batch in parquet.iter_batches(columns=read, batch_size=_AT_ONCE):
                for values in zip(*(batch.column(name).to_pylist() for name in read), strict=True):
                    row += 1
                    yield row, dict(zip(read, values, strict=True))
    except (DataError, UnknownNameError, GeneratorExit):
        raise
    # It raises its own errors, the system's, those of decoding (bad UTF-8) and of dates that Python does not have.
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {reason(error)}".split())
        beyond = f" beyond row {row}" if row else ""
        raise DataError(
            f"{file} cannot be read as Parquet{beyond} ({why:.200}): write it again, or give CSV or JSON lines"
        ) from error


def _chosen(file: Path, names: Sequence[str], required: Sequence[str], optional: Sequence[str]) -> dict[str, int]:
    """Places of the wanted columns among those that there are."""
    for name in required:
        if name not in names:
            raise UnknownNameError(f"column of {file}", name, names)
    return {name: names.index(name) for name in (*required, *optional) if name in names}


def _same_name(file: Path, names: Sequence[str]) -> DataError:
    return DataError(f"{file} has two columns of the same name: {', '.join(names):.200}; rename one of them")
