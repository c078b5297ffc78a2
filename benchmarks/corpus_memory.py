"""Memory and speed of a long run: so many short rows through a cheap method, shard by shard.

    python benchmarks/corpus_memory.py --rows 1000000

Prints the resident memory of the process as it goes, its peak, and the documents per second of processor time in the
first and in the last tenth of the shards: neither should depend on how many rows there are.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from limelight.core.progress import Lines
from limelight.corpus.running.driver import run

WORDS = "the film was great awful story scene bad good long boring lovely and but too music ending".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--method", default="alpha-avg")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    here = Path(tempfile.mkdtemp(prefix="corpus-memory-"))
    try:
        rng = random.Random(0)
        with (here / "data.jsonl").open("w") as file:
            for i in range(arguments.rows):
                text = " ".join(rng.choices(WORDS, k=rng.randint(3, 12)))
                file.write(json.dumps({"id": i, "text": text}) + "\n")
        started = time.perf_counter()
        done = run(here / "data.jsonl", here / "out", methods=[arguments.method], id_column="id",
                   workers=arguments.workers, progress=Lines())  # fmt: skip
        seconds = time.perf_counter() - started
        lines = [json.loads(line) for line in (here / "out" / "times.jsonl").read_text().splitlines()]
        rates = [line["documents"] / line["cpu_seconds"] for line in lines if line["event"] == "written"]
        tenth = max(1, len(rates) // 10)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        size = sum(file.stat().st_size for file in done.shards())
        print(f"{arguments.rows:,} rows in {seconds:,.0f} s, {arguments.rows / seconds:,.0f} a second by the clock")
        print(f"documents per second of processor time: first tenth {np.median(rates[1 : tenth + 1]):,.0f}, last tenth "
              f"{np.median(rates[-tenth:]):,.0f}")  # fmt: skip
        print(f"peak resident memory {peak:.2f} GiB; {size / 2**20:,.0f} MiB of shards")
    finally:
        shutil.rmtree(here)


if __name__ == "__main__":
    main()
