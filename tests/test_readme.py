"""The README's commands are the ones that are run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from limelight import cli
from limelight.reproduce import command

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^ {4}limelight (.*)$", README, flags=re.MULTILINE)
WIDTH = 96
"""Columns of the terminal whose picture is in the README."""


OTHER = '.venv/bin/python tests/processors.py --other -- -m "numerical and not slow"'


def typed(line: str) -> Result:
    return CliRunner().invoke(cli.app, shlex.split(line), env={"COLUMNS": str(WIDTH)})


def test_ci_runs_the_readme_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = re.findall(r"^ {4}(python3 -m venv .*)$", README, flags=re.MULTILINE)
    assert len(commands) == 2
    lines = script.splitlines()
    assert commands[1] in lines
    # Then what rounds, as another kind of processor: it fails as pytest does, whose closing line it ends with.
    assert lines[lines.index(commands[1]) + 2 :] == [OTHER]


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_commands_work_as_typed_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that holds what a fresh clone does. The hub is not asked, and the paper not computed again."""
    (tmp_path / "src").symlink_to(ROOT / "src")
    monkeypatch.chdir(tmp_path)
    reproduced: list[command.Options] = []

    def note_down(options: command.Options, progress: object) -> None:
        reproduced.append(options)

    monkeypatch.setattr(command, "run", note_down)
    assert len(COMMANDS) >= 7
    for line in COMMANDS:
        if "--model distilbert/" in line:
            continue
        result = typed(line)
        assert result.exit_code == 0, (line, result.output)
    assert [options.experiment for options in reproduced] == ["all"]
    assert {"reviews.html", "great.json", "my-model"} <= {path.name for path in tmp_path.iterdir()}


def test_what_you_see_is_what_is_printed() -> None:
    """All but the digits: the last of them depend on the machine."""

    def pattern(text: str) -> str:
        return re.sub(r"[\d.,]+(e-\d+)?", "#", text)

    shown = [line.rstrip() for line in typed(COMMANDS[0]).stdout.splitlines()]
    block = "\n".join(f"    {line}".rstrip() for line in shown)
    assert pattern(block) in pattern(README)


def test_extras_that_are_named_exist() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = set(re.findall(r'"\.?(?:limelight)?\[(\w+)\]"', README))
    assert {"dev", "hf", "figures", "data"} <= named
    for extra in named:
        assert re.search(rf"^{extra} = \[", project, flags=re.MULTILINE), extra
