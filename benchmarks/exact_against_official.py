"""How far official LIME is from the exact value, and from the paper's Theorem 5.1.

    python benchmarks/exact_against_official.py imdb/test.parquet --model paper-model

The norm-2 distance of a mean of 5 official runs (`bow=False`: single occurrences, masked) to each formula, beside the
sampling noise that is left in such a mean. A formula that is right is as far away as the noise.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import limelight
from official import machine, official_lime, sample_documents

FORMULAS: dict[str, tuple[str, dict[str, Any]]] = {
    "lime-limit": ("lime-limit", {}),
    "lime-theorem (as printed)": ("lime-theorem", {}),
    "lime-theorem (corrected)": ("lime-theorem", {"corrected": True}),
    "lime-proposition (as printed)": ("lime-proposition", {}),
    "lime-proposition (corrected)": ("lime-proposition", {"corrected": True}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument(
        "--model", default=None, help="a checkpoint folder, for instance of `limelight train --preset paper`"
    )
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = limelight.load(arguments.model)
    documents = sample_documents(model, arguments.data, arguments.documents, arguments.seed)
    distances: dict[str, list[float]] = {name: [] for name in FORMULAS}
    noise, features = [], []
    started = time.perf_counter()
    for text in documents:
        runs = np.stack([official_lime(model, text, "mask", seed) for seed in range(arguments.runs)])
        noise.append(float(np.sqrt(runs.var(axis=0, ddof=1).sum() / arguments.runs)))
        features.append(runs.shape[1])
        for name, (method, options) in FORMULAS.items():
            e = limelight.explain(model, text, method, target=model.labels[1], features="occurrences", **options)
            distances[name].append(float(np.linalg.norm(runs.mean(axis=0) - e.weights)))
    print(f"{machine()}; {model}")
    print(
        f"{len(documents)} documents, {np.mean(features):.0f} features on average, mean of {arguments.runs} runs of "
        f"official lime with 5000 samples; {time.perf_counter() - started:.0f} s\n"
    )
    print("| distance of that mean to | mean ± sd | median | mean, times the noise |\n|---|---|---|---|")
    for name, found in {**distances, "(noise in the mean)": noise}.items():
        mean, times = np.mean(found), np.mean(found) / np.mean(noise)
        print(f"| {name} | {mean:.4g} ± {np.std(found):.4g} | {np.median(found):.4g} | {times:.3g} |")


if __name__ == "__main__":
    main()
