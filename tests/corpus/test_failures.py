"""A full disk, a read-only folder, kills and workers unlike their run: a clear error, and a run that goes on."""

from __future__ import annotations

import errno
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import small_model
from corpus.texts import reviews, stored, write
from limelight import corpus
from limelight.corpus.running.workers import Processes
from limelight.corpus.store.run_folder import Folder
from limelight.errors import InputError, LimelightError
from limelight.models.words import checkpoint
from limelight.storage import files

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
    assert sum(line["event"] == "written" for line in Folder(tmp_path / "out").times(checked=True)) == 5
    file.unlink()
    assert corpus.run(data, tmp_path / "out", **OPTIONS).is_complete


@pytest.mark.parametrize("place", ["versions.torch", "model.fingerprint"])
def test_a_worker_that_is_not_what_the_manifest_says_is_refused(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Packages are upgraded, or the model is trained again, while a run goes on: the next worker to begin has that."""
    model, out = tmp_path / "model", tmp_path / "out"
    checkpoint.save(small_model(0).float(), model, "")
    corpus.run(data, tmp_path / "whole", model, **OPTIONS)
    upgraded = tmp_path / "upgraded" / "torch-99.0.dist-info"
    upgraded.mkdir(parents=True)
    (upgraded / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n")
    killed: list[int] = []
    give = Processes.give

    def changes(crew: Processes, task: Any) -> None:
        if task.number == 2 and not killed:
            if place == "versions.torch":
                monkeypatch.setattr(sys, "path", [str(upgraded.parent), *sys.path])
            else:
                checkpoint.save(small_model(1).float(), model, "")
            worker = next(worker for worker in crew.workers if worker.task is None)
            killed.append(worker.process.pid)
            worker.process.kill()
            worker.process.wait()  # so that it is missed at once
        give(crew, task)

    monkeypatch.setattr(Processes, "give", changes)
    with pytest.raises(LimelightError, match=r"is not what the manifest of .* says") as refused:
        corpus.run(data, out, model, workers=2, **OPTIONS)
    assert len(killed) == 1
    host = re.escape(socket.gethostname())
    said = re.search(rf"worker process (\d+) on {host} .*: ([\w.]+) is '", str(refused.value))
    assert said is not None
    assert said[1] not in map(str, killed)
    assert said[2] == place
    assert str(refused.value).count(" in the manifest") == 1  # nothing else differs
    written = stored(out)
    assert 1 <= len(written) < 5
    assert written.items() <= stored(tmp_path / "whole").items()
    with pytest.raises(InputError, match=f"{place} was"):  # the driver is like that worker now
        corpus.run(data, out, model, **OPTIONS)
    monkeypatch.undo()
    checkpoint.save(small_model(0).float(), model, "")
    corpus.run(data, out, model, workers=2, **OPTIONS)
    assert stored(out) == stored(tmp_path / "whole")


def harness(*arguments: str) -> str:
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
    assert re.search(rf"^{engine}: 2 kills.*0 failures$", harness("--kills", "2", "--engine", engine), re.MULTILINE)
