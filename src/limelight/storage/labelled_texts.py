"""Texts from a file: CSV, TSV, JSON lines or Parquet; with labels also a folder, one subfolder of .txt files per label.

Half of a surrogate pair, as JSON can spell it ("\\ud83d"), is refused with its row: no file could hold what is learnt
from it.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.core.arrays import Integers
from limelight.errors import DataError, ParameterError, UnknownNameError
from limelight.inputs.document import Text
from limelight.storage.tables import as_whole, is_identifier, is_missing, not_utf8, read_table, unreadable

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
        rows = [row for _, row in read_table(file, (text_column, label_column))]
        texts, raw = ([row[name] for row in rows] for name in (text_column, label_column))
    if not texts:
        raise DataError(f"{file} has no rows: give a file with a text and a label in each row")
    empty = [text is None or (isinstance(text, str) and not text.strip()) for text in texts]
    _refuse(file, empty, "texts are empty or null", "remove these rows")
    _check_strings(file, texts, text_column)
    _refuse(file, list(map(is_missing, raw)), "labels are null", "remove these rows")
    labels = [label_string(file, value, i, label_column) for i, value in enumerate(raw, start=1)]
    names, numbers = _number_labels(file, labels, label_names or {}, known)
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
    named = (text_column,) if second_column is None else (text_column, second_column)
    file, rows = Path(path), read_rows(path, named if id_column is None else (*named, id_column), limit=limit)
    if not rows:
        raise DataError(f"{file} has no rows: give a file with a text in each row")
    texts = [["" if row[name] is None else row[name] for row in rows] for name in named]
    for column, name in zip(texts, named, strict=True):
        _check_strings(file, column, name)
    ids = range(1, len(rows) + 1) if id_column is None else _ids(file, [row[id_column] for row in rows], id_column)
    joined: Iterable[Text] = texts[0] if second_column is None else zip(*texts, strict=True)
    return IdentifiedTexts(tuple(ids), tuple(joined))


def read_rows(
    path: str | os.PathLike[str], required: Sequence[str], optional: Sequence[str] = (), *, limit: int | None = None
) -> list[dict[str, Any]]:
    """The first rows of a table, each as a dictionary of the columns named: those that are optional where they are."""
    file = Path(path)
    if _is_folder(file):
        raise DataError(f"{file} is a folder: name a file")
    return [row for _, row in read_table(file, required, optional, limit=limit)]


# ── folders ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_folder(file: Path) -> bool:
    """Whether there is a folder; an error where there is nothing at all, or nothing that can be asked for."""
    try:
        return stat.S_ISDIR(os.stat(file).st_mode)
    except FileNotFoundError as error:
        raise DataError(
            f"there is no file {file!s:.200}: check the path (the current folder is {os.getcwd()})"
        ) from error
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error


def _decode(file: Path) -> str:
    try:
        content = file.read_bytes()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder does not count a byte order mark, which it has taken off.
        offset = error.start + len(content) - len(error.object)
        raise not_utf8(file, content[offset], offset, content.count(b"\n", 0, offset) + 1) from error
    except OSError as error:
        raise unreadable(file, error) from error


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


def _refuse(file: Path, is_missing: Sequence[bool], said: str, advice: str) -> None:
    """An error where one row or more has no value; it names the first of them."""
    rows = [i for i, missing in enumerate(is_missing, start=1) if missing]
    if rows:
        named = f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows[:_ROWS_SHOWN]))}"
        more = ", …" if len(rows) > _ROWS_SHOWN else ""
        raise DataError(f"{file}: {len(rows)} of {len(is_missing)} {said} ({named}{more}): {advice}")


def _check_strings(file: Path, texts: Sequence[Any], column: str) -> None:
    for i, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise DataError(
                f"{file}: column {column!r} must hold texts, but row {i} is {text!r:.40}; name the right column"
            )
        if half := half_of_a_pair(text):
            raise DataError(f"{file}: the text of row {i} holds {half}: write the character in full, or remove the row")


def _ids(file: Path, values: Sequence[Any], column: str) -> list[int | str]:
    _refuse(file, list(map(is_missing, values)), "ids are null", "fill them in, or name no column")
    ids = [as_whole(value) for value in values]
    for i, value in enumerate(ids, start=1):
        if not is_identifier(value):
            raise DataError(
                f"{file}: row {i} has the id {value!r:.40} in column {column!r}; ids are whole numbers or strings"
            )
    return ids


def half_of_a_pair(text: str) -> str | None:
    """Reason why a text cannot be written to a file, or None."""
    half = _SURROGATE.search(text)
    return half and f"half of a character ({half[0]!a}, a lone surrogate, at character {half.start() + 1})"


def label_string(file: Path, value: Any, row: int, column: str) -> str:
    """The name of a label, whichever type the table gives it."""
    if isinstance(value, bool):
        return str(value).lower()
    value = as_whole(value)
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
    """By value if all of them are finite numbers, else by the alphabet."""
    try:
        numbers = {value: float(value) for value in values}
    except ValueError:
        return sorted(values)
    is_finite = all(map(math.isfinite, numbers.values()))
    return sorted(values, key=lambda value: (numbers[value] if is_finite else 0.0, value))
