"""The command line on Hugging Face models and on several texts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from conftest import small_model
from limelight import cli, corpus
from limelight.models.words import checkpoint
from reference.small_transformers import small_transformer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "bert"
    model, own = small_transformer("bert")
    model.save_pretrained(path)
    own.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "ours"
    checkpoint.save(small_model().float(), path, "# A small model\n")
    return path


COLONS = ("a", "a:b", "b:c")
"""Labels with colons of their own: "a:b:c" may be two of them in two ways."""


@pytest.fixture(scope="module")
def colons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "colons"
    checkpoint.save(small_model(labels=COLONS).float(), path, "# A small model\n")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["explain", *map(str, arguments)], env={"COLUMNS": "100"})


def test_the_precision_is_the_models(folder: Path) -> None:
    text, options = "A great film", ("--method", "gxi", "--format", "json")
    logits = [
        json.loads(run(text, "--model", folder, "--dtype", dtype, *options).stdout)["prediction"]["logits"]
        for dtype in ("float32", "bfloat16")
    ]
    assert logits[0] != logits[1]
    assert logits[0] == pytest.approx(logits[1], abs=0.05)
    refused = run(text, "--dtype", "float16")
    assert refused.exit_code == 2
    assert "only Hugging Face models take --dtype: leave that out" in refused.output


def test_pairs_for_a_model_that_reads_none_are_called_what_was_typed(tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    table.write_text("text,second\nA great film,It was long\n")
    columns, out = ("--second-column", "second"), ("--out", str(tmp_path / "out"))
    for arguments in (
        ["explain", "A great film", "--second", "It was long"],
        ["explain", "--file", str(table), *columns],
        ["evaluate", str(table), *columns, *out],
        ["corpus", "run", str(table), *columns, *out],
    ):
        refused = CliRunner().invoke(cli.app, arguments)
        assert refused.exit_code == 2
        option = "--second" if "--second" in arguments else "--second-column"
        assert f"only Hugging Face models take {option}: leave that out for limelight's own" in refused.stderr


def test_a_folder_of_transformers_is_explained(folder: Path) -> None:
    methods = "lime,shapley,integrated-gradients,rollout"
    options = ("--removal", "attention", "--samples", "40", "--device", "cpu", "--format", "json")
    result = run("A great film, but too long!", "--model", folder, "--method", methods, *options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lime, shapley, ig, rollout = json.loads(result.stdout)["explanations"]
    assert lime["parameters"]["removal"] == shapley["parameters"]["removal"] == "attention"
    assert (
        lime["features"]
        == ig["features"]
        == rollout["features"]
        == ["a", "great", "film", ",", "but", "too", "long", "!"]
    )
    assert len(shapley["stderr"]) == 8
    shown = run("A great film!", "--model", folder, "--samples", "40")
    assert "GREAT" in shown.stdout.upper()


def test_long_texts_ask_for_a_choice(folder: Path) -> None:
    text = "great film " * 60
    refused = run(text, "--model", folder, "--method", "gxi")
    assert refused.exit_code == 2
    assert "tokens but this model reads 48" in refused.stderr
    assert "use --truncate to keep the first 48" in refused.stderr.replace("\n", " ")
    assert "--window" in refused.stderr
    assert "=True" not in refused.stderr
    for choice, notice in (("--truncate", "were cut"), ("--window", "overlapping windows")):
        result = run(text, "--model", folder, "--method", "gxi", choice, "--format", "json")
        assert notice in json.loads(result.stdout)["explanations"][0]["notices"][0]


def test_lines_are_texts_and_a_bad_one_does_not_stop_the_others(ours: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_bytes("A great film.\r\n\nTrès bad\u2028film\n".encode())
    options = ("--file", file, "--lines", "--model", ours, "--method", "gxi")
    result = run(*options, "--format", "json")
    assert result.exit_code == 2
    first, empty, last = map(json.loads, result.stdout.removesuffix("\n").split("\n"))
    assert first["text"] == "A great film."
    assert last["text"] == "Très bad\u2028film"
    assert [own["id"] for own in (first, empty, last)] == [1, 2, 3]
    assert (empty["text"], empty["error"]) == ("", "the text is blank")
    assert result.stderr == "error: line 2 is blank and left out\n"
    table = run(*options)
    assert table.stdout.count("[+++word]") == 2
    assert re.findall(r"^━━ (\d)  (.*?) *$", table.stdout, re.MULTILINE) == [
        ("1", "A great film."),
        ("3", "Très bad film"),
    ]
    assert "blank" not in table.stdout
    assert table.stderr == "error: line 2 is blank and left out\n"
    for name in ("out.jsonl", "out.html", "out.txt"):
        run(*options, "--out", tmp_path / name)
    assert len((tmp_path / "out.jsonl").read_text("utf-8").split("\n")) == 4
    page = (tmp_path / "out.html").read_text("utf-8")
    assert page.count("<article") == 3
    assert "the text is blank" in page
    assert page.count("<!DOCTYPE html>") == 1
    assert (tmp_path / "out.txt").read_text("utf-8").count("[+++word]") == 2


def test_lines_without_fault_end_well(ours: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("good\nbad\n")
    result = run("--file", file, "--lines", "--model", ours, "--method", "gxi", "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 2
    file.write_text("\n\n")
    result = run("--file", file, "--lines", "--model", ours, "--format", "html")
    assert result.exit_code == 2
    assert "none of the texts could be explained" in result.stderr


def test_a_call_that_is_wrong_for_every_line_is_wrong_once(ours: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("good\nbad\n")
    result = run("--file", file, "--lines", "--model", ours, "--target", "nice")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("unknown label") == 1


# ── labels with colons ────────────────────────────────────────────────────────────────────────────────────────────────

TARGETS = [
    ("a:b", "a:b", None),  # a label before two of them
    ("b:c", "b:c", None),
    ("a:a:b", "a", "a:b"),
    ("a:b:a", "a:b", "a"),
    ("a:b:b:c", "a:b", "b:c"),
    ("a:b:c", "a", "b:c"),
]


@pytest.mark.parametrize(("typed", "target", "against"), TARGETS)
def test_a_colon_of_a_label_divides_no_labels(colons: Path, typed: str, target: str, against: str | None) -> None:
    result = run("the film was great", "--model", colons, "--method", "gxi", "--target", typed, "--format", "json")
    assert result.exit_code == 0, result.stderr
    (told,) = json.loads(result.stdout)["explanations"]
    assert (told["target"], told["against"]) == (target, against)


@pytest.mark.parametrize(("typed", "target", "against"), TARGETS)
def test_a_colon_of_a_label_divides_no_labels_of_a_corpus(
    colons: Path, tmp_path: Path, typed: str, target: str, against: str | None
) -> None:
    (tmp_path / "texts.csv").write_text("text\nthe film was great\n", encoding="utf-8")
    asked = [str(tmp_path / "texts.csv"), "--out", str(tmp_path / "out"), "--method", "gxi", "--target", typed]
    result = CliRunner().invoke(cli.app, ["corpus", "run", *asked, "--model", str(colons)])
    assert result.exit_code == 0, result.output
    (document,) = corpus.open(tmp_path / "out").documents()
    assert (document.explanations[0].target, document.explanations[0].against) == (target, against)


def test_labels_that_are_not_there_are_named(colons: Path) -> None:
    result = run("the film", "--model", colons, "--method", "gxi", "--target", "good:bad")
    assert result.exit_code == 2
    assert "unknown label 'good'" in result.stderr
