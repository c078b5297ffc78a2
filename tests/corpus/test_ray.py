"""Ray: the same bytes, and a word and an end where its actors, its node or its driver die; nothing waits in silence."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpus.texts import reviews, stored, write
from limelight import corpus
from limelight.cli.corpus import with_ray_address
from limelight.core.progress import Silent
from limelight.corpus.running import on_ray
from limelight.corpus.running.on_ray import ELSEWHERE_SECONDS, FIRST_WORD, HERE_SECONDS, NoPlaceError, Patience
from limelight.corpus.running.workers import Ready
from limelight.errors import LimelightError
from reliability.corpus_harness import descendants

OPTIONS: dict[str, Any] = {"methods": ["shapley"], "shard_size": 4}
NOTICED_QUICKLY = {
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
"""Settings of Ray by which it misses a node in seconds."""
LONG = 240.0
"""Seconds for what takes some ten on a machine of its own."""

real = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", reviews(18))


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A cluster that others keep, without a place for anything."""
    import ray
    from ray.cluster_utils import Cluster

    own = Cluster()
    own.add_node(num_cpus=0)
    try:
        yield own
    finally:
        ray.shutdown()
        own.shutdown()


class Heard(Silent):
    """What a run says; `then` is called with each line."""

    def __init__(self, then: Any = lambda line: None) -> None:
        self.lines: list[str] = []
        self._then = then

    def say(self, line: str) -> None:
        self.lines.append(line)
        self._then(line)


# ── the command line ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("data.csv --ray", "data.csv --ray local"),
        ("--ray data.csv --out x", "--ray local data.csv --out x"),
        ("data.csv --ray --workers 2", "data.csv --ray local --workers 2"),
        ("data.csv --ray local", "data.csv --ray local"),
        ("data.csv --ray auto", "data.csv --ray auto"),
        ("--ray 10.0.0.1:6379 data.csv", "--ray 10.0.0.1:6379 data.csv"),
        ("--ray [::1]:6379", "--ray [::1]:6379"),
        ("--ray ray://head:10001", "--ray ray://head:10001"),
        ("--ray=head:6379 a", "--ray=head:6379 a"),
        ("--out x -- --ray", "--out x -- --ray"),
        ("data.csv", "data.csv"),
    ],
)
def test_ray_alone_means_a_cluster_on_this_machine(typed: str, read: str) -> None:
    assert with_ray_address(typed.split()) == read.split()


@pytest.mark.parametrize("last", [["--ray"], ["--ray", "local"], ["--ray", "auto"]])
def test_the_command_takes_ray_alone(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: Any) -> None:
    from typer.testing import CliRunner

    from limelight.cli import app

    given: list[Any] = []

    def crew(*values: Any) -> Any:
        given.append(values[4])
        raise NoPlaceError("Ray has no place")

    monkeypatch.setattr("limelight.corpus.running.on_ray.RayActors", crew)
    monkeypatch.setattr(sys, "argv", ["limelight", "corpus", "run", "my data.csv", "--ray"])
    done = CliRunner().invoke(app, ["corpus", "run", str(data), "--out", str(tmp_path / "out"), *last])
    assert done.exit_code == 2
    assert "Ray has no place: limelight corpus run 'my data.csv' --ray" in done.output
    assert given == ["auto" if last[-1] == "auto" else None]


# ── how long it waits ─────────────────────────────────────────────────────────────────────────────────────────────────


class Waiting:
    """A run that waits, and a clock."""

    def __init__(self, is_here: bool, nodes: int | None = 1) -> None:
        self.now, self.nodes, self.said = 1000.0, nodes, list[str]()
        self._patience = Patience(is_here, "2 workers of 1 CPU asked for", self.said.append, lambda: self.now)

    def until(self, end: float, has_place: bool = False) -> None:
        while self.now < end:
            self._patience.look(has_place, lambda: self.nodes)
            self.now += 1.0


def test_where_no_node_is_left_on_this_machine_it_ends_at_once() -> None:
    waiting = Waiting(is_here=True, nodes=0)
    with pytest.raises(
        NoPlaceError, match=r"this machine has died \(no node of it is alive\).*the same command goes on"
    ):
        waiting.until(1001.0)


@pytest.mark.parametrize("nodes", [1, None])
def test_on_this_machine_it_waits_two_minutes(nodes: int | None) -> None:
    """One that does not say how many nodes it has may be dead as well."""
    waiting = Waiting(is_here=True, nodes=nodes)
    with pytest.raises(NoPlaceError, match=r"no place for any worker for 2 min .*the same command goes on"):
        waiting.until(9999.0)
    assert waiting.now == 1000.0 + HERE_SECONDS
    assert len(waiting.said) == 2


def test_elsewhere_it_waits_an_hour_and_says_so() -> None:
    waiting = Waiting(is_here=False, nodes=0)
    waiting.until(1000.0 + FIRST_WORD)
    assert waiting.said == []
    waiting.until(1001.0 + FIRST_WORD)
    assert waiting.said == [
        "Ray has had no place for any worker for 20 s (2 workers of 1 CPU asked for; 0 nodes alive): waiting up to "
        "60 min for one, 59 min more; Ctrl-C stops, and the same command goes on"
    ]
    with pytest.raises(NoPlaceError, match="no place for any worker for 60 min"):
        waiting.until(99999.0)
    assert waiting.now == 1000.0 + ELSEWHERE_SECONDS
    assert len(waiting.said) == 60


def test_time_counts_from_the_last_place() -> None:
    waiting = Waiting(is_here=True)
    for _ in range(5):
        waiting.until(waiting.now + HERE_SECONDS)
        waiting.until(waiting.now + 1.0, has_place=True)
    with pytest.raises(NoPlaceError):
        waiting.until(waiting.now + HERE_SECONDS + 1.0)


# ── actors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@real
def test_ray_gives_the_same_bytes_and_replaces_an_actor(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from limelight.corpus.running.on_ray import RayActors

    corpus.run(data, tmp_path / "whole", **OPTIONS)
    killed: list[Any] = []
    give = RayActors.give

    def kills(crew: RayActors, task: Any) -> None:
        give(crew, task)
        own = [worker for worker in crew.workers if worker.task is not None]
        if own and not killed:
            killed.append(own[0].actor)
            crew._ray.kill(own[0].actor)

    monkeypatch.setattr(RayActors, "give", kills)
    heard = Heard()
    corpus.run(data, tmp_path / "out", workers=2, ray=True, progress=heard, **OPTIONS)
    assert len(killed) == 1
    assert [line[:25] for line in heard.lines] == ["an actor of Ray is gone ("]
    assert stored(tmp_path / "out") == stored(tmp_path / "whole")


@pytest.mark.slow
@real
def test_an_actor_on_another_kind_of_device_is_refused(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from limelight.corpus.running import on_ray

    class Elsewhere(on_ray.ShardActor):
        def ready(self) -> Ready:
            own = super().ready()
            assert isinstance(own, Ready)
            computing = {**own.identity["computing"], "device": "NVIDIA H200"}
            return replace(own, host="node-7", identity={**own.identity, "computing": computing})

    monkeypatch.setattr(on_ray, "ShardActor", Elsewhere)
    said = r"on node-7 .* says: computing\.device is 'NVIDIA H200' there and 'cpu' in the manifest; let all"
    with pytest.raises(LimelightError, match=said):
        corpus.run(data, tmp_path / "out", ray=True, **OPTIONS)
    assert not (tmp_path / "out" / "lock").exists()
    assert not (tmp_path / "out" / "shards").exists()


@pytest.mark.slow
@real
def test_a_model_that_no_actor_can_load_ends_the_run(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from limelight.corpus.running import on_ray

    class Fails(on_ray.ShardActor):
        def ready(self) -> Ready:
            raise MemoryError("no room for it")

    monkeypatch.setattr(on_ray, "ShardActor", Fails)
    with pytest.raises(LimelightError, match=r"3 workers did not survive shard 0.*could not load.*no room for it"):
        corpus.run(data, tmp_path / "out", ray=True, **OPTIONS)


# ── a cluster without room ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@real
def test_a_cluster_that_grows_is_waited_for_and_one_place_is_enough(
    tmp_path: Path, data: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers are asked for, and never more than one has a place: the other one holds no shard back."""
    monkeypatch.setattr(on_ray, "FIRST_WORD", 1.0)
    corpus.run(data, tmp_path / "whole", **OPTIONS)
    nodes: list[Any] = []

    def grows(line: str) -> None:
        if "waiting up to 60 min" in line and not nodes:
            nodes.append(cluster.add_node(num_cpus=1))

    heard = Heard(grows)
    corpus.run(data, tmp_path / "out", workers=2, ray=cluster.address, progress=heard, **OPTIONS)
    assert len(nodes) == 1
    assert "2 workers of 1 CPU asked for; 1 node alive" in heard.lines[0]
    assert stored(tmp_path / "out") == stored(tmp_path / "whole")


@pytest.mark.slow
@real
def test_ctrl_c_ends_the_waiting(tmp_path: Path, data: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray, "FIRST_WORD", 1.0)
    asked: list[float] = []

    def interrupts(line: str) -> None:
        if "waiting up to 60 min" in line and not asked:
            asked.append(time.monotonic() + 1.5)
            threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        corpus.run(data, tmp_path / "out", ray=cluster.address, progress=Heard(interrupts), **OPTIONS)
    assert 0.0 <= time.monotonic() - asked[0] < 30.0
    assert not (tmp_path / "out" / "lock").exists()


# ── real processes that are killed ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@real
def test_where_the_only_node_dies_the_command_ends_and_goes_on_when_it_is_given_again(tmp_path: Path) -> None:
    """Its actors would live on for some seconds: they are stopped before, so that shards are left."""
    data, out = write(tmp_path / "data.jsonl", reviews(24)), tmp_path / "out"
    command = [sys.executable, "-m", "limelight", "corpus", "run", str(data), "--method", "shapley"]
    command += ["--shard-size", "1", "--out"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **NOTICED_QUICKLY}
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True, env=environment)
    running = subprocess.Popen(
        [*command, str(out), "--workers", "2", "--ray"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    actors: list[int] = []
    try:
        while not (out / "shards").is_dir() and running.poll() is None:
            time.sleep(0.01)
        actors = [own for own, line in descendants(running.pid) if "ray::ShardActor" in line]
        for actor in actors:
            os.kill(actor, signal.SIGSTOP)
        (node,) = (own for own, line in descendants(running.pid) if "raylet/raylet" in line.split(" ", 1)[0])
        os.kill(node, signal.SIGKILL)
        _, said = running.communicate(timeout=LONG)
    finally:
        running.kill()
        for actor in actors:
            with contextlib.suppress(ProcessLookupError):
                os.kill(actor, signal.SIGKILL)
    assert actors
    lines = [line for line in said.decode().splitlines() if line.startswith("error: ")]
    assert running.returncode == 2, said.decode()
    assert len(lines) == 1
    assert "has died (no node of it is alive)" in lines[0]
    assert f"the same command goes on: limelight corpus run {data} --method shapley" in lines[0]
    assert lines[0].endswith("--workers 2 --ray")
    written = stored(out)
    assert 1 <= len(written) < 24
    assert written.items() <= stored(tmp_path / "whole").items()
    assert not [file for file in out.rglob("*") if file.name == "lock" or file.name.startswith(".")]
    again = [*command, str(out), "--workers", "2", "--ray"]
    subprocess.run(again, check=True, capture_output=True, env=environment, timeout=LONG)
    assert stored(out) == stored(tmp_path / "whole")
    assert json.loads((out / "manifest.json").read_text())["shards"]["count"] == 24


@pytest.mark.slow
@real
def test_a_run_on_ray_whose_driver_is_killed_goes_on() -> None:
    from corpus.test_failures import harness

    said = harness("--kills", "1", "--engine", "ray", "--target", "driver")
    assert said.rstrip().endswith("ray: 1 kills (1 of the driver, 0 of a worker, 0 of a node) in 1 runs, 0 failures")
