"""LIME of a Hugging Face model in this version and in another one, in turns: is it slower than it was?

    git worktree add ../before v0.2.0
    python benchmarks/transformer_versions.py ../before/src ../shared/models/minilm-imdb --runs 15

One process for each source tree loads the model and explains the text once; that is not timed. Then both explain it in
turns, in changing order, so that a machine that is busy for a while is busy for both. Seconds are those of the
processor, of all threads, which other work on the machine moves less than those of the clock; OMP_NUM_THREADS=1 keeps
waiting threads out of them. The last line has the medians and their ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from official import machine
from versions import LONG_TEXT

THIS = Path(__file__).resolve().parents[1] / "src"
_WORKER = """
import sys, time
import limelight
folder, text, samples = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = limelight.load(folder, dtype="float32")
limelight.explain(model, text, "lime", n_samples=samples)
print(limelight.__file__, flush=True)
for seed in sys.stdin:
    started = time.process_time()
    limelight.explain(model, text, "lime", n_samples=samples, seed=int(seed))
    print(time.process_time() - started, flush=True)
"""


class Worker:
    """A process with one source tree, which explains the text whenever it is given a seed."""

    def __init__(self, src: Path, *arguments: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(src), "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if not Path(self._line()).resolve().is_relative_to(src):
            raise SystemExit(f"{src} holds no limelight: give the folder that limelight/ is in")

    def seconds(self, seed: int) -> float:
        assert self._process.stdin is not None
        print(seed, file=self._process.stdin, flush=True)
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip() or "."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the src folder of the version to compare with")
    parser.add_argument("model", type=Path, help="the folder of a Hugging Face model")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--samples", type=int, default=300)
    arguments = parser.parse_args()
    text = " ".join(LONG_TEXT.split()[: arguments.words])
    asked = (str(arguments.model.resolve()), text, str(arguments.samples))
    workers = [Worker(arguments.other.resolve(), *asked), Worker(THIS, *asked)]
    seconds: list[list[float]] = [[], []]
    for run in range(arguments.runs):
        for i in (0, 1) if run % 2 == 0 else (1, 0):
            seconds[i].append(workers[i].seconds(run))
        print(f"run {run}: {seconds[0][-1]:.3f} s before, {seconds[1][-1]:.3f} s now", flush=True)
    before, now = map(statistics.median, seconds)
    print(
        f"{machine()}, {os.cpu_count()} cores, {arguments.words} words, {arguments.samples} samples: "
        f"{before:.3f} s before, {now:.3f} s now, ratio of medians {now / before:.3f}"
    )


if __name__ == "__main__":
    main()
