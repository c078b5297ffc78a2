"""`limelight evaluate`: from a data file to a folder of numbers and a report."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from limelight.attribution.api import view_of
from limelight.core.arrays import whole_number
from limelight.core.device import find_device, machine_of
from limelight.core.progress import Progress
from limelight.errors import DataError, InputError, UnknownNameError, shown
from limelight.evaluation.api import evaluated
from limelight.evaluation.external import read_table
from limelight.evaluation.measure import measures
from limelight.evaluation.plan import Arguments, plan_of
from limelight.evaluation.result import Evaluation
from limelight.evaluation.run_folder import EvaluationFolder
from limelight.models.interface import Classifier
from limelight.storage.files import digest_of_files
from limelight.storage.labelled_texts import read_rows
from limelight.storage.tables import is_identifier

EXAMPLES = 5
"""Texts on which methods disagree most, with a page each."""
_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Options(Arguments):
    """The options of the command: arguments of `evaluate`, and where texts and model come from. `elsewhere`: a file."""

    data: Path
    out: Path
    model: str | None = None
    loading: Mapping[str, Any] = field(default_factory=dict)
    documents: int = 200
    text_column: str = "text"
    second_column: str | None = None
    id_column: str | None = None
    rationale_column: str | None = None
    counterfactual_column: str | None = None
    device: str | None = None


def run(options: Options, progress: Progress) -> Evaluation:
    """Judge what was not judged yet; one run at a time writes to a folder."""
    whole_number("--documents", options.documents, 1)
    whole_number("--seed", options.seed, 0)
    folder = EvaluationFolder(options.out)
    folder.stored()
    rows = _rows(options)
    model = _loaded(options)
    with folder.writing():
        rows, left_out = _readable(model, rows, progress)
        ids = [row["id"] for row in rows]
        edited = _text if options.second_column is None else _pair
        asked = replace(
            options,
            ids=ids,
            rationales=_beside(options.rationale_column, rows, _marks),
            counterfactuals=_beside(options.counterfactual_column, rows, edited),
            elsewhere=None if options.elsewhere is None else read_table(options.elsewhere, ids),
        )
        plan = plan_of(model, [row["text"] for row in rows], asked)
        model_name, model_digest = _model(options.model)
        loading = dict(options.loading)
        said = f"{plan.digest} {model_digest} {sorted(loading.items())} {limelight.__version__}"
        about = {"data": options.data.name, "model": model_name}
        settings = {
            "loading": loading,
            "documents": len(rows),
            "seed": options.seed,
            "methods": [one.id for one in plan.methods] + list(plan.external),
            "measures": [one.id for one in plan.measures],
        }
        folder.claim(hashlib.sha256(said.encode()).hexdigest()[:16], {**about, **settings})
        started = time.perf_counter()
        device = machine_of(str(getattr(model, "device", "cpu")))
        made = {"date": str(date.today()), "device": device, "left_out": left_out}
        evaluation = evaluated(plan, progress, folder, {**about, **made})
        progress.say(f"judged in {time.perf_counter() - started:.1f} s")
        folder.write_evaluation(evaluation)
        write_report(folder, evaluation)
    return evaluation


def write_report(folder: EvaluationFolder, evaluation: Evaluation) -> None:
    """The page, and those of the texts on which methods disagree most."""
    links = {}
    for number in most_disputed(evaluation, EXAMPLES):
        comparison = folder.explanations(number)
        if comparison is not None:
            name = f"texts/{number:06d}.html"
            folder.write_file(name, comparison.to_html().encode())
            links[str(evaluation.documents[number]["id"])] = name
    folder.write_file("report.html", evaluation.to_html(links).encode())


def most_disputed(evaluation: Evaluation, count: int) -> list[int]:
    """The numbers of the texts on which methods agree least: the lowest mean τ over pairs of methods with signs."""
    signed = [name for name, own in evaluation.methods.items() if own["signed"]]
    likeness = {(one.id, one.pairs) for one in measures() if one.pairs}
    keys = [key for key in evaluation.keys if key[:2] in likeness]
    among = [key for key in keys if key.method in signed and key.other in signed] or keys
    if not among:
        return []
    columns = np.stack([evaluation.of(key) for key in among], axis=1)
    known = np.isfinite(columns).any(axis=1)
    means = np.where(known, np.nansum(columns, axis=1) / np.maximum(np.isfinite(columns).sum(axis=1), 1), np.inf)
    return [int(i) for i in np.argsort(means, kind="stable")[:count] if np.isfinite(means[i])]


# ── the texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(options: Options) -> list[dict[str, Any]]:
    """Rows of the table, as many as asked for, drawn by the seed, in the order of the file."""
    texts = [name for name in (options.text_column, options.second_column) if name is not None]
    beside = (options.id_column, options.rationale_column, options.counterfactual_column)
    try:
        rows = read_rows(options.data, [*texts, *(name for name in beside if name is not None)])
    except UnknownNameError as error:
        if options.text_column != "text" or f" {shown('text')}:" not in str(error):
            raise
        raise InputError(f"{error}; name the column of the texts by --text-column") from error
    if not rows:
        raise DataError(f"{options.data} has no rows: give a file with a text in each row")
    chosen: Sequence[int] = range(len(rows))
    if options.documents < len(rows):
        rng = np.random.default_rng(options.seed)
        chosen = sorted(rng.choice(len(rows), size=options.documents, replace=False).tolist())
    found = []
    for i in chosen:
        row = rows[i]
        text = tuple(_string(options.data, row[column], column, i + 1) for column in texts)
        id = i + 1 if options.id_column is None else row[options.id_column]
        if not is_identifier(id) or id == "":
            raise DataError(f"{options.data}: row {i + 1} has the id {id!r:.40}; ids are whole numbers or strings")
        found.append({"text": text if len(texts) > 1 else text[0], "id": id, "columns": row})
    return found


def _string(data: Path, value: Any, column: str, row: int) -> str | None:
    """A text; None where the row has none, which is left out like any other text that cannot be read."""
    if value is None or value != value:  # pandas writes a missing text as a number that is none
        return None
    if not isinstance(value, str):
        raise DataError(
            f"{data}: column {column!r} must hold texts, but row {row} is {value!r:.40}; name the right column"
        )
    return value


def _readable(
    model: Classifier, rows: list[dict[str, Any]], progress: Progress
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The texts that the model can read, and why it cannot read the others, which are named."""
    readable, failed = [], {}
    for row in rows:
        try:
            view_of(model, row["text"])
            readable.append(row)
        except InputError as error:
            failed[str(row["id"])] = str(error)
    if not readable:
        first = next(iter(failed.values()))
        raise InputError(f"none of the {len(rows)} texts can be read by the model; the first: {first}")
    for id, why in list(failed.items())[:_NAMED]:
        progress.say(f"left out: text {id}: {why}")
    if len(failed) > _NAMED:
        progress.say(f"left out: {len(failed) - _NAMED} more texts")
    return readable, failed


def _beside(column: str | None, rows: Sequence[Mapping[str, Any]], read: Any) -> list[Any] | None:
    return None if column is None else [read(row["columns"][column], row["id"]) for row in rows]


def _text(value: Any, id: int | str) -> Any:
    return None if value is None or (isinstance(value, str) and not value.strip()) else value


def _marks(value: Any, id: int | str) -> Any:
    return _from_json(value, f"the rationale of text {shown(id)} must be a list of spans, or of zeros and ones")


def _pair(value: Any, id: int | str) -> Any:
    value = _from_json(value, f"the counterfactual of text {shown(id)} must be a list of two texts")
    return tuple(value) if isinstance(value, list) else value


def _from_json(value: Any, must_be: str) -> Any:
    """A list, or one that is written as JSON; None where there is none."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else None
    except ValueError as error:
        raise DataError(f"{must_be}, as JSON: got {shown(value)}") from error


# ── the model ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _loaded(options: Options) -> Any:
    """The model on the device that was asked for: Hugging Face's are loaded there, limelight's own moved."""
    import torch

    from limelight.models.load import is_huggingface

    loading, device = dict(options.loading), options.device
    if options.second_column is not None:
        loading["pairs"] = True
    if device is not None and is_huggingface(options.model):
        loading["device"] = device
    model = limelight.load(options.model, **loading)
    return model.to(find_device(device)).eval() if isinstance(model, torch.nn.Module) and device is not None else model


def _model(name: str | None) -> tuple[str, str]:
    """What a model is called, and a digest of its weights, settings and words; a name on a hub stands for itself."""
    if name is None:
        return "the embedded model", f"embedded {limelight.__version__}"
    return os.path.basename(os.path.normpath(name)), digest_of_files(name, "*.safetensors", "*.json", "*.txt")
