"""This version against another one, in turns: is anything slower than it was?

    git worktree add ../before v0.1.0
    python benchmarks/versions.py ../before/src --runs 15

Each run is a new process, one with the other source tree and one with this one, in changing order, so that a machine
that is busy for a while is busy for both. Only what both have is used: load, explain, compare and the command line.
The first call of a process pays for imports and tables that later ones find. The last column is the ratio of medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cold_start import TEXT
from official import machine

THIS = Path(__file__).resolve().parents[1] / "src"
LONG_TEXT = """
i went into the cinema on a rainy afternoon expecting very little and came out quite moved by what had just happened
director and writer share one vision that never feels forced even though their plot takes some strange turns before
its final act each scene is lit with care while music stays in background until silence says more than any song could
young actress playing sister gives brilliant performance full of warmth anger humour or quiet despair whenever camera
finds her face but male lead seems bored wooden sometimes plain awful as if he were reading lines from cue card hung
behind somebody else s shoulder several jokes fall flat special effects look cheap villain makes no sense at all yet
dialogue remains sharp editing keeps things tense through middle hour only towards end does pace drop too far those
who loved original novel will miss many favourite characters here still there are moments so beautiful you forgive
every mistake worth watching twice perhaps with good friends wine popcorn
"""
LATER_CALLS = 5
_TIMED = """
import json, statistics, sys, time
import limelight
model, text = limelight.load(), sys.argv[1]

def seconds():
    started = time.perf_counter()
    {call}
    return time.perf_counter() - started

first, later = seconds(), [seconds() for _ in range({later})]
print(json.dumps({{"first call": first, "later calls": statistics.median(later)}}))
"""
_COMMAND_LINE = "from limelight.cli import main; main()"

Seconds = dict[str, float]
"""What one process measured, by name."""


_COMPILED = Path(tempfile.gettempdir()) / "limelight-versions"


@dataclass(frozen=True)
class Tree:
    """The sources of one version."""

    src: Path

    def python(self, code: str, *arguments: str) -> str:
        """What a new process with this version writes to standard output."""
        # As on a machine where the package is installed: modules are compiled once, and found compiled from then on.
        compiled = {"PYTHONPYCACHEPREFIX": str(_COMPILED), "PYTHONDONTWRITEBYTECODE": ""}
        environment = {**os.environ, **compiled, "PYTHONPATH": str(self.src)}
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{self.src} failed:\n{done.stderr}")
        return done.stdout

    def version(self) -> str:
        code = "import limelight; print(limelight.__file__); print(limelight.__version__)"
        file, version = self.python(code).splitlines()
        if not Path(file).resolve().is_relative_to(self.src):
            raise SystemExit(
                f"{self.src} holds no limelight: {file} was imported; give the folder that limelight/ is in"
            )
        return version


# ── tasks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def inside(call: str, text: str) -> Callable[[Tree], Seconds]:
    """Seconds of a call within a process, the first one and the median of later ones."""
    code = _TIMED.format(call=call, later=LATER_CALLS)
    return lambda tree: json.loads(tree.python(code, text))


def whole(tree: Tree, *arguments: str) -> Seconds:
    """Seconds of a command from start to end."""
    started = time.perf_counter()
    tree.python(_COMMAND_LINE, *arguments)
    return {"whole process": time.perf_counter() - started}


def reproduce(tree: Tree) -> Seconds:
    with tempfile.TemporaryDirectory() as folder:
        return whole(tree, "reproduce", "all", "--device", "cpu", "--out", str(Path(folder, "run")))


TASKS: dict[str, Callable[[Tree], Seconds]] = {
    "cold start": lambda tree: whole(tree, "explain", TEXT),
    "LIME, masking": inside("limelight.explain(model, text, 'lime', n_samples=5000)", LONG_TEXT),
    "LIME, deleting": inside("limelight.explain(model, text, 'lime', removal='delete', n_samples=5000)", LONG_TEXT),
    "exact LIME": inside("limelight.explain(model, text, 'lime-limit')", LONG_TEXT),
    "Shapley values": inside("limelight.explain(model, text, 'shapley')", LONG_TEXT),
    "compare": inside("limelight.compare(model, text)", TEXT),
    "reproduce all": reproduce,
}


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def in_turns(task: Callable[[Tree], Seconds], trees: Sequence[Tree], runs: int) -> list[list[Seconds]]:
    """What each tree took in each run: [tree][run]. A run before them, which fills caches on disk, does not count."""
    seconds: list[list[Seconds]] = [[] for _ in trees]
    for tree in trees:
        task(tree)
    for run in range(runs):
        order = range(len(trees)) if run % 2 == 0 else reversed(range(len(trees)))
        for i in order:
            seconds[i].append(task(trees[i]))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the src folder of the version to compare with")
    parser.add_argument("--runs", type=int, default=15, help="of each task with each version")
    parser.add_argument("--reproduce-runs", type=int, default=None, help="of the longest task; default: as the others")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    arguments = parser.parse_args()
    trees = [Tree(arguments.other.resolve()), Tree(THIS)]
    versions = [tree.version() for tree in trees]
    words = len(set(LONG_TEXT.split()))
    print(f"{machine()}, {os.cpu_count()} cores; long text: {words} distinct words, {arguments.runs} runs\n")
    print(f"| task | | {versions[0]} ({trees[0].src.parent.name}), s | {versions[1]} (this), s | new / old |")
    print("|---|---|---|---|---|")
    for name in arguments.tasks:
        asked = arguments.reproduce_runs if name == "reproduce all" else None
        old, new = in_turns(TASKS[name], trees, asked or arguments.runs)
        for measured in old[0]:
            before, after = (statistics.median(one[measured] for one in runs) for runs in (old, new))
            print(f"| {name} | {measured} | {before:.4f} | {after:.4f} | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
