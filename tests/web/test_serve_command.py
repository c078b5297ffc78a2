"""`limelight serve` as it is typed: what it refuses before it serves, and what it says when it does."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import small_model
from limelight.cli import app
from limelight.cli import serve as command
from limelight.models.words import checkpoint
from limelight.web.app import bound, served_models
from reference.small_transformers import small_transformer
from web.fixtures import server

__all__ = ["server"]


def refused(*arguments: str, env: dict[str, str] | None = None) -> str:
    done = CliRunner().invoke(app, ["serve", *arguments], env=env)
    assert done.exit_code == 2, done.output
    return " ".join(done.output.split())


def test_a_port_in_use() -> None:
    with bound("127.0.0.1", 0) as taken:
        said = refused("--port", str(taken.getsockname()[1]))
    assert "another program may have it" in said
    assert "--port" in said


def test_an_address_that_is_not_this_machines() -> None:
    assert "cannot be used" in refused("--host", "203.0.113.7", "--port", "0")
    assert "no address" in refused("--host", "nowhere.invalid", "--port", "0")


def test_a_corpus_folder_that_is_none(tmp_path: Path) -> None:
    assert "holds no corpus" in refused("--port", "0", "--corpus", str(tmp_path))
    (tmp_path / "manifest.json").write_text("[]")
    assert str(tmp_path.name) in refused("--port", "0", "--corpus", str(tmp_path))


def test_an_evaluation_folder_that_is_none(tmp_path: Path) -> None:
    assert "evaluation" in refused("--port", "0", "--evaluation", str(tmp_path))
    (tmp_path / "evaluation.json").write_text("{")
    assert "cannot be read" in refused("--port", "0", "--evaluation", str(tmp_path))


def test_a_model_that_is_none(tmp_path: Path) -> None:
    assert "no checkpoint" in refused("--port", "0", "--model", str(tmp_path / "gone"))


def test_options_that_no_model_takes() -> None:
    said = refused("--port", "0", "--pairs", "--window", "--dtype", "bfloat16")
    assert "only Hugging Face models take --dtype, --window, --pairs: leave that out" in said


def test_options_of_loading_are_for_those_that_take_them(tmp_path: Path) -> None:
    model, tokenizer = small_transformer("bert")
    model.save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")
    checkpoint.save(small_model().float(), tmp_path / "ours", "# A small model\n")
    served = served_models(["embedded", str(tmp_path / "ours"), str(tmp_path / "bert")], {"window": True})
    assert [dict(own.loading) for own in served] == [{}, {}, {"window": True}]


def test_a_token_that_is_too_short() -> None:
    assert "at least 16" in refused("--host", "0.0.0.0", "--port", "0", env={command.TOKEN: "short"})


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert 'pip install "limelight[web]"' in refused("--port", "0")


def test_models_of_one_name_are_told_apart() -> None:
    assert [own.name for own in served_models(["embedded", "embedded"], {})] == ["embedded", "embedded (2)"]
    assert [own.name for own in served_models([], {})] == ["embedded"]


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("0.0.0.0", socket.AF_INET)])
def test_it_serves_where_it_says(host: str, family: socket.AddressFamily) -> None:
    """A whole run: the address on standard output, an answer there, and an end on SIGINT."""
    arguments = [sys.executable, "-m", "limelight", "serve", "--port", "0", "--host", host]
    env = {name: value for name, value in os.environ.items() if name != command.TOKEN}
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://(localhost|0\.0\.0\.0):(\d+)/(#token=([\w-]{30,}))?", address)
        assert found is not None, address
        assert (found[4] is None) == (host == "127.0.0.1"), "a token exactly where others can reach it"
        headers = {} if found[4] is None else {"Authorization": f"Bearer {found[4]}"}
        request = urllib.request.Request(f"http://127.0.0.1:{found[2]}/api/v1/models", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200
    finally:
        process.send_signal(2)
        _, said = process.communicate(timeout=30)
    assert process.returncode in (0, 130), said
    assert "Traceback" not in said
