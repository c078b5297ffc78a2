"""`limelight show`: a saved result is drawn without its model, whatever stands in the file."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from limelight import cli
from limelight.explanation.result import Comparison
from render.samples import comparison_of

SAVED = Path(__file__).parents[1] / "explanation" / "explanation-0.1.json"


def show(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli.app, ["show", *map(str, arguments)], env={"COLUMNS": "100"}, input=stdin)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    comparison = comparison_of("so good, so bad", methods=("lime", "shapley"), stderr=[0.01] * 4)
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(comparison.to_dict()))
    return path


def test_a_saved_result_looks_as_it_did(saved: Path) -> None:
    result = show(saved)
    assert result.exit_code == 0, result.output
    assert "Why positive?" in result.stdout
    assert "LIME     [+++so] [−−good][+,] [+++so] [+++bad]" in result.stdout
    assert show("-", stdin=saved.read_text()).stdout == result.stdout


@pytest.mark.parametrize("format", ["table", "json", "csv", "html", "png", "svg", "pdf"])
def test_every_format_can_be_had(saved: Path, tmp_path: Path, format: str) -> None:
    if format in ("png", "svg", "pdf"):
        pytest.importorskip("matplotlib")
    out = tmp_path / ("out.txt" if format == "table" else f"out.{format}")
    result = show(saved, "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith(f"note: wrote {out}: 1 text as ")
    assert out.stat().st_size > 100
    if format == "json":
        assert json.loads(out.read_text()) == json.loads(saved.read_text())


def test_methods_can_be_chosen(saved: Path) -> None:
    result = show(saved, "--method", "shapley")
    assert "LIME" not in result.stdout
    refused = show(saved, "--method", "shaply")
    assert refused.exit_code == 2
    assert "did you mean 'shapley'?" in refused.stderr
    assert "names no method" in show(saved, "--method", ",").stderr


def test_words_are_chosen_and_ordered_on_a_page_and_in_a_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(comparison_of("so bad good nil", [0.25, -1.0, 0.5, 0.01], methods=("gxi",)).to_dict()))
    options = ("--top", "3", "--sort", "signed")
    source = show(path, *options, "--format", "html").stdout
    summary = source.partition('class="strongest"')[2].partition("</table>")[0]
    assert [summary.index(f">{word}<") for word in ("good", "so", "bad")] == sorted(
        summary.index(f">{word}<") for word in ("good", "so", "bad")
    )
    assert "and 1 more of 4 words" in summary
    assert show(path, *options, "--out", tmp_path / "chosen.svg").exit_code == 0
    assert show(path, "--top", "3", "--out", tmp_path / "strongest.svg").exit_code == 0
    assert (tmp_path / "chosen.svg").read_bytes() != (tmp_path / "strongest.svg").read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--top", "3", "--format", "json"), "JSON holds all words, in the order of the text: leave --top out"),
        (("--top", "3", "--sort", "text", "--format", "json"), "leave --top and --sort out"),
        (("--numbers", "--format", "html"), "--numbers is for the terminal and for .txt, and this is html: leave it"),
    ],
)
def test_what_a_format_does_not_take_is_refused(saved: Path, options: tuple[str, ...], said: str) -> None:
    refused = show(saved, *options)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in refused.stderr


def test_an_explanation_by_itself_is_shown_too(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(comparison_of("so good")[0].to_dict(), indent=2))
    assert "[+++so]" in show(path).stdout


def test_results_of_version_0_1_are_shown() -> None:
    result = show(SAVED)
    assert result.exit_code == 0, result.output
    assert "[+++word] for positive" in result.stdout


def test_lines_are_results_with_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    lines = [
        {"id": "first", **comparison_of("so good").to_dict()},
        {"schema": 3, "id": 2, "text": "", "error": "the text is blank"},
        {"id": 3, **comparison_of("so bad").to_dict()},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    result = show(path)
    assert "━━ first  so good" in result.stdout
    assert "━━ 3  so bad" in result.stdout
    assert [json.loads(line) for line in show(path, "--format", "json").stdout.splitlines()] == lines


BAD: dict[str, tuple[str, str]] = {
    "empty": ("", "is empty: name a file that limelight explain --format json wrote"),
    "no JSON": ("nonsense", "line 1: not valid JSON"),
    "a list": ("[1, 2]", "this is no saved result: got [1, 2]"),
    "a number": ("7", "this is no saved result: got 7"),
    "something else": ('{"a": 1}', "'explanations' is missing"),
    "of a newer version": ('{"schema": 99}', "newer limelight"),
    "second line": ('{"text": "", "error": "x"}\n{"text": 5}', "line 2: "),
    "an id": ('{"id": [], "text": ""}', "an id must be a whole number or a string: got []"),
    "deep": ("[" * 100_000, "not valid JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, name: str) -> None:
    content, said = BAD[name]
    path = tmp_path / "bad.json"
    path.write_text(content)
    result = show(path)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert said in result.stderr


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert "there is no file" in show(tmp_path / "none.json").stderr
    assert "is a folder" in show(tmp_path).stderr
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in show(tmp_path / "latin.json").stderr


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a value has values, at any depth."""
    own = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place] + [deeper for key, inner in own for deeper in _places(inner, (*place, key))]


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_result_is_shown_or_refused_and_never_a_programming_error(tmp_path: Path, seed: int) -> None:
    """Each value of a file in turn is replaced by something else."""
    whole = comparison_of(
        ("so good. so bad", "a text"),
        methods=("lime", "alpha-avg"),
        kind=("sentences", "words"),
        stderr=[0.01] * 7,
        parameters={"n_samples": 100, "output": "logit"},
        diagnostics={
            "warnings": ["Beware."],
            "unknown": [0],
            "rounding": 1e-9,
            "r2": 0.5,
            "stable_top": {"k": 2, "level": 0.95, "n_samples": 10},
        },
    ).to_dict()
    assert Comparison.from_dict(whole)
    chance = random.Random(seed)
    others = [None, True, -1, 10**400, 1e300, "\x1b[31m", "", [], {}, ["x"], [[]], [0, 99], {"k": "v"}, float("nan")]
    path = tmp_path / "damaged.json"
    for place in chance.sample(_places(whole)[1:], 30):
        damaged = copy.deepcopy(whole)
        inner = damaged
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = chance.choice(others)
        path.write_text(json.dumps(damaged))
        for options in (("--numbers",), ("--format", "csv"), ("--format", "html"), ()):
            result = show(path, *options)
            assert result.exit_code in (0, 2), (place, inner[place[-1]], options, result.exception)
            assert "\x1b" not in result.stdout
