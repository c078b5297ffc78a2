"""Figure 1: different explainers, different explanations. Seven rows of the paper, and exact values below."""

from __future__ import annotations

from typing import Any

import numpy as np

from limelight.attribution.api import compare
from limelight.render.colour import LIGHT, levels
from limelight.reproduce.drawing import new_figure, plain, rectangle
from limelight.reproduce.experiment import Experiment, Numbers, Row
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab

SENTENCE = "attention based explanations are popular but questionable"
PAPER_ROWS = ("alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi")
EXACT_ROWS = ("lime-limit", "shapley", "leave-one-out")


def compute(lab: Lab) -> Numbers:
    model = lab.paper_model("fig1")
    chosen = [*PAPER_ROWS, *EXACT_ROWS]
    comparison = compare(model, SENTENCE, chosen, target=lab.target_name, seed=lab.seed)
    return {
        "sentence": SENTENCE,
        "target": lab.target_name,
        "prediction": comparison.prediction.label,
        "words": list(comparison.features),
        "rows": [{"method": e.method, "label": e.label, "weights": e.weights.tolist()} for e in comparison],
    }


def _weights(numbers: Numbers, method: str) -> dict[str, float]:
    row = next(row for row in numbers["rows"] if row["method"] == method)
    return dict(zip(numbers["words"], row["weights"], strict=True))


def _strongest(numbers: Numbers, method: str) -> str:
    weights = _weights(numbers, method)
    return max(weights, key=lambda word: abs(weights[word]))


def rows(numbers: Numbers) -> list[Row]:
    negative = [m for m in PAPER_ROWS if _weights(numbers, m)["questionable"] < 0]
    strongest = {m: _strongest(numbers, m) for m in PAPER_ROWS}
    high = [m for m in PAPER_ROWS if _rank(numbers, m, "questionable") <= 2]
    return [
        Row(
            "who calls “questionable” negative",
            "lime, gxi",
            ", ".join(negative) or "none",
            "reproduced" if set(negative) == {"lime", "gxi"} else "depends on the model",
        ),
        Row(
            "“questionable” among the two strongest words",
            "all seven",
            f"{len(high)} of 7",
            "reproduced" if len(high) == 7 else "depends on the model",
        ),
        Row(
            "strongest word of α-avg and α-max",
            "popular, popular",
            f"{strongest['alpha-avg']}, {strongest['alpha-max']}",
            "reproduced" if strongest["alpha-avg"] == strongest["alpha-max"] == "popular" else "depends on the model",
        ),
    ]


def _rank(numbers: Numbers, method: str, word: str) -> int:
    weights = _weights(numbers, method)
    return 1 + sum(abs(other) > abs(weights[word]) for other in weights.values())


def caption(numbers: Numbers) -> str:
    return (
        f"Weights for “{numbers['target']}”; the model says “{numbers['prediction']}”. Green speaks for, red against, "
        "the deeper the larger within its row. The first seven rows are the paper's; those below the line are exact: "
        "LIME without sampling, Shapley values, and leaving one word out. Attention and norms have no sign: they "
        "cannot say that a word speaks against."
    )


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    words, found = numbers["words"], numbers["rows"]
    figure = new_figure(9.6, 0.38 * len(found) + 0.4)
    axis = figure.subplots()
    widths = np.array([len(word) + 2.0 for word in words])
    left = 16.0 + np.concatenate([[0.0], np.cumsum(widths)[:-1]])
    for i, row in enumerate(found):
        y = -i - (0.35 if i >= len(PAPER_ROWS) else 0.0)
        axis.text(14.5, y, plain(row["label"]), ha="right", va="center", fontsize=11)
        for x, width, word, level in zip(left, widths, words, levels(np.array(row["weights"])), strict=True):
            colour = tuple(channel / 255 for channel in LIGHT.background(level))
            axis.add_patch(rectangle((x, y - 0.42), width - 0.3, 0.84, color=colour, linewidth=0))
            axis.text(x + (width - 0.3) / 2, y, plain(word), ha="center", va="center", fontsize=11)
    axis.axhline(-len(PAPER_ROWS) + 0.33, color="#b8bcc4", linewidth=0.8)
    axis.set_xlim(0, float(left[-1] + widths[-1]))
    axis.set_ylim(-len(found) - 0.1, 0.7)
    axis.set_axis_off()
    return figure


EXPERIMENT = Experiment(
    "fig1", "Figure 1: seven explanations of one sentence", compute, draw, rows, caption, over_documents=False
)
