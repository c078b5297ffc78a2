"""Figure 4: box plots of five LIME runs, Theorem 5.1 as crosses, and the exact value."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from limelight.arrays import Floats
from limelight.errors import InputError
from limelight.explaining import explain
from limelight.reproduce.documents import Prepared
from limelight.reproduce.drawing import BLUE, GREEN, INK, RED, new_figure, plain
from limelight.reproduce.experiment import Experiment, Numbers, Row
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab
from limelight.reproduce.passes import FORMULAS, RUNS, SETTINGS, formulas_of
from limelight.view import Removal

WORDS = 10
OFFICIAL = "official lime"
TITLES: dict[Removal, str] = {
    "delete": "words deleted, as official LIME does",
    "mask": "words replaced by [UNK], as the theory says",
}


def compute(lab: Lab) -> Numbers:
    model, document = lab.paper_model("fig4"), lab.shown
    columns: dict[str, Floats] = {}
    for removal in TITLES:
        runs = [_lime(lab, document, removal, lab.seed + i) for i in range(RUNS)]
        columns |= {f"{removal} run {i + 1}": run for i, run in enumerate(runs)}
    (question,) = lab.questions([document])
    columns |= formulas_of(lab, question)
    columns |= {"exact": lab.weights(question, "lime-limit"), "shapley": lab.weights(question, "shapley")}
    lab.folder.write("fig4.csv", _as_csv(document, columns))
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
    }


def _lime(lab: Lab, document: Prepared, removal: Removal, seed: int) -> Floats:
    if lab.official and removal == "delete":
        return _official(lab, document, seed)
    return explain(
        lab.model,
        document.text,
        "lime",
        target=lab.target_name,
        removal=removal,
        seed=seed,
        n_samples=SETTINGS.n_samples,
    ).weights


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
    far, near = numbers["distance"]["delete"], numbers["distance"]["mask"]
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
    ]


def caption(numbers: Numbers) -> str:
    return (
        f"The ten words of largest LIME weight for “{numbers['target']}” of the review that begins "
        f"“{numbers['begins']}…”. Boxes: {RUNS} runs of LIME with {SETTINGS.n_samples:,} samples. Red crosses: Theorem "
        "5.1 as printed. Green pluses: with factor and level corrected. Black bars: LIME without sampling noise "
        "(exact; masking). Where boxes sit on the bars and not on the crosses, the gap is the theorem's. All words "
        "are in fig4.csv."
    )


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    figure = new_figure(11.5, 4.7)
    axes = figure.subplots(1, 2, sharey=True)
    columns = {name: np.array(column) for name, column in numbers["columns"].items()}
    order = np.argsort(-np.abs(_runs(numbers, "delete").mean(axis=0)), kind="stable")[:WORDS]
    y = np.arange(len(order))[::-1]
    for axis, removal in zip(axes, TITLES, strict=True):
        axis.boxplot(
            _runs(numbers, removal)[:, order],
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
        axis.plot(columns["exact"][order], y, "|", color=INK, markersize=17, markeredgewidth=2.0, label="exact (mask)")
        axis.plot(columns["theorem"][order], y, "x", color=RED, markersize=8, markeredgewidth=2, label="Theorem 5.1")
        axis.plot(
            columns["theorem_corrected"][order], y, "+", color=GREEN, markersize=9, markeredgewidth=2,
            label="Theorem 5.1, corrected",
        )  # fmt: skip
        axis.axvline(0.0, color="#c4c7cd", linewidth=0.8, zorder=0)
        axis.set_yticks(y, [plain(numbers["words"][j]) for j in order])
        axis.set_xlabel(f"weight for “{plain(numbers['target'])}”")
        axis.set_title(f"{TITLES[removal]} ({numbers['engine'][removal]})", fontsize=10)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


EXPERIMENT = Experiment(
    "fig4", "Figure 4: LIME and Theorem 5.1 on one document", compute, draw, rows, caption, over_documents=False
)
