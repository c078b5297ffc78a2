"""What half precision changes: explanations in float16 and bfloat16 against those in float32, with the same seed.

python benchmarks/half_precision.py MODEL imdb/test.parquet [--device cuda]
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

import numpy as np

import limelight
from official import machine
from transformer import TARGET, arguments_of, device_name, model_and_texts

METHODS = ("lime", "shapley", "integrated-gradients", "g-l2", "gxi", "alpha-avg", "rollout")


def explained(model: Any, text: str, method: str, n_samples: int) -> np.ndarray:
    options: dict[str, Any] = {"n_samples": n_samples} if method in ("lime", "shapley") else {}
    if method == "integrated-gradients":
        options = {"steps": 64}  # half precision cannot meet a tight tolerance
    return limelight.explain(model, text, method, target=model.labels[TARGET], **options).weights


def main() -> None:
    arguments = arguments_of(__doc__, documents=5, words=60, samples=500).parse_args()
    exact_model, texts = model_and_texts(arguments)
    halves = {
        dtype: limelight.load(arguments.model, device=arguments.device, dtype=dtype, truncate=True)
        for dtype in ("float16", "bfloat16")
    }
    print(f"{machine()}, {device_name(exact_model)}; {len(texts)} reviews; |difference| / |weights in float32|, mean\n")
    print("| method | float16 | bfloat16 |\n|---|---|---|")
    for method in METHODS:
        changes: dict[str, list[float]] = {dtype: [] for dtype in halves}
        for text in texts:
            exact = explained(exact_model, text, method, arguments.samples)
            for dtype, found in changes.items():
                other = explained(halves[dtype], text, method, arguments.samples)
                found.append(float(np.linalg.norm(other - exact) / np.linalg.norm(exact)))
        print(f"| {method} | {' | '.join(f'{statistics.mean(found):.1e}' for found in changes.values())} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
