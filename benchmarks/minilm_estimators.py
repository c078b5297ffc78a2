"""Errors of estimators and coverage of their intervals on a transformer, from what collect_games.py recorded.

    OMP_NUM_THREADS=1 python benchmarks/minilm_estimators.py games

Nothing but limelight is asked: each run is explained as a user would have explained the text with that seed, with
its recorded answers. A run is judged by the other runs of the same text, pooled (pooled_references.py). Where no longer
run was recorded, runs of one kind are judged by each other: they estimate one number, so that their variance is the
squared error of one, and the interval of the difference of two should hold 0. Intervals of a ratio are 95 % of
resampled reviews; those of a coverage are ±1.96 standard errors of its mean over reviews.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from collect_games import COVERAGE_SAMPLES
from limelight.explainers.lime import kernel_weights
from limelight.explainers.sampling.lime_sampler import RIDGE_SAMPLES
from limelight.explainers.surrogate import fit_surrogate
from pooled_references import LimeReference, ShapleyReference
from recorded_games import ESTIMATORS, KERNEL_WIDTH, LATER_SEED, Recorded, Review, Run, read_all

ERROR_SAMPLES = (500, 1000, 2000, 4000)
INSIDE = 1.96
STRONGEST = 10
NO_RIDGE = 1e-9
RESAMPLED = 2000
BASES = {"lime": "official", "pairs": "permutations"}
"""What the errors of an estimator are relative to."""


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────

Key = tuple[str, float, int]
"""The kind of a run, the ridge, and the number of samples."""


@dataclass(frozen=True)
class Estimated:
    """What one run gave."""

    run: Run
    weights: Any
    stderr: Any


def estimated(review: Review, ridges: tuple[float, ...], sizes: tuple[int, ...]) -> dict[Key, list[Estimated]]:
    """The estimates of all runs but the longer ones, from as many samples as there are of each size."""
    found: dict[Key, list[Estimated]] = defaultdict(list)
    for kind in ESTIMATORS:
        for run in [run for run in review.runs(kind) if run.seed != LATER_SEED]:
            recorded = Recorded(review, run)
            for n in [n for n in sizes if n <= run.n]:
                if kind == "official":
                    for ridge in ridges:
                        found[kind, ridge, n].append(official(review, run, n, ridge))
                    continue
                for ridge in ridges if kind == "lime" else (0.0,):
                    as_it_comes = {"estimator": "auto"} if kind == "pairs" else {}  # which asks for eight per word
                    own = recorded.explain(
                        n, **({"ridge": ridge, "ridge_samples": n} if kind == "lime" else as_it_comes)
                    )
                    found[kind, ridge, n].append(Estimated(run, own.weights, own.stderr))
    return found


def official(review: Review, run: Run, n: int, ridge: float) -> Estimated:
    """From the first samples of a run: they do not depend on each other, so these are as official LIME would draw n."""
    kept, outputs = review.samples(run)
    fit = fit_surrogate(kept[:n], outputs[:n, None], kernel_weights(kept[:n], KERNEL_WIDTH), ridge)
    return Estimated(run, fit.coefficients[:, 0], fit.stderr[:, 0])


def mean_of(found: list[Estimated]) -> Estimated:
    stderr = np.sqrt(np.mean([own.stderr**2 for own in found], axis=0) / len(found))
    return Estimated(found[0].run, np.mean([own.weights for own in found], axis=0), stderr)


def squared_errors(review: Review, found: dict[Key, list[Estimated]]) -> dict[Key, float]:
    """The mean over runs, less what the reference adds to it; without a reference, their variance."""
    if not any(run.seed == LATER_SEED for run in review.runs("lime")):
        return {key: float(np.var([one.weights for one in own], axis=0, ddof=1).sum()) for key, own in found.items()}
    errors: dict[Key, float] = {}
    references: dict[Key, tuple[Any, list[Run]]] = {}
    for (kind, ridge, n), own in found.items():
        of_lime = kind in ("official", "lime")
        like: Key = ("lime", ridge, n) if of_lime else ("pairs", 0.0, 0)
        if like not in references:
            runs = review.runs(like[0])
            apart, pool = runs[0], runs[1:]  # the longer one among them
            made = LimeReference(review, pool, apart, n, ridge) if of_lime else ShapleyReference(review, pool, apart)
            references[like] = made, pool
        reference, pool = references[like]
        squares = []
        for one in [one for one in own if one.run != review.runs(like[0])[0]]:
            truth, stderr = reference.without(pool.index(one.run) if one.run in pool else None)
            squares.append(float(((one.weights - truth) ** 2).sum() - (stderr**2).sum()))
        errors[kind, ridge, n] = float(np.mean(squares))
    return errors


def resampled(*parts: tuple[Any, Any]) -> tuple[float, float, float]:
    """The mean of ratios of sums, each of errors and base errors of reviews, and an interval by resampling those."""
    rng = np.random.default_rng(0)

    def ratio(chosen: list[Any]) -> float:
        return float(np.mean([own[i].sum() / base[i].sum() for (own, base), i in zip(parts, chosen, strict=True)]))

    every = ratio([np.arange(len(own)) for own, _ in parts])
    drawn = [ratio([rng.integers(0, len(own), len(own)) for own, _ in parts]) for _ in range(RESAMPLED)]
    return every, *np.quantile(drawn, [0.025, 0.975]).tolist()


def print_errors(folder: Path, sizes: tuple[int, ...]) -> None:
    ridges = (1.0, NO_RIDGE)
    errors: dict[str, list[dict[Key, float]]] = {}
    agreed: dict[tuple[str, Key], list[tuple[float, float]]] = defaultdict(list)
    between: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for words in ("60", "150"):
        for review in read_all(folder, f"errors-{words}"):
            found = estimated(review, ridges, sizes)
            errors.setdefault(words, []).append(squared_errors(review, found))
            for key, own in found.items():
                agreed[words, key].append(agreement(own))
            for kind, base in BASES.items():
                ridge, n = 1.0 if kind == "lime" else 0.0, max(n for _, _, n in found)
                between[kind, words].append(agreement([mean_of(found[own, ridge, n]) for own in (kind, base)]))
            say(f"{review.name}: {review.d} words")
    if not errors:
        return
    counts = ", ".join(f"{len(own)} reviews of {words} words" for words, own in errors.items())
    print(f"Squared errors relative to official LIME's draws, and to paired permutations; {counts}.\n")
    print(f"| estimator | samples | {' | '.join(f'{words} words' for words in errors)} | mean of both |")
    print("|---" * (3 + len(errors)) + "|")
    for kind, ridge in (("lime", 1.0), ("lime", NO_RIDGE), ("pairs", 0.0)):
        for n in sizes:
            keys = (kind, ridge, n), (BASES[kind], ridge, n)
            if not all(key in one for own in errors.values() for one in own for key in keys):
                continue
            parts = [tuple(np.array([one[key] for one in own]) for key in keys) for own in errors.values()]
            cells = ["{:.2f} ({:.2f}–{:.2f})".format(*resampled(*chosen)) for chosen in [*([p] for p in parts), parts]]
            print(f"| {named(kind, ridge)} | {n:,} | {' | '.join(cells)} |", flush=True)
    print(
        "\nHow often the 95 % interval of the difference of two runs holds 0, and of the ten words that are strongest"
    )
    print("in one of them; ± 1.96 standard errors of the mean over reviews.\n")
    print(f"| estimator | samples | {' | '.join(f'{w} words | ten strongest' for w in errors)} |")
    print("|---" * (2 + 2 * len(errors)) + "|")
    for key in [key for key in dict.fromkeys(key for _, key in agreed) if key[1] != NO_RIDGE]:
        cells = []
        for words in errors:
            for column in np.array(agreed[words, key]).reshape(-1, 2).T:
                cells.append("–" if np.isnan(column).any() or len(column) < 2 else with_error(column))
        print(f"| {named(*key[:2])} | {key[2]:,} | {' | '.join(cells)} |", flush=True)
    print("\nThe same of the means of all runs by two estimators, which a bias of one of them would keep apart.\n")
    for (kind, words), own in between.items():
        every, strongest = np.array(own).T
        pair = f"{named(kind, 1.0)} and {named(BASES[kind], 1.0)}, {words} words"
        print(f"{pair}: {with_error(every)}, ten strongest {with_error(strongest)}")
    print()


def named(kind: str, ridge: float) -> str:
    method, options = ESTIMATORS[kind]
    own = f"{method}, {', '.join(map(str, options.values()))}"
    return f"{own}, ridge {'1' if ridge == 1.0 else '0'}" if method == "lime" else own


def with_error(shares: Any) -> str:
    half = INSIDE * shares.std(ddof=1) / np.sqrt(len(shares))
    return f"{shares.mean():.1%} ± {100 * half:.1f}".replace("%", " %")


# ── coverage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def covered(found: Any, truth: Any, stderr: Any) -> tuple[float, float, float]:
    """Of all words, of the strongest by the reference, of the strongest by the estimate."""
    inside = np.abs(found.weights - truth) <= INSIDE * np.hypot(found.stderr, stderr)
    by_truth, by_estimate = (np.argsort(-np.abs(own))[:STRONGEST] for own in (truth, found.weights))
    return float(inside.mean()), float(inside[by_truth].mean()), float(inside[by_estimate].mean())


def agreement(found: list[Estimated]) -> tuple[float, float]:
    """How often two runs are no further apart than their errors say: of all words, of the strongest in one of them."""
    shares = []
    for one, other in permutations(found, 2):
        apart, allowed = np.abs(one.weights - other.weights), INSIDE * np.hypot(one.stderr, other.stderr)
        inside = np.where(np.isnan(allowed), np.nan, apart <= allowed)
        shares.append((inside.mean(), inside[np.argsort(-np.abs(one.weights))[:STRONGEST]].mean()))
    every, strongest = np.mean(shares, axis=0) if shares else (np.nan, np.nan)
    return float(every), float(strongest)


def coverage(review: Review) -> dict[tuple[str, int], tuple[Any, float]]:
    """By method and number of samples: means over the seeds, and how many texts were asked about."""
    result: dict[tuple[str, int], tuple[Any, float]] = {}
    for method, kind in (("lime", "lime"), ("shapley", "pairs")):
        runs = [run for run in review.runs(kind) if run.seed != LATER_SEED]
        (apart,) = (run for run in review.runs(kind) if run.seed == LATER_SEED)
        shapley = ShapleyReference(review, runs, apart) if method == "shapley" else None
        for n in COVERAGE_SAMPLES:
            reference = shapley or LimeReference(review, runs, apart, RIDGE_SAMPLES, 1.0)
            options = {"estimator": "auto"} if method == "shapley" else {}
            found, asked = [], []
            for i, run in enumerate(runs):
                explanation = Recorded(review, run).explain(n, **options)
                truth, stderr = reference.without(i)
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
    given = parser.parse_args()
    warnings.simplefilter("ignore", limelight.errors.ExplanationWarning)
    if "errors" in given.parts:
        print_errors(given.folder, ERROR_SAMPLES)
    if "coverage" in given.parts:
        print_coverage(given.folder)


if __name__ == "__main__":
    main()
