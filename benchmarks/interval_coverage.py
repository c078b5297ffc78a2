"""Are the standard errors of LIME and of sampled Shapley values honest on a transformer?

    python benchmarks/interval_coverage.py MODEL imdb/test.parquet [--device cuda --dtype float16]

For each review, a run with many samples stands for the truth, and a run as a user makes it has its 95 % intervals
checked: how many of all words lie inside? The reference has an error of its own, which the intervals take in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import limelight
from official import machine
from transformer import TARGET, arguments_of, device_name, model_and_texts, say

METHODS = {"lime": ("mask", "delete"), "shapley": ("mask",)}


def inside(run: limelight.Explanation, reference: limelight.Explanation) -> np.ndarray:
    return np.abs(run.weights - reference.weights) < 1.96 * np.hypot(run.stderr, reference.stderr)


def main() -> None:
    parser = arguments_of(__doc__, documents=50, words=200, samples=1000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--reference", type=int, default=50_000)
    arguments = parser.parse_args()
    model, texts = model_and_texts(arguments)
    pairs = [(method, removal) for method in arguments.methods for removal in METHODS[method]]
    counts: dict[tuple[str, str], list[np.ndarray]] = {}
    for i, text in enumerate(texts):
        for method, removal in pairs:
            asked: dict[str, Any] = {"target": model.labels[TARGET], "removal": removal}
            truth = limelight.explain(model, text, method, n_samples=arguments.reference, seed=10**6, **asked)
            run = limelight.explain(model, text, method, n_samples=arguments.samples, seed=i, **asked)
            counts.setdefault((method, removal), []).append(inside(run, truth))
        so_far = {" ".join(key): f"{np.concatenate(found).mean():.3f}" for key, found in counts.items()}
        say(f"{i + 1} of {len(texts)} reviews: {so_far}")
    print(
        f"{machine()}, {device_name(model)}, {model.dtype}; {len(texts)} reviews, {arguments.samples:,} samples, "
        f"reference {arguments.reference:,}\n"
    )
    print("| method | removal | words | inside their 95 % interval | worst review |\n|---|---|---|---|---|")
    for (method, removal), found in counts.items():
        words = np.concatenate(found)
        worst = min(part.mean() for part in found)
        print(f"| {method} | {removal} | {len(words):,} | {words.mean():.1%} | {worst:.0%} |")


if __name__ == "__main__":
    main()
