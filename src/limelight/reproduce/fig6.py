"""Figure 6 and Appendix E: LIME and the first layer's attention in a deep classifier, on one document and on many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from limelight.attribution.api import explain
from limelight.core.arrays import Floats
from limelight.models.interface import Classifier
from limelight.reproduce.experiment import BLUE, GREY, INK, RED, Experiment, Numbers, new_axes, plain
from limelight.reproduce.folder import Arrays, RunFolder
from limelight.reproduce.lab import Lab, Prepared, evenly, joined, target_of
from limelight.statistics.correlation import correlation
from limelight.statistics.sign_flips import mean_and_spread

PAPER = {"signed": -0.424, "absolute": 0.672, "accuracy": 0.8222}
NEAR = 0.1
"""A correlation this close to the paper's is called reproduced."""
RUNS = 5
FIRST_LAYER = 0
EFFORT = {
    "cuda": {"samples": 5000, "documents": 200, "runs": 5, "samples_each": 1000, "accuracy_on": 25_000},
    "cpu": {"samples": 1000, "documents": 5, "runs": 2, "samples_each": 1000, "accuracy_on": 200},
}
"""A deep model has no closed form: each sample is a forward pass, and a CPU has to make do with fewer."""
_LABELLED = 6
_CHUNK = 5


def compute(lab: Lab) -> Numbers:
    model = lab.deep("fig6")
    effort = EFFORT[torch.device(lab.device).type]
    target = str(model.labels[target_of(model)])
    document = lab.shown
    attention = explain(model, document.text, "alpha-avg", target=target, layer=FIRST_LAYER)
    runs = np.array([_lime(model, document.text, target, lab.seed + i, effort["samples"]) for i in range(RUNS)])
    signed, absolute = correlations(attention.weights, runs.mean(axis=0))
    many = _many(lab, model, target, effort)
    lab.folder.write_arrays("fig6", many)
    return {
        "document": document.index,
        "authors_document": lab.shown_is_authors,
        "target": target,
        "model": repr(model)[:300],
        "prediction": attention.prediction.label,
        "accuracy": _accuracy(lab, model, effort["accuracy_on"]),
        "effort": {**effort, "documents": len(many["signed"])},
        "words": list(attention.features),
        "attention": attention.weights.tolist(),
        "lime_mean": runs.mean(axis=0).tolist(),
        "lime_std": runs.std(axis=0, ddof=1).tolist(),
        "signed": signed,
        "absolute": absolute,
        "many": {name: mean_and_spread(many[name]) for name in ("signed", "absolute")},
        "signed_where_negative": _mean(many["signed"][many["positive"] == 0]),
        "signed_where_positive": _mean(many["signed"][many["positive"] == 1]),
    }


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _lime(model: Classifier, text: str, target: str, seed: int, samples: int) -> Floats:
    """Words are deleted, as by official LIME."""
    return explain(
        model, text, "lime", target=target, removal="delete", seed=seed, n_samples=samples, sampling="official"
    ).weights


def correlations(attention: Floats, lime: Floats) -> tuple[float, float]:
    """Pearson's correlation of attention with LIME's weights, and with their absolute values."""
    both = correlation(np.stack([attention, lime, np.abs(lime)]))
    return float(both[0, 1]), float(both[0, 2])


def _many(lab: Lab, model: Classifier, target: str, effort: dict[str, int]) -> Arrays:
    def compute(documents: Sequence[Prepared]) -> Arrays:
        found = []
        for document in documents:
            attention = explain(model, document.text, "alpha-avg", target=target, layer=FIRST_LAYER)
            seeds = [lab.seed_of(document) % 2**31 + i for i in range(effort["runs"])]
            lime = np.mean([_lime(model, document.text, target, s, effort["samples_each"]) for s in seeds], axis=0)
            signed, absolute = correlations(attention.weights, lime)
            positive = float(attention.prediction.label == target)
            found.append({"signed": signed, "absolute": absolute, "positive": positive})
        return joined(found)

    longer = [document for document in lab.documents if document.d > 2]
    picked = [longer[i] for i in evenly(len(longer), effort["documents"])]
    columns = lab.over_documents("deep model", compute, picked, chunk=_CHUNK)
    known = np.isfinite(columns["signed"])
    return {name: column[known] for name, column in columns.items()}


def _accuracy(lab: Lab, model: Classifier, limit: int) -> dict[str, float]:
    """On the texts as they are, evenly over the run's."""
    indices = [lab.chosen[i] for i in evenly(len(lab.chosen), limit)]
    logits = model.predict_logits([lab.texts.texts[i] for i in indices])
    right = logits.argmax(axis=1) == lab.texts.labels[indices]
    return {"documents": len(indices), "share": float(right.mean())}


TABLE = """
accuracy of the deep classifier | 82.22 % | {accuracy[share]:.2%} of {accuracy[documents]:,} documents | {accurate}
correlation of LIME with first-layer α-avg, one document | -0.424 | {signed:.3f} \
| {near_signed}: {which}, predicted {prediction}
the same with |LIME| | 0.672 | {absolute:.3f} | {near_absolute}: {which}
correlation over {effort[documents]} documents | not reported | mean {many[signed][mean]:.3f}, quartiles \
{many[signed][quartile_1]:.3f} to {many[signed][quartile_3]:.3f} | {by_prediction}
with |LIME| over {effort[documents]} documents | not reported | mean {many[absolute][mean]:.3f}, quartiles \
{many[absolute][quartile_1]:.3f} to {many[absolute][quartile_3]:.3f} | measured
"""
CAPTION = (
    "Left and middle: each point is a word of one document; error bars are the standard deviation of "
    f"{RUNS} LIME runs of {{effort[samples]:,}} samples (words deleted). Right: the same correlations on "
    "{effort[documents]} documents, {effort[runs]} runs of {effort[samples_each]:,} samples each; the dashed lines are "
    "the paper's single document. Model: {model}."
)


def prose(numbers: Numbers) -> dict[str, str]:
    accurate = numbers["accuracy"]["share"] >= PAPER["accuracy"]
    return {
        "accurate": "at least the paper's" if accurate else "below the paper's",
        "which": "the authors' document" if numbers["authors_document"] else "another document",
        "near_signed": _near(numbers["signed"], PAPER["signed"]),
        "near_absolute": _near(numbers["absolute"], PAPER["absolute"]),
        "by_prediction": _by_prediction(numbers),
    }


def _near(ours: float, paper: float) -> str:
    return "reproduced" if abs(ours - paper) < NEAR else "not reproduced"


def _by_prediction(numbers: Numbers) -> str:
    negative, positive = numbers["signed_where_negative"], numbers["signed_where_positive"]
    if negative is None or positive is None:
        return "only one class was predicted"
    agrees = negative < 0 < positive
    return (
        f"predicted negative {negative:.3f}, positive {positive:.3f}: the paper's reading of the sign "
        f"{'holds' if agrees else 'does not hold'}"
    )


def _minus(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def label_sides(x: Floats, y: Floats) -> list[bool]:
    """For each point whether its label is on the left: at the right edge, and where another point is beside it."""
    width, height = max(np.ptp(x), 1e-12), max(np.ptp(y), 1e-12)
    beside = (x - x[:, None] > 0) & (x - x[:, None] < 0.15 * width) & (np.abs(y - y[:, None]) < 0.08 * height)
    return [bool(left) for left in beside.any(axis=1) | (x > 0.75 * x.max())]


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    many = folder.read_arrays("fig6")
    attention, mean, std = (np.array(numbers[name]) for name in ("attention", "lime_mean", "lime_std"))
    figure, axes = new_axes(14, 4.3, 1, 3)
    style = {"color": BLUE, "ecolor": "#a9c3e2", "markersize": 4, "linewidth": 0, "elinewidth": 1.0}
    for axis, y, title in (
        (axes[0], mean, f"ρ = {_minus(numbers['signed'])}  (paper: −0.424)"),
        (axes[1], np.abs(mean), f"absolute values: ρ = {_minus(numbers['absolute'])}  (paper: 0.672)"),
    ):
        axis.errorbar(attention, y, yerr=std, fmt="o", **style)
        labelled = np.unique([*np.argsort(-np.abs(mean))[:_LABELLED], attention.argmax()])
        for j, to_the_left in zip(labelled, label_sides(attention[labelled], y[labelled]), strict=True):
            axis.annotate(
                plain(numbers["words"][j]), (attention[j], y[j]), xytext=(-5 if to_the_left else 5, 4),
                textcoords="offset points", fontsize=8, ha="right" if to_the_left else "left",
            )  # fmt: skip
        axis.set(xlabel="α-avg of the first layer", title=title)
    axes[0].axhline(0.0, color=GREY, linewidth=0.8)
    axes[0].set(ylabel=f"LIME's weight for “{plain(numbers['target'])}”")
    axes[1].set(ylabel="its absolute value")
    for name, colour, alpha, label in (("signed", BLUE, 0.6, "LIME"), ("absolute", RED, 0.5, "|LIME|")):
        axes[2].hist(many[name], bins=np.linspace(-1, 1, 41), color=colour, alpha=alpha, label=label)
        axes[2].axvline(PAPER[name], color=colour, linestyle="--", linewidth=1.2)
    axes[2].axvline(0.0, color=INK, linewidth=0.6)
    axes[2].set(xticks=[-1.0, -0.5, 0.0, 0.5, 1.0], xlabel="correlation with α-avg", ylabel="documents")
    axes[2].set(title=f"{numbers['effort']['documents']} documents")
    axes[2].legend(loc="upper left")
    return figure


EXPERIMENT = Experiment(
    "fig6",
    "Figure 6: LIME and attention in a deep classifier",
    compute,
    draw,
    TABLE,
    CAPTION,
    prose,
    model="deep",
    over_documents=False,
)
