"""What half precision changes: explanations in float16 and bfloat16 against those in float32, with the same seed.

python benchmarks/half_precision.py MODEL imdb/test.parquet [--device cuda]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

import numpy as np

import limelight
from official import machine
from transformer_lime import TARGET, choose

METHODS = ("lime", "shapley", "integrated-gradients", "g-l2", "gxi", "alpha-avg", "rollout")


def explained(model: Any, text: str, method: str, n_samples: int) -> np.ndarray:
    options: dict[str, Any] = {"n_samples": n_samples} if method in ("lime", "shapley") else {}
    if method == "integrated-gradients":
        options = {"steps": 64}  # half precision cannot meet a tight tolerance
    return limelight.explain(model, text, method, target=model.labels[TARGET], **options).weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with a Hugging Face sequence classifier")
    parser.add_argument("data", help="a file with a text and a label column, for instance IMDB's test set as Parquet")
    parser.add_argument("--documents", type=int, default=5)
    parser.add_argument("--words", type=int, default=60, help="the longest text")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    models = {
        dtype: limelight.load(arguments.model, device=arguments.device, dtype=dtype)
        for dtype in ("float32", "float16", "bfloat16")
    }
    texts = choose(models["float32"], arguments.data, arguments.documents, arguments.words, 0)
    print(f"{machine()}, {arguments.device}; {len(texts)} reviews; |difference| / |weights in float32|, mean\n")
    print("| method | float16 | bfloat16 |\n|---|---|---|")
    for method in METHODS:
        changes: dict[str, list[float]] = {"float16": [], "bfloat16": []}
        for text in texts:
            exact = explained(models["float32"], text, method, arguments.samples)
            for dtype, found in changes.items():
                other = explained(models[dtype], text, method, arguments.samples)
                found.append(float(np.linalg.norm(other - exact) / np.linalg.norm(exact)))
        print(f"| {method} | {' | '.join(f'{statistics.mean(found):.1e}' for found in changes.values())} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
