"""Our LIME against the official `lime` 0.2.0.1: the same documents, the same model, the same run.

    python benchmarks/lime_against_official.py imdb/test.parquet

`bow=False` masks single occurrences with [UNK]; `bow=True` deletes all occurrences of a word. Three questions: how much
faster are we, are the weights the same up to sampling noise, and do the standard errors say how large that noise is?
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import limelight
from limelight.inputs.document import word_forms
from official import machine, official_lime, sample_documents

MODES = {"mask": "occurrences", "delete": "words"}


@dataclass
class Measured:
    ours: list[float] = field(default_factory=list)  # seconds
    official: list[float] = field(default_factory=list)
    cross: list[float] = field(default_factory=list)  # distances between one of our runs and an official one
    own: list[float] = field(default_factory=list)  # distances between two official runs
    covered: int = 0
    weights: int = 0


def our_lime(model: Any, text: str, removal: str, seed: int, n_samples: int) -> limelight.Explanation:
    kind: Any = MODES[removal]
    return limelight.explain(
        model, text, "lime", target=model.labels[1], features=kind, removal=removal, seed=seed, n_samples=n_samples,
        sampling="official",
    )  # fmt: skip


def measure(model: Any, texts: list[str], removal: str, n_samples: int, runs: int) -> Measured:
    m = Measured()
    our_lime(model, texts[0], removal, 0, n_samples)  # the first call of a process pays for warming up
    for text in texts:
        theirs, ours = [], []
        for seed in range(runs):
            started = time.perf_counter()
            theirs.append(official_lime(model, text, removal, seed, n_samples))
            middle = time.perf_counter()
            ours.append(our_lime(model, text, removal, seed, n_samples))
            m.official.append(middle - started)
            m.ours.append(time.perf_counter() - middle)
        m.own += [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(theirs, 2)]
        m.cross += [float(np.linalg.norm(a.weights - b)) for a in ours for b in theirs]
        for a, b in itertools.combinations(ours, 2):
            inside = np.abs(a.weights - b.weights) < 1.96 * np.hypot(a.stderr, b.stderr)
            m.covered += int(inside.sum())
            m.weights += len(inside)
    return m


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a file with a text and a label column, for instance IMDB's test set as Parquet")
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--model", default=None, help="a checkpoint folder; the embedded model by default")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = limelight.load(arguments.model)
    documents = sample_documents(model, arguments.data, arguments.documents, arguments.seed)
    lengths = [len(word_forms(text)) for text in documents]
    print(f"{machine()}; {model}")
    print(
        f"{len(documents)} documents of {statistics.mean(lengths):.0f} words on average, "
        f"{arguments.samples} samples, {arguments.runs} runs each\n"
    )
    print(
        "| removal | official lime, s | limelight, s | times faster | official to official | ours to official | ratio |"
    )
    print("|---|---|---|---|---|---|---|")
    coverage = {}
    for removal in MODES:
        m = measure(model, documents, removal, arguments.samples, arguments.runs)
        official, ours = statistics.median(m.official), statistics.median(m.ours)
        faster = sum(m.official) / sum(m.ours)
        own, cross = statistics.mean(m.own), statistics.mean(m.cross)
        print(
            f"| {removal} | {official:.3f} | {ours:.4f} | {faster:.1f} | {own:.4f} | {cross:.4f} | {cross / own:.3f} |"
        )
        coverage[removal] = m.covered / m.weights
    shares = ", ".join(f"{removal} {share:.1%}" for removal, share in coverage.items())
    print(f"\nThe 95 % interval of the difference of two of our runs covers zero: {shares} of the weights")


if __name__ == "__main__":
    main()
