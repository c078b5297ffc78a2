"""Labelled texts from a file: CSV, TSV, JSON lines, Parquet, or a folder with one subfolder of .txt files per label.

A file that cannot be used is a DataError that names it, the place and what to do, whatever is wrong with it. Half of a
surrogate pair, as JSON can spell it ("\\ud83d"), is refused with its row: no file could hold what is learnt from it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.arrays import Integers
from limelight.errors import DataError, ParameterError, UnknownNameError
from limelight.files import reason

Columns = dict[str, list[Any]]
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")

_ROWS_SHOWN = 5
"""Row numbers that an error names: enough to find the pattern."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_PATH_SHOWN = 200
"""Characters of a path: one that is too long to exist would fill the screen."""


@dataclass(frozen=True)
class LabelledTexts:
    """Text i has the label label_names[labels[i]]."""

    texts: tuple[str, ...]
    labels: Integers
    label_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise DataError(f"{len(self.texts)} texts have {len(self.labels)} labels: give one label for each text")
        for i, text in enumerate(self.texts, start=1):
            if not isinstance(text, str):
                raise DataError(f"text {i} is {text!r:.40}, but texts are strings: leave it out, or write it as one")
            if half := _half_of_a_pair(text):
                raise DataError(f"text {i} holds {half}: write the character in full, or take it out")
        if half := next(filter(None, map(_half_of_a_pair, self.label_names)), None):
            raise DataError(f"the labels {self.label_names!a:.80} hold {half}: write the character in full")

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
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"data must be the path of a file, or LabelledTexts: got {path!r:.80}")
    if label_names is not None and not isinstance(label_names, Mapping):
        raise ParameterError(f'label_names must be a mapping such as {{"0": "negative"}}: got {label_names!r:.80}')
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
    if _is_folder(file):
        texts, labels = _read_folders(file)
        return {text_column: texts, label_column: labels}
    suffix = file.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return _read_csv(file, "," if suffix == ".csv" else "\t")
    if suffix in (".jsonl", ".ndjson"):
        return _read_jsonl(file)
    if suffix == ".parquet":
        return _read_parquet(file, (text_column, label_column))
    raise DataError(f"{file} has a suffix that limelight does not read: use one of {', '.join(SUFFIXES)}")


def _is_folder(file: Path) -> bool:
    """Whether there is a folder; an error where there is nothing at all, or nothing that can be asked for."""
    try:
        return stat.S_ISDIR(os.stat(file).st_mode)
    except FileNotFoundError as error:
        raise DataError(
            f"there is no file {file!s:.{_PATH_SHOWN}}: check the path (the current folder is {os.getcwd()})"
        ) from error
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> DataError:
    shown = str(file)
    shown = shown if len(shown) <= _PATH_SHOWN else f"{shown[:_PATH_SHOWN]}…"
    return DataError(f"cannot read {shown}: {reason(error)}; check its name, its permissions and the disk")


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error
    except MemoryError as error:
        raise DataError(
            f"{file} has {file.stat().st_size:,} bytes, more than the memory can hold: give a part of it"
        ) from error


def _decode(file: Path) -> str:
    content = _bytes(file)
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
            raise _same_name(file, header)
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
            record = json.loads(line, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:  # ValueError: not JSON, or a number of thousands of digits
            raise DataError(
                f"{file}, line {number}: not valid JSON ({error!s:.100}); each line must be one object"
            ) from error
        if not isinstance(record, dict):
            raise DataError(f"{file}, line {number}: {line.strip()[:40]} is not an object; each line must be one")
        records.append(record)
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: [record.get(name) for record in records] for name in names}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.40} stands in it twice")
    return record


def _same_name(file: Path, names: Sequence[str]) -> DataError:
    return DataError(f"{file} has two columns of the same name: {', '.join(names):.200}; rename one of them")


def _read_parquet(file: Path, wanted: Iterable[str]) -> Columns:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f'reading {file} needs pyarrow: pip install "limelight[data]"') from error
    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            names = parquet.schema_arrow.names
            read = [name for name in wanted if name in names]
            if any(names.count(name) > 1 for name in read):
                raise _same_name(file, names)
            table = parquet.read(columns=read)
        # The other columns are named, for an error to list, but not read.
        return {name: table.column(name).to_pylist() if name in read else [] for name in names}
    except DataError:
        raise
    # It raises its own errors, the system's, those of decoding (bad UTF-8) and of dates that Python does not have.
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {reason(error)}".split())
        raise DataError(
            f"{file} cannot be read as Parquet ({why:.200}): write it again, or give CSV or JSON lines"
        ) from error


def _read_folders(folder: Path) -> tuple[list[Any], list[Any]]:
    """The form IMDB is distributed in, train/{pos,neg}/*.txt. Its `unsup` texts have no label."""
    texts: list[Any] = []
    labels: list[Any] = []
    for name in _names(folder):
        if name == "unsup" or not os.path.isdir(folder / name):
            continue
        for file in [entry for entry in _names(folder / name) if entry.endswith(".txt")]:
            texts.append(_decode(folder / name / file))
            labels.append(name)
    if not texts:
        raise DataError(
            f"{folder} is a folder without */*.txt: give a file, or a folder with one subfolder of .txt files per label"
        )
    return texts, labels


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise _unreadable(folder, error) from error


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
        if half := _half_of_a_pair(text):
            raise DataError(f"{file}: the text of row {i} holds {half}: write the character in full, or remove the row")


def _half_of_a_pair(text: str) -> str | None:
    """What is wrong with a text that cannot be written to a file."""
    half = _SURROGATE.search(text)
    return half and f"half of a character ({half[0]!a}, a lone surrogate, at character {half.start() + 1})"


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
    if isinstance(value, str) and (half := _half_of_a_pair(value)):
        raise DataError(f"{file}: the label of row {row} holds {half}: write the character in full, or remove the row")
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
        if strange := sorted(set(names) - set(known)):
            raise UnknownNameError(f"label in {file}", strange[0], known)
        names = tuple(known)
    elif len(names) == 1:
        raise DataError(
            f"{file} has one class only: all {len(raw)} rows are {names[0]!r}; give data of two classes or more"
        )
    numbers = {name: i for i, name in enumerate(names)}
    number = {value: numbers[renamed.get(value, value)] for value in values}
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
