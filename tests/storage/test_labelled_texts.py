"""Data files: each format gives the same data set, and each fault is named with its place."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limelight.errors import DataError, UnknownNameError
from limelight.storage.labelled_texts import LabelledTexts, read_labelled, read_texts
from limelight.storage.tables import is_table

Rows = list[tuple[Any, Any]]
ROWS: Rows = [("Good, really.", 1), ("Two\nlines; \u2028 and\t“quotes”", 0), ('It said "no"', 0), ("映画", 1)]


def write_csv(path: Path, rows: Rows, header: tuple[str, str] = ("text", "label"), delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return path


def write_jsonl(path: Path, rows: Rows, header: tuple[str, str] = ("text", "label")) -> Path:
    lines = [json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_parquet(path: Path, rows: Rows, header: tuple[str, str] = ("text", "label")) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    parquet.write_table(pyarrow.table({"id": list(range(len(rows))), **columns}), path)
    return path


WRITERS: dict[str, Callable[..., Path]] = {
    "data.csv": write_csv,
    "DATA.TSV": lambda path, *args: write_csv(path, *args, delimiter="\t"),
    "data.jsonl": write_jsonl,
    "data.ndjson": write_jsonl,
    "data.parquet": write_parquet,
}


def contents(data: LabelledTexts) -> Rows:
    return [(text, data.label_names[label]) for text, label in zip(data.texts, data.labels, strict=True)]


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same(tmp_path: Path, name: str) -> None:
    data = read_labelled(WRITERS[name](tmp_path / name, ROWS))
    assert data.texts == tuple(text for text, _ in ROWS)
    assert data.labels.tolist() == [1, 0, 0, 1]
    assert data.label_names == ("0", "1")
    assert len(data) == 4


@pytest.mark.parametrize("name", WRITERS)
def test_columns_and_names_can_be_chosen(tmp_path: Path, name: str) -> None:
    path = WRITERS[name](tmp_path / name, ROWS, ("body", "y"))
    data = read_labelled(path, "body", "y", {"0": "negative", "1": "positive"})
    assert data.label_names == ("negative", "positive")
    with pytest.raises(UnknownNameError, match=r"column of .* 'text': .*choose from .*'body', 'y'"):
        read_labelled(path)
    with pytest.raises(UnknownNameError, match="'label'"):
        read_labelled(path, "body")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip),
        min_size=2,
        max_size=5,
    )
)
def test_texts_come_back_as_written(tmp_path: Path, texts: list[str]) -> None:
    rows: Rows = [(text, i % 2) for i, text in enumerate(texts)]
    for name in ("data.csv", "data.jsonl"):
        assert read_labelled(WRITERS[name](tmp_path / name, rows)).texts == tuple(texts)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([10, 9, -1], ("-1", "9", "10")),
        (["10", "9", "2"], ("2", "9", "10")),
        (["b", "B", "a"], ("B", "a", "b")),
        (["10", "9", "x"], ("10", "9", "x")),
        ([True, False, True], ("false", "true")),
        ([1.0, 0.0, 1.0], ("0", "1")),
        (["nan", "1", "0"], ("0", "1", "nan")),
    ],
)
def test_order_of_labels(tmp_path: Path, labels: list[Any], names: tuple[str, ...]) -> None:
    for rows in (labels, labels[::-1]):
        data = read_labelled(write_jsonl(tmp_path / "data.jsonl", [("t", label) for label in rows]))
        assert data.label_names == names


def test_labels_can_be_merged_by_name(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "stars.csv", [("t", stars) for stars in (5, 1, 2, 4)])
    data = read_labelled(path, label_names={"1": "bad", "2": "bad", "4": "good", "5": "good"})
    assert data.label_names == ("bad", "good")
    assert data.labels.tolist() == [1, 0, 0, 1]
    with pytest.raises(UnknownNameError, match=r"label in .*'5'.*choose from '1', '2'"):
        read_labelled(path, label_names={"1": "bad", "2": "bad", "4": "good"})


def test_known_labels_give_the_order(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "test.csv", [("t", "b"), ("u", "b")])
    assert read_labelled(path, known=("b", "a")).labels.tolist() == [0, 0]
    with pytest.raises(UnknownNameError, match=r"label in .*'b': .*choose from 'c', 'a'"):
        read_labelled(path, known=("c", "a"))


def test_long_texts_and_byte_order_mark(tmp_path: Path) -> None:
    limit = csv.field_size_limit(131_072)  # Python's own
    path = write_csv(tmp_path / "long.csv", [("word " * 100_000, 0), ("b", 1)])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"\r\n")
    assert len(read_labelled(path).texts[0]) == 500_000
    assert csv.field_size_limit(limit) == 131_072


def test_folder_as_imdb_is_distributed(tmp_path: Path) -> None:
    for name in ("pos/0_9.txt", "pos/1_7.txt", "neg/0_1.txt", "unsup/0_0.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}")
    data = read_labelled(tmp_path, label_names={"neg": "negative", "pos": "positive"})
    assert contents(data) == [
        ("text of neg/0_1.txt", "negative"),
        ("text of pos/0_9.txt", "positive"),
        ("text of pos/1_7.txt", "positive"),
    ]
    with pytest.raises(DataError, match=r"folder without \*/\*\.txt"):
        read_labelled(tmp_path / "pos")


@pytest.mark.parametrize("name", WRITERS)
def test_texts_are_read_with_ids_and_without_labels(tmp_path: Path, name: str) -> None:
    path = WRITERS[name](tmp_path / name, ROWS, ("body", "key"))
    data = read_texts(path, "body")
    assert data.texts == tuple(text for text, _ in ROWS)
    assert data.ids == (1, 2, 3, 4)
    assert len(read_texts(path, "body", limit=3)) == 3
    assert len(read_texts(path, "body", limit=99)) == 4
    # CSV has strings only.
    assert tuple(map(str, read_texts(path, "body", id_column="key").ids)) == ("1", "0", "0", "1")
    assert read_texts(path, "body", second_column="body").texts[0] == (ROWS[0][0], ROWS[0][0])
    with pytest.raises(UnknownNameError, match=r"'bdy': did you mean 'body'"):
        read_texts(path, "bdy")


def test_a_large_parquet_file_is_read_as_far_as_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = write_parquet(tmp_path / "a.parquet", [(f"text {i}", i) for i in range(200_000)])
    read = []
    batches = parquet.ParquetFile.iter_batches

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        for batch in batches(self, *args, **options):
            read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    assert read_texts(path, limit=2).texts == ("text 0", "text 1")
    assert sum(read) < 200_000


def test_texts_that_are_missing_are_empty_and_others_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [("a", 1), (None, 2), (" ", 3)])
    assert read_texts(path).texts == ("a", "", " ")
    with pytest.raises(DataError, match="column 'label' must hold texts, but row 1 is 1"):
        read_texts(path, "label")
    with pytest.raises(DataError, match="is a folder"):
        read_texts(tmp_path)
    with pytest.raises(DataError, match="ids are whole numbers or strings"):
        read_texts(write_jsonl(tmp_path / "b.jsonl", [("a", 1.5)]), id_column="label")
    assert read_texts(write_jsonl(tmp_path / "c.jsonl", [("a", 2.0)]), id_column="label").ids == (2,)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a.csv.gz", "unpack it first"),
        ("a.XLSX", "save the sheet as CSV"),
        ("a.docx", "save it as plain text (UTF-8), or its texts as CSV"),
        ("a.json", "write one object per line and name it .jsonl"),
        ("a.pkl", "save the data frame as Parquet or CSV"),
        ("a.txt", None),
    ],
)
def test_files_of_other_kinds_come_with_advice(tmp_path: Path, name: str, advice: str | None) -> None:
    (tmp_path / name).write_bytes(b"")
    assert not is_table(tmp_path / name)
    with pytest.raises(DataError, match=r"use one of \.csv, \.tsv") as caught:
        read_labelled(tmp_path / name)
    assert (f"; {advice}" in str(caught.value)) is (advice is not None)


# ── faults ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", WRITERS)
def test_empty_and_null_texts(tmp_path: Path, name: str) -> None:
    rows: Rows = [("a", 0), ("", 1), ("b", 1), (" \n", 0)] + [("", 1)] * 5
    with pytest.raises(DataError, match=r"7 of 9 texts are empty or null \(rows 2, 4, 5, 6, 7, …\): remove"):
        read_labelled(WRITERS[name](tmp_path / name, rows))


@pytest.mark.parametrize("name", ["data.jsonl", "data.parquet"])
def test_null_values(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"1 of 2 texts are empty or null \(row 2\)"):
        read_labelled(WRITERS[name](tmp_path / name, [("a", 0), (None, 1)]))
    with pytest.raises(DataError, match=r"2 of 3 labels are null \(rows 1, 3\)"):
        read_labelled(WRITERS[name](tmp_path / name, [("a", None), ("b", 1.0), ("c", float("nan"))]))


FAULTS: dict[str, tuple[str, bytes, str]] = {
    "one class": ("a.csv", b"text,label\na,1\nb,1\n", "one class only: all 2 rows are '1'"),
    "no rows": ("a.csv", b"text,label\n", "has no rows"),
    "null label": ("a.csv", b"text,label\na,\nb,1\n", r"1 of 2 labels are null \(row 1\)"),
    "bytes": ("a.csv", b"text,label\ncaf\xe9,1\n", r"byte 0xe9 at offset 14 \(line 2\); save it again as UTF-8"),
    "bytes after a mark": ("a.csv", b"\xef\xbb\xbftext,label\ncaf\xe9", r"byte 0xe9 at offset 17 \(line 2\)"),
    "too many fields": ("a.csv", b"text,label\na,0\nb, c,1\n", "line 3: 3 fields, but the header has 2"),
    "too few fields": ("a.csv", b"text,label\na\n", "line 2: 1 fields"),
    "open quote": ("a.csv", b'text,label\n"a,0\nb,1\n', "not well-formed"),
    "same column twice": ("a.csv", b"text,text\na,b\n", "two columns of the same name"),
    "bad JSON": ("a.jsonl", b'{"text": "a", "label": 0}\n\n{"text": \n', "line 3: not valid JSON"),
    "no object": ("a.jsonl", b'["a", 0]\n', r'line 1: \["a", 0\] is not an object'),
    "text a number": ("a.jsonl", b'{"text": 5, "label": 0}\n', "column 'text' must hold texts, but row 1 is 5"),
    "label a list": ("a.jsonl", b'{"text": "a", "label": [0]}\n', r"row 1 has the label \[0\]"),
    "label a fraction": ("a.jsonl", b'{"text": "a", "label": 0.5}\n', "row 1 has the label 0.5"),
    "not Parquet": ("a.parquet", b"text,label", "cannot be read as Parquet"),
    "suffix": ("a.xlsx", b"", r"use one of \.csv, \.tsv"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named(tmp_path: Path, name: str) -> None:
    file, content, message = FAULTS[name]
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_labelled(tmp_path / file)
    assert file in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n", b"words\na\n"])
def test_file_without_the_columns(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(UnknownNameError, match="column"):
        read_labelled(tmp_path / "a.csv")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nowhere\.csv"):
        read_labelled(tmp_path / "nowhere.csv")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "a.parquet", ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r'pip install "limelight\[data\]"'):
        read_labelled(path)
