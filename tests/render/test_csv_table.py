"""CSV: every number with its place, and no cell that a spreadsheet or a terminal would run."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.render import csv_table
from limelight.render.csv_table import COLUMNS, header, table_rows
from render.samples import comparison_of

hostile = st.text(
    st.one_of(st.sampled_from("=+-@\t\r\n\"',;|\x1b\u202e\ud800＝a"), st.characters()), min_size=1, max_size=20
)


def read(written: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(header() + written, newline="")))


def test_columns_are_the_documented_ones() -> None:
    documented = [
        name.strip()
        for line in (csv_table.__doc__ or "").splitlines()
        if line.startswith("    ")
        for name in line[:19].split(",")
        if name.strip()
    ]
    assert documented == list(COLUMNS) == header().strip().split(",")
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")
    table_of_columns = page.split("The columns of the CSV:")[1].split("\n\n")[1]
    named = [name for line in table_of_columns.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert named == list(COLUMNS)


def test_one_row_per_method_label_and_feature() -> None:
    comparison = [
        *comparison_of("so good so", [0.5, -0.25], methods=("lime", "shapley"), stderr=[0.01, 0.2], target="negative"),
        *comparison_of("so good so", [-0.5, 0.25], methods=("alpha-avg",)),
    ]
    rows = read(table_rows("text 7", comparison, None, None))
    assert [(row["id"], row["method"], row["label"], row["feature"]) for row in rows] == [
        ("text 7", method, label, feature)
        for method, label in (("lime", "negative"), ("shapley", "negative"), ("alpha-avg", "positive"))
        for feature in ("so", "good")
    ]
    first, second, third = rows[:3]
    assert float(first["weight"]) == 0.5
    assert (float(first["low"]), float(first["high"])) == pytest.approx(
        (0.4776, 0.5224), abs=1e-4
    )  # 2.24 standard errors, one of two told
    assert (first["told"], first["speaks_for"]) == ("1", "negative")
    assert (second["told"], second["speaks_for"]) == ("0", "")
    assert (third["low"], third["high"], third["told"]) == ("", "", "1")
    assert (first["start"], first["end"], first["side"]) == ("0", "2", "")
    assert rows[3]["speaks_for"] == "positive"


def test_numbers_come_back_to_the_last_bit() -> None:
    weights = np.random.default_rng(0).normal(size=5)
    rows = read(table_rows(1, comparison_of("a b c d e", weights), None, None))
    assert [float(row["weight"]) for row in rows] == weights.tolist()
    assert [row["id"] for row in rows] == ["1"] * 5


def test_pairs_groups_unknown_words_and_contrasts_have_their_columns() -> None:
    comparison = comparison_of(
        ("One a. Two.", "Three b."),
        kind=("sentences", "words"),
        labels=("x", "y", "z"),
        target="x",
        against="y",
        diagnostics={"unknown": [1]},
        parameters={"output": "log-odds"},
    )
    rows = read(table_rows(None, comparison, None, None))
    assert [row["feature"] for row in rows if row["level"] == "group"] == ["One a.", "Two.", "Three b."]
    words = [row for row in rows if row["level"] == "feature"]
    assert [(row["feature"], row["side"]) for row in words][:2] == [("one", "1"), ("a", "1")]
    assert {row["side"] for row in words if row["feature"] in ("three", "b")} == {"2"}
    assert [row["feature"] for row in words if row["unknown"] == "1"] == ["a"]
    assert {(row["label"], row["against"], row["output"], row["id"]) for row in rows} == {("x", "y", "log-odds", "")}


def test_top_and_order_choose_rows() -> None:
    comparison = comparison_of("a b c", [1.0, -3.0, 2.0])
    assert [row["feature"] for row in read(table_rows(1, comparison, 2, "weight"))] == ["b", "c"]
    assert [row["feature"] for row in read(table_rows(1, comparison, 2, None))] == ["b", "c"]
    assert [row["feature"] for row in read(table_rows(1, comparison, 2, "signed"))] == ["c", "b"]


@settings(max_examples=200, deadline=None)
@given(hostile, hostile, hostile)
def test_no_cell_is_run_whatever_it_holds(text: str, label: str, name: str) -> None:
    comparison = comparison_of(f"{text} word", labels=(label, f"{label}other"), methods=(name,))
    written = table_rows(text, comparison, None, None)
    written.encode("utf-8")
    rows = read(written)
    assert len(rows) == len(comparison[0])
    for row in rows:
        assert set(row) == set(COLUMNS)
        for column, cell in row.items():
            if column not in ("weight", "low", "high"):
                assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")), (
                    column,
                    cell,
                )
            assert not set(cell) & {chr(c) for c in (*range(0x20), *range(0x7F, 0xA0))}


def test_what_is_guarded_is_still_there() -> None:
    rows = read(table_rows("=1+1", comparison_of("@me =cmd|' /C calc'!A0"), None, None))
    assert rows[0]["id"] == "'=1+1"
    assert [row["feature"] for row in rows][:2] == ["'@me", "'=cmd|"]
