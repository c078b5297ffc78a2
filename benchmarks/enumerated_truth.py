"""Do intervals of sampled LIME and Shapley values hold the truth on a transformer? From texts with all answers known.

    python benchmarks/enumerated_truth.py GAMES [--runs 60] [--samples 100,200,500,1000,2000] [--processes 2]

GAMES: a folder with mask.npz and delete.npz, as `enumerate_games.py` writes them: `output_i` (2^d,) is the model's
logit margin on every coalition of text i, bit j of the row's number telling whether word j is kept. So LIME's weights
and Shapley values are known without sampling, and samples are drawn from the same answers with many seeds. limelight
would ask all coalitions of so short a text by itself: here it has fewer samples than there are coalitions.

A row: the root of the mean squared bias over texts and words, in units of the stated error (what so many runs show of
it by chance is subtracted; "< x" where less than twice its own uncertainty is left); the share of intervals that hold
the truth, of all words and of the three that matter most, ± 1.96 standard errors over texts; the stated error over the
true one (root mean square); and the squared error relative to official LIME's, with as many samples.
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # before NumPy, and for the processes that follow: there is one per core
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import math
import multiprocessing
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from limelight.explainers.lime import kernel_weights
from limelight.explainers.sampling.designs import sample_coalitions
from limelight.explainers.sampling.lime_sampler import LimeSampler
from limelight.explainers.sampling.shapley_samplers import PairedShapley
from limelight.explainers.surrogate import fit_surrogate
from official import machine

KERNEL_WIDTH, RIDGE, OF_SAMPLES, OFFICIAL = 0.25, 1.0, 5000, "lime, official"
METHODS = ("lime", OFFICIAL, "shapley")
Z = 1.959963984540054
STRONGEST = 3


@dataclass(frozen=True)
class Answers:
    """Every output of one text: `table` (2^d,)."""

    table: Any

    @property
    def d(self) -> int:
        return int(self.table.size).bit_length() - 1

    def __call__(self, kept: Any) -> Any:
        return self.table[kept @ (1 << np.arange(self.d))][:, None]

    def truth(self, method: str, n: int) -> Any:
        if method == "shapley":
            pairs = PairedShapley(self, self.d, 0)
            pairs.extend(2**self.d)
            return pairs.estimate().values[:, 0]
        of = n if method == OFFICIAL else OF_SAMPLES
        samples = LimeSampler(self, self.d, 0, KERNEL_WIDTH, RIDGE, ridge_samples=of)
        samples.extend(2**self.d)
        return samples.estimate().values[:, 0]

    def estimate(self, method: str, n: int, seed: int) -> tuple[Any, Any]:
        if method == OFFICIAL:
            kept = sample_coalitions(self.d, n, np.random.default_rng(seed))
            fit = fit_surrogate(kept, self(kept), kernel_weights(kept, KERNEL_WIDTH), RIDGE)
            return fit.coefficients[:, 0], fit.stderr[:, 0]
        sampler = (
            LimeSampler(self, self.d, seed, KERNEL_WIDTH, RIDGE)
            if method == "lime"
            else PairedShapley(self, self.d, seed)
        )
        sampler.extend(n)
        estimate = sampler.estimate()
        return estimate.values[:, 0], estimate.stderr[:, 0]


Task = tuple[str, int, str, int, int]
"""A file, the number of a text, a method, samples, runs."""


def measured(task: Task) -> tuple[Task, dict[str, float]]:
    path, i, method, n, runs = task
    with np.load(path, allow_pickle=False) as arrays:
        answers = Answers(arrays[f"output_{i}"].astype(np.float64))
    truth = answers.truth(method, n)
    found = [answers.estimate(method, n, seed) for seed in range(runs)]
    off, stderr = np.stack([values for values, _ in found]) - truth, np.stack([own for _, own in found])
    inside = np.where(np.isnan(stderr), np.nan, np.abs(off) <= Z * stderr)
    strongest = np.argsort(-np.abs(truth))[:STRONGEST]
    mean, variance = off.mean(axis=0), off.var(axis=0, ddof=1) / runs
    return task, {
        "given": float(np.isfinite(stderr).mean()),
        "covered": float(inside.mean()),
        "strongest": float(inside[:, strongest].mean()),
        "square": float((off**2).mean()),
        "stated": float((stderr**2).mean()),
        "bias": float((mean**2 - variance).mean()),
        "unsure": float((2.0 * variance**2 + 4.0 * variance * np.maximum(mean**2 - variance, 0.0)).sum())
        / len(truth) ** 2,
    }


def share(values: Any) -> str:
    half = Z * values.std(ddof=1) / math.sqrt(len(values))
    return f"{values.mean():.1%} ± {100.0 * half:.1f}".replace("%", " %")


def row(name: str, n: int, own: list[dict[str, float]], base: list[dict[str, float]] | None) -> str:
    of = {key: np.array([one[key] for one in own]) for key in own[0]}
    given = f"{of['given'].mean():.0%}".replace("%", " %")
    if not np.isfinite(of["stated"]).all():
        return f"| {name} | {n:,} | {given} | – | – | – | – | – |"
    # Texts differ in size: each counts in units of its own stated error.
    bias, unsure = (of["bias"] / of["stated"]).mean(), np.sqrt((of["unsure"] / of["stated"] ** 2).sum()) / len(own)
    seen = f"{math.sqrt(bias):.2f}" if bias > 2.0 * unsure else f"< {math.sqrt(max(bias, 0.0) + 2.0 * unsure):.2f}"
    ratio = math.sqrt((of["stated"] / of["square"]).mean())
    relative = "–" if base is None else f"{(of['square'] / np.array([one['square'] for one in base])).mean():.2f}"
    held = f"{share(of['covered'])} | {share(of['strongest'])}"
    return f"| {name} | {n:,} | {given} | {seen} | {held} | {ratio:.2f} | {relative} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--samples", default="100,200,500,1000,2000")
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    began, sizes = time.monotonic(), [int(n) for n in given.samples.split(",")]
    tasks = [
        (str(given.games / f"{removal}.npz"), i, method, n, given.runs)
        for removal, n, method, i in product(("mask", "delete"), sizes, METHODS, range(given.texts))
    ]
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        found = dict(pool.imap_unordered(measured, tasks, chunksize=4))
    print(f"{machine()}; {given.texts} texts, {given.runs} runs of each, {time.monotonic() - began:,.0f} s\n")
    for removal in ("mask", "delete"):
        path = str(given.games / f"{removal}.npz")
        print(f"removal={removal!r}\n")
        print("| method | samples | given | bias / stated | covered | three strongest | stated / true | error |")
        print(f"|{'---|' * 8}")
        for method, n in product(METHODS, sizes):
            own, base = (
                [found[path, i, name, n, given.runs] for i in range(given.texts)] for name in (method, OFFICIAL)
            )
            print(row(method, n, own, base if method != "shapley" else None))
        print()


if __name__ == "__main__":
    main()
