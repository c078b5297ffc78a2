"""Kills corpus runs at random moments, gives the command again, and compares with a run that was never killed.

    python tests/reliability/corpus_harness.py --kills 100 --engine alone       one process
    python tests/reliability/corpus_harness.py --kills 100 --engine workers     two processes, or the driver, is killed
    python tests/reliability/corpus_harness.py --kills 100 --engine ray         two actors of Ray, their node, or driver

After each kill of the driver every shard that is there must equal that of the run that was not killed. At the end of
each run no shard may be missing or too much, no hidden part may be left, and no more shards may have been begun than
there are, plus one per worker for each kill. A kill by SIGKILL cannot be caught: nothing is tidied up.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOCUMENTS, SHARD = 60, 5
WORKERS = {"alone": 1, "workers": 2, "ray": 2}
TARGETS = {"alone": ["driver"], "workers": ["driver", "worker"], "ray": ["driver", "worker", "node"]}
GAVE_UP = 2
"""The status of a command whose only node has died."""
_PATIENCE = 300.0
"""Seconds for a run that nobody kills."""


def write_data(file: Path) -> None:
    rng = random.Random(5)
    words = "the film was great awful story scene bad good long boring lovely and but too music ending".split()
    texts = [" ".join(rng.choice(words) for _ in range(rng.randint(20, 60))) for _ in range(DOCUMENTS)]
    texts[7] = ""
    file.write_text("".join(json.dumps({"text": text, "n": i}) + "\n" for i, text in enumerate(texts)))


def start(data: Path, out: Path, engine: str) -> subprocess.Popen[bytes]:
    """The real command, in a process of its own."""
    command = [sys.executable, "-m", "limelight", "corpus", "run", str(data), "--out", str(out), "--carry", "n"]
    command += ["--method", "lime,shapley", "--samples", "400", "--shard-size", str(SHARD)]
    if engine != "alone":
        command += ["--workers", str(WORKERS[engine])]
    if engine == "ray":
        command += ["--ray", "local"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def shards(out: Path) -> dict[str, bytes]:
    folder = out / "shards"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name[0] != "."} if folder.is_dir() else {}


def begun(out: Path) -> int:
    """How many times a shard was begun, in all runs."""
    try:
        lines = (out / "times.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return sum('"begun"' in line for line in lines)


def descendants(process: int) -> list[tuple[int, str]]:
    """The processes that this one started, directly or not, with their command lines."""
    found: list[tuple[int, str]] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            for child in Path(f"/proc/{process}/task/{thread}/children").read_text().split():
                with contextlib.suppress(OSError):
                    line = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found += [(int(child), line), *descendants(int(child))]
    return found


def victim_of(driver: int, target: str, engine: str, rng: random.Random) -> int | None:
    if target == "driver":
        return driver
    worker = "limelight.corpus.running.workers" if engine == "workers" else "ray::ShardActor"
    mark = "raylet/raylet" if target == "node" else worker
    found = [number for number, line in descendants(driver) if mark in (line.split(" ")[0] if "/" in mark else line)]
    return rng.choice(found) if found else None


def harass(kills: int, engine: str, seed: int, targets: list[str]) -> list[str]:
    """Runs that are killed so often in all; what was wrong with them."""
    rng, failures = random.Random(seed), []
    with tempfile.TemporaryDirectory(prefix="corpus-harness-") as name:
        here = Path(name)
        data, out = here / "data.jsonl", here / "out"
        write_data(data)
        whole = start(data, here / "whole", "alone")
        _, said = whole.communicate(timeout=_PATIENCE)
        if whole.returncode != 0:
            return [f"the run that was not killed: {said.decode()}"]
        reference = shards(here / "whole")
        done = dict.fromkeys(TARGETS["ray"], 0)
        runs, of_this_run = 0, 0
        while sum(done.values()) < kills:
            process = start(data, out, engine)
            target = rng.choice(targets)
            before, moment = begun(out), rng.random() < 0.2
            limit = time.monotonic() + _PATIENCE
            while process.poll() is None and not moment and begun(out) == before and time.monotonic() < limit:
                time.sleep(0.01)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.0, 3.0))
            while (victim := victim_of(process.pid, target, engine, rng)) is None and process.poll() is None:
                time.sleep(0.02)  # it is starting yet
            if process.poll() is None and victim is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    done[target] += 1
                    of_this_run += 1
            if target == "driver" and process.poll() is None:
                process.kill()
            _, said = process.communicate(timeout=_PATIENCE)
            gave_up = target == "node" and process.returncode == GAVE_UP and b"the same command goes on" in said
            if process.returncode not in (0, -signal.SIGKILL) and not gave_up:
                failures.append(f"status {process.returncode} after a kill of the {target}: {said.decode()[-500:]}")
            if not shards(out).items() <= reference.items():
                failures.append(f"a shard differs after a kill of the {target}")
            if process.returncode == 0 or sum(done.values()) >= kills:
                failures += finish(data, out, engine, reference, of_this_run)
                runs, of_this_run = runs + 1, 0
                shutil.rmtree(out)
        print(
            f"{engine}: {sum(done.values())} kills ({done['driver']} of the driver, {done['worker']} of a worker, "
            f"{done['node']} of a node) in {runs} runs, {len(failures)} failures",
            flush=True,
        )
    return failures


def finish(data: Path, out: Path, engine: str, reference: dict[str, bytes], kills: int) -> list[str]:
    """Let a run end, and look at all of it."""
    process = start(data, out, engine)
    _, said = process.communicate(timeout=_PATIENCE)
    failures = []
    if process.returncode != 0:
        failures.append(f"the last run of {engine}: status {process.returncode}, {said.decode()[-500:]}")
    if shards(out) != reference:
        failures.append(f"{engine}: other bytes, or shards that are missing or too much")
    if left := [file.name for file in out.rglob(".*")]:
        failures.append(f"{engine}: left behind: {left}")
    if (again := begun(out) - len(reference)) > kills * WORKERS[engine]:
        failures.append(f"{engine}: {again} shards were begun again after {kills} kills")
    return failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--engine", choices=list(WORKERS), action="append")
    parser.add_argument("--target", choices=TARGETS["ray"], action="append", help="what is killed; default: all of it")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failures = []
    for engine in arguments.engine or WORKERS:
        targets = [own for own in TARGETS[engine] if own in (arguments.target or TARGETS[engine])]
        failures += harass(arguments.kills, engine, arguments.seed, targets)
    for failure in failures:
        print(failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
