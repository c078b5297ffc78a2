"""The input of a run: files as a stream of rows, each with an id; a look at all of it before any work is done."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from limelight.core.progress import SILENT, Progress, working
from limelight.corpus.running.shard_rows import Row
from limelight.corpus.store.schema import CarriedType, carried_type
from limelight.errors import DataError, InputError, ParameterError, UnknownNameError, shown
from limelight.storage.labelled_texts import half_of_a_pair, label_string
from limelight.storage.tables import (
    SUFFIXES,
    as_whole,
    is_identifier,
    is_missing,
    is_table,
    place_name,
    read_table,
    unreadable,
)

Given = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A file, a folder of files, a pattern such as "data/*.jsonl", or several of these."""
_TOLD_EVERY = 1000
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Chosen:
    """Which columns are what; at most the first `limit` rows."""

    text_column: str = "text"
    second_column: str | None = None
    id_column: str | None = None
    label_column: str | None = None
    carry: tuple[str, ...] = ()
    label_names: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None

    @property
    def text_columns(self) -> list[str]:
        return [self.text_column] if self.second_column is None else [self.text_column, self.second_column]

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        return [*self.text_columns, *filter(None, (self.id_column, self.label_column)), *self.carry]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "carry": list(self.carry)}


@dataclass(frozen=True)
class Survey:
    """What a look at all rows found: how many there are, and what the carried columns hold."""

    rows: int
    carried: Mapping[str, CarriedType]


@dataclass(frozen=True)
class Source:
    """Files and the columns that are read of them."""

    files: tuple[Path, ...]
    chosen: Chosen

    def fingerprint(self) -> list[dict[str, Any]]:
        """Name, size and SHA-256 of each file."""
        found = []
        for file in self.files:
            try:
                with file.open("rb") as opened:
                    digest = hashlib.file_digest(opened, "sha256").hexdigest()
                    found.append({"name": file.name, "bytes": opened.tell(), "sha256": digest})
            except OSError as error:
                raise unreadable(file, error) from error
        return found

    def rows(self, carried: Mapping[str, CarriedType]) -> Iterator[Row]:
        """All rows in their order, as they were found to be by a survey."""
        chosen = self.chosen
        for number, (file, place, values) in enumerate(self._records(), start=1):
            texts = tuple(values[name] for name in chosen.text_columns)
            text = texts[0] if chosen.second_column is None else texts
            yield Row(
                number,
                own_id(number, text) if chosen.id_column is None else str(as_whole(values[chosen.id_column])),
                text,
                self._label(file, place, values)[1],
                {name: _as_type(values[name], kind) for name, kind in carried.items()},
            )

    def survey(self, labels: Sequence[str], progress: Progress = SILENT) -> Survey:
        """Look at every row: what is wrong with an id, a label or a file is said before any work is done."""
        chosen = self.chosen
        kinds: dict[str, set[type]] = {name: set() for name in chosen.carry}
        ids, rows, texts, not_one = array("Q"), 0, 0, None
        with working(progress, "looking at the data", 0):
            for rows, (file, place, values) in enumerate(self._records(), start=1):
                if all(isinstance(values[name], str) for name in chosen.text_columns):
                    texts += 1
                elif not_one is None and values[chosen.text_column] is not None:
                    not_one = values[chosen.text_column]
                if chosen.id_column is not None:
                    ids.append(_id_hash(file, place, values[chosen.id_column], chosen.id_column))
                self._check_label(file, place, values, labels)
                for name, own in kinds.items():
                    own.add(_kind(values[name]))
                if rows % _TOLD_EVERY == 0:
                    progress.advance(_TOLD_EVERY)
        if rows == 0:
            raise DataError(f"{self._named} has no rows: give a file with a text in each row")
        if texts == 0:
            raise DataError(
                f"{self._named}: column {chosen.text_column!r} holds no text in any of {rows:,} rows, but "
                f"{shown(not_one)}; name the right column by text_column"
            )
        self._check_repeated(ids)
        return Survey(rows, {name: carried_type(list(own)) for name, own in kinds.items()})

    @property
    def _named(self) -> str:
        more = "" if len(self.files) == 1 else f" and {len(self.files) - 1} more"
        return f"{self.files[0]}{more}"

    def _records(self) -> Iterator[tuple[Path, int, dict[str, Any]]]:
        """File, place in it and the columns that were asked for; no more rows than the limit."""
        names, left = self.chosen.names, self.chosen.limit
        for file in self.files:
            if left == 0:
                return
            for place, values in read_table(file, names, limit=left):
                if left is not None:
                    left -= 1
                yield file, place, values

    def _label(self, file: Path, place: int, values: Mapping[str, Any]) -> tuple[str, str | None]:
        """The label of a row as the data has it, and as the model calls it: None where there is none."""
        column = self.chosen.label_column
        if column is None or is_missing(values[column]):
            return "", None
        raw = label_string(file, values[column], place, column)
        return raw, self.chosen.label_names.get(raw, raw)

    def _check_label(self, file: Path, place: int, values: Mapping[str, Any], labels: Sequence[str]) -> None:
        raw, name = self._label(file, place, values)
        if name is not None and name not in labels:
            unknown = UnknownNameError(f"label in {file}, {place_name(file)} {place},", name, labels)
            raise DataError(
                f"{unknown}; the model knows no other labels: name them by label_names, such as "
                f"{{{raw!r}: {labels[0]!r}}}, or name no label_column"
            )

    def _check_repeated(self, ids: array[int]) -> None:
        """That no id stands twice; hashes are compared first, which takes 16 bytes of memory for a row."""
        hashes = np.array(ids, dtype=np.uint64)
        ordered = np.sort(hashes)
        again = ordered[1:][ordered[1:] == ordered[:-1]]
        if not len(again):
            return
        seen: dict[str, str] = {}
        for is_suspect, (file, place, values) in zip(np.isin(hashes, again), self._records(), strict=True):
            if is_suspect:
                own = str(as_whole(values[str(self.chosen.id_column)]))
                here = f"{file}, {place_name(file)} {place}"
                if own in seen:
                    raise DataError(
                        f"{here}: the id {shown(own)} in column {self.chosen.id_column!r} was given before, in "
                        f"{seen[own]}; give each row an id of its own, or name no id column"
                    )
                seen[own] = here


def find_files(given: Given) -> tuple[Path, ...]:
    """The files that were named, those of folders and patterns by name."""
    several = [given] if isinstance(given, str | os.PathLike) else given
    try:
        members = [os.fspath(one) for one in several]
    except TypeError as error:
        raise ParameterError(f"data must be the path of a file, or several: got {shown(given)}") from error
    if not members:
        raise InputError("no data was named: give a file, a folder or a pattern")
    files = [file for one in members for file in _found(str(one))]
    for file in files:
        if files.count(file) > 1:
            raise InputError(f"{file} was named twice: name each file once")
    return tuple(files)


def _found(given: str) -> list[Path]:
    path = Path(given).expanduser()
    try:
        if path.is_dir():
            files = sorted(own for own in path.iterdir() if is_table(own) and not own.name.startswith((".", "_")))
            if not files:
                raise DataError(f"{path} holds no table: expected files that end in {', '.join(SUFFIXES)}")
            return files
        if path.exists():
            return [path]
    except OSError as error:
        raise unreadable(path, error) from error
    if glob.has_magic(given):
        matches = sorted(Path(own) for own in glob.glob(str(path), recursive=True) if Path(own).is_file())
        if not matches:
            raise DataError(f"no file matches {shown(given)}: check the pattern (the folder is {os.getcwd()})")
        return matches
    raise DataError(f"there is no file {shown(given)}: check the path (the current folder is {os.getcwd()})")


def own_id(number: int, text: object) -> str:
    """The id of a row that has none: its number and a hash of its content."""
    content = text if isinstance(text, str) else json.dumps(text)
    return f"{number}-{hashlib.blake2b(content.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def problem_of(text: object) -> str | None:
    """Why what stands in the place of a text is none; None where it is one."""
    for own in text if isinstance(text, tuple) else (text,):
        if own is None or own != own:  # pandas writes a missing text as a number that is none
            return "the text is null: give a text with at least one word"
        if not isinstance(own, str):
            return f"the text is {shown(own)}, not a string: write it as one"
        if half := half_of_a_pair(own):
            return f"the text holds {half}: write the character in full"
    return None


def _id_hash(file: Path, place: int, value: Any, column: str) -> int:
    here = f"{file}, {place_name(file)} {place}"
    if is_missing(value):
        raise DataError(f"{here}: the id in column {column!r} is null; fill it in, or name no id column")
    value = as_whole(value)
    if not is_identifier(value):
        raise DataError(f"{here}: the id is {shown(value)} in column {column!r}; ids are whole numbers or strings")
    digest = hashlib.blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _kind(value: Any) -> type:
    if type(value) is int and abs(value) > _LARGEST:
        return str
    return type(value) if value is None or isinstance(value, bool | int | float | str) else str


def _as_type(value: Any, kind: CarriedType) -> Any:
    if value is None or (kind == "string" and isinstance(value, str)):
        return value
    if kind == "string":
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            return str(value)
    return float(value) if kind == "double" else value
