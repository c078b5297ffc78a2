"""What a sample of LIME costs on the embedded model, in this version and another one, on texts seen for the first time.

    git worktree add ../before 4334675
    python benchmarks/lime_per_sample.py ../before/src imdb/test.parquet [--runs 6 --texts 4]

`../before` is version 0.1. Each run is a new process with reviews of its own, cut to a number of words; versions take
turns in changing order, on the same reviews. Seconds are those of the processor, of one thread: whoever else uses the
machine is not in them. Ratios are medians over reviews of what one and the same review took. This version is asked
twice: as it comes (`sampling="efficient"`), whose errors are those of several times as many samples, and for the
samples and the regression that 0.1 had (`sampling="official"`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from itertools import product
from pathlib import Path

import limelight
from official import machine, sample_documents
from versions import THIS, Tree

_TIMED = """
import json, sys, time, warnings
import limelight
warnings.simplefilter("ignore")
model, texts, options = limelight.load(), json.loads(sys.argv[1]), json.loads(sys.argv[2])
seconds = []
for text in texts:
    started = time.process_time()
    limelight.explain(model, text, "lime", **options)
    seconds.append(time.process_time() - started)
print(json.dumps(seconds[1:]))
"""
"""The first text pays for imports, and does not count."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the src folder of the version to compare with")
    parser.add_argument("data", help="a file with a text and a label column")
    parser.add_argument("--words", type=int, nargs="+", default=[60, 170, 250])
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=6, help="processes of each kind")
    parser.add_argument("--texts", type=int, default=4, help="reviews of each process, beside the first")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    trees = [Tree(arguments.other.resolve()), Tree(THIS), Tree(THIS)]
    versions = [tree.version() for tree in trees]
    own: list[dict[str, str]] = [{}, {}, {"sampling": "official"}]
    each = 1 + arguments.texts
    documents = sample_documents(limelight.load(), arguments.data, 12 * arguments.runs * each, seed=0)
    before, reviews = versions[0], arguments.runs * arguments.texts
    print(f"{machine()}, {os.cpu_count()} cores; {arguments.samples} samples, {reviews} reviews\n")
    print(f"| words | removal | features | {before}, µs a sample | efficient / {before} | official / {before} |")
    print("|---|---|---|---|---|---|")
    for words, removal, features in product(arguments.words, ("mask", "delete"), ("words", "occurrences")):
        texts = [" ".join(text.split()[:words]) for text in documents if len(text.split()) >= words]
        if len(texts) < arguments.runs * each:
            raise SystemExit(f"only {len(texts)} of the reviews have {words} words: ask for fewer")
        asked = {"n_samples": arguments.samples, "removal": removal, "features": features}
        seconds: list[list[float]] = [[] for _ in trees]
        for run in range(arguments.runs):
            read = json.dumps(texts[run * each : (run + 1) * each])
            for i in (0, 1, 2) if run % 2 == 0 else (2, 1, 0):
                seconds[i] += json.loads(trees[i].python(_TIMED, read, json.dumps({**asked, **own[i]})))
        ratios = [
            statistics.median(b / a for a, b in zip(seconds[0], seconds[i], strict=True)) for i in range(len(trees))
        ]
        each_sample = 1e6 * statistics.median(seconds[0]) / arguments.samples
        print(
            f"| {words} | {removal} | {features} | {each_sample:.1f} | {ratios[1]:.2f} | {ratios[2]:.2f} |", flush=True
        )


if __name__ == "__main__":
    main()
