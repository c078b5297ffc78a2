"""`limelight evaluate`: a folder that can be left and come back to, and files that are safe to open."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import limelight
from conftest import small_model
from limelight import cli
from limelight.core.progress import SILENT, Silent
from limelight.errors import DataError, InputError, UnknownNameError
from limelight.evaluation.__main__ import main as plain_main
from limelight.evaluation.command import Options, run
from limelight.evaluation.run_folder import EvaluationFolder, read_evaluation
from limelight.models.words import checkpoint

TEXTS = (
    "the film was great but too long",
    "not very good and bad",
    "the end is great !",
    "it s a very good film",
    "bad",
)
HOSTILE = '<img src=x onerror=alert(1)>"\u202e'
FORMULA = "=HYPERLINK(1)"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "small"
    checkpoint.save(small_model(labels=("negative", HOSTILE, "positive")).float(), path, "# A small model\n")
    return str(path)


@pytest.fixture
def asked(tmp_path: Path, model: str) -> Options:
    data = tmp_path / "texts.jsonl"
    rows = [{"id": f"t{i}", "text": text, "marks": [[0, 3]] if i % 2 else None} for i, text in enumerate(TEXTS)]
    rows[0]["id"], rows[1]["id"] = HOSTILE, FORMULA
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return Options(
        data=data,
        out=tmp_path / "out",
        model=model,
        methods=["lime", "gxi", "alpha-avg"],
        id_column="id",
        options={"n_samples": 50},
    )


class StopAfter(Silent):
    """Interrupts a run after so many texts."""

    def __init__(self, texts: int) -> None:
        self.left = texts
        self.done = 0

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        self.done = done

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_an_interrupted_run_goes_on_and_ends_the_same(asked: Options) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(asked, StopAfter(3))
    assert len(list((asked.out / "documents").iterdir())) == 3
    other = asked.out / "documents" / "000002.json"
    other.write_text(json.dumps({**json.loads(other.read_text()), "digest": "of another run"}))
    (asked.out / "documents" / "000001.json").write_text('{"digest": ')  # as a full disk would leave it elsewhere
    rest = StopAfter(100)
    resumed = run(asked, rest)
    assert rest.done == 1
    whole = run(replace(asked, out=asked.out.with_name("whole")), SILENT)
    np.testing.assert_array_equal(resumed.values, whole.values)
    assert resumed.keys == whole.keys
    assert read_evaluation(asked.out) == resumed
    again = StopAfter(1)  # nothing is left to do: it is never told of a text
    assert run(asked, again).verdict == resumed.verdict
    assert again.done == len(TEXTS)


def test_a_folder_of_something_else_is_refused(asked: Options, tmp_path: Path) -> None:
    run(asked, SILENT)
    with pytest.raises(InputError, match=r"another evaluation .*seed"):
        run(replace(asked, seed=1), SILENT)
    with pytest.raises(InputError, match="another evaluation"):
        run(replace(asked, methods=["lime"]), SILENT)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"no run\.json"):
        run(replace(asked, out=tmp_path / "mine"), SILENT)
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_report_and_tables_are_harmless(asked: Options) -> None:
    elsewhere = asked.data.with_name("theirs.csv")
    with elsewhere.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "word", "weight", "method"])
        ids = [HOSTILE, FORMULA, "t2", "t3", "t4"]
        words = ("great", "bad", "great", "good", "bad")
        writer.writerows([[id, word, 1, f"{HOSTILE} method"] for id, word in zip(ids, words, strict=True)])
    evaluation = run(replace(asked, elsewhere=elsewhere, target=HOSTILE), SILENT)
    page = (asked.out / "report.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(page)
    assert not [tag for tag, _ in tags.seen if tag in ("img", "script", "iframe", "object", "embed")]
    assert not [name for _, attrs in tags.seen for name in attrs if name.startswith("on")]
    assert "\u202e" not in page
    links = [attrs["href"] for tag, attrs in tags.seen if tag == "a"]
    assert links
    assert all((asked.out / link).is_file() for link in links)
    for name in ("summary.csv", "texts.csv"):
        with (asked.out / name).open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert cells
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]
    assert f"{HOSTILE} method" in evaluation.methods


def test_what_is_missing_is_named(asked: Options, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown column .*--text-column"):
        run(replace(asked, data=_table(tmp_path, "review,id\ngood,1\n")), SILENT)
    with pytest.raises(UnknownNameError, match="did you mean 'marks'"):
        run(replace(asked, rationale_column="mark"), SILENT)
    with pytest.raises(DataError, match="no file"):
        run(replace(asked, data=tmp_path / "nothing.csv"), SILENT)
    with pytest.raises(DataError, match="no rows"):
        run(replace(asked, data=_table(tmp_path, "text,id\n")), SILENT)
    with pytest.raises(DataError, match="as JSON"):
        run(replace(asked, data=_table(tmp_path, "text,id,marks\nbad film,7,oops\n"), rationale_column="marks"), SILENT)
    other = tmp_path / "theirs.csv"
    other.write_text("id,word,weight\nnobody,bad,1\n")
    with pytest.raises(DataError, match="no row for any"):
        run(replace(asked, elsewhere=other), SILENT)
    assert not asked.out.exists() or not (asked.out / "evaluation.json").exists()


def _table(folder: Path, content: str) -> Path:
    path = folder / "table.csv"
    path.write_text(content)
    return path


def test_blank_texts_are_left_out_and_said(asked: Options, tmp_path: Path) -> None:
    lines: list[str] = []

    class Listening(Silent):
        def say(self, line: str) -> None:
            lines.append(line)

    data = _table(tmp_path, 'text,id\n" ",empty\nbad film,b\ngreat,c\n')
    evaluation = run(replace(asked, data=data), Listening())
    assert [document["id"] for document in evaluation.documents] == ["b", "c"]
    assert any("left out: text empty" in line for line in lines)


def test_both_commands_say_the_verdict(asked: Options, capsys: pytest.CaptureFixture[str]) -> None:
    shared = [str(asked.data), "--model", str(asked.model), "--method", "gxi,alpha-avg,integrated-gradients"]
    assert plain_main([*shared, "--out", str(asked.out), "--id-column", "id", "--documents", "3"]) == 0
    plain = capsys.readouterr().out
    assert "How well each method finds the words" in plain
    result = CliRunner().invoke(
        cli.app, ["evaluate", *shared, "--out", str(asked.out), "--id-column", "id", "--documents", "3"]
    )
    assert result.exit_code == 0, result.output
    assert "gxi" in result.stdout
    assert limelight.Evaluation.from_dict(json.loads((asked.out / "evaluation.json").read_text())).methods
    assert plain_main([str(asked.data), "--out", str(asked.out), "--method", "nothing"]) == 2
    refused = CliRunner().invoke(cli.app, ["evaluate", str(asked.data), "--out", str(asked.out), "--seed", "5"])
    assert refused.exit_code == 2


def test_a_damaged_evaluation_is_refused(asked: Options) -> None:
    written = run(asked, SILENT).to_dict()
    for key, value in (("keys", [["sign"]]), ("values", [[1.0]]), ("documents", 3), ("schema", 99), ("kind", "film")):
        with pytest.raises(InputError, match="evaluat"):
            limelight.Evaluation.from_dict({**written, key: value})
    with pytest.raises(InputError, match="no evaluation"):
        limelight.Evaluation.from_dict([])  # type: ignore[arg-type]


def test_a_missing_text_is_left_out_and_named(asked: Options) -> None:
    rows = [{"id": "a", "text": TEXTS[0]}, {"id": "b", "text": None}, {"id": "c", "text": TEXTS[1]}]
    asked.data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    evaluation = run(asked, SILENT)
    assert [own["id"] for own in evaluation.documents] == ["a", "c"]
    assert list(evaluation.about["left_out"]) == ["b"]
    assert "1 text of the data was left out, because the model cannot read it." in evaluation.verdict


def test_without_comprehensiveness_the_verdict_still_says_what_was_left_out(asked: Options) -> None:
    rows = [{"id": "a", "text": TEXTS[0]}, {"id": "b", "text": ""}]
    asked.data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    few = replace(asked, methods=["gxi"], measures=["sign", "out-of-distribution"], options={})
    said = " ".join(run(few, SILENT).verdict)
    assert "there is no ranking" in said
    assert "1 text of the data was left out" in said
    assert "Not measured: out-of-distribution" in said


def test_names_do_not_act_on_a_terminal_without_rich(
    tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "texts.csv").write_text("text\nthe film was great\nnot very good\n")
    (tmp_path / "theirs.csv").write_text("id,word,weight,method\n1,film,1,a\x1b[31mb\n2,good,-1,a\x1b[31mb\n")
    files = [str(tmp_path / "texts.csv"), "--elsewhere", str(tmp_path / "theirs.csv"), "--out", str(tmp_path / "out")]
    assert plain_main([*files, "--model", model, "--method", "gxi"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "a␛[31mb" in said
    assert len(said.splitlines()) > 3


def test_a_folder_of_something_else_is_no_unfinished_evaluation(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no evaluation: give a folder of limelight evaluate"):
        read_evaluation(tmp_path)
    EvaluationFolder(tmp_path / "begun").claim("digest", {})
    with pytest.raises(InputError, match="not finished; give its command again"):
        read_evaluation(tmp_path / "begun")
