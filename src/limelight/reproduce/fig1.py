"""Figure 1: different explainers, different explanations. Seven rows of the paper, and exact values below."""

from __future__ import annotations

from typing import Any

import numpy as np

from limelight.attribution.api import compare
from limelight.core.arrays import Floats
from limelight.reproduce.experiment import Experiment, Numbers, new_axes, plain, rectangle
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab

SENTENCE = "attention based explanations are popular but questionable"
PAPER_ROWS = ("alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi")
EXACT_ROWS = ("lime-limit", "shapley", "leave-one-out")
LEVELS = 20
"""Steps from no colour to the deepest: one is 5 % of a method's largest weight, below what an eye tells apart."""
_FOR, _AGAINST = (58, 182, 124), (244, 124, 104)
"""Green leans to blue and red to orange: more eyes can tell them apart."""


def compute(lab: Lab) -> Numbers:
    comparison = compare(lab.model, SENTENCE, [*PAPER_ROWS, *EXACT_ROWS], target=lab.target_name, seed=lab.seed)
    return {
        "sentence": SENTENCE,
        "target": lab.target_name,
        "prediction": comparison.prediction.label,
        "words": list(comparison.features),
        "rows": [{"method": e.method, "label": e.method_label, "weights": e.weights.tolist()} for e in comparison],
    }


TABLE = """
who calls “questionable” negative | lime, gxi | {negative} | {signs}
“questionable” among the two strongest words | all seven | {high} of 7 | {strong}
strongest word of α-avg and α-max | popular, popular | {strongest} | {popular}
"""
CAPTION = (
    "Weights for “{target}”; the model says “{prediction}”. Green speaks for, red against, the deeper the larger "
    "within its row. The first seven rows are the paper's; those below the line are exact: LIME without sampling, "
    "Shapley values, and leaving one word out. Attention and norms have no sign: they cannot say that a word speaks "
    "against."
)


def prose(numbers: Numbers) -> dict[str, Any]:
    weights = {row["method"]: np.array(row["weights"]) for row in numbers["rows"]}
    sizes, word = {name: np.abs(own) for name, own in weights.items()}, numbers["words"].index("questionable")
    negative = [name for name in PAPER_ROWS if weights[name][word] < 0]
    high = sum(int(sizes[name][word] >= np.sort(sizes[name])[-2]) for name in PAPER_ROWS)
    strongest = ", ".join(numbers["words"][int(sizes[name].argmax())] for name in ("alpha-avg", "alpha-max"))
    verdicts = {
        "signs": set(negative) == {"lime", "gxi"},
        "strong": high == len(PAPER_ROWS),
        "popular": strongest == "popular, popular",
    }
    return {
        "negative": ", ".join(negative) or "none",
        "high": high,
        "strongest": strongest,
        **{name: "reproduced" if holds else "depends on the model" for name, holds in verdicts.items()},
    }


def colours(weights: Floats) -> list[tuple[float, ...]]:
    """The colours of the paper's figure: green for and red against, as deep as a weight is large among these."""
    finite = np.where(np.isfinite(weights), weights, 0.0)
    levels = np.round(finite / (np.abs(finite).max(initial=0.0) or 1.0) * LEVELS)
    return [
        tuple(round(255 + abs(level) / LEVELS * (deepest - 255)) / 255 for deepest in (_FOR if level > 0 else _AGAINST))
        for level in levels
    ]


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    words, found = numbers["words"], numbers["rows"]
    figure, axis = new_axes(9.6, 0.38 * len(found) + 0.4)
    widths = np.array([len(word) + 2.0 for word in words])
    left = 16.0 + np.concatenate([[0.0], np.cumsum(widths)[:-1]])
    for i, row in enumerate(found):
        y = -i - (0.35 if i >= len(PAPER_ROWS) else 0.0)
        axis.text(14.5, y, plain(row["label"]), ha="right", va="center", fontsize=11)
        for x, width, word, colour in zip(left, widths, words, colours(np.array(row["weights"])), strict=True):
            axis.add_patch(rectangle((x, y - 0.42), width - 0.3, 0.84, color=colour, linewidth=0))
            axis.text(x + (width - 0.3) / 2, y, plain(word), ha="center", va="center", fontsize=11)
    axis.axhline(-len(PAPER_ROWS) + 0.33, color="#b8bcc4", linewidth=0.8)
    axis.set(xlim=(0, float(left[-1] + widths[-1])), ylim=(-len(found) - 0.1, 0.7))
    axis.set_axis_off()
    return figure


EXPERIMENT = Experiment(
    "fig1", "Figure 1: seven explanations of one sentence", compute, draw, TABLE, CAPTION, prose, over_documents=False
)
