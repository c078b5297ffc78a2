"""Many texts at once: tables, lines and files that are neither."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from conftest import small_model
from limelight import cli
from limelight.models.words import checkpoint
from reference.small_transformers import small_transformer
from storage.test_labelled_texts import WRITERS


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "ours"
    checkpoint.save(small_model().float(), path, "# A small model\n")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["explain", "--method", "gxi", *map(str, arguments)], env={"COLUMNS": "100"})


def records(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


ROWS = [("A great film", "a1"), ("=bad end", "b2"), ("too long", "c3")]


@pytest.mark.parametrize("name", WRITERS)
def test_every_table_that_train_reads_is_explained(ours: Path, tmp_path: Path, name: str) -> None:
    file = WRITERS[name](tmp_path / name, ROWS, ("body", "key"))
    named = ("--file", file, "--text-column", "body", "--model", ours, "--format", "json")
    by_row = records(run(*named))
    assert [(own["id"], own["text"]) for own in by_row] == [(i, text) for i, (text, _) in enumerate(ROWS, start=1)]
    by_key = records(run(*named, "--id-column", "key", "--limit", "2"))
    assert [own["id"] for own in by_key] == ["a1", "b2"]


def test_ids_are_shown_in_every_format(ours: Path, tmp_path: Path) -> None:
    file = WRITERS["data.csv"](tmp_path / "data.csv", [("A great film", "id <1>"), ("bad end", "@2")], ("text", "key"))
    options = ("--file", file, "--id-column", "key", "--model", ours)
    table = run(*options)
    assert "━━ id <1>  A great film" in table.stdout
    page = run(*options, "--format", "html").stdout
    assert "id &lt;1&gt;" in page
    rows = list(csv.DictReader(io.StringIO(run(*options, "--format", "csv").stdout)))
    assert [row["id"] for row in rows] == ["id <1>"] * 3 + ["'@2"] * 2
    saved = tmp_path / "saved.jsonl"
    assert run(*options, "--out", saved).exit_code == 0
    again = CliRunner().invoke(cli.app, ["show", str(saved)], env={"COLUMNS": "100"})
    assert again.stdout == table.stdout


def test_pairs_come_from_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "bert"
    for part in small_transformer("bert"):
        part.save_pretrained(path)
    file = WRITERS["data.jsonl"](tmp_path / "pairs.jsonl", [("A great film", "too long"), ("bad", "")], ("a", "b"))
    options = ("--file", file, "--text-column", "a", "--model", path, "--format", "json")
    pairs = records(run(*options, "--second-column", "b"))
    assert pairs[0]["text"] == ["A great film", "too long"]
    assert "second" in run(*options, "--second", "too long").stderr


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl", "data.parquet"])
def test_blank_texts_are_one_error_said_once(ours: Path, tmp_path: Path, name: str) -> None:
    rows = [("good", 1), (" \t", 1), ("bad", 1), ("", 1)] + [("", 1)] * 6
    file = WRITERS[name](tmp_path / name, rows)
    result = run("--file", file, "--model", ours, "--format", "json")
    assert result.exit_code == 2
    assert result.stderr == "error: rows 2, 4, 5, 6, 7 and 3 more are blank and left out\n"
    found = records(result)
    assert [own.get("error") for own in found] == [None, "the text is blank", None, *["the text is blank"] * 7]
    if name != "data.csv":
        nulls = WRITERS[name](tmp_path / f"null-{name}", [(None, 1), ("good", 1)])
        assert run("--file", nulls, "--model", ours).stderr == "error: row 1 is blank and left out\n"


def test_a_text_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / "bert"
    for part in small_transformer("bert"):
        part.save_pretrained(path)
    file = WRITERS["data.csv"](tmp_path / "a.csv", [("great film " * 60, "long"), ("good", "short")], ("text", "key"))
    result = run("--file", file, "--id-column", "key", "--model", path, "--format", "json")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: id long: the text has 120 tokens") or "id long:" in result.stderr
    assert "--truncate" in result.stderr
    assert [own["id"] for own in records(result) if "error" not in own] == ["short"]
    assert "--truncate" in str(records(result)[0]["error"])


ZIPPED = io.BytesIO()
with zipfile.ZipFile(ZIPPED, "w") as archive:
    archive.writestr("word/document.xml", "<w/>")

REFUSED: dict[str, tuple[str, bytes, list[str], str]] = {
    "no column of that name": (
        "a.csv",
        b"review,stars\ngood,5\n",
        [],
        "choose from 'review', 'stars'; name the column of the texts by --text-column",
    ),
    "a column that is not there": ("a.csv", b"text\ngood\n", ["--text-column", "txt"], "did you mean 'text'?"),
    "an id that is not there": ("a.csv", b"text\ngood\n", ["--id-column", "key"], "'key': choose from 'text'\n"),
    "numbers": ("a.jsonl", b'{"text": 5}\n', [], "must hold texts, but row 1 is 5"),
    "ids that are missing": (
        "a.jsonl",
        b'{"text": "a"}\n{"id": 1, "text": "b"}\n',
        ["--id-column", "id"],
        "ids are null",
    ),
    "ids that are lists": ("a.jsonl", b'{"id": [1], "text": "b"}\n', ["--id-column", "id"], "row 1 has the id [1]"),
    "no rows": ("a.csv", b"text\n", [], "has no rows"),
    "lines of a table": ("a.csv", b"text\ngood\n", ["--lines"], "leave --lines out"),
    "a column of a text": ("a.txt", b"good", ["--text-column", "x"], "--text-column is for a table"),
    "ids of a text": ("a.txt", b"good", ["--id-column", "x"], "--id-column is for a table"),
    "second of lines": ("a.txt", b"good", ["--lines", "--second-column", "x"], "--second-column is for a table"),
    "limit of a text": ("a.txt", b"good", ["--limit", "3"], "--limit is for a table"),
    "packed": ("a.txt.gz", gzip.compress(b"good"), [], "is packed with gzip: unpack it first"),
    "packed, by another name": ("a.txt", gzip.compress(b"good"), [], "is packed with gzip: unpack it first"),
    "a document": ("a.docx", ZIPPED.getvalue(), [], "an archive, as documents and sheets of office programs are"),
    "a PDF": ("a.pdf", b"%PDF-1.7\n", [], "pdftotext"),
    "RTF": ("a.rtf", b"{\\rtf1 good}", [], "save it as plain text"),
    "UTF-16": ("a.txt", "good".encode("utf-16"), [], "iconv -f UTF-16"),
    "JSON": ("a.json", b'{"text": "good"}', [], "limelight show"),
    "Parquet by another name": ("a.bin", b"PAR1....", [], "ends in .parquet"),
    "a broken table": ("a.parquet", b"text", [], "cannot be read as Parquet"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_advice(ours: Path, tmp_path: Path, name: str) -> None:
    file, content, options, said = REFUSED[name]
    (tmp_path / file).write_bytes(content)
    result = run("--file", tmp_path / file, "--model", ours, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert said in result.stderr


def test_lines_can_be_limited(ours: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("good\nbad\nlong\n")
    found = records(run("--file", file, "--lines", "--limit", "2", "--model", ours, "--format", "json"))
    assert [(own["id"], own["text"]) for own in found] == [(1, "good"), (2, "bad")]
