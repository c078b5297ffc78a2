"""The first screen of `limelight explain`: one method, a sentence, the text, and why it is this method."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import limelight
from conftest import small_model
from limelight import cli
from limelight.explainers.method import methods
from limelight.models.words import checkpoint

TEXT = "The film was great, but the end is bad"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["explain", *map(str, arguments)], env={"COLUMNS": "100"})


def words(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return re.sub(r"\s+", " ", result.stdout)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with an evaluation beside it, in which LIME is best."""
    path = tmp_path_factory.mktemp("models") / "small"
    model = small_model().float()
    checkpoint.save(model, path, "# A small model\n")
    texts = [f"great film number {i} was {own}" for i, own in enumerate(["good", "bad", "long", "fine"] * 3)]
    evaluation = limelight.evaluate(model, texts, methods=["lime"], n_samples=200)
    (path / "evaluation").mkdir()
    (path / "evaluation" / "evaluation.json").write_text(json.dumps(evaluation.to_dict()))
    return path


def test_one_method_a_sentence_the_text_and_why_it_is_this_method() -> None:
    shown = run(TEXT)
    assert "negative, mainly because of *bad*; *great* speaks against it." in words(shown)
    assert "The film was [−−−great], but the end is [+++bad]" in shown.stdout
    assert re.search(r"^bad +\+0\.8777 +━+ *$", shown.stdout, re.MULTILINE)
    assert "Shapley: shown because this model needs no sampling for it. --compare shows" in words(shown)
    assert "LIME" not in shown.stdout
    assert len(shown.stdout.splitlines()) <= 20


def test_a_method_that_samples_says_so_and_how_often_it_asked() -> None:
    shown = words(run("a b c d e f g h i j k l m n o p great q", "--output", "probability"))
    assert re.search(r"Shapley \(sampled, asked the model [\d,]+ times\): shown because no evaluation says", shown)


def test_compare_shows_the_usual_methods_by_family() -> None:
    shown = run(TEXT, "--compare").stdout
    assert [name for name in ("attention", "LIME", "gradients", "Shapley") if f"\n{name}  " in shown] != []
    assert "shown because" not in shown


def test_options_of_other_methods_show_the_usual_ones() -> None:
    assert "LIME" in run(TEXT, "--kernel-width", "1").stdout


def test_the_best_of_an_evaluation_is_shown(evaluated: Path, tmp_path: Path) -> None:
    best = limelight.Evaluation.from_dict(json.loads((evaluated / "evaluation" / "evaluation.json").read_text())).best
    beside, given = run(TEXT, "--model", evaluated), run(TEXT, "--evaluation", evaluated / "evaluation")
    reason = "LIME" if best else "Shapley"
    assert re.search(rf"{reason}[^:]*: shown because", words(beside))
    assert (given.exit_code, "holds an evaluation of another model" in given.stderr) == (2, True)
    other = run(TEXT, "--model", evaluated, "--removal", "delete")
    assert "is of removal 'mask', so it does not say which method to show here" in other.stderr
    assert "Shapley: shown" in words(other)


def test_json_holds_the_usual_methods_and_a_page_the_shown_one_first(tmp_path: Path) -> None:
    def ids(*arguments: str | Path) -> list[str]:
        content: Mapping[str, Any] = json.loads(run(TEXT, "--format", "json", *arguments).stdout)
        return [own["method"] for own in content["explanations"]]

    usual = [own.method for own in limelight.compare(limelight.load(), TEXT)]
    assert ids() == ids("--compare") == usual
    page = run(TEXT, "--format", "html").stdout
    labels = {own.id: own.label for own in methods()}
    assert page.index(f">{labels['shapley']}<") < page.index(f">{labels['gxi']}<")


@pytest.mark.parametrize("option", [["--compare"], ["--evaluation", "folder"]])
def test_a_method_is_chosen_in_one_way(option: list[str]) -> None:
    result = run(TEXT, "--method", "lime", *option)
    assert result.exit_code == 2
    assert f"{option[0]} chooses the methods, and --method names them" in result.stderr
