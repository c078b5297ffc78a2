"""Texts from a file: CSV, TSV, JSON lines or Parquet; with labels also a folder, one subfolder of .txt files per label.

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

from limelight.core.arrays import Integers
from limelight.errors import DataError, ParameterError, UnknownNameError
from limelight.inputs.document import Text
from limelight.storage.unreadable import (
    PATH_SHOWN,
    not_parquet,
    not_utf8,
    not_well_formed,
    same_name,
    uneven,
    unreadable,
)

Columns = dict[str, list[Any]]
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")

_ADVICE = {
    "unpack it first": (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".7z"),
    "save the sheet as CSV": (".xlsx", ".xls", ".xlsm", ".ods", ".numbers"),
    "save it as plain text (UTF-8), or its texts as CSV": (".docx", ".doc", ".odt", ".rtf", ".pdf", ".epub", ".pages"),
    "write one object per line and name it .jsonl": (".json",),
    "save the data frame as Parquet or CSV": (".pkl", ".pickle", ".feather", ".arrow", ".h5", ".hdf5", ".npy", ".npz"),
}
"""What to do with files of other kinds, by their suffixes."""
_ROWS_SHOWN = 5
"""Row numbers that an error names: enough to find the pattern."""
_SURROGATE = re.compile("[\ud800-\udfff]")


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
            if half := half_of_a_pair(text):
                raise DataError(f"text {i} holds {half}: write the character in full, or take it out")
        if half := next(filter(None, map(half_of_a_pair, self.label_names)), None):
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
    if _is_folder(file):
        texts, raw = _read_folders(file)
    else:
        texts, raw = _read_columns(file, (text_column, label_column))
    if not texts:
        raise DataError(f"{file} has no rows: give a file with a text and a label in each row")
    _check_texts(file, texts, text_column)
    names, numbers = _number_labels(file, _label_strings(file, raw, label_column), label_names or {}, known)
    return LabelledTexts(tuple(texts), numbers, names)


@dataclass(frozen=True)
class IdentifiedTexts:
    """Texts, or pairs of them, each with an id; one that the file leaves empty is an empty string here."""

    ids: tuple[int | str, ...]
    texts: tuple[Text, ...]

    def __len__(self) -> int:
        return len(self.texts)


def read_texts(
    path: str | os.PathLike[str],
    text_column: str = "text",
    *,
    second_column: str | None = None,
    id_column: str | None = None,
    limit: int | None = None,
) -> IdentifiedTexts:
    """The texts of a table, or its pairs of texts where there is a second column; at most the first `limit` rows.

    An id is what the id column holds, or the number of the row, from 1 and without the header.
    """
    file = Path(path)
    if _is_folder(file):
        raise DataError(f"{file} is a folder: name a file")
    wanted = [name for name in (text_column, second_column, id_column) if name is not None]
    columns = [column[:limit] for column in _read_columns(file, wanted, limit)]
    if not columns[0]:
        raise DataError(f"{file} has no rows: give a file with a text in each row")
    texts = [
        ["" if text is None else text for text in column] for column in columns[: 1 if second_column is None else 2]
    ]
    for column, name in zip(texts, wanted, strict=False):
        _check_strings(file, column, name)
    ids = range(1, len(columns[0]) + 1) if id_column is None else _ids(file, columns[-1], id_column)
    joined: Iterable[Text] = texts[0] if second_column is None else zip(*texts, strict=True)
    return IdentifiedTexts(tuple(ids), tuple(joined))


def read_rows(
    path: str | os.PathLike[str], required: Sequence[str], optional: Sequence[str] = (), *, limit: int | None = None
) -> list[dict[str, Any]]:
    """The first rows of a table, each as a dictionary of the columns named: those that are optional where they are."""
    file = Path(path)
    if _is_folder(file):
        raise DataError(f"{file} is a folder: name a file")
    columns = _columns(file, [*required, *optional], limit)
    for name in required:
        if name not in columns:
            raise UnknownNameError(f"column of {file}", name, columns)
    named = [name for name in (*required, *optional) if name in columns]
    rows = zip(*[columns[name][:limit] for name in named], strict=True)
    return [dict(zip(named, row, strict=True)) for row in rows]


def is_table(file: Path) -> bool:
    """Whether its name says that it has rows and columns."""
    return file.suffix.lower() in SUFFIXES


def advice_on(file: Path) -> str | None:
    """What to do with a file whose name says that it is of a kind that limelight does not read."""
    suffix = file.suffix.lower()
    return next((advice for advice, suffixes in _ADVICE.items() if suffix in suffixes), None)


def unknown_suffix(file: Path) -> DataError:
    advice = advice_on(file)
    return DataError(
        f"{file} has a suffix that limelight does not read: use one of {', '.join(SUFFIXES)}"
        f"{'' if advice is None else f'; {advice}'}"
    )


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_columns(file: Path, wanted: Sequence[str], limit: int | None = None) -> list[list[Any]]:
    """The values of these columns; rows beyond `limit` need not be read."""
    columns = _columns(file, wanted, limit)
    for name in wanted:
        if name not in columns:
            raise UnknownNameError(f"column of {file}", name, columns)
    return [columns[name] for name in wanted]


def _columns(file: Path, wanted: Sequence[str], limit: int | None) -> Columns:
    """All columns by name; of a kind of file that is read by columns, those that are not wanted are empty."""
    suffix = file.suffix.lower()
    if suffix in (".csv", ".tsv"):
        columns = _read_csv(file, "," if suffix == ".csv" else "\t")
    elif suffix in (".jsonl", ".ndjson"):
        columns = _read_jsonl(file)
    elif suffix == ".parquet":
        columns = _read_parquet(file, wanted, limit)
    else:
        raise unknown_suffix(file)
    return columns


def _is_folder(file: Path) -> bool:
    """Whether there is a folder; an error where there is nothing at all, or nothing that can be asked for."""
    try:
        return stat.S_ISDIR(os.stat(file).st_mode)
    except FileNotFoundError as error:
        raise DataError(
            f"there is no file {file!s:.{PATH_SHOWN}}: check the path (the current folder is {os.getcwd()})"
        ) from error
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error
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
        raise not_utf8(file, content[offset], offset, line) from error


def _read_csv(file: Path, delimiter: str) -> Columns:
    text = _decode(file)
    limit = csv.field_size_limit(sys.maxsize)  # the default refuses texts of more than 131,072 characters
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        columns: Columns = {name: [] for name in header}
        if len(columns) != len(header):
            raise same_name(file, header)
        for row in reader:
            if not row:  # a blank line
                continue
            if len(row) != len(header):
                raise uneven(file, reader.line_num, row, header)
            for name, value in zip(header, row, strict=True):
                columns[name].append(value)
    except csv.Error as error:
        raise not_well_formed(file, reader.line_num, error) from error
    finally:
        csv.field_size_limit(limit)
    return columns


def _read_jsonl(file: Path) -> Columns:
    records: list[dict[str, Any]] = []
    # Not splitlines(): JSON strings may hold other line separators, such as U+2028, as they are.
    for number, line in enumerate(_decode(file).split("\n"), start=1):
        if not line.strip():
            continue
        records.append(json_record(file, number, line))
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: [record.get(name) for record in records] for name in names}


def json_record(file: Path, number: int, line: str) -> dict[str, Any]:
    """The object in a line of JSON, in which no name stands twice."""
    try:
        record = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:  # ValueError: not JSON, or a number of thousands of digits
        raise DataError(
            f"{file}, line {number}: not valid JSON ({error!s:.100}); each line must be one object"
        ) from error
    if not isinstance(record, dict):
        raise DataError(f"{file}, line {number}: {line.strip()[:40]} is not an object; each line must be one")
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.40} stands in it twice")
    return record


def _read_parquet(file: Path, wanted: Iterable[str], limit: int | None) -> Columns:
    library = parquet_library(file)
    try:
        with library.ParquetFile(file) as parquet:
            names = parquet.schema_arrow.names
            read = [name for name in wanted if name in names]
            if any(names.count(name) > 1 for name in read):
                raise same_name(file, names)
            # The other columns are named, for an error to list, but not read.
            columns: Columns = {name: [] for name in names}
            for batch in parquet.iter_batches(columns=read):
                for name in read:
                    columns[name] += batch.column(name).to_pylist()
                if limit is not None and read and len(columns[read[0]]) >= limit:
                    break
            return columns
    except DataError:
        raise
    # It raises its own errors, the system's, those of decoding (bad UTF-8) and of dates that Python does not have.
    except Exception as error:
        raise not_parquet(file, error) from error


def parquet_library(file: Path) -> Any:
    """PyArrow's module for Parquet, which a file is to be read with."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f'reading {file} needs pyarrow: pip install "limelight[data]"') from error
    return pyarrow.parquet


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
        raise unreadable(folder, error) from error


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
    _check_strings(file, texts, column)


def _check_strings(file: Path, texts: Sequence[Any], column: str) -> None:
    for i, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise DataError(
                f"{file}: column {column!r} must hold texts, but row {i} is {text!r:.40}; name the right column"
            )
        if half := half_of_a_pair(text):
            raise DataError(f"{file}: the text of row {i} holds {half}: write the character in full, or remove the row")


def _ids(file: Path, values: Sequence[Any], column: str) -> list[int | str]:
    missing = [i for i, value in enumerate(values, start=1) if value is None or value == "" or value != value]
    if missing:
        raise DataError(
            f"{file}: {len(missing)} of {len(values)} ids are null ({_rows(missing)}): fill them in, or name no column"
        )
    ids = []
    for i, value in enumerate(values, start=1):
        if isinstance(value, float) and value.is_integer():  # whole numbers that passed through a column of floats
            value = int(value)
        if not isinstance(value, int | str) or isinstance(value, bool):
            raise DataError(
                f"{file}: row {i} has the id {value!r:.40} in column {column!r}; ids are whole numbers or strings"
            )
        ids.append(value)
    return ids


def half_of_a_pair(text: str) -> str | None:
    """What is wrong with a text that cannot be written to a file."""
    half = _SURROGATE.search(text)
    return half and f"half of a character ({half[0]!a}, a lone surrogate, at character {half.start() + 1})"


def _label_strings(file: Path, raw: Sequence[Any], column: str) -> list[str]:
    missing = [i for i, value in enumerate(raw, start=1) if value is None or value == "" or value != value]
    if missing:
        raise DataError(f"{file}: {len(missing)} of {len(raw)} labels are null ({_rows(missing)}): remove these rows")
    return [label_string(file, value, i, column) for i, value in enumerate(raw, start=1)]


def label_string(file: Path, value: Any, row: int, column: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():  # whole numbers that passed through a column of floats
        return str(int(value))
    if isinstance(value, str) and (half := half_of_a_pair(value)):
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
