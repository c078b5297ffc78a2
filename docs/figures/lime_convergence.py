"""Draws docs/figures/lime-convergence.png: LIME over n and the exact value; each occurrence masked, and deleted.

python docs/figures/lime_convergence.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import limelight

TEXT = (
    "I wanted to like this film. The actors are great and the first hour is a pleasant surprise, but then the story "
    "falls apart, the jokes get worse and the ending is simply bad. My friends were bored, I was annoyed, and only "
    "the music is worth remembering. What a waste of a good idea."
)
SIZES = np.unique(np.geomspace(100, 50_000, 14).astype(int))
RUNS = 30
WORDS = 3
REMOVALS = {"mask": "words masked", "delete": "words deleted"}
FORMULAS: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("Theorem 5.1 as printed", "lime-theorem", {}, {"color": "#cb181d", "linestyle": "--", "linewidth": 1.4}),
    (
        "Theorem 5.1 corrected",
        "lime-theorem",
        {"corrected": True},
        {"color": "#238b45", "linestyle": ":", "linewidth": 1.8},
    ),
    ("mean field", "lime-mean-field", {}, {"color": "#7a4fb0", "linestyle": "-.", "linewidth": 1.6}),
)


def main() -> None:
    model = limelight.load()

    def weights(method: str, **options: Any) -> np.ndarray:
        return limelight.explain(model, TEXT, method, target="positive", features="occurrences", **options).weights

    exact = limelight.explain(model, TEXT, "lime-limit", target="positive", features="occurrences")
    shown = np.argsort(-np.abs(exact.weights), kind="stable")[:WORDS]
    formulas = [weights(method, **options) for _, method, options, _ in FORMULAS]
    figure, axes = plt.subplots(
        len(REMOVALS), WORDS, figsize=(11, 6.4), layout="constrained", sharex=True, sharey="col"
    )
    for row, removal in zip(axes, REMOVALS, strict=True):
        runs = np.array(
            [
                [
                    weights("lime", n_samples=int(n), seed=seed, removal=removal, sampling="official")
                    for seed in range(RUNS)
                ]
                for n in SIZES
            ]
        )  # (sizes, runs, features)
        limit = np.array([weights("lime-limit", n_samples=int(n), removal=removal) for n in SIZES])
        for axis, j in zip(row, shown, strict=True):
            spread = 1.96 * runs[:, :, j].std(axis=1, ddof=1)
            low, high = limit[:, j] - spread, limit[:, j] + spread
            axis.fill_between(SIZES, low, high, color="#9ecae1", alpha=0.6, linewidth=0, label="95 % of runs")
            axis.plot(
                np.repeat(SIZES, 5), runs[:, :5, j].ravel(), ".", color="#08519c", markersize=4, label="5 runs of LIME"
            )
            axis.plot(SIZES, limit[:, j], color="black", linewidth=1.6, label="lime-limit (exact)")
            for (label, _, _, look), formula in zip(FORMULAS, formulas, strict=True):
                axis.axhline(formula[j], label=f"{label} (for masking)", **look)
            axis.set_xscale("log")
        row[0].set_ylabel(f"{REMOVALS[removal]}\nweight for “positive”")
    for axis, j in zip(axes[0], shown, strict=True):
        axis.set_title(f"“{exact.features[j]}”")
    for axis in axes[-1]:
        axis.set_xlabel("samples n")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(Path(__file__).parent / "lime-convergence.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
