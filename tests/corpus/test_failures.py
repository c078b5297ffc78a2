"""A disk that is full, a folder that is read-only, kills, and Ray: a clear error, and a run that goes on."""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corpus.texts import reviews, stored, write
from limelight import corpus, files
from limelight.corpus.folder import Folder
from limelight.errors import InputError

HARNESS = Path(__file__).parents[1] / "reliability" / "corpus_harness.py"
OPTIONS: dict[str, Any] = {"methods": ["shapley"], "shard_size": 4}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", reviews(18))


@pytest.mark.parametrize(("code", "said"), [(errno.ENOSPC, "No space left"), (errno.EROFS, "Read-only file system")])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_disk_that_cannot_be_written(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str, after: int
) -> None:
    """At the manifest (0), and at a shard."""
    corpus.run(data, tmp_path / "whole", **OPTIONS)
    left = iter(range(after))
    write_file = files._write

    def full(path: Path, content: Any) -> None:
        if next(left, None) is None:
            path.write_bytes(b"half")
            raise OSError(code, os.strerror(code))
        write_file(path, content)

    monkeypatch.setattr(files, "_write", full)
    with pytest.raises(InputError, match=rf"cannot write .*{said}.*give the same command again"):
        corpus.run(data, tmp_path / "out", **OPTIONS)
    monkeypatch.undo()
    written = stored(tmp_path / "out") if after else {}
    assert len(written) == max(after - 1, 0)
    assert written.items() <= stored(tmp_path / "whole").items()
    corpus.run(data, tmp_path / "out", **OPTIONS)
    assert stored(tmp_path / "out") == stored(tmp_path / "whole")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to every folder")
def test_a_folder_without_permission(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o555)
    with pytest.raises(InputError, match=r"cannot write to .*Permission denied"):
        corpus.run(data, out, **OPTIONS)


def test_times_are_of_no_account(tmp_path: Path, data: Path) -> None:
    """A line that a kill cut, and no file at all."""
    corpus.run(data, tmp_path / "out", **OPTIONS)
    file = tmp_path / "out" / "times.jsonl"
    file.write_text(file.read_text() + '{"shard": 9, "ev')
    assert sum(line["event"] == "written" for line in Folder(tmp_path / "out").times()) == 5
    file.unlink()
    assert corpus.run(data, tmp_path / "out", **OPTIONS).is_complete


def _harness(*arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, str(HARNESS), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["alone", "workers"])
def test_a_run_that_is_killed_ends_as_if_it_had_not_been(engine: str) -> None:
    assert re.search(rf"^{engine}: 2 kills.*0 failures$", _harness("--kills", "2", "--engine", engine), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_ray_gives_the_same_bytes_and_replaces_a_worker(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from limelight.corpus.on_ray import RayActors

    corpus.run(data, tmp_path / "whole", **OPTIONS)
    killed: list[int] = []
    give = RayActors.give

    def kills(crew: RayActors, task: Any) -> None:
        give(crew, task)
        if task.number == 2 and not killed:
            place = next(place for place, own in crew._given.values() if own is task)
            killed.append(place)
            crew._ray.kill(crew._actors[place])

    monkeypatch.setattr(RayActors, "give", kills)
    corpus.run(data, tmp_path / "out", workers=2, ray=True, **OPTIONS)
    assert killed
    assert stored(tmp_path / "out") == stored(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_a_run_on_ray_that_is_killed_goes_on() -> None:
    assert re.search(r"^ray: 1 kills?.*0 failures$", _harness("--kills", "1", "--engine", "ray"), re.MULTILINE)
