"""The norm-2 error of the paper's Section 6, over the test set: LIME against each formula, under both removals.

Official LIME deletes all occurrences of a word together. Its limit is known for few repeated words only, so the exact
value for deletion is measured where LIME deletes each occurrence by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.reproduce import passes
from limelight.reproduce.experiment import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    RED,
    Experiment,
    Numbers,
    histogram,
    new_axes,
    percent,
    pm,
)
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab
from limelight.statistics.sign_flips import mean_and_spread

PAPER = {"mean": 0.808, "std": 0.219}
NAMES = {
    "theorem": "Theorem 5.1",
    "theorem_corrected": "Theorem 5.1, corrected",
    "proposition": "Proposition B.1",
    "proposition_corrected": "Proposition B.1, corrected",
    "mean_field": "mean field, two dominant words per head",
    "exact": "exact value",
}


def compute(lab: Lab) -> Numbers:
    lime, exact, formulas, deletion = passes.lime(lab), passes.exact(lab), passes.formulas(lab), passes.deletion(lab)
    candidates = {**{name: formulas[name] for name in passes.FORMULAS}, "exact": exact["lime_limit"]}
    errors: dict[str, Floats] = {}
    for removal in ("delete", "mask"):
        for name, weights in candidates.items():
            squares = lab.sum_by_document((lime[f"{removal}_mean"] - weights) ** 2)
            errors[f"{removal} {name}"] = np.sqrt(squares)
        errors[f"{removal} noise"] = lime[f"{removal}_noise"]
    errors |= {"occurrences exact": deletion["lime"], "occurrences noise": deletion["noise"]}
    size = np.sqrt(lab.sum_by_document(exact["lime_limit"] ** 2))
    indices = np.array([document.index for document in lab.documents])
    lab.folder.write_arrays(
        "lime-error", {name: column.astype(np.float32) for name, column in errors.items()} | {"document": indices}
    )
    return {
        "documents": len(lab.documents),
        "left_out": len(lab.chosen) - len(lab.documents),
        "runs": passes.RUNS,
        "samples": passes.SETTINGS.n_samples,
        "target": lab.target_name,
        "precision": "perturbed outputs in float32, regression in float64",
        "errors": {name: mean_and_spread(column) for name, column in errors.items()},
        "norm_of_exact": mean_and_spread(size),
        "norm_of_exact_deleting": mean_and_spread(deletion["norm"]),
        "noise_share": {
            f"{how} {name}": float((errors[f"{how} noise"] ** 2).sum() / (errors[f"{how} {name}"] ** 2).sum())
            for how, names in (("delete", NAMES), ("mask", NAMES), ("occurrences", ("exact",)))
            for name in names
        },
    }


MEASURED = (
    *(f"mask {name}" for name in NAMES),
    "delete exact",
)
"""Rows of the report's table below the paper's own number: LIME that masks or deletes, and what predicts it."""
TABLE = "\n".join(
    [
        "LIME (deletes words) to Theorem 5.1, norm 2 | 0.808 ± 0.219 | {paper_s} | {near}; a weight vector has norm "
        "{norm_of_exact[mean]:.3f} itself",
        *(
            f"LIME ({how}s words) to {NAMES[name]} | — | {{ours[{how} {name}]}} | LIME's noise: {{noise[{how} {name}]}}"
            for how, name in (key.split() for key in MEASURED)
        ),
        "LIME's own noise, mean of 5 runs (mask) | — | {own[mask]} | {left[mask]}",
        "LIME (deletes each occurrence) to exact value for deletion | — | {ours[occurrences exact]} "
        "| LIME's noise: {noise[occurrences exact]}",
        "LIME's own noise, mean of 5 runs (deletes each occurrence) | — | {own[occurrences]} | {left[occurrences]}",
    ]
)
CAPTION = (
    "Distance of the mean of {runs} LIME runs ({samples:,} samples each) from what should predict it, for each of "
    "{documents:,} documents. Above, LIME deletes words, as in the paper: the dashed line is its 0.808, and all "
    "formulas are for masking. In the middle, LIME replaces them by [UNK], as the theory assumes. Below, LIME deletes "
    "each occurrence of a word by itself, and the exact value is that for deletion. It (black) lies on LIME's own "
    "noise (grey): nothing is left to explain. Errors beyond the axis are counted at its ends."
)


def prose(numbers: Numbers) -> dict[str, Any]:
    errors, noise = numbers["errors"], numbers["noise_share"]
    near = abs(errors["delete theorem"]["mean"] - PAPER["mean"]) < PAPER["std"]
    return {
        "paper_s": pm(errors["delete theorem"]),
        "near": "similar: within one standard deviation of the paper's" if near else "differs",
        "ours": {name: _ours(stats, name) for name, stats in errors.items()},
        "noise": {name: percent(part) for name, part in noise.items()},
        "own": {how: pm(errors[f"{how} noise"]) for how in ("mask", "occurrences")},
        "left": {how: _noise_verdict(noise[f"{how} exact"]) for how in ("mask", "occurrences")},
    }


def _ours(stats: Numbers, name: str) -> str:
    """A mean that few documents decide says nothing; the median does."""
    if stats["mean"] >= 10 and not name.startswith("occurrences"):
        return f"median {stats['median']:.3g}"
    return f"{pm(stats)}, median {stats['median']:.3f}"


def _noise_verdict(left: float) -> str:
    if left > 0.9:
        return "the exact value leaves nothing but noise"
    return f"explains {percent(left)} of the exact value's error"


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    arrays = folder.read_arrays("lime-error")
    series = {
        "noise": ("LIME's own noise", GREY),
        "exact": ("exact value (masking; below: deletion)", INK),
        "theorem": ("Theorem 5.1", RED),
        "theorem_corrected": ("Theorem 5.1, corrected", GREEN),
        "proposition_corrected": ("Proposition B.1, corrected", ORANGE),
        "mean_field": ("mean field, 2 dominant words", PURPLE),
    }
    shown = {"delete": tuple(series), "mask": tuple(series), "occurrences": ("noise", "exact")}
    figure, axes = new_axes(9.5, 8.4, 3, 1, sharex=True)
    everything = np.concatenate([arrays[f"{how} {name}"] for how, names in shown.items() for name in names])
    smallest, largest = np.quantile(everything, [0.002, 0.998])
    bins = np.geomspace(max(smallest, 1e-4), max(largest, 1.0), 80)
    for axis, (how, names) in zip(axes, shown.items(), strict=True):
        for name in names:
            label, colour = series[name]
            histogram(axis, arrays[f"{how} {name}"], bins, histtype="stepfilled", color=colour, alpha=0.28)
            histogram(axis, arrays[f"{how} {name}"], bins, histtype="step", color=colour, linewidth=1.4, label=label)
    axes[0].axvline(PAPER["mean"], color=BLUE, linestyle="--", linewidth=1.4, label="the paper's mean, 0.808")
    axes[0].set_title("LIME deletes words (official default; the paper's experiment)", loc="left")
    axes[1].set_title("LIME replaces words by [UNK] (the theory's removal)", loc="left")
    axes[2].set_title("LIME deletes each occurrence of a word by itself", loc="left")
    axes[2].set_xlabel("norm-2 distance from the mean of 5 LIME runs (logarithmic)")
    ticks = [tick for tick in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0) if bins[0] <= tick <= bins[-1]]
    axes[2].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes[2].set(xlim=(bins[0], bins[-1]))
    axes[2].minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


EXPERIMENT = Experiment(
    "lime-error", "LIME against Theorem 5.1 over the test set", compute, draw, TABLE, CAPTION, prose
)
