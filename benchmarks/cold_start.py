"""How long a person waits for `limelight explain` on a 30-word text, from a cold start.

    python benchmarks/cold_start.py

A new process each time: Python, torch, the model, all default methods, the table. The seconds spent explaining are
those that the same command reports with `--format json`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

from official import machine

TEXT = (
    "I wanted to like this film because the actors are great and the first hour is a pleasant surprise but then the "
    "story falls apart and the ending is bad"
)
RUNS = 7


def run(*options: str) -> tuple[float, str]:
    command = [sys.executable, "-c", "from limelight.cli import main; main()", "explain", TEXT, *options]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - started, done.stdout


def main() -> None:
    assert len(TEXT.split()) == 30
    run()
    whole = [run()[0] for _ in range(RUNS)]
    explaining = [
        sum(e["seconds"] for e in json.loads(run("--format", "json")[1])["explanations"]) for _ in range(RUNS)
    ]
    print(machine())
    print(f"whole command: median {statistics.median(whole):.2f} s, slowest {max(whole):.2f} s of {RUNS} runs")
    print(f"explaining:    median {statistics.median(explaining):.3f} s, slowest {max(explaining):.3f} s")


if __name__ == "__main__":
    main()
