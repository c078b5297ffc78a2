"""`limelight reproduce`: from what was asked to a folder of numbers, figures and a report.

First all numbers, then all figures: where matplotlib is missing the figures are left to another machine.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import torch

import limelight
from limelight.core.arrays import whole_number
from limelight.core.device import find_device, machine_of
from limelight.core.progress import Progress
from limelight.errors import CapabilityError, InputError, known_name
from limelight.models.words.checkpoint import embedded_folder
from limelight.render.figure.axes import our_style
from limelight.reproduce import (
    correlations,
    fig1,
    fig2,
    fig3,
    fig4,
    fig6,
    final_layer,
    gradients,
    lime_error,
    report,
    theorem,
)
from limelight.reproduce.experiment import Experiment, available, save_figure, source_line
from limelight.reproduce.folder import Fingerprint, RunFolder
from limelight.reproduce.lab import SAMPLE, Lab, read_texts
from limelight.storage.files import digest_of_files

ON_A_CPU = 200
"""Documents where none are asked for and there is no GPU."""
EMBEDDED = "the embedded model"
PNG_END = b"IEND\xaeB`\x82"
"""The last bytes of a whole PNG."""


EXPERIMENTS: tuple[Experiment, ...] = (
    fig1.EXPERIMENT,
    fig2.EXPERIMENT,
    fig3.EXPERIMENT,
    fig4.EXPERIMENT,
    lime_error.EXPERIMENT,
    theorem.EXPERIMENT,
    gradients.FIGURE,
    gradients.ERRORS,
    correlations.EXPERIMENT,
    final_layer.EXPERIMENT,
    fig6.EXPERIMENT,
)


def find(name: str) -> tuple[Experiment, ...]:
    """One experiment by its name, or all of them."""
    known = {"all": EXPERIMENTS, **{experiment.name: (experiment,) for experiment in EXPERIMENTS}}
    return known[known_name("experiment", name, known)]


@dataclass(frozen=True)
class Options:
    """The request; None leaves a setting to the folder's earlier run, else to the defaults."""

    experiment: str
    out: Path
    data: str | None = None
    model: str | None = None
    deep_model: str | None = None
    documents: int | None = None
    device: str = "auto"
    seed: int | None = None
    official: bool = False


def run(options: Options, progress: Progress) -> Path:
    """Compute what is missing or damaged, draw what can be drawn, and return the report.

    One run at a time writes to a folder.
    """
    chosen, folder = find(options.experiment), RunFolder(options.out)
    with folder.writing():
        _tell_damages(folder, {experiment.name for experiment in chosen}, progress)
        missing = [experiment for experiment in chosen if not folder.has(experiment.name)]
        without_deep = [e for e in missing if e.model == "deep" and options.deep_model is None]
        if without_deep and len(chosen) == 1:
            raise CapabilityError(
                f"{without_deep[0].name} needs a model of several layers: give --deep-model, the folder of one that "
                "was trained with limelight train --preset deep"
            )
        missing = [experiment for experiment in missing if experiment not in without_deep]
        _check_engine(options, folder)
        if missing or folder.fingerprint() is None or _given(options):
            lab = _lab(options, folder, progress, load_deep=any(e.model == "deep" for e in missing))
            for experiment in missing:
                _compute(experiment, lab)
        for experiment in without_deep:
            progress.say(f"{experiment.name}: not computed, because it needs --deep-model; the report says so")
        return _draw(folder, progress, {experiment.name for experiment in chosen})


def _tell_damages(folder: RunFolder, chosen: set[str], progress: Progress) -> None:
    """Results that cannot be used count as if they were not there."""
    for experiment in EXPERIMENTS:
        if damage := folder.damage(experiment.name):
            what = "computed again" if experiment.name in chosen else f"left out; give {experiment.name} to compute it"
            progress.say(f"{experiment.name}: {damage}: {what}")


def _given(options: Options) -> bool:
    """Whether anything was said that must be checked against the folder's run."""
    said = (options.data, options.model, options.deep_model, options.documents, options.seed)
    return any(value is not None for value in said)


def _check_engine(options: Options, folder: RunFolder) -> None:
    """Figure 4 by another engine than the one that was asked for is not shown as if it were."""
    if options.official and folder.has("fig4"):
        used = folder.read_result("fig4")["numbers"]["engine"]["delete"]
        if used != fig4.OFFICIAL:
            raise InputError(
                f"fig4 in --out {options.out} was computed by {used}, not by {fig4.OFFICIAL}: choose another folder"
            )


# ── what the run is of ────────────────────────────────────────────────────────────────────────────────────────────────


def _lab(options: Options, folder: RunFolder, progress: Progress, load_deep: bool) -> Lab:
    earlier = folder.fingerprint()
    device = find_device(options.device).type
    _check_inherited(options, earlier)
    texts = read_texts(options.data)
    model = limelight.load(options.model)
    documents = _documents(options.documents, earlier, len(texts.texts), device)
    seed = options.seed if options.seed is not None else earlier["seed"] if earlier else 0
    whole_number("--seed", seed, 0)
    folder.claim(
        {
            "data": texts.name,
            "data_digest": texts.digest,
            "model": _called(options.model),
            "model_digest": _digest(options.model),
            "documents": documents,
            "seed": seed,
            "version": limelight.__version__,
        }
    )
    deep = limelight.load(options.deep_model) if load_deep and options.deep_model is not None else None
    if options.deep_model is not None:
        folder.claim_deep(_digest(options.deep_model))
    for own in (model, deep):
        if isinstance(own, torch.nn.Module):
            own.to(device).eval()
    return Lab(
        folder=folder,
        texts=texts,
        model=model,
        deep_model=deep,
        documents_asked=documents,
        seed=seed,
        device=device,
        progress=progress,
        official=options.official,
        deep_name=_called(options.deep_model),
    )


def _check_inherited(options: Options, earlier: Fingerprint | None) -> None:
    """Refuse a request that leaves out data or a model that the folder's run had from a place of its own."""
    if earlier is None:
        return
    if options.data is None and earlier["data"] != SAMPLE:
        raise InputError(f"--out {options.out} was computed on {earlier['data']}: give it again with --data")
    if options.model is None and earlier["model"] != EMBEDDED:
        raise InputError(
            f"--out {options.out} was computed with the model {earlier['model']}: give it again with --model"
        )


def _documents(asked: int | None, earlier: Fingerprint | None, total: int, device: str) -> int:
    if asked is not None:
        return min(whole_number("--documents", asked, 2), total)
    if earlier is not None:
        return earlier["documents"]
    return total if device == "cuda" else min(ON_A_CPU, total)


def _called(folder: str | None) -> str:
    return EMBEDDED if folder is None else os.path.basename(os.path.normpath(folder))


def _digest(folder: str | None) -> str:
    if folder is None:
        with embedded_folder() as path:
            return _digest(str(path))
    return digest_of_files(folder, "*.safetensors")


# ── computing and drawing ─────────────────────────────────────────────────────────────────────────────────────────────


def _compute(experiment: Experiment, lab: Lab) -> None:
    if experiment.model == "paper":
        lab.paper_model(experiment.name)
    lab.progress.say(f"{experiment.name}: {experiment.title}")
    started = time.perf_counter()
    numbers = experiment.compute(lab)
    seconds = time.perf_counter() - started
    run_of = lab.folder.fingerprint()
    assert run_of is not None
    about = {
        "data": run_of["data"],
        "is_sample": lab.texts.is_sample,
        "documents": len(lab.chosen),
        "model": lab.deep_name if experiment.model == "deep" else run_of["model"],
        "seed": lab.seed,
        "device": machine_of(lab.device),
        "date": str(date.today()),
        "seconds": round(seconds, 2),
        "limelight": limelight.__version__,
        "torch": torch.__version__,
    }
    lab.folder.write_result(experiment.name, about, numbers)
    lab.progress.say(f"{experiment.name}: done in {seconds:.1f} s")


def _draw(folder: RunFolder, progress: Progress, asked: set[str]) -> Path:
    """The figures that were asked for, and a report of all that there are."""
    done = [experiment for experiment in EXPERIMENTS if folder.has(experiment.name)]
    results = {experiment.name: folder.read_result(experiment.name) for experiment in done}
    folder.write("table.md", report.table(EXPERIMENTS, results).encode())
    images: dict[str, bytes] = {}
    if not available():
        progress.say(
            "numbers are complete; no matplotlib here, so no figures: copy the folder and give the same command where "
            "limelight[figures] is installed"
        )
        done = []
    for experiment in done:
        result, stored = results[experiment.name], folder.path / f"{experiment.name}.png"
        if experiment.name in asked or not (stored.exists() and stored.read_bytes().endswith(PNG_END)):
            source = source_line(result["about"], experiment.over_documents)
            with our_style():
                figure = experiment.draw(folder, result["numbers"])
                save_figure(folder, experiment.name, figure, source)
        images[experiment.name] = stored.read_bytes()
    folder.write("report.html", report.page(EXPERIMENTS, results, images).encode())
    return folder.path / "report.html"
