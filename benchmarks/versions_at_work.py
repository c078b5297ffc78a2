"""Everyday work with this version and with another one, in turns: is anything slower than it was?

    git worktree add ../before v0.2.0
    python benchmarks/versions_at_work.py ../before/src --runs 15

`versions.py` measures single calls by the clock, which needs a machine that does nothing else. Here seconds are those
of the processor, which other work on the machine moves less, with one thread (OMP_NUM_THREADS=1), so that waiting does
not count. The command's cold start and the page's first answer take a new process each time; the rest is done by one
process per version, whose first time does not count. Turns change their order from run to run. The last column but one
is the ratio of medians, the last that of the least, which noise can only raise.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

from cold_start import TEXT
from official import machine
from versions import LONG_TEXT

THIS = Path(__file__).resolve().parents[1] / "src"
REVIEWS = [json.loads(line)["text"] for line in (THIS / "limelight/reproduce/sample.jsonl").open(encoding="utf-8")]
SHORT = [" ".join(review.split()[start : start + 8]) for review in REVIEWS for start in (0, 8, 16, 24)][:200]
_COMMAND_LINE = "from limelight.cli import main; main()"
_COMPILED = Path(tempfile.gettempdir()) / "limelight-versions"
_PAGE = """
import json, sys, time
import limelight
from fastapi.testclient import TestClient
from limelight.web.app import create_app
from limelight.web.site import Served, Site
model = limelight.load()
started = time.process_time()
with TestClient(create_app(Site([Served("embedded", model)])), base_url="http://127.0.0.1:8000") as client:
    answer = client.post("/api/v1/compare", json={"text": sys.argv[1]})
if answer.status_code != 200:
    raise SystemExit(answer.text)
print(time.process_time() - started)
"""
_WORKER = """
import json, pathlib, shutil, sys, tempfile, time
import limelight, limelight.corpus
model = limelight.load()
texts, folder = json.loads(sys.stdin.readline()), pathlib.Path(tempfile.mkdtemp())
(folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\\n" for text in texts["short"]))
print(limelight.__file__, flush=True)

def corpus():
    limelight.corpus.run(folder / "texts.jsonl", folder / "out", model, ["lime-limit", "shapley"])

def exact():
    for text in texts["reviews"]:
        limelight.explain(model, text, "lime-limit")
        limelight.explain(model, text, "shapley")

def lime():
    limelight.explain(model, texts["long"], "lime", n_samples=5000)

for name in sys.stdin:
    work, seconds = {"lime": lime, "exact": exact, "corpus": corpus}[name.strip()], []
    for _ in range(5):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
        shutil.rmtree(folder / "out", ignore_errors=True)
    print(sum(seconds) / len(seconds), flush=True)
shutil.rmtree(folder)
"""


def _environment(src: Path) -> dict[str, str]:
    compiled = {"PYTHONPYCACHEPREFIX": str(_COMPILED), "PYTHONDONTWRITEBYTECODE": ""}
    return {**os.environ, **compiled, "PYTHONPATH": str(src), "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}


class Worker:
    """A process with one version, which does the work that it is told."""

    def __init__(self, src: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            env=_environment(src),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._write(json.dumps({"short": SHORT, "reviews": REVIEWS[:20], "long": LONG_TEXT}))
        if not Path(self._line()).resolve().is_relative_to(src):
            raise SystemExit(f"{src} holds no limelight: give the folder that limelight/ is in")

    def seconds(self, name: str) -> float:
        self._write(name)
        return float(self._line())

    def end(self) -> None:
        self._process.communicate()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip() or "."


def _new(src: Path, *command: str) -> str:
    """What a new process with this version writes."""
    done = subprocess.run(
        [sys.executable, "-c", *command], env=_environment(src), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{src} failed:\n{done.stderr}")
    return done.stdout


def cold_start(src: Path) -> float:
    """Seconds of the processor for a whole command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _new(src, _COMMAND_LINE, "explain", TEXT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turns(name: str, both: list[Callable[[], float]], runs: int) -> None:
    seconds: list[list[float]] = [[], []]
    for one in both:
        one()
    for run in range(runs):
        for i in (0, 1) if run % 2 == 0 else (1, 0):
            seconds[i].append(both[i]())
    old, new = map(statistics.median, seconds)
    least = min(seconds[1]) / min(seconds[0])
    print(f"| {name} | {old:.3f} | {new:.3f} | {new / old:.2f} | {least:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the src folder of the version to compare with")
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    trees = [arguments.other.resolve(), THIS]
    print(f"{machine()}, {os.cpu_count()} cores, {date.today()}, {arguments.runs} runs in turns, CPU seconds\n")
    print("| work | before, s | now, s | now / before | of the least |\n|---|---|---|---|---|")
    workers = [Worker(tree) for tree in trees]
    try:
        for name, task in (
            ("LIME, 5,000 samples", "lime"),
            ("exact values of 20 reviews", "exact"),
            (f"a corpus of {len(SHORT)} short texts, exact", "corpus"),
        ):
            in_turns(name, [lambda own=own, task=task: own.seconds(task) for own in workers], arguments.runs)
    finally:
        for own in workers:
            own.end()
    in_turns("cold start of `explain`", [lambda tree=tree: cold_start(tree) for tree in trees], arguments.runs)
    in_turns(
        "the page's first answer",
        [lambda tree=tree: float(_new(tree, _PAGE, TEXT)) for tree in trees],
        arguments.runs,
    )


if __name__ == "__main__":
    main()
