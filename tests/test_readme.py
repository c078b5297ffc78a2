"""Commands, blocks and links of the README and the pages of docs/ are those that work."""

from __future__ import annotations

import io
import re
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from limelight import cli
from limelight.web import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = re.findall(r"^ {4}limelight (.*)$", README, flags=re.MULTILINE)
LONG = ("theory", "benchmarks", "stress", "reproduction")
"""Pages that hold proofs and measurements, however many words these take."""
MOST_WORDS = 15_000


OTHER = '.venv/bin/python tests/processors.py --other -- -m "numerical and not slow"'


def typed(line: str) -> Result:
    return CliRunner().invoke(cli.app, shlex.split(line), env={"COLUMNS": "96"})


def test_ci_runs_the_readme_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = re.findall(r"^ {4}(python3 -m venv .*)$", README, flags=re.MULTILINE)
    assert len(commands) == 2
    lines = script.splitlines()
    assert commands[1] in lines
    # Then what rounds, as another kind of processor: it fails as pytest does, whose closing line it ends with.
    assert lines[lines.index(commands[1]) + 2 :] == [OTHER]
    assert typed(commands[0].split("/limelight ")[1]).exit_code == 0


def anchors(page: Path) -> set[str]:
    """The places of a page that a link can name, as GitHub calls them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, anchor in re.findall(r"\]\((?!http)([^)#\s]*)(#([^)]*))?\)", page.read_text(encoding="utf-8")):
        other = page.parent / target if target else page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"`([a-z_/]+/[a-z_0-9]+\.py)`", page.read_text(encoding="utf-8")))
    assert all((ROOT / name).exists() or (ROOT / "src/limelight" / name).exists() for name in named), named


def test_pages_stay_short() -> None:
    words = {page.stem: len(page.read_text(encoding="utf-8").split()) for page in PAGES if page.parent != ROOT}
    assert sum(count for name, count in words.items() if not name.startswith(LONG)) <= MOST_WORDS, words
    assert len(README.split()) <= 600


def test_commands_work_as_typed_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that holds what a fresh clone does; then those of the pages that need nothing else."""
    (tmp_path / "src").symlink_to(ROOT / "src")
    monkeypatch.chdir(tmp_path)
    served: list[Any] = []
    monkeypatch.setattr(app, "run", lambda *given, **named: served.append(given))
    assert len(COMMANDS) >= 4
    of_pages = [
        line
        for page in PAGES
        if page.parent != ROOT
        for line in re.findall(r"^ {4}limelight (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if "reproduce/sample.jsonl" in line or line.startswith("explain --model my-model ")
    ]
    assert len(of_pages) >= 2
    for line in [*COMMANDS, *of_pages]:
        result = typed(line)
        assert result.exit_code == 0, (line, result.output)
    assert len(served) == 1
    assert {"reviews.html", "trust", "explained", "my-model"} <= {path.name for path in tmp_path.iterdir()}


def test_python_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the last digits, which depend on the machine."""
    monkeypatch.chdir(tmp_path)
    ((code, shown),) = re.findall(r"^```python\n((?:.*\n)*?)```\n\n((?: {4}.*\n)+)", README, flags=re.MULTILINE)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    assert rounded(printed.getvalue()) == rounded(shown)
    assert (tmp_path / "why.html").stat().st_size > 1000


def test_the_first_screen_is_what_is_printed() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    ((line, shown),) = re.findall(r"^ {4}limelight (explain .*)\n\n((?: {4}.*\n|\n)+)", page, flags=re.MULTILINE)
    assert rounded(typed(line).stdout) == rounded(shown)


def rounded(text: str) -> list[str]:
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.1f}", text).split()


@pytest.mark.parametrize(
    ("words", "extra", "hidden"),
    [
        ("corpus run", "data", ["pyarrow", "pyarrow.parquet"]),
        ("serve", "web", ["fastapi", "uvicorn"]),
        ("explain --model distilbert", "hf", ["transformers"]),
        ("explain --out why.pdf", "figures", ["matplotlib", "limelight.render.figure.figure"]),
    ],
)
def test_a_command_without_its_extra_names_what_to_install(
    words: str, extra: str, hidden: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in hidden:
        monkeypatch.delitem(sys.modules, module, raising=False)
        if not module.startswith("limelight."):
            monkeypatch.setitem(sys.modules, module, None)
    line = next((own for own in COMMANDS if own.startswith(words)), f"{words} 'A great film.'")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    result = typed(line)
    assert result.exit_code == 2, result.output
    assert f'pip install "limelight[{extra}]"' in result.stderr


def test_extras_that_are_named_exist() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = set(re.findall(r'"\.?(?:limelight)?\[(\w+)\]"', README))
    assert {"all", "dev", "hf", "figures", "data", "web"} <= named
    for extra in named:
        assert re.search(rf"^{extra} = \[", project, flags=re.MULTILINE), extra
