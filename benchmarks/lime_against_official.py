"""Our LIME against the official `lime` 0.2.0.1: the same documents, the same model, the same run.

    python benchmarks/lime_against_official.py imdb/test.parquet

Official lime calls this package's own `predict_logits`, splits texts by this package's word rule and keeps all
features. `bow=False` masks single occurrences with [UNK]; `bow=True` deletes all occurrences of a word. Three questions:
how much faster are we, are the weights the same up to sampling noise, and do the standard errors say how large that is?
"""

from __future__ import annotations

import argparse
import itertools
import platform
import statistics
import time
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from lime.lime_text import LimeTextExplainer

import limelight
from limelight.data import read_labelled
from limelight.document import word_forms

MODES = {"mask": "occurrences", "delete": "words"}


@dataclass
class Timing:
    ours: list[float]
    official: list[float]
    cross: list[float]  # distances between one of our runs and an official one
    own: list[float]  # distances between two official runs
    covered: int = 0
    weights: int = 0


def readable(model: Any, text: str) -> str:
    """The words that the model reads, apart: what both implementations are given."""
    return " ".join(word.form for word in model.read(text).words)


def official_lime(model: Any, text: str, removal: str, seed: int, n_samples: int) -> np.ndarray:
    """Weights in the order of our features."""
    explainer = LimeTextExplainer(
        class_names=model.labels,
        split_expression=word_forms,
        bow=removal == "delete",
        mask_string=None if removal == "delete" else "[UNK]",
        random_state=seed,
    )
    explained = explainer.explain_instance(
        text, model.predict_logits, labels=(1,), num_features=10**6, num_samples=n_samples
    )
    weights = dict(explained.local_exp[1])
    return np.array([weights[j] for j in range(len(weights))])


def our_lime(model: Any, text: str, removal: str, seed: int, n_samples: int) -> limelight.Explanation:
    return limelight.explain(
        model,
        text,
        "lime",
        target=model.labels[1],
        features=MODES[removal],
        removal=removal,
        seed=seed,
        n_samples=n_samples,
    )


def measure(model: Any, texts: list[str], removal: str, n_samples: int, runs: int) -> Timing:
    timing = Timing([], [], [], [])
    our_lime(model, texts[0], removal, 0, n_samples)  # the first call of a process pays for warming up
    for text in texts:
        theirs, ours = [], []
        for seed in range(runs):
            started = time.perf_counter()
            theirs.append(official_lime(model, text, removal, seed, n_samples))
            middle = time.perf_counter()
            ours.append(our_lime(model, text, removal, seed, n_samples))
            timing.official.append(middle - started)
            timing.ours.append(time.perf_counter() - middle)
        timing.own += [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(theirs, 2)]
        timing.cross += [float(np.linalg.norm(a.weights - b)) for a in ours for b in theirs]
        for a, b in itertools.combinations(ours, 2):
            inside = np.abs(a.weights - b.weights) < 1.96 * np.hypot(a.stderr, b.stderr)
            timing.covered += int(inside.sum())
            timing.weights += len(inside)
    return timing


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
    texts = read_labelled(arguments.data).texts
    chosen = np.random.default_rng(arguments.seed).choice(len(texts), size=arguments.documents, replace=False)
    documents = [readable(model, texts[i]) for i in chosen]
    lengths = [len(word_forms(text)) for text in documents]
    print(f"{date.today()}, Python {platform.python_version()}, {platform.machine()}; {model}")
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
        t = measure(model, documents, removal, arguments.samples, arguments.runs)
        official, ours = statistics.median(t.official), statistics.median(t.ours)
        faster = sum(t.official) / sum(t.ours)
        own, cross = statistics.mean(t.own), statistics.mean(t.cross)
        print(
            f"| {removal} | {official:.3f} | {ours:.4f} | {faster:.1f} | {own:.4f} | {cross:.4f} | {cross / own:.3f} |"
        )
        coverage[removal] = t.covered / t.weights
    shares = ", ".join(f"{removal} {share:.1%}" for removal, share in coverage.items())
    print(f"\nThe 95 % interval of the difference of two of our runs covers zero: {shares} of the weights")


if __name__ == "__main__":
    main()
