"""Figure 4: box plots of five LIME runs, Theorem 5.1 as crosses, the mean field, and the exact values.

Official LIME deletes all occurrences of a word together; the exact value for deletion is shown for LIME that deletes
each occurrence by itself.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.errors import InputError
from limelight.models.interface import Removal
from limelight.reproduce.experiment import BLUE, GREEN, INK, PURPLE, RED, Experiment, Numbers, new_axes, plain
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Asked, Lab, Prepared
from limelight.reproduce.passes import FORMULAS, RUNS, SETTINGS, exact_deletion, formulas_of, lime_runs, noise

WORDS = 10
OFFICIAL = "official lime"
TITLES: dict[Removal, str] = {
    "delete": "words deleted, as official LIME does",
    "mask": "words replaced by [UNK], as the theory says",
}


def compute(lab: Lab) -> Numbers:
    model, document = lab.paper_model(), lab.shown
    columns: dict[str, Floats] = {}
    (question,) = lab.questions([document])
    for removal in TITLES:
        runs = [_lime(lab, document, replace(question, removal=removal, seed=lab.seed + i)) for i in range(RUNS)]
        columns |= {f"{removal} run {i + 1}": run for i, run in enumerate(runs)}
    columns |= formulas_of(lab, question)
    columns |= {"exact": lab.weights(question, "lime-limit"), "shapley": lab.weights(question, "shapley")}
    lab.folder.write("fig4.csv", _as_csv(document, columns))
    occurrences = document.by_occurrence()
    (exact_deleting,) = exact_deletion(lab, [occurrences])
    ((runs_deleting,),) = lime_runs(lab, [occurrences], ("delete",))
    columns_deleting = {f"run {i + 1}": run for i, run in enumerate(runs_deleting)} | {"exact": exact_deleting}
    lab.folder.write("fig4.occurrences.csv", _as_csv(occurrences, columns_deleting))
    return {
        "document": document.index,
        "authors_document": lab.shown_is_authors,
        "begins": " ".join(document.words[:8]),
        "T": document.T,
        "d": document.d,
        "prediction": model.labels[int(question.logits.argmax())],
        "target": lab.target_name,
        "engine": {"delete": OFFICIAL if lab.official else "limelight", "mask": "limelight"},
        "words": list(document.features.names),
        "columns": {name: column.tolist() for name, column in columns.items()},
        "distance": {
            removal: {
                name: float(np.linalg.norm(_runs(columns, f"{removal} ").mean(axis=0) - columns[name]))
                for name in (*FORMULAS, "exact")
            }
            for removal in TITLES
        },
        "occurrences": {
            "words": list(occurrences.features.names),
            "columns": {name: column.tolist() for name, column in columns_deleting.items()},
            "distance": float(np.linalg.norm(runs_deleting.mean(axis=0) - exact_deleting)),
            "noise": noise(runs_deleting),
        },
    }


def _lime(lab: Lab, document: Prepared, question: Asked) -> Floats:
    if lab.official and question.removal == "delete":
        return _official(lab, document, question.seed)
    return lab.weights(question, "lime", n_samples=SETTINGS.n_samples, sampling="official")


def _official(lab: Lab, document: Prepared, seed: int) -> Floats:
    """The package of LIME's authors, with its defaults."""
    try:
        from lime.lime_text import LimeTextExplainer
    except ImportError as error:
        raise InputError("--official needs the package lime: pip install lime") from error
    explainer = LimeTextExplainer(class_names=list(lab.model.labels), split_expression=r"\W+", random_state=seed)
    explained = explainer.explain_instance(
        document.text,
        lab.model.predict_logits,
        labels=(lab.target,),
        num_features=document.d,
        num_samples=SETTINGS.n_samples,
    )
    indexed = explained.domain_mapper.indexed_string
    weights = {indexed.word(j): weight for j, weight in explained.local_exp[lab.target]}
    return np.array([weights[word] for word in document.features.names])


def _runs(columns: Mapping[str, Any], removal: str = "") -> Floats:
    return np.array([columns[f"{removal}run {i + 1}"] for i in range(RUNS)])


def occurrence_names(words: list[str]) -> list[str]:
    """Words that stand several times are counted: "film (1)", "film (2)"."""
    return [
        word if words.count(word) == 1 else f"{word} ({words[: i + 1].count(word)})" for i, word in enumerate(words)
    ]


def _as_csv(document: Prepared, columns: dict[str, Floats]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["word", "occurrences", *columns])
    order = np.argsort(-np.abs(columns["exact"]), kind="stable")
    for j in order:
        writer.writerow(
            [document.features.names[j], document.multiplicity[j], *(f"{c[j]:.9g}" for c in columns.values())]
        )
    return stream.getvalue().encode()


TABLE = """
document | T = 99, d = 71, classified negative | T = {T}, d = {d}, classified {prediction} | {which}
norm-2 distance of the mean of 5 runs to Theorem 5.1 | “a very good match” (no number) \
| {distance[delete][theorem]:.3f} deleting, {distance[mask][theorem]:.3f} masking | {against_exact}
the same to the mean field, two dominant words per head | — | {distance[mask][mean_field]:.3f} masking \
| the exact value is at {distance[mask][exact]:.3f}
the same to the exact value for deletion, each occurrence deleted by itself | — | {occurrences[distance]:.3f} \
| LIME's own noise is {occurrences[noise]:.3f}
"""
CAPTION = (
    "The ten words of largest LIME weight for “{target}” of the review that begins “{begins}…”. Boxes: "
    f"{RUNS} runs of LIME with {SETTINGS.n_samples:,} samples. Red crosses: Theorem 5.1 as printed. Green pluses: with "
    "factor and level corrected. Purple diamonds: the mean field. Black bars: LIME without sampling noise (exact; for "
    "masking in the first two panels, for deletion in the third, where each occurrence of a word is deleted by "
    "itself). Where boxes sit on the bars and not on the crosses, the gap is the theorem's. All words are in fig4.csv, "
    "all occurrences in fig4.occurrences.csv."
)


def prose(numbers: Numbers) -> dict[str, str]:
    near = numbers["distance"]["mask"]
    closer = f"the exact value is at {near['exact']:.3f}"
    return {
        "which": "the authors' document"
        if numbers["authors_document"]
        else "another document: theirs is not in this data",
        "against_exact": closer if near["exact"] < near["theorem"] else "as close as the exact value",
    }


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    figure, axes = new_axes(15.5, 4.7, 1, 3)
    axes[1].sharey(axes[0])
    columns = {name: np.array(column) for name, column in numbers["columns"].items()}
    order = _strongest(_runs(columns, "delete "))
    y = np.arange(len(order))[::-1]
    for axis, removal in zip(axes, TITLES, strict=False):
        runs, label = _runs(columns, f"{removal} "), "exact (masking; third panel: deletion)"
        _boxes(axis, runs[:, order], columns["exact"][order], label)
        for name, mark, size, colour, label in (
            ("theorem", "x", 8, RED, "Theorem 5.1"),
            ("theorem_corrected", "+", 9, GREEN, "Theorem 5.1, corrected"),
            ("mean_field", "d", 6, PURPLE, "mean field"),
        ):
            look = {"color": colour, "markersize": size, "markeredgewidth": 2, "markerfacecolor": "none"}
            axis.plot(columns[name][order], y, mark, label=label, **look)
        axis.set_yticks(y, [plain(numbers["words"][j]) for j in order])
        axis.set_title(f"{TITLES[removal]} ({numbers['engine'][removal]})", fontsize=10)
    axes[1].tick_params(labelleft=False)
    own = numbers["occurrences"]
    runs = _runs(own["columns"])
    order = _strongest(runs)
    _boxes(axes[2], runs[:, order], np.array(own["columns"]["exact"])[order], "exact for deletion")
    names = occurrence_names(own["words"])
    axes[2].set_yticks(np.arange(len(order))[::-1], [plain(names[j]) for j in order])
    axes[2].set_title("each occurrence deleted by itself (limelight)", fontsize=10)
    for axis in axes:
        axis.axvline(0.0, color="#c4c7cd", linewidth=0.8, zorder=0)
        axis.set_xlabel(f"weight for “{plain(numbers['target'])}”")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def _strongest(runs: Floats) -> Integers:
    """The words of largest mean weight."""
    strongest: Integers = np.argsort(-np.abs(runs.mean(axis=0)), kind="stable")[:WORDS]
    return strongest


def _boxes(axis: Any, runs: Floats, exact: Floats, label: str) -> None:
    """Runs of LIME as boxes (runs, words), the first word on top, and the exact value as bars."""
    y = np.arange(len(exact))[::-1]
    axis.boxplot(
        runs,
        positions=y,
        orientation="horizontal",
        widths=0.55,
        patch_artist=True,
        boxprops={"facecolor": "#cfe0f3", "edgecolor": BLUE},
        medianprops={"color": BLUE},
        whiskerprops={"color": BLUE},
        capprops={"color": BLUE},
        flierprops={"markeredgecolor": BLUE, "markersize": 4},
    )
    axis.plot(exact, y, "|", color=INK, markersize=17, markeredgewidth=2.0, label=label)


EXPERIMENT = Experiment(
    "fig4", "Figure 4: LIME and Theorem 5.1 on one document", compute, draw, TABLE, CAPTION, prose, over_documents=False
)
