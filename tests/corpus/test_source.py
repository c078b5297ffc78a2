"""The input of a run: every kind of table gives the same rows, and what is wrong with one is said with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus.texts import reviews, write
from limelight import corpus
from limelight.corpus.running.source import Chosen, Source, find_files, own_id
from limelight.errors import DataError, InputError, LimelightError

LABELS = ("negative", "positive")


def rows_of(given: Any, **chosen: Any) -> list[tuple[int, str, Any, str | None, dict[str, Any]]]:
    source = Source(find_files(given), Chosen(**chosen))
    survey = source.survey(LABELS)
    rows = [(row.number, row.id, row.text, row.truth, dict(row.carried)) for row in source.rows(survey.carried)]
    assert len(rows) == survey.rows
    return rows


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_kind_of_table_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    rows = reviews(600)  # more than are read at once
    rows[3]["text"] = 'a "quoted"\ttext,\nof two lines é'
    found = rows_of(write(tmp_path / f"data{suffix}", rows), id_column="name", label_column="label", carry=("stars",))
    assert [(number, id, text, truth) for number, id, text, truth, _ in found] == [
        (i, row["name"], row["text"], row["label"]) for i, row in enumerate(rows, start=1)
    ]
    assert [str(carried["stars"]) for *_, carried in found] == [str(row["stars"]) for row in rows]


def test_files_folders_and_patterns_are_read_one_after_the_other(tmp_path: Path) -> None:
    rows = reviews(9)
    write(tmp_path / "b.jsonl", rows[3:6])
    write(tmp_path / "a.csv", rows[:3])
    write(tmp_path / "c.parquet", rows[6:])
    (tmp_path / "notes.txt").write_text("no table")
    expected = [row["text"] for row in rows]
    assert [row[2] for row in rows_of(tmp_path)] == expected
    assert [row[2] for row in rows_of([tmp_path / "a.csv", tmp_path / "b.jsonl", tmp_path / "c.parquet"])] == expected
    assert [row[2] for row in rows_of(str(tmp_path / "[ab].*"))] == expected[:6]
    assert [row[2] for row in rows_of(tmp_path, limit=4)] == expected[:4]
    assert [row[0] for row in rows_of(tmp_path)] == list(range(1, 10))


def test_an_id_of_its_own_follows_from_row_and_content(tmp_path: Path) -> None:
    found = rows_of(write(tmp_path / "data.jsonl", [{"text": "same"}, {"text": "same"}, {"text": "other"}]))
    ids = [row[1] for row in found]
    assert len(set(ids)) == 3
    assert ids == [own_id(1, "same"), own_id(2, "same"), own_id(3, "other")]
    assert ids[0].split("-")[1] == ids[1].split("-")[1] != ids[2].split("-")[1]


def test_what_is_carried_keeps_its_type(tmp_path: Path) -> None:
    values: dict[str, list[Any]] = {
        "whole": [1, None, 3],
        "number": [1, 2.5, None],
        "yes": [True, False, None],
        "word": ["a", None, "c"],
        "mixed": [1, "x", None],
        "large": [2**70, 1, 2],
        "nested": [{"a": 1}, [1, 2], None],
    }
    rows = [{"text": "a text", **{name: own[i] for name, own in values.items()}} for i in range(3)]
    source = Source(find_files(write(tmp_path / "data.jsonl", rows)), Chosen(carry=tuple(values)))
    survey = source.survey(LABELS)
    assert survey.carried == {
        "whole": "int64",
        "number": "double",
        "yes": "bool",
        "word": "string",
        "mixed": "string",
        "large": "string",
        "nested": "string",
    }
    found = {name: [row.carried[name] for row in source.rows(survey.carried)] for name in values}
    assert found["whole"] == [1, None, 3]
    assert found["number"] == [1.0, 2.5, None]
    assert found["mixed"] == ["1", "x", None]
    assert found["nested"] == ['{"a": 1}', "[1, 2]", None]
    done = corpus.run(tmp_path / "data.jsonl", tmp_path / "out", methods=["gxi"], carry=list(values))
    assert next(done.tables())["large"].to_pylist() == [str(2**70), "1", "2"]


def _json(*rows: Any) -> Callable[[Path], Path]:
    def put(folder: Path) -> Path:
        file = folder / "data.jsonl"
        file.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
        return file

    return put


def _bytes(name: str, content: bytes) -> Callable[[Path], Path]:
    def put(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return put


def _cut_parquet(folder: Path) -> Path:
    file = write(folder / "data.parquet", reviews(50))
    file.write_bytes(file.read_bytes()[:-200])
    return file


def _torn_parquet(folder: Path) -> Path:
    """A page in the middle is overwritten; the footer is whole."""
    file = write(folder / "data.parquet", reviews(5000))
    content = bytearray(file.read_bytes())
    content[len(content) // 4 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 4)
    file.write_bytes(content)
    return file


GOOD = {"text": "a good film", "name": "x", "label": "positive"}
BAD: dict[str, tuple[Callable[[Path], Path], dict[str, Any], str]] = {
    "ids that repeat": (
        _json(GOOD, {**GOOD, "name": "y"}, GOOD),
        {"id_column": "name"},
        r"data.jsonl, line 3: the id 'x' in column 'name' was given before, in .*line 1",
    ),
    "an id that is null": (_json(GOOD, {**GOOD, "name": None}), {"id_column": "name"}, r"line 2: the id .* is null"),
    "an id that is none": (_json({**GOOD, "name": [1]}), {"id_column": "name"}, r"line 1: the id is \[1\]"),
    "a column that is missing": (_json(GOOD), {"text_column": "body"}, r"unknown column of .*data.jsonl 'body'"),
    "a carried column that is missing": (_json(GOOD), {"carry": ["nane"]}, "did you mean 'name'"),
    "a column of a CSV that is missing": (_bytes("d.csv", b"a,b\n1,2\n"), {}, r"unknown column of .*d.csv 'text'"),
    "a Parquet file that ends early": (_cut_parquet, {}, r"data.parquet cannot be read as Parquet \("),
    "a Parquet file with a hole": (_torn_parquet, {}, r"data.parquet cannot be read as Parquet( beyond row \d+)? \("),
    "two encodings": (
        _bytes("d.csv", b"text\nfine\ncaf\xc3\xa9\ncaf\xe9\n"),
        {},
        r"d.csv is not UTF-8: byte 0xe9 at offset 19 \(line 4\)",
    ),
    "two encodings behind a mark": (
        _bytes("d.jsonl", b'\xef\xbb\xbf{"text": "a"}\n{"text": "\xff"}\n'),
        {},
        r"byte 0xff at offset 27 \(line 2\)",
    ),
    "a label that the model does not know": (
        _json(GOOD, {**GOOD, "label": "so-so"}),
        {"label_column": "label"},
        r"unknown label in .*data.jsonl, line 2, 'so-so'.*label_names",
    ),
    "a line that is no JSON": (_json(GOOD, "{oops}\n"), {}, r"line 2: not valid JSON"),
    "a line that is no object": (_json(GOOD, "[1]\n"), {}, r"line 2: \[1\] is not an object"),
    "a row with other fields": (_bytes("d.csv", b"text,b\nx,1\ny\n"), {}, r"d.csv, line 3: 1 fields"),
    "two columns of one name": (_bytes("d.csv", b"text,text\nx,1\n"), {}, r"two columns of the same name"),
    "no rows": (_bytes("d.csv", b"text\n"), {}, "has no rows"),
    "no texts": (_json({"text": 1}, {"text": 2}), {}, "column 'text' holds no text in any of 2 rows, but 1"),
    "another kind of file": (_bytes("d.xlsx", b"PK"), {}, "save the sheet as CSV"),
    "no file": (lambda folder: folder / "none.csv", {}, "there is no file"),
    "a pattern without files": (lambda folder: folder / "*.csv", {}, "no file matches"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_with_its_place(tmp_path: Path, name: str) -> None:
    put, options, said = BAD[name]
    (tmp_path / "data").mkdir()
    with pytest.raises((DataError, InputError), match=said):
        corpus.run(put(tmp_path / "data"), tmp_path / "out", methods=["gxi"], **options)
    assert not (tmp_path / "out").exists()


def test_data_that_went_bad_loses_nothing_that_was_written(tmp_path: Path) -> None:
    data = write(tmp_path / "data.jsonl", reviews(4))
    corpus.run(data, tmp_path / "out", methods=["gxi"], shard_size=2)
    before = {file: file.read_bytes() for file in (tmp_path / "out").rglob("*.parquet")}
    data.write_bytes(data.read_bytes() + b"\xff\n")
    with pytest.raises(LimelightError):
        corpus.run(data, tmp_path / "out", methods=["gxi"], shard_size=2)
    assert {file: file.read_bytes() for file in (tmp_path / "out").rglob("*.parquet")} == before


def test_labels_of_the_data_may_have_other_names(tmp_path: Path) -> None:
    rows = [{"text": "a good film", "y": 1}, {"text": "a bad film", "y": 0.0}, {"text": "a film", "y": None}]
    data = write(tmp_path / "data.jsonl", rows)
    done = corpus.run(
        data, tmp_path / "out", methods=["gxi"], label_column="y", label_names={"0": "negative", "1": "positive"}
    )
    assert [document.truth for document in done.documents()] == ["positive", "negative", None]


@pytest.mark.parametrize("limit", [2, 3, None])
def test_a_column_that_no_line_has_is_missing_whatever_the_limit(tmp_path: Path, limit: int | None) -> None:
    data = write(tmp_path / "data.jsonl", reviews(3))
    with pytest.raises(InputError, match="did you mean 'label'"):
        rows_of(data, label_column="lable", limit=limit)
    assert len(rows_of(data, label_column="label", limit=limit)) == (limit or 3)
