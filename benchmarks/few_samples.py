"""What few samples are worth: Shapley values by pairs or by the fewest permutations, and LIME by both of its draws.

    OMP_NUM_THREADS=1 python benchmarks/few_samples.py imdb/train.parquet [--method lime]

Four orders and their reverses ask for eight texts per word, whatever number was given: Shapley values' errors are
relative to theirs. LIME's are relative to official LIME's draws, as many of them. The embedded model on the first words
of reviews, asked as if only its answers were known; its exact values are the truth. Squared errors are means over
reviews and three seeds; coverage is that of 95 % intervals, where given.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import limelight
from estimators import Sampled
from limelight.storage.labelled_texts import read_texts

SEEDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--method", choices=["shapley", "lime"], default="shapley")
    parser.add_argument("--words", type=int, nargs="+", default=None)
    parser.add_argument("--texts", type=int, default=6, help="reviews of each length")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of texts")
    given = parser.parse_args()
    warnings.simplefilter("ignore", limelight.errors.ExplanationWarning)
    model = limelight.load()
    texts = read_texts(given.data, "text").texts
    order = np.random.default_rng(given.seed).permutation(len(texts)).tolist()
    if given.method == "shapley":
        sizes, own, base = (5, 6, 7, 8), {"estimator": "pairs"}, {"estimator": "permutations"}
    else:
        sizes, own, base = (4, 6, 8, 12), {"sampling": "efficient"}, {"sampling": "official"}
    (named,), (other,) = own.values(), base.values()
    heads = [f"{named}, {per} per word" for per in sizes]
    last = f"{sizes[-1]} per word"
    print(f"| words | {' | '.join(heads)} | covered: {other}, {last} | {named}, {last} |")
    print("|---" * (len(sizes) + 3) + "|")
    for d in given.words or ([7, 8, 10] if given.method == "shapley" else []) + [12, 15, 20, 30, 50, 100, 200]:
        chosen = first_words(model, (texts[i] for i in order), d, given.texts)
        cells, covered, inside = [], float("nan"), float("nan")
        for per in sizes:
            against, covered = judged(model, chosen, given.method, max(per, 8 * (given.method == "shapley")), base)
            error, inside = judged(model, chosen, given.method, per, own)
            cells.append(f"{error / against:.2f}")
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


def judged(model: Any, texts: list[str], method: str, per_word: int, options: dict[str, str]) -> tuple[float, float]:
    """The squared error as a part of the squared weights, and how many weights lie in their intervals."""
    target, errors, inside = (model.labels[-1], model.labels[0]), [], []
    for text in texts:
        n = per_word * len(model.view(text).document.words)
        of = n if options.get("sampling") == "official" else 5000
        exact = ("lime-limit", {"n_samples": of}) if method == "lime" else ("shapley", {})
        truth = limelight.explain(model, text, exact[0], target=target, features="occurrences", **exact[1]).weights
        for seed in range(SEEDS):
            found = limelight.explain(
                Sampled(model), text, method, target=target, features="occurrences", output="logit", n_samples=n,
                seed=seed, **options,
            )  # fmt: skip
            errors.append(float(((found.weights - truth) ** 2).sum() / (truth**2).sum()))
            if found.stderr is not None and not np.isnan(found.stderr).any():
                inside.append(float((np.abs(found.weights - truth) <= 1.96 * found.stderr + 1e-12).mean()))
    return float(np.mean(errors)), float(np.mean(inside)) if inside else float("nan")


if __name__ == "__main__":
    main()
