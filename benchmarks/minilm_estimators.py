"""Errors of estimators and coverage of their intervals on a transformer, from what collect_games.py recorded.

    OMP_NUM_THREADS=1 python benchmarks/minilm_estimators.py games

Nothing but limelight is asked: each run is explained as a user would have explained the text with that seed, with
its recorded answers. A run is judged by the other runs of the same text, pooled (pooled_references.py). Intervals of a
ratio are 95 % of resampled reviews; those of a coverage are ±1.96 standard errors of its mean over reviews.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from collect_games import COVERAGE_SAMPLES, ERROR_SAMPLES, LATER_SEED
from pooled_references import LimeReference, ShapleyReference
from recorded_games import Recorded, Review, Run, auto, read_all

INSIDE = 1.96
STRONGEST = 10
NO_RIDGE = 1e-9
RESAMPLED = 2000
BASES = {"lime": "official", "pairs": "permutations"}
"""What the errors of an estimator are relative to."""


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def squared_errors(
    review: Review, ridges: tuple[float, ...], of_shapley: tuple[int, ...]
) -> dict[tuple[str, float, int], float]:
    """By kind of run, ridge and number of samples: the mean over seeds, less what the reference adds to it."""
    errors: dict[tuple[str, float, int], list[float]] = defaultdict(list)
    known: dict[tuple[str, float, int], tuple[Any, list[Run]]] = {}
    for kind in ("lime", "pairs"):
        runs = [run for run in review.runs(kind) if run.seed != LATER_SEED]
        (later,) = (run for run in review.runs(kind) if run.seed == LATER_SEED)
        apart, pool = runs[0], [later, *runs[1:]]
        if kind == "pairs":
            known[kind, 0.0, 0] = ShapleyReference(review, pool, apart), pool
            continue
        for ridge in ridges:
            for n in ERROR_SAMPLES:
                known[kind, ridge, n] = LimeReference(review, pool, apart, n, ridge), pool
    for kind in ("official", "lime", "permutations", "pairs"):
        for run in (own for own in review.runs(kind) if own.seed != LATER_SEED):
            recorded = Recorded(review, run)
            of_lime = kind in ("official", "lime")
            for n in [run.n] if kind == "official" else ERROR_SAMPLES if of_lime else of_shapley:
                for ridge in ridges if of_lime else (0.0,):
                    reference, pool = known[("lime", ridge, n) if of_lime else ("pairs", 0.0, 0)]
                    truth, stderr = reference.without(pool.index(run) if run in pool else None)
                    found = recorded.explain(n, **({"ridge": ridge} if of_lime else {}))
                    error = float(((found.weights - truth) ** 2).sum() - (stderr**2).sum())
                    errors[kind, ridge, n].append(error)
    return {key: float(np.mean(own)) for key, own in errors.items()}


def resampled(*parts: tuple[Any, Any]) -> tuple[float, float, float]:
    """The mean of ratios of sums, each of errors and base errors of reviews, and an interval by resampling those."""
    rng = np.random.default_rng(0)

    def ratio(chosen: list[Any]) -> float:
        return float(np.mean([own[i].sum() / base[i].sum() for (own, base), i in zip(parts, chosen, strict=True)]))

    every = ratio([np.arange(len(own)) for own, _ in parts])
    drawn = [ratio([rng.integers(0, len(own), len(own)) for own, _ in parts]) for _ in range(RESAMPLED)]
    return every, *np.quantile(drawn, [0.025, 0.975]).tolist()


def print_errors(folder: Path, of_shapley: tuple[int, ...]) -> None:
    ridges = (1.0, NO_RIDGE)
    errors: dict[str, list[dict[tuple[str, float, int], float]]] = {}
    for words in ("60", "150"):
        for review in read_all(folder, f"errors-{words}"):
            errors.setdefault(words, []).append(squared_errors(review, ridges, of_shapley))
            say(f"{review.name}: {review.d} words")
    if not errors:
        return
    counts = ", ".join(f"{len(own)} reviews of {words} words" for words, own in errors.items())
    print(f"Squared errors relative to official LIME's draws, and to paired permutations; {counts}.\n")
    print(f"| estimator | samples | {' | '.join(f'{words} words' for words in errors)} | mean of both |")
    print("|---" * (3 + len(errors)) + "|")
    for kind, ridge in (("lime", 1.0), ("lime", NO_RIDGE), ("pairs", 0.0)):
        for n in of_shapley if kind == "pairs" else ERROR_SAMPLES:
            parts = [
                (
                    np.array([one[kind, ridge, n] for one in own]),
                    np.array([one[BASES[kind], ridge, n] for one in own]),
                )
                for own in errors.values()
            ]
            cells = ["{:.2f} ({:.2f}–{:.2f})".format(*resampled(*chosen)) for chosen in [*([p] for p in parts), parts]]
            name = {"lime": f"lime, ridge {'1' if ridge == 1.0 else '0'}", "pairs": "shapley, pairs"}[kind]
            print(f"| {name} | {n:,} | {' | '.join(cells)} |", flush=True)
    print()


# ── coverage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def covered(found: Any, truth: Any, stderr: Any) -> tuple[float, float, float]:
    """Of all words, of the strongest by the reference, of the strongest by the estimate."""
    inside = np.abs(found.weights - truth) <= INSIDE * np.hypot(found.stderr, stderr)
    by_truth, by_estimate = (np.argsort(-np.abs(own))[:STRONGEST] for own in (truth, found.weights))
    return float(inside.mean()), float(inside[by_truth].mean()), float(inside[by_estimate].mean())


def coverage(review: Review) -> dict[tuple[str, int], tuple[Any, float]]:
    """By method and number of samples: means over the seeds, and how many texts were asked about."""
    result: dict[tuple[str, int], tuple[Any, float]] = {}
    for method, kind in (("lime", "lime"), ("shapley", "pairs")):
        runs = [run for run in review.runs(kind) if run.seed != LATER_SEED]
        (apart,) = (run for run in review.runs(kind) if run.seed == LATER_SEED)
        shapley = ShapleyReference(review, runs, apart) if method == "shapley" else None
        for n in COVERAGE_SAMPLES:
            reference = shapley or LimeReference(review, runs, apart, n, 1.0)
            taken = kind if method == "lime" else auto(review.d, n)
            found, asked = [], []
            for run in review.runs(taken):
                if run.seed == LATER_SEED:
                    continue
                explanation = Recorded(review, run).explain(n)
                truth, stderr = reference.without(runs.index(run) if run in runs else None)
                found.append(covered(explanation, truth, stderr))
                asked.append(explanation.evaluations)
            result[method, n] = np.mean(found, axis=0), float(np.mean(asked))
    return result


def print_coverage(folder: Path) -> None:
    found: dict[tuple[str, int], list[tuple[Any, float]]] = defaultdict(list)
    words = []
    for review in read_all(folder, "coverage"):
        for key, own in coverage(review).items():
            found[key].append(own)
        words.append(review.d)
        say(f"{review.name}: {review.d} words")
    if not words:
        return
    print(f"Coverage of 95 % intervals, {len(words)} reviews of {min(words)} to {max(words)} words; in brackets the")
    print("interval of the mean over reviews, then the mean over the tenth of the reviews that is covered worst.\n")
    print("| method | samples | asked | all words | ten strongest by the reference | ten strongest by the estimate |")
    print("|---|---|---|---|---|---|")
    for (method, n), own in sorted(found.items()):
        shares, asked = np.array([one for one, _ in own]), np.mean([one for _, one in own])
        cells = []
        for column in shares.T:
            mean, half = column.mean(), INSIDE * column.std(ddof=1) / np.sqrt(len(column))
            worst = np.sort(column)[: max(1, len(column) // 10)].mean()
            cells.append(f"{mean:.1%} ({mean - half:.1%} to {mean + half:.1%}), worst {worst:.1%}".replace("%", " %"))
        print(f"| {method} | {n:,} | {asked:,.0f} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what collect_games.py wrote")
    parser.add_argument("--parts", default="errors,coverage")
    parser.add_argument("--shapley-samples", default=",".join(map(str, ERROR_SAMPLES)), help="up to what was recorded")
    given = parser.parse_args()
    warnings.simplefilter("ignore", limelight.errors.ExplanationWarning)
    if "errors" in given.parts:
        print_errors(given.folder, tuple(map(int, given.shapley_samples.split(","))))
    if "coverage" in given.parts:
        print_coverage(given.folder)


if __name__ == "__main__":
    main()
