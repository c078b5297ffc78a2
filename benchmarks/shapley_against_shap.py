"""Sampled Shapley values of a transformer against shap's PermutationExplainer on the same masked inputs.

    python benchmarks/shapley_against_shap.py MODEL imdb/test.parquet

shap gives no standard errors, so it runs several times; ours runs once. If both estimate the same values, and our
standard errors are right, the distance of ours to shap's mean is as large as the noise of the two says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shap

import limelight
from limelight.inputs.features import features_of
from official import machine
from transformer import TARGET, arguments_of, model_and_texts, say


def shap_values(model: Any, text: str, n_samples: int, seed: int) -> np.ndarray:
    view = model.view(text)
    features = features_of(view.document, "words")
    game, d = view.game(features, "mask"), len(features)
    explainer = shap.PermutationExplainer(
        lambda kept: game(kept.astype(bool))[:, TARGET],
        shap.maskers.Independent(np.zeros((1, d)), max_samples=1),
        seed=seed,
    )
    return explainer(np.ones((1, d)), max_evals=max(n_samples, 2 * d + 1), silent=True).values[0]


def main() -> None:
    parser = arguments_of(__doc__, documents=5, words=60, samples=1000)
    parser.add_argument("--runs", type=int, default=5, help="of shap, on each text")
    arguments = parser.parse_args()
    model, texts = model_and_texts(arguments)
    z, words, distances = [], 0, []
    for text in texts:
        ours = limelight.explain(
            model, text, "shapley", target=model.labels[TARGET], n_samples=arguments.samples * arguments.runs
        )
        runs = np.array([shap_values(model, text, arguments.samples, seed) for seed in range(arguments.runs)])
        noise = runs.var(axis=0, ddof=1).mean() / arguments.runs  # a word's own spread over so few runs says little
        z.append((ours.weights - runs.mean(axis=0)) / np.sqrt(ours.stderr**2 + noise))
        distances.append(np.linalg.norm(ours.weights - runs.mean(axis=0)) / np.linalg.norm(ours.weights))
        words += len(ours)
        say(f"{len(z)} of {len(texts)} texts")
    everything = np.concatenate(z)
    print(
        f"{machine()}; {len(z)} reviews, {words} words, {arguments.samples * arguments.runs:,} samples each side: "
        f"distance {np.mean(distances):.3f} of the values' norm; in units of the noise "
        f"{np.sqrt((everything**2).mean()):.2f} (1 is expected), "
        f"{np.mean(np.abs(everything) < 1.96):.1%} within 1.96 of it"
    )


if __name__ == "__main__":
    main()
