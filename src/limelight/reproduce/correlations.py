"""Do the methods agree? All pairs, four measures, over documents (the claim of Section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Floats
from limelight.explainers.method import find
from limelight.reproduce import passes
from limelight.reproduce.experiment import Experiment, Numbers, new_axes
from limelight.reproduce.folder import Arrays, RunFolder
from limelight.reproduce.lab import Lab, Prepared, joined
from limelight.statistics.correlation import comparisons, kendall, pearson, spearman, top_overlap
from limelight.statistics.sign_flips import bootstrap_mean

METHODS = (
    "alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi", "lime-limit", "shapley", "leave-one-out",
)  # fmt: skip
TOP = 5
MEASURES = {
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's rank correlation",
    "kendall": "Kendall's τ",
    "overlap": f"overlap of the {TOP} strongest words",
    "pearson_absolute": "Pearson's correlation of absolute weights",
}
CLAIMED = (("alpha-avg", "g-avg"), ("alpha-avg", "g-l1"))
DENIED = (("alpha-max", "g-l2"), ("alpha-avg", "g-l2"), ("alpha-max", "g-avg"), ("alpha-max", "g-l1"))
SAID = {**dict.fromkeys(CLAIMED, "correlated"), **dict.fromkeys(DENIED, "not correlated")}
"""The paper's claim about each pair."""
UNSIGNED = ("alpha-avg", "alpha-max", "g-l1", "g-l2")
SIGNED = tuple(name for name in METHODS if name not in UNSIGNED)
CORRELATED = 0.5
"""A mean correlation whose interval lies above this counts as correlated."""


def compute(lab: Lab) -> Numbers:
    weights = torch.split(torch.from_numpy(stacked_weights(lab)).to(lab.device), lab.sizes.tolist())
    by_document = dict(zip((d.index for d in lab.documents), weights, strict=True))

    def measure(documents: Sequence[Prepared]) -> Arrays:
        return joined(agreement(by_document[document.index].T) for document in documents)

    measured = lab.over_documents("agreement of methods", measure)
    one, other = np.triu_indices(len(METHODS), k=1)
    found = bootstrap_mean(np.concatenate([measured[name] for name in MEASURES], axis=1), lab.seed)
    of_measures = np.stack(found, axis=1).reshape(len(MEASURES), len(one), 3)
    means = {
        name: [
            {"pair": [METHODS[i], METHODS[j]], "mean": float(mean), "low": float(low), "high": float(high)}
            for i, j, (mean, low, high) in zip(one, other, rows, strict=True)
        ]
        for name, rows in zip(MEASURES, of_measures, strict=True)
    }
    lab.folder.write_arrays("correlations", {name: values.astype(np.float16) for name, values in measured.items()})
    return {
        "documents": len(lab.documents),
        "target": lab.target_name,
        "top": TOP,
        "methods": [{"id": name, "label": find(name).label} for name in METHODS],
        "measures": means,
    }


def stacked_weights(lab: Lab) -> Floats:
    """(all features, methods), in the order of METHODS."""
    closed, exact, lime = passes.closed_forms(lab), passes.exact(lab), passes.lime(lab)
    special = {"lime": lime["mask_first"], "lime-limit": exact["lime_limit"], "shapley": exact["shapley"]}
    return np.stack([special[name] if name in special else closed[name] for name in METHODS], axis=1)


def agreement(rows: Tensor) -> Arrays:
    """All measures of one document, for the pairs above the diagonal (1, pairs): rows (methods, d)."""
    compared = comparisons(rows)
    measures = {
        "pearson": pearson(rows),
        "spearman": spearman(compared),
        "kendall": kendall(compared),
        "overlap": top_overlap(rows, TOP),
        "pearson_absolute": pearson(rows.abs()),
    }
    one, other = np.triu_indices(len(rows), k=1)
    return {name: matrix[None, one, other].cpu().numpy() for name, matrix in measures.items()}


def _of(numbers: Numbers, measure: str, pair: tuple[str, str]) -> Numbers:
    mean: Numbers = next(one for one in numbers["measures"][measure] if set(one["pair"]) == set(pair))
    return mean


def _written(one: Numbers) -> str:
    return f"{one['mean']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"


TABLE = "\n".join(
    [
        *(
            f"{{pairs[{one} {other}]}} | {claim} | {{ours[{one} {other}]}} | {{kept[{one} {other}]}}"
            for (one, other), claim in SAID.items()
        ),
        "summary | α-avg: G-avg and G-l1; not α-max and G-l2 | {summary} | {verdict}",
    ]
)
CAPTION = (
    "Mean over {documents:,} documents for each pair of methods, weights for “{target}” of distinct words; below it "
    "the half-width of the 95 % interval over documents (bootstrap). Blue agrees, red disagrees. Attention and "
    "gradient norms have no sign; between them and the methods that have one, Pearson's correlation lies between "
    "{lowest:.2f} and {highest:.2f}."
)


def prose(numbers: Numbers) -> dict[str, Any]:
    labels = {one["id"]: one["label"] for one in numbers["methods"]}
    words: dict[str, Any] = {"pairs": {}, "ours": {}, "kept": {}}
    correlated = {pair: _of(numbers, "pearson", pair)["low"] > CORRELATED for pair in SAID}
    for pair, holds in correlated.items():
        absolute, key = _of(numbers, "pearson_absolute", pair)["mean"], " ".join(pair)
        words["pairs"][key] = f"{labels[pair[0]]} and {labels[pair[1]]}, mean Pearson"
        words["ours"][key] = f"{_written(_of(numbers, 'pearson', pair))}; absolute {absolute:.3f}"
        ours = "correlated" if holds else "not correlated"
        words["kept"][key] = ours if ours == SAID[pair] else f"{ours}: the paper's claim does not hold here"
    kept, broken = (sum(correlated[pair] for pair in pairs) for pairs in (CLAIMED, DENIED))
    across = [_of(numbers, "pearson", (one, other))["mean"] for one in UNSIGNED for other in SIGNED]
    lime = _written(_of(numbers, "pearson", ("alpha-avg", "lime-limit")))
    return {
        **words,
        "summary": f"what the model does (LIME, exact) correlates {lime} with α-avg",
        "verdict": f"{kept} of {len(CLAIMED)} claimed correlations hold, {broken} of {len(DENIED)} denied ones do too",
        "lowest": min(across),
        "highest": max(across),
    }


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    ids, names = ([one[part] for one in numbers["methods"]] for part in ("id", "label"))
    figure, axes = new_axes(15, 13.4, 2, 2)
    for axis, measure in zip(axes.flat, ("pearson", "spearman", "kendall", "overlap"), strict=True):
        matrix = np.full((len(ids), len(ids)), np.nan)
        for one in numbers["measures"][measure]:
            i, j = map(ids.index, one["pair"])
            matrix[j, i], half = one["mean"], (one["high"] - one["low"]) / 2
            look = {"ha": "center", "va": "center", "color": "white" if abs(matrix[j, i]) > 0.62 else "black"}
            axis.text(i, j - 0.13, f"{matrix[j, i]:.2f}", fontsize=9, **look)
            axis.text(i, j + 0.24, f"±{half:.3f}", fontsize=6.5, **look)
        image = axis.imshow(matrix, cmap="RdBu", vmin=-1.0, vmax=1.0)
        axis.set_xticks(range(len(ids) - 1), names[:-1], rotation=45, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(1, len(ids)), names[1:])
        axis.set(ylim=(len(ids) - 0.5, 0.5), xlim=(-0.5, len(ids) - 1.5), title=MEASURES[measure])
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.4, pad=0.01)
    return figure


EXPERIMENT = Experiment("correlations", "Which methods agree", compute, draw, TABLE, CAPTION, prose)
