"""Draws docs/figures/lime-convergence.png: LIME's estimates over n, the exact value, and Theorem 5.1.

python docs/figures/lime_convergence.py
"""

from __future__ import annotations

from pathlib import Path

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


def main() -> None:
    model = limelight.load()
    exact = limelight.explain(model, TEXT, "lime-limit", target="positive")
    shown = np.argsort(-np.abs(exact.weights), kind="stable")[:WORDS]
    printed = limelight.explain(model, TEXT, "lime-theorem", target="positive").weights
    corrected = limelight.explain(model, TEXT, "lime-theorem", target="positive", corrected=True).weights
    runs = np.array(
        [
            [
                limelight.explain(model, TEXT, "lime", target="positive", n_samples=int(n), seed=seed).weights
                for seed in range(RUNS)
            ]
            for n in SIZES
        ]
    )  # (sizes, runs, features)
    limit = np.array(
        [limelight.explain(model, TEXT, "lime-limit", target="positive", n_samples=int(n)).weights for n in SIZES]
    )
    figure, axes = plt.subplots(1, WORDS, figsize=(11, 3.8), layout="constrained")
    for axis, j in zip(axes, shown, strict=True):
        spread = 1.96 * runs[:, :, j].std(axis=1, ddof=1)
        axis.fill_between(SIZES, limit[:, j] - spread, limit[:, j] + spread, color="#9ecae1", alpha=0.6, linewidth=0)
        axis.plot(np.repeat(SIZES, 5), runs[:, :5, j].ravel(), ".", color="#08519c", markersize=4)
        axis.plot(SIZES, limit[:, j], color="black", linewidth=1.6)
        axis.axhline(printed[j], color="#cb181d", linestyle="--", linewidth=1.4)
        axis.axhline(corrected[j], color="#238b45", linestyle=":", linewidth=1.8)
        axis.set_xscale("log")
        axis.set_xlabel("samples n")
        axis.set_title(f"“{exact.features[j]}”")
    axes[0].set_ylabel("weight for “positive”")
    labels = ["95 % of runs", "5 runs of LIME", "lime-limit (exact)", "Theorem 5.1 as printed", "Theorem 5.1 corrected"]
    handles = [axes[0].collections[0], *axes[0].lines]
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(Path(__file__).parent / "lime-convergence.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
