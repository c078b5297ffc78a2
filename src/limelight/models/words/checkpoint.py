"""A checkpoint: the folder that holds a trained model.

    config.json         format version, kind of model, sizes, labels, precision of the stored weights
    vocabulary.txt      one word a line, the most frequent first; [CLS] and [UNK] go without saying
    model.safetensors   the weights
    README.md           the model card: data, settings, seed and measured accuracy

It is plain data: nothing in it is executed when it is read.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, fields
from importlib import resources
from pathlib import Path
from typing import Any, overload

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from limelight.arrays import whole_number
from limelight.errors import CheckpointError, LimelightError, ParameterError
from limelight.files import replace_folder
from limelight.models.words.attention import AttentionClassifier
from limelight.models.words.kinds import CONFIGS, Config, Model, build
from limelight.models.words.vocabulary import Vocabulary

FORMAT_VERSION = 1
CONFIG, VOCABULARY, WEIGHTS, CARD = "config.json", "vocabulary.txt", "model.safetensors", "README.md"
FILES = (CONFIG, VOCABULARY, WEIGHTS, CARD)
DTYPES = {"float32": torch.float32, "float16": torch.float16}
UNFINISHED = ".training"
"""Where a training run keeps its state inside the folder that it will replace with a checkpoint."""


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def save(model: Model, folder: str | os.PathLike[str], card: str, dtype: str = "float32") -> Path:
    """Write a model with its card. A checkpoint that stands there already is replaced once the new one is complete."""
    if dtype not in DTYPES:
        raise ParameterError(f"weights are stored as {' or '.join(DTYPES)}: got {dtype!r}")
    target = Path(os.path.realpath(folder))
    _refuse_other_files(target)
    contents = _contents(model, card, dtype)
    try:
        replace_folder(target, contents)
    except OSError as error:
        raise CheckpointError(
            f"could not write the checkpoint {folder}: {error}; check the path and the free space"
        ) from error
    return target


def _contents(model: Model, card: str, dtype: str) -> dict[str, bytes]:
    """The four files as bytes: the same model gives the same bytes."""
    config = {
        "format_version": FORMAT_VERSION,
        "kind": model.config.kind,
        "sizes": asdict(model.config),
        "labels": list(model.labels),
        "words": len(model.vocabulary),
        "dtype": dtype,
    }
    weights = {name: weight.detach().cpu().to(DTYPES[dtype]).contiguous() for name, weight in model.named_parameters()}
    for name, weight in weights.items():
        if not weight.isfinite().all():
            raise CheckpointError(
                f"{name} is not finite in {dtype}, so the model is not saved: train with a lower learning rate"
            )
    words = model.vocabulary.words[2:]
    if odd := next((word for word in words if word.split() != [word]), None):
        raise CheckpointError(
            f"the word {odd!r} of the vocabulary is empty or holds white space: it cannot be saved on a line"
        )
    return {
        CONFIG: (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode(),
        VOCABULARY: "".join(f"{word}\n" for word in words).encode(),
        WEIGHTS: tensor_bytes(weights, metadata={"format": "pt"}),
        CARD: card.encode(),
    }


def _refuse_other_files(target: Path) -> None:
    """A folder is replaced as a whole: make sure that nothing of the user's is in it."""
    if target.exists() and not target.is_dir():
        raise CheckpointError(f"{target} is a file: a checkpoint is a folder, give the name of one")
    if target.is_dir():
        others = sorted({entry.name for entry in target.iterdir()} - {*FILES, UNFINISHED})
        if others:
            raise CheckpointError(
                f"{target} holds files that are no part of a checkpoint ({', '.join(others[:3])}): "
                "choose another folder"
            )


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@overload
def load(folder: None = None) -> AttentionClassifier: ...


@overload
def load(folder: str | os.PathLike[str]) -> Model: ...


def load(folder: str | os.PathLike[str] | None = None) -> Model:
    """The model of a checkpoint folder, in float32 on the CPU; without a folder, the one that comes with limelight."""
    if folder is not None:
        return _load(Path(folder))
    with embedded_folder() as path:
        return _load(path)


@contextlib.contextmanager
def embedded_folder() -> Iterator[Path]:
    """The checkpoint inside the package, as a folder on disk for as long as it is used."""
    inside = resources.files("limelight") / "models" / "words" / "pretrained" / "imdb"
    if not inside.is_dir():
        raise CheckpointError(
            "this installation has no embedded model (limelight/models/words/pretrained/imdb is missing): "
            "install limelight again, or give the folder of a checkpoint"
        )
    with resources.as_file(inside) as path:
        yield path


def _load(folder: Path) -> Model:
    if not folder.is_dir():
        problem = "is a file" if folder.exists() else "does not exist"
        raise CheckpointError(f"no checkpoint at {folder}: it {problem}; give the folder that `limelight train` wrote")
    missing = [name for name in (CONFIG, VOCABULARY, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        there = sorted(entry.name for entry in folder.iterdir()) or ["nothing"]
        raise CheckpointError(
            f"the checkpoint {folder} is incomplete: {', '.join(missing)} missing, "
            f"found {', '.join(there[:6])}; copy the whole folder"
        )
    sizes, labels, dtype, n_words = _read_config(folder / CONFIG)
    vocabulary = _read_vocabulary(folder / VOCABULARY, n_words)
    try:
        model = build(sizes, vocabulary, labels)
    except ParameterError as error:
        raise CheckpointError(f"{folder / CONFIG} cannot be used: {error}") from error
    _read_weights(folder / WEIGHTS, model, dtype)
    return model.eval()


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise CheckpointError(
            f"{path} is not UTF-8 text: byte {error.object[error.start]:#04x} at offset {error.start}; "
            "the file is damaged, copy the checkpoint again"
        ) from error
    except OSError as error:
        raise CheckpointError(f"could not read {path}: {error}") from error


def _read_config(path: Path) -> tuple[Config, tuple[str, ...], torch.dtype, int]:
    try:
        config = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path} is not valid JSON: {error}; copy the checkpoint again") from error

    def wrong(what: str, given: object, wanted: str) -> CheckpointError:
        return CheckpointError(f"{path}: {what} is {given!r}, but {wanted}")

    if not isinstance(config, dict):
        raise wrong("its content", config, "an object with the sizes of a model is needed")
    if config.get("format_version") != FORMAT_VERSION:
        wanted = f"this limelight reads version {FORMAT_VERSION}: install the limelight that wrote it, or train again"
        raise wrong("format_version", config.get("format_version"), wanted)
    if config.get("kind") not in list(CONFIGS):
        raise wrong("kind", config.get("kind"), f"this limelight reads {' and '.join(map(repr, CONFIGS))}")
    if config.get("dtype") not in DTYPES:
        raise wrong("dtype", config.get("dtype"), f"weights are stored as {' or '.join(DTYPES)}")
    labels = config.get("labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise wrong("labels", labels, "a list of names is needed")
    try:
        n_words = whole_number("words", config.get("words"), 2, " ([CLS] and [UNK] are two)")
        sizes = _sizes(CONFIGS[config["kind"]], config.get("sizes"))
    except LimelightError as error:
        raise CheckpointError(f"{path}: {error}") from error
    return sizes, tuple(labels), DTYPES[config["dtype"]], n_words


def _sizes(kind: type[Config], sizes: Any) -> Config:
    names = {field.name for field in fields(kind)}
    if not isinstance(sizes, dict) or set(sizes) != names:
        raise ParameterError(f"sizes must give {', '.join(sorted(names))}: got {sizes!r}")
    return kind(**sizes)


def _read_vocabulary(path: Path, n_words: int) -> Vocabulary:
    lines = _text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, word in enumerate(lines, start=1):
        if word.split() != [word]:
            raise CheckpointError(f"{path}, line {number}: {word!r} is not one word; copy the checkpoint again")
    if len(lines) + 2 != n_words:
        raise CheckpointError(
            f"{path} has {len(lines)} words, but {CONFIG} announces {n_words - 2} beside [CLS] and [UNK]: "
            "the two files belong to different models, or one was cut short; copy the checkpoint again"
        )
    try:
        return Vocabulary(lines)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error


def _read_weights(path: Path, model: Model, dtype: torch.dtype) -> None:
    try:
        stored = read_tensors(path.read_bytes())
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}): the file is damaged, copy the checkpoint again"
        ) from error
    weights = dict(model.named_parameters())
    if missing := sorted(set(weights) - set(stored)):
        raise CheckpointError(f"{path} lacks {', '.join(missing)}: found {', '.join(sorted(stored)) or 'no tensors'}")
    if extra := sorted(set(stored) - set(weights)):
        raise CheckpointError(
            f"{path} holds tensors of another model: {', '.join(extra)}; expected {', '.join(weights)}"
        )
    for name, weight in weights.items():
        _check_weight(path, name, stored[name], weight.shape, dtype)
        with torch.no_grad():
            weight.copy_(stored[name])


def _check_weight(path: Path, name: str, stored: Tensor, shape: torch.Size, dtype: torch.dtype) -> None:
    if stored.shape != shape:
        raise CheckpointError(
            f"{path}: {name} has shape {tuple(stored.shape)}, but {CONFIG} and {VOCABULARY} ask for {tuple(shape)}; "
            "the files belong to different models"
        )
    if stored.dtype != dtype:
        raise CheckpointError(f"{path}: {name} is stored as {stored.dtype}, but {CONFIG} says {dtype}")
    if not stored.isfinite().all():
        bad = math.prod(shape) - int(stored.isfinite().sum())
        raise CheckpointError(
            f"{path}: {bad} weights of {name} are not finite; the model cannot be used, train it again"
        )
