"""`limelight explain --until … --seconds …`, and what Ctrl-C leaves on the screen."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from limelight import cli
from limelight.core.progress import Silent

TEXT = "a b c d e f g h i j k l m n o p great q r s t"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, ["explain", *arguments], env={"COLUMNS": "100"})


def explanation(*arguments: str) -> dict[str, Any]:
    result = run(TEXT, "--method", "lime", "--format", "json", *arguments)
    assert result.exit_code == 0, result.stderr
    one: dict[str, Any] = json.loads(result.stdout)["explanations"][0]
    return one


def test_until_and_seconds_reach_the_library() -> None:
    stable = explanation("--until", "stable")
    assert stable["diagnostics"]["stopped"] in ("settled", "tied")
    assert stable["diagnostics"]["until"] == "stable"
    assert explanation("--until", "0.05")["diagnostics"]["until"] == 0.05
    assert explanation("--seconds", "0.2", "--samples", "1024")["diagnostics"]["seconds"] == 0.2


def test_the_samples_it_took_repeat_it() -> None:
    stable = explanation("--until", "stable", "--seed", "4")
    again = explanation("--samples", str(stable["parameters"]["n_samples"]), "--seed", "4")
    assert again["weights"] == stable["weights"]
    assert again["parameters"] == stable["parameters"]


def test_why_it_stopped_is_shown() -> None:
    shown = " ".join(run(TEXT, "--method", "lime", "--until", "stable").stdout.split())
    assert "after" in shown
    assert "stable after" in shown or "tied after" in shown


def test_how_each_run_ended_stands_in_its_own_row_and_is_no_warning() -> None:
    shown = run(
        TEXT, "--method", "lime,shapley", "--removal", "delete", "--features", "words", "--until", "stable"
    ).stdout
    lines = shown.partition("Why ")[2].splitlines()
    ends = [i for i, line in enumerate(lines) if " samples: " in line]
    rows = [i for i, line in enumerate(lines) if line.startswith(("LIME ", "Shapley "))]
    assert rows[0] < ends[0] < rows[1] < ends[1]
    assert not any("⚠" in lines[i] for i in ends)


def test_advice_beside_a_row_is_given_in_options() -> None:
    few = (TEXT, "--method", "lime", "--samples", "10")
    shown = " ".join(run(*few).stdout.split())
    assert "raise --samples (10 here)" in shown
    assert "n_samples" not in shown
    stored = json.loads(run(*few, "--format", "json").stdout)["explanations"][0]["diagnostics"]["warnings"]
    assert any("raise n_samples (10 here)" in warning for warning in stored)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--until", "soon", "--until must be a number or 'stable'"),
        ("--seconds", "0", "--seconds must be a number above 0"),
    ],
)
def test_what_cannot_be_asked_is_refused(option: str, value: str, said: str) -> None:
    result = run(TEXT, "--method", "lime", option, value)
    assert result.exit_code == 2
    assert said in result.stderr


def test_ctrl_c_shows_what_was_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pressed(Silent):
        def __init__(self) -> None:
            self._left = 3000

        def advance(self, steps: int = 1, note: str = "") -> None:
            self._left -= steps
            if self._left < 0:
                raise KeyboardInterrupt

    monkeypatch.setattr("limelight.render.terminal.progress.progress_for", lambda console: Pressed())
    result = run(TEXT, "--method", "g-avg,lime", "--samples", "4000")
    assert result.exit_code == 130
    assert "interrupted after 2,048 samples of 4,000" in " ".join(result.stdout.split())
    assert "what was reached is shown" in result.stderr
