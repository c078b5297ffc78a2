"""Figure 3: the attention matrices of all heads; α-avg and α-max are the mean and maximum of their first rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from limelight.reproduce.experiment import RED, Experiment, Numbers, new_figure, plain, rectangle
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab

WORDS = 20
"""Words of the document shown: as many as can be read along an axis."""


def compute(lab: Lab) -> Numbers:
    model = lab.paper_model()
    document = min(lab.documents, key=lambda one: (abs(one.T - WORDS), one.index))
    words = document.words[:WORDS]
    with torch.no_grad():
        attention = model.reference(model.encode([" ".join(words)])[0].to(model.W_e.device)).attention
    seen = attention.double().cpu().numpy()[:, : len(words) + 1]
    # The padding behind the document is one column: what it takes in total.
    shown = np.concatenate([seen[:, :, : len(words) + 1], seen[:, :, len(words) + 1 :].sum(axis=2, keepdims=True)], 2)
    lab.folder.write_arrays("fig3", {"attention": shown})
    first = shown[:, 0, 1:-1]
    return {
        "document": document.index,
        "cut_from": document.T,
        "words": words,
        "alpha_avg": first.mean(axis=0).tolist(),
        "alpha_max": first.max(axis=0).tolist(),
        "head_of_max": first.argmax(axis=0).tolist(),
        "favourite_of_head": [words[j] for j in first.argmax(axis=1)],
        "same_strongest": int(first.mean(axis=0).argmax()) == int(first.max(axis=0).argmax()),
    }


TABLE = "heads concentrate on different words | “often” | {heads} heads, {different} favourite words | {verdict}"
CAPTION = (
    "Document {document}{cut}. Row s of a matrix is how much token s attends to each token (Eq. 8); the last column is"
    " the padding in total. Only the outlined row, that of [CLS], reaches the prediction. Below: its mean (α-avg, Eq. "
    "10) and maximum (α-max, Eq. 11) over the heads; the number on a bar of α-max names the head."
)


def prose(numbers: Numbers) -> dict[str, Any]:
    favourites, words = numbers["favourite_of_head"], len(numbers["words"])
    different = len(set(favourites))
    return {
        "heads": len(favourites),
        "different": different,
        "verdict": "reproduced" if different > 1 else "not on this document",
        "cut": f", its first {words} words" if numbers["cut_from"] > words else "",
    }


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    from matplotlib.colors import PowerNorm

    attention = folder.read_arrays("fig3")["attention"]
    K, words = len(attention), [plain(word) for word in numbers["words"]]
    columns = min(3, K)
    lines = math.ceil(K / columns)
    figure = new_figure(4.9 * columns, 4.7 * lines + 2.6)
    grid = figure.add_gridspec(lines + 1, columns, height_ratios=[4.7] * lines + [2.2])
    ticks, names = range(len(words) + 2), ["[CLS]", *words, "padding"]
    axes = []
    # A square root: weights of a few percent are seen beside those near 1.
    scale = PowerNorm(0.5, vmin=0.0, vmax=float(attention.max()))
    for i, matrix in enumerate(attention):
        axis = figure.add_subplot(grid[i // columns, i % columns])
        image = axis.imshow(matrix, cmap="Blues", norm=scale, aspect="auto")
        axis.add_patch(
            rectangle((-0.5, -0.5), len(names), 1.0, fill=False, edgecolor=RED, linewidth=1.8, clip_on=False)
        )
        axis.set(title=f"head {i + 1}")
        axis.set_xticks(ticks, names, rotation=90, fontsize=7.5)
        axis.set_yticks(ticks[:-1], names[:-1], fontsize=7.5)
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
        axes.append(axis)
    figure.colorbar(image, ax=axes, location="right", shrink=0.5, label="attention weight", pad=0.01)
    below = figure.add_subplot(grid[lines, :])
    x = np.arange(len(words))
    below.bar(x - 0.2, numbers["alpha_avg"], width=0.4, color="#7aa6d6", label="α-avg: mean of the outlined rows")
    below.bar(x + 0.2, numbers["alpha_max"], width=0.4, color="#1f4e85", label="α-max: their maximum")
    for position, height, head in zip(x, numbers["alpha_max"], numbers["head_of_max"], strict=True):
        below.text(position + 0.2, height, str(head + 1), ha="center", va="bottom", fontsize=7)
    below.set_xticks(x, words, rotation=45, ha="right", rotation_mode="anchor")
    below.set_ylabel("attention of [CLS]")
    below.legend(loc="upper right")
    return figure


EXPERIMENT = Experiment(
    "fig3", "Figure 3: attention matrices across the heads", compute, draw, TABLE, CAPTION, prose, over_documents=False
)
