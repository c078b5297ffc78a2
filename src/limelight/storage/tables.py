"""Tables read as a stream, a record at a time: CSV, TSV, JSON lines and Parquet, never all of a file in memory."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from limelight.errors import DataError, UnknownNameError
from limelight.storage.labelled_texts import SUFFIXES, json_record, parquet_library, unknown_suffix
from limelight.storage.unreadable import not_parquet, not_utf8, not_well_formed, same_name, uneven, unreadable

Record = tuple[int, list[Any]]
"""The place in a file, a line or a row from 1, and the values of the columns that were asked for."""
_AT_ONCE = 256
"""Records that are read between two looks at the caller."""
_BOM = b"\xef\xbb\xbf"


def stream(file: Path, wanted: Sequence[str], most: int | None = None) -> Iterator[Record]:
    """The records of a file, the first ones where there are more than `most`.

    A value that a JSON line leaves out is None; a column that all of the lines read leave out is an error.
    """
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        yield from islice(_of_parquet(file, wanted), most)
        return
    if suffix not in SUFFIXES:
        raise unknown_suffix(file)
    try:
        with file.open("rb") as opened:
            if suffix in (".jsonl", ".ndjson"):
                yield from _of_json(file, opened, wanted, most)
            else:
                yield from islice(_of_csv(file, opened, wanted, "," if suffix == ".csv" else "\t"), most)
    except OSError as error:
        raise unreadable(file, error) from error


def place_name(file: Path) -> str:
    """What the places of a file's records count."""
    return "row" if file.suffix.lower() == ".parquet" else "line"


def _lines(file: Path, opened: BinaryIO) -> Iterator[str]:
    """Line by line, ends included: an error names the line that is not UTF-8."""
    offset = 0
    for number, line in enumerate(opened, start=1):
        if number == 1 and line.startswith(_BOM):
            line, offset = line[len(_BOM) :], len(_BOM)
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise not_utf8(file, line[error.start], offset + error.start, number) from error
        offset += len(line)


def _of_csv(file: Path, opened: BinaryIO, wanted: Sequence[str], delimiter: str) -> Iterator[Record]:
    reader = csv.reader(_lines(file, opened), delimiter=delimiter, strict=True)
    header = next(iter(_some(file, reader, 1)), (0, []))[1]
    if len(set(header)) != len(header):
        raise same_name(file, header)
    chosen = [_known(file, name, header) for name in wanted]
    while block := _some(file, reader, _AT_ONCE):
        for line, values in block:
            if not values:  # a blank line
                continue
            if len(values) != len(header):
                raise uneven(file, line, values, header)
            yield line, [values[i] for i in chosen]


def _some(file: Path, reader: Any, count: int) -> list[tuple[int, list[str]]]:
    """The next lines of a table. The longest field that Python reads is a setting of the process: it is put back."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        return [(reader.line_num, values) for values in islice(reader, count)]
    except csv.Error as error:
        raise not_well_formed(file, reader.line_num, error) from error
    finally:
        csv.field_size_limit(limit)


def _of_json(file: Path, opened: BinaryIO, wanted: Sequence[str], most: int | None) -> Iterator[Record]:
    seen: dict[str, None] = {}
    lines = ((number, line) for number, line in enumerate(_lines(file, opened), start=1) if not line.isspace())
    for number, line in islice(lines, most):
        record = json_record(file, number, line)
        seen.update(dict.fromkeys(record))
        yield number, [record.get(name) for name in wanted]
    for name in wanted:
        if seen:
            _known(file, name, list(seen))


def _of_parquet(file: Path, wanted: Sequence[str]) -> Iterator[Record]:
    library = parquet_library(file)
    row = 0
    try:
        with library.ParquetFile(file) as parquet:
            names = parquet.schema_arrow.names
            for name in wanted:
                _known(file, name, names)
                if names.count(name) > 1:
                    raise same_name(file, names)
            for batch in parquet.iter_batches(columns=list(dict.fromkeys(wanted)), batch_size=_AT_ONCE):
                for values in _transposed([batch.column(name).to_pylist() for name in wanted]):
                    row += 1
                    yield row, values
    except (DataError, UnknownNameError, GeneratorExit):
        raise
    # It raises its own errors, the system's, those of decoding (bad UTF-8) and of dates that Python does not have.
    except Exception as error:
        raise not_parquet(file, error, f" beyond row {row}") from error


def _transposed(columns: Sequence[Sequence[Any]]) -> Iterable[list[Any]]:
    return map(list, zip(*columns, strict=True))


def _known(file: Path, name: str, names: Sequence[str]) -> int:
    """The place of a column among those that there are."""
    if name not in names:
        raise UnknownNameError(f"column of {file}", name, names)
    return names.index(name)
