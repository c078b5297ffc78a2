"""Of the words that are coloured, how many should not be, and how many intervals miss: Shapley values of functions.

    python benchmarks/false_discoveries.py [--seeds 150]
    PYTHONPATH=../before/src python benchmarks/false_discoveries.py        with another version

Games whose Shapley values are known: a sum of five words and a product of two of them, and "at least k of eight words",
among 40 or 100 words of which the others do nothing; functions with noise of their own and without. False discoveries:
the share of coloured words whose value is 0. Missed: the share of coloured words whose interval, as it is shown, does
not hold the value. Means over seeds, ± their standard error.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import limelight

try:
    from limelight.explanation.significance import evidence
except ImportError:  # version 0.2
    from limelight.evidence import evidence  # type: ignore[import-not-found,no-redef]

CELLS = ((40, 300, 0, 0.2), (40, 300, 6, 0.2), (100, 1000, 3, 0.0), (100, 1000, 6, 0.0), (100, 1000, 5, 0.2))
"""Words, samples, k (0: the sum and the product), and the standard deviation of the noise."""
ROUNDING = 1e-9


def game(kept: np.ndarray, k: int) -> np.ndarray:
    if k:
        return (kept[:, :8].sum(axis=1) >= k).astype(float)
    return kept[:, :5] @ np.array([1.0, -0.8, 0.6, -0.5, 0.4]) + kept[:, 0] * kept[:, 1]


def truth(d: int, k: int) -> np.ndarray:
    known = [1 / 8] * 8 if k else [1.5, -0.3, 0.6, -0.5, 0.4]
    return np.concatenate([known, np.zeros(d - len(known))])


def shares(d: int, n: int, k: int, noise: float, seeds: int) -> np.ndarray:
    """Of each seed: false discoveries, coloured words missed, the ten on top covered, all words covered."""
    words = ["w" + "x" * i for i in range(d)]
    place, values, rng = {word: i for i, word in enumerate(words)}, truth(d, k), np.random.default_rng(5)

    def function(texts: list[str]) -> np.ndarray:
        kept = np.zeros((len(texts), d), dtype=bool)
        for row, text in zip(kept, texts, strict=True):
            row[[place[word] for word in text.split()]] = True
        return (game(kept, k) + rng.normal(0.0, noise, len(texts)))[:, None]

    model, found = limelight.wrap(function, kind="regression", batch_texts=100_000), []
    for seed in range(seeds):
        e = limelight.explain(model, " ".join(words), "shapley", n_samples=n, seed=seed, removal="delete")
        own = evidence(e)
        missed = np.abs(e.weights - values) > np.asarray(own.half_width) + ROUNDING
        top, coloured = np.argsort(-np.abs(e.weights))[:10], max(int(own.told.sum()), 1)
        found.append(
            (
                (own.told & (values == 0.0)).sum() / coloured,
                (own.told & missed).sum() / coloured,
                1.0 - missed[top].mean(),
                (np.abs(e.weights - values) <= 1.96 * np.asarray(e.stderr) + ROUNDING).mean(),
            )
        )
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=150)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    print(f"limelight {limelight.__version__}, {seeds} seeds\n")
    print("| words | samples | game | noise | false discoveries | coloured, missed | ten on top, covered | all words |")
    print("|---|---|---|---|---|---|---|---|")
    for d, n, k, noise in CELLS:
        own = shares(d, n, k, noise, seeds)
        false, missed, top, every = (
            f"{100 * mean:.1f} % ± {100 * error:.1f}"
            for mean, error in zip(own.mean(axis=0), own.std(axis=0) / np.sqrt(seeds), strict=True)
        )
        name = f"at least {k} of eight" if k else "a sum and a product"
        print(f"| {d} | {n:,} | {name} | {noise} | {false} | {missed} | {top} | {every} |", flush=True)


if __name__ == "__main__":
    main()
