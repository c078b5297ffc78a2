"""Labelled texts from a file: CSV, TSV, JSON lines, Parquet, or a folder with one subfolder of .txt files per label."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.arrays import Integers
from limelight.errors import DataError, UnknownNameError

Columns = dict[str, list[Any]]
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")

_ROWS_SHOWN = 5
"""Row numbers that an error names: enough to find the pattern."""


@dataclass(frozen=True)
class LabelledTexts:
    """Text i has the label label_names[labels[i]]."""

    texts: tuple[str, ...]
    labels: Integers
    label_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def read_labelled(
    path: str | os.PathLike[str],
    text_column: str = "text",
    label_column: str = "label",
    label_names: Mapping[str, str] | None = None,
    *,
    known: Sequence[str] | None = None,
) -> LabelledTexts:
    """Read and check a data set; rows are counted from 1, without the header.

    Labels may be whole numbers, strings or booleans. They are ordered as numbers if all of them are, else by the
    alphabet. `label_names` renames them: {"0": "negative", "1": "positive"}. `known` gives the labels of a model, in
    its order, for data that it is to be tested on: other labels are an error, and not all of them need to occur.
    """
    file = Path(path)
    columns = _read_columns(file, text_column, label_column)
    for name in (text_column, label_column):
        if name not in columns:
            raise UnknownNameError(f"column of {file}", name, columns)
    texts, raw = columns[text_column], columns[label_column]
    if not texts:
        raise DataError(f"{file} has no rows: give a file with a text and a label in each row")
    _check_texts(file, texts, text_column)
    names, numbers = _number_labels(file, _label_strings(file, raw, label_column), label_names or {}, known)
    return LabelledTexts(tuple(texts), numbers, names)


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_columns(file: Path, text_column: str, label_column: str) -> Columns:
    if file.is_dir():
        texts, labels = _read_folders(file)
        return {text_column: texts, label_column: labels}
    if not file.exists():
        raise DataError(f"there is no file {file}: check the path (the current folder is {Path.cwd()})")
    suffix = file.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return _read_csv(file, "," if suffix == ".csv" else "\t")
    if suffix in (".jsonl", ".ndjson"):
        return _read_jsonl(file)
    if suffix == ".parquet":
        return _read_parquet(file, (text_column, label_column))
    raise DataError(f"{file} has a suffix that limelight does not read: use one of {', '.join(SUFFIXES)}")


def _decode(file: Path) -> str:
    content = file.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder does not count a byte order mark, which it has taken off.
        offset = error.start + len(content) - len(error.object)
        line = content.count(b"\n", 0, offset) + 1
        raise DataError(
            f"{file} is not UTF-8: byte {content[offset]:#04x} at offset {offset} (line {line}); save it again as UTF-8"
        ) from error


def _read_csv(file: Path, delimiter: str) -> Columns:
    text = _decode(file)
    limit = csv.field_size_limit(sys.maxsize)  # the default refuses texts of more than 131,072 characters
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        columns: Columns = {name: [] for name in header}
        if len(columns) != len(header):
            raise DataError(f"{file} has two columns of the same name: {', '.join(header)}; rename one of them")
        for row in reader:
            if not row:  # a blank line
                continue
            if len(row) != len(header):
                raise DataError(
                    f"{file}, line {reader.line_num}: {len(row)} fields, but the header has {len(header)}; "
                    'put texts that hold the separator in quotes ("…")'
                )
            for name, value in zip(header, row, strict=True):
                columns[name].append(value)
    except csv.Error as error:
        raise DataError(
            f"{file}, line {reader.line_num}: not well-formed ({error}); save it again with quoted texts"
        ) from error
    finally:
        csv.field_size_limit(limit)
    return columns


def _read_jsonl(file: Path) -> Columns:
    records: list[dict[str, Any]] = []
    # Not splitlines(): JSON strings may hold other line separators, such as U+2028, as they are.
    for number, line in enumerate(_decode(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{file}, line {number}: not valid JSON ({error}); each line must be one object") from error
        if not isinstance(record, dict):
            raise DataError(f"{file}, line {number}: {line.strip()[:40]} is not an object; each line must be one")
        records.append(record)
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: [record.get(name) for record in records] for name in names}


def _read_parquet(file: Path, wanted: Iterable[str]) -> Columns:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f'reading {file} needs pyarrow: pip install "limelight[data]"') from error
    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            names = parquet.schema_arrow.names
            table = parquet.read(columns=[name for name in wanted if name in names])
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{file} cannot be read as Parquet ({error}): write it again, or give CSV or JSON lines"
        ) from error
    # The other columns are named, for an error to list, but not read.
    return {name: table.column(name).to_pylist() if name in table.column_names else [] for name in names}


def _read_folders(folder: Path) -> tuple[list[Any], list[Any]]:
    """The form IMDB is distributed in, train/{pos,neg}/*.txt. Its `unsup` texts have no label."""
    texts: list[Any] = []
    labels: list[Any] = []
    for subfolder in sorted(entry for entry in folder.iterdir() if entry.is_dir() and entry.name != "unsup"):
        for file in sorted(subfolder.glob("*.txt")):
            texts.append(_decode(file))
            labels.append(subfolder.name)
    if not texts:
        raise DataError(
            f"{folder} is a folder without */*.txt: give a file, or a folder with one subfolder of .txt files per label"
        )
    return texts, labels


# ── checking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(rows: Sequence[int]) -> str:
    shown = ", ".join(str(row) for row in rows[:_ROWS_SHOWN])
    return f"row{'s' if len(rows) > 1 else ''} {shown}{', …' if len(rows) > _ROWS_SHOWN else ''}"


def _check_texts(file: Path, texts: Sequence[Any], column: str) -> None:
    empty = [i for i, text in enumerate(texts, start=1) if text is None or (isinstance(text, str) and not text.strip())]
    if empty:
        raise DataError(
            f"{file}: {len(empty)} of {len(texts)} texts are empty or null ({_rows(empty)}): remove these rows"
        )
    for i, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise DataError(
                f"{file}: column {column!r} must hold texts, but row {i} is {text!r:.40}; name the right column"
            )


def _label_strings(file: Path, raw: Sequence[Any], column: str) -> list[str]:
    missing = [i for i, value in enumerate(raw, start=1) if value is None or value == "" or value != value]
    if missing:
        raise DataError(f"{file}: {len(missing)} of {len(raw)} labels are null ({_rows(missing)}): remove these rows")
    return [_label_string(file, value, i, column) for i, value in enumerate(raw, start=1)]


def _label_string(file: Path, value: Any, row: int, column: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():  # whole numbers that passed through a column of floats
        return str(int(value))
    if isinstance(value, int | str):
        return str(value)
    raise DataError(
        f"{file}: row {row} has the label {value!r:.40} in column {column!r}; "
        "labels are whole numbers, strings or booleans"
    )


def _number_labels(
    file: Path, raw: Sequence[str], renamed: Mapping[str, str], known: Sequence[str] | None
) -> tuple[tuple[str, ...], Integers]:
    values = _ordered(set(raw))
    if renamed and (unnamed := [value for value in values if value not in renamed]):
        raise UnknownNameError(f"label in {file}", unnamed[0], renamed)
    names = tuple(dict.fromkeys(renamed.get(value, value) for value in values))
    if known is not None:
        if strange := [name for name in names if name not in known]:
            raise UnknownNameError(f"label in {file}", strange[0], known)
        names = tuple(known)
    elif len(names) == 1:
        raise DataError(
            f"{file} has one class only: all {len(raw)} rows are {names[0]!r}; give data of two classes or more"
        )
    number = {value: names.index(renamed.get(value, value)) for value in values}
    return names, np.array([number[value] for value in raw], dtype=np.int64)


def _ordered(values: set[str]) -> list[str]:
    numbers: dict[str, float] = {}
    for value in values:
        try:
            numbers[value] = float(value)
        except ValueError:
            return sorted(values)
    return (
        sorted(values, key=lambda value: (numbers[value], value))
        if all(map(math.isfinite, numbers.values()))
        else sorted(values)
    )
