"""The model card that training writes beside the weights: what a reader needs to judge the model and make it again.

Labels, file names and preset names come from outside: in the card they are text, whatever they hold.
"""

from __future__ import annotations

import datetime
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import torch

import limelight
from limelight.core.sanitize import visible
from limelight.models.words.attention import AttentionConfig
from limelight.models.words.checkpoint import Config
from limelight.training.presets import PRESETS, Preset

if TYPE_CHECKING:
    from limelight.training.train import TrainingReport


def command_again(
    data: object,
    test: object,
    text_column: str,
    label_column: str,
    label_names: Mapping[str, str] | None,
    validation: int | float | None,
    preset: Preset,
    seed: int,
) -> str:
    """The command line that makes the model again, from the arguments of `train`; or where it cannot be given, why.

    Only the last part of a path is kept: folders say nothing to others.
    """
    known, source = PRESETS.get(preset.name), data_name(data)
    if source is None or known is None:
        return "(called from Python, with data or a preset of its own)"
    options = {
        "--preset": preset.name,
        "--test": data_name(test),
        "--text-column": None if text_column == "text" else text_column,
        "--label-column": None if label_column == "label" else label_column,
        "--label-names": ",".join(f"{value}={name}" for value, name in (label_names or {}).items()) or None,
        "--validation": validation,
        "--seed": seed,
        "--epochs": None if known.epochs == preset.epochs else preset.epochs,
        "--out": "model",
    }
    given = [word for option, value in options.items() if value is not None for word in (option, str(value))]
    # An indented block shows everything as it is; it ends with its line.
    return visible(" ".join(map(shlex.quote, ["limelight", "train", source, *given])))


_MARKDOWN = re.compile(r"([\\`*_\[\]<>|&~$#!@:]|(?<=\bwww)\.)", re.IGNORECASE)
"""Characters that could begin emphasis, code, link, image, tag, entity, formula, mention or address, or end a cell."""


def escaped(text: str) -> str:
    """A text as Markdown shows it letter by letter, on one line; characters that act are shown by their pictures."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def data_name(source: object) -> str | None:
    """The last part of a path; None for data that are no file."""
    return Path(source).name if isinstance(source, str | os.PathLike) else None


def _kind(sizes: Config) -> tuple[str, str]:
    """A title and a sentence for the kind of model."""
    if isinstance(sizes, AttentionConfig):
        about = f"One layer of {sizes.K} attention heads over words and a linear layer, read at [CLS]."
        return "A single-layer attention classifier", about
    parts = ["residual connections"] * sizes.residual + ["layer norm"] * sizes.layer_norm
    parts += [] if sizes.mlp == "none" else [f"a {'ReLU' if sizes.mlp == 'relu' else 'GELU'} MLP"]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    extras = f", with {listed}" if listed else ""
    about = f"{sizes.layers} layers of {sizes.K} attention heads over words{extras}; a linear layer, read at [CLS]."
    return "A transformer classifier", about


def model_card(report: TrainingReport, data: str | None, command: str) -> str:
    """Markdown; `data` is the data's name, `command` makes the model again."""
    sizes = ", ".join(f"{name} {value}" for name, value in asdict(report.preset.sizes).items())
    settings = {name: value for name, value in asdict(report.preset).items() if name not in ("name", "sizes")}
    epochs = "\n".join(
        f"| {r.epoch} | {r.train_loss:.4f} | {r.train_accuracy:.2%} | {r.validation_accuracy:.2%} | {r.seconds:.0f} |"
        for r in report.history
    )
    tested = (
        "not measured" if report.test_accuracy is None else f"{report.test_accuracy:.2%} of {report.n_test:,} texts"
    )
    title, about = _kind(report.preset.sizes)
    return f"""# {title}

{about}
It tells {", ".join(map(escaped, report.labels[:-1]))} from {escaped(report.labels[-1])} texts.

| | |
|---|---|
| validation accuracy | {report.validation_accuracy:.2%} of {report.n_validation:,} texts (chose the epoch) |
| test accuracy | {tested} |
| sizes | {sizes} |
| vocabulary | {report.n_words:,} words, [CLS] and [UNK] included |
| weights | {report.preset.stored_dtype} |

## Training

| | |
|---|---|
| data | {escaped(data) if data else "given from Python"}, {report.n_train:,} texts to train on |
| preset | {escaped(report.preset.name)} |
| seed | {report.seed} |
| epoch kept | {report.best_epoch} of {report.preset.epochs} |
| made | {datetime.date.today()}, limelight {limelight.__version__}, PyTorch {torch.__version__}, {report.device} |

    {command}

| setting | value |
|---|---|
{chr(10).join(f"| {name} | {escaped(str(value))} |" for name, value in settings.items())}

| epoch | training loss | training accuracy | validation accuracy | seconds |
|---|---|---|---|---|
{epochs}

Training loss and accuracy are means over an epoch, with dropout and crops where the settings have them.

## Limits

Texts are read up to {report.preset.sizes.T_max - 1} words; words outside the vocabulary all read as [UNK].
The model knows what its training data shows and no more: texts of another kind, language or length may be classified
badly. Validation texts are drawn at random from the same data; what these share with the training texts beyond the
language (authors, films, products) makes the validation accuracy higher than that on new data.
"""
