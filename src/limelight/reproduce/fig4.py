"""Figure 4: box plots of five LIME runs, Theorem 5.1 as crosses, the mean field, and the exact values.

Official LIME deletes all occurrences of a word together; the exact value for deletion is shown for LIME that deletes
each occurrence by itself.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import InputError
from limelight.models.interface import Removal
from limelight.reproduce.documents import Prepared
from limelight.reproduce.drawing import BLUE, GREEN, INK, PURPLE, RED, new_figure, plain
from limelight.reproduce.experiment import Experiment, Numbers, Row
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Asked, Lab
from limelight.reproduce.passes import FORMULAS, RUNS, SETTINGS, exact_deletion, formulas_of, lime_runs, noise

WORDS = 10
OFFICIAL = "official lime"
TITLES: dict[Removal, str] = {
    "delete": "words deleted, as official LIME does",
    "mask": "words replaced by [UNK], as the theory says",
}


def compute(lab: Lab) -> Numbers:
    model, document = lab.paper_model("fig4"), lab.shown
    columns: dict[str, Floats] = {}
    (question,) = lab.questions([document])
    for removal in TITLES:
        runs = [_lime(lab, document, replace(question, removal=removal, seed=lab.seed + i)) for i in range(RUNS)]
        columns |= {f"{removal} run {i + 1}": run for i, run in enumerate(runs)}
    columns |= formulas_of(lab, question)
    columns |= {"exact": lab.weights(question, "lime-limit"), "shapley": lab.weights(question, "shapley")}
    lab.folder.write("fig4.csv", _as_csv(document, columns))
    occurrences = document.by_occurrence()
    (exact_deleting,), ((runs_deleting,),) = (
        exact_deletion(lab, [occurrences]),
        lime_runs(lab, [occurrences], ("delete",)),
    )
    columns_deleting = {f"run {i + 1}": run for i, run in enumerate(runs_deleting)} | {"exact": exact_deleting}
    lab.folder.write("fig4.occurrences.csv", _as_csv(occurrences, columns_deleting))
    logits = question.logits
    deleting, masking = (_runs({"columns": columns}, removal).mean(axis=0) for removal in TITLES)
    return {
        "document": document.index,
        "authors_document": lab.shown_is_authors,
        "begins": " ".join(document.words[:8]),
        "T": document.T,
        "d": document.d,
        "prediction": model.labels[int(logits.argmax())],
        "target": lab.target_name,
        "engine": {"delete": OFFICIAL if lab.official else "limelight", "mask": "limelight"},
        "words": list(document.features.names),
        "columns": {name: column.tolist() for name, column in columns.items()},
        "distance": {
            removal: {name: float(np.linalg.norm(mean - columns[name])) for name in (*FORMULAS, "exact")}
            for removal, mean in (("delete", deleting), ("mask", masking))
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


def _runs(numbers: Numbers, removal: str) -> Floats:
    return np.array([numbers["columns"][f"{removal} run {i + 1}"] for i in range(RUNS)])


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


def rows(numbers: Numbers) -> list[Row]:
    own = numbers["authors_document"]
    far, near, occurrences = numbers["distance"]["delete"], numbers["distance"]["mask"], numbers["occurrences"]
    return [
        Row(
            "document",
            "T = 99, d = 71, classified negative",
            f"T = {numbers['T']}, d = {numbers['d']}, classified {numbers['prediction']}",
            "the authors' document" if own else "another document: theirs is not in this data",
        ),
        Row(
            "norm-2 distance of the mean of 5 runs to Theorem 5.1",
            "“a very good match” (no number)",
            f"{far['theorem']:.3f} deleting, {near['theorem']:.3f} masking",
            f"the exact value is at {near['exact']:.3f}"
            if near["exact"] < near["theorem"]
            else "as close as the exact value",
        ),
        Row(
            "the same to the mean field, two dominant words per head",
            "—",
            f"{near['mean_field']:.3f} masking",
            f"the exact value is at {near['exact']:.3f}",
        ),
        Row(
            "the same to the exact value for deletion, each occurrence deleted by itself",
            "—",
            f"{occurrences['distance']:.3f}",
            f"LIME's own noise is {occurrences['noise']:.3f}",
        ),
    ]


def caption(numbers: Numbers) -> str:
    return (
        f"The ten words of largest LIME weight for “{numbers['target']}” of the review that begins "
        f"“{numbers['begins']}…”. Boxes: {RUNS} runs of LIME with {SETTINGS.n_samples:,} samples. Red crosses: Theorem "
        "5.1 as printed. Green pluses: with factor and level corrected. Purple diamonds: the mean field. Black bars: "
        "LIME without sampling noise (exact; for masking in the first two panels, for deletion in the third, where "
        "each occurrence of a word is deleted by itself). Where boxes sit on the bars and not on the crosses, the gap "
        "is the theorem's. All words are in fig4.csv, all occurrences in fig4.occurrences.csv."
    )


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    figure = new_figure(15.5, 4.7)
    axes = figure.subplots(1, 3)
    axes[1].sharey(axes[0])
    columns = {name: np.array(column) for name, column in numbers["columns"].items()}
    order = np.argsort(-np.abs(_runs(numbers, "delete").mean(axis=0)), kind="stable")[:WORDS]
    y = np.arange(len(order))[::-1]
    for axis, removal in zip(axes, TITLES, strict=False):
        _boxes(
            axis, _runs(numbers, removal)[:, order], columns["exact"][order], "exact (masking; third panel: deletion)"
        )
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
    runs = np.array([own["columns"][f"run {i + 1}"] for i in range(RUNS)])
    order = np.argsort(-np.abs(runs.mean(axis=0)), kind="stable")[:WORDS]
    _boxes(axes[2], runs[:, order], np.array(own["columns"]["exact"])[order], "exact for deletion")
    names = occurrence_names(own["words"])
    axes[2].set_yticks(np.arange(len(order))[::-1], [plain(names[j]) for j in order])
    axes[2].set_title("each occurrence deleted by itself (limelight)", fontsize=10)
    for axis in axes:
        axis.axvline(0.0, color="#c4c7cd", linewidth=0.8, zorder=0)
        axis.set_xlabel(f"weight for “{plain(numbers['target'])}”")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


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
    "fig4", "Figure 4: LIME and Theorem 5.1 on one document", compute, draw, rows, caption, over_documents=False
)
