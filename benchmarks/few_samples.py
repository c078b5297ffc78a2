"""Shapley values from fewer samples than eight per word: a regression on pairs, or the fewest permutations?

    OMP_NUM_THREADS=1 python benchmarks/few_samples.py imdb/train.parquet

Four orders and their reverses ask for eight texts per word, whatever number was given. The embedded model on the first
words of reviews, asked as if only its answers were known; its exact values are the truth. Squared errors are relative
to those of the four orders, means over reviews and three seeds; coverage is that of 95 % intervals, where given.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import limelight
from estimators import Sampled
from limelight.data import read_texts

SEEDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--words", type=int, nargs="+", default=[7, 8, 10, 12, 15, 20, 30, 50, 100, 200])
    parser.add_argument("--texts", type=int, default=6, help="reviews of each length")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of texts")
    given = parser.parse_args()
    warnings.simplefilter("ignore", limelight.errors.ExplanationWarning)
    model = limelight.load()
    texts = read_texts(given.data, "text").texts
    order = np.random.default_rng(given.seed).permutation(len(texts)).tolist()
    asked = {f"pairs, {per} per word": ("pairs", per) for per in (5, 6, 7, 8)}
    print(f"| words | {' | '.join(asked)} | covered: four orders | pairs, 8 per word |")
    print("|---" * (len(asked) + 3) + "|")
    for d in given.words:
        chosen = first_words(model, (texts[i] for i in order), d, given.texts)
        base, covered = judged(model, chosen, "permutations", 8)
        cells, inside = [], float("nan")
        for estimator, per in asked.values():
            error, inside = judged(model, chosen, estimator, per)
            cells.append(f"{error / base:.2f}")
        print(f"| {d} | {' | '.join(cells)} | {covered:.0%} | {inside:.0%} |".replace("%", " %"), flush=True)


def first_words(model: Any, texts: Any, d: int, count: int) -> list[str]:
    chosen: list[str] = []
    for text in texts:
        words = model.view(text).document.words
        if len(words) >= d:
            chosen.append(text[: words[d - 1].end])
        if len(chosen) == count:
            break
    return chosen


def judged(model: Any, texts: list[str], estimator: str, per_word: int) -> tuple[float, float]:
    """The squared error as a part of the squared values, and how many values lie in their intervals."""
    target, errors, inside = (model.labels[-1], model.labels[0]), [], []
    for text in texts:
        truth = limelight.explain(model, text, "shapley", target=target, features="occurrences").weights
        for seed in range(SEEDS):
            found = limelight.explain(
                Sampled(model), text, "shapley", target=target, features="occurrences", output="logit",
                n_samples=per_word * len(truth), seed=seed, estimator=estimator,
            )  # fmt: skip
            errors.append(float(((found.weights - truth) ** 2).sum() / (truth**2).sum()))
            if found.stderr is not None and not np.isnan(found.stderr).any():
                inside.append(float((np.abs(found.weights - truth) <= 1.96 * found.stderr + 1e-12).mean()))
    return float(np.mean(errors)), float(np.mean(inside)) if inside else float("nan")


if __name__ == "__main__":
    main()
