"""Are the standard errors of LIME and of sampled Shapley values honest on a transformer?

    python benchmarks/interval_coverage.py MODEL imdb/test.parquet [--device cuda --dtype float16]

For each review, a run with many samples stands for the truth, and a run as a user makes it has its 95 % intervals
checked: how many of all words lie inside? The reference has an error of its own, which the intervals take in.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import torch

import limelight
from official import machine
from transformer_lime import choose

METHODS = {"lime": ("mask", "delete"), "shapley": ("mask",)}


def inside(run: limelight.Explanation, reference: limelight.Explanation) -> np.ndarray:
    return np.abs(run.weights - reference.weights) < 1.96 * np.hypot(run.stderr, reference.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with a Hugging Face sequence classifier")
    parser.add_argument("data", help="a file with a text and a label column, for instance IMDB's test set as Parquet")
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--words", type=int, default=200, help="the longest text")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--samples", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--reference", type=int, default=50_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model = limelight.load(arguments.model, device=arguments.device, dtype=arguments.dtype, truncate=True)
    texts = choose(model, arguments.data, arguments.documents, arguments.words, arguments.seed)
    pairs = [(method, removal) for method in arguments.methods for removal in METHODS[method]]
    counts: dict[tuple[str, str, int], list[np.ndarray]] = {}
    for i, text in enumerate(texts):
        for method, removal in pairs:
            asked: dict[str, Any] = {"target": model.labels[1], "removal": removal}
            truth = limelight.explain(model, text, method, n_samples=arguments.reference, seed=10**6, **asked)
            for n in arguments.samples:
                run = limelight.explain(model, text, method, n_samples=n, seed=i, **asked)
                counts.setdefault((method, removal, n), []).append(inside(run, truth))
        so_far = {" ".join(map(str, key)): f"{np.concatenate(found).mean():.3f}" for key, found in counts.items()}
        print(f"{i + 1} of {len(texts)} reviews: {so_far}", file=sys.stderr, flush=True)
    device = torch.cuda.get_device_name() if model.device.type == "cuda" else "CPU"
    print(f"{machine()}; {len(texts)} reviews, reference {arguments.reference:,} samples, {model.dtype} on {device}\n")
    print(
        "| method | removal | samples | words | inside their 95 % interval | worst review |\n|---|---|---|---|---|---|"
    )
    for (method, removal, n), found in counts.items():
        words = np.concatenate(found)
        worst = min(part.mean() for part in found)
        print(f"| {method} | {removal} | {n:,} | {len(words):,} | {words.mean():.1%} | {worst:.0%} |")


if __name__ == "__main__":
    main()
