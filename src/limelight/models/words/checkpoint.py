"""A checkpoint: the folder that holds a trained model.

    config.json         format version, kind of model, sizes, labels, precision of the stored weights
    vocabulary.txt      one word a line, the most frequent first; [CLS] and [UNK] go without saying
    model.safetensors   the weights
    README.md           the model card: data, settings, seed and measured accuracy

It is plain data: nothing in it is executed when it is read. Sizes and labels are compared with the head of the weights
before memory is taken for them. A byte order mark in front of a text file, as some editors write it, is no part of it.

A kind of classifier is known by its sizes: `build` makes one of them, and `weight_shapes` says what it stores.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, overload

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensor_bytes

from limelight.errors import CheckpointError, LimelightError, ParameterError
from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.classifier import Vocabulary, checked_size
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig
from limelight.storage.files import reason, replace_folder
from limelight.storage.tables import once

FORMAT_VERSION = 1
CONFIG, VOCABULARY, WEIGHTS, CARD = "config.json", "vocabulary.txt", "model.safetensors", "README.md"
FILES = (CONFIG, VOCABULARY, WEIGHTS, CARD)
DTYPES = {"float32": torch.float32, "float16": torch.float16}
MOST_BYTES = {CONFIG: 2**26, VOCABULARY: 2**28}
"""More than any model needs: a larger file is not read into memory."""
_BYTE_ORDER_MARK = "\ufeff"
_SHOWN = 60
"""Characters that an error shows of what a file holds."""
UNFINISHED = ".training"
"""Where a training run keeps its state inside the folder that it will replace with a checkpoint."""


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def save(model: Model, folder: str | os.PathLike[str], card: str, dtype: str = "float32") -> Path:
    """Write a model with its card. A checkpoint that stands there already is replaced once the new one is complete."""
    target = Path(os.path.realpath(folder))
    _refuse_other_files(target)
    files = contents(model, card, dtype)
    try:
        replace_folder(target, files)
    except OSError as error:
        raise CheckpointError(
            f"could not write the checkpoint {folder}: {reason(error)}; check the path and the free space"
        ) from error
    return target


def contents(model: Model, card: str, dtype: str) -> dict[str, bytes]:
    """The four files as bytes: the same model gives the same bytes."""
    if dtype not in DTYPES:
        raise ParameterError(f"weights are stored as {' or '.join(DTYPES)}: got {dtype!r}")
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
    lines = "".join(f"{word}\n" for word in words)
    # One mark is taken off by whoever reads the file: a first word that begins with one needs another before it.
    mark = _BYTE_ORDER_MARK if lines.startswith(_BYTE_ORDER_MARK) else ""
    files = {CONFIG: json.dumps(config, indent=2, ensure_ascii=False) + "\n", VOCABULARY: mark + lines, CARD: card}
    return {
        **{name: _encoded(name, text) for name, text in files.items()},
        WEIGHTS: tensor_bytes(weights, metadata={"format": "pt"}),
    }


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        around = text[max(error.start - 20, 0) : error.start + 20]
        raise CheckpointError(
            f"{name} would hold half of a character, {text[error.start]!a} in {around!a}, which cannot be saved as "
            "UTF-8: take it out of the words and labels"
        ) from error


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
    if not os.path.isdir(folder):
        problem = "is a file" if os.path.exists(folder) else "does not exist"
        raise CheckpointError(f"no checkpoint at {folder}: it {problem}; give the folder that `limelight train` wrote")
    missing = [name for name in (CONFIG, VOCABULARY, WEIGHTS) if not os.path.isfile(folder / name)]
    if missing:
        there = sorted(os.listdir(folder)) or ["nothing"]
        raise CheckpointError(
            f"the checkpoint {folder} is incomplete: {', '.join(missing)} missing, "
            f"found {', '.join(there[:6])}; copy the whole folder"
        )
    config = _read_config(folder / CONFIG)
    stored = _read_head(folder / WEIGHTS)
    _check_head(folder / WEIGHTS, stored, config)
    vocabulary = _read_vocabulary(folder / VOCABULARY, config.words)
    try:
        model = build(config.sizes, vocabulary, config.labels)
        _read_weights(folder / WEIGHTS, model)
    except ParameterError as error:
        raise CheckpointError(f"{folder / CONFIG} cannot be used: {error}") from error
    except (MemoryError, RuntimeError) as error:
        if not (isinstance(error, MemoryError) or "DefaultCPUAllocator" in str(error)):  # torch has no MemoryError
            raise
        raise CheckpointError(
            f"there is not enough memory for the model in {folder}, whose {WEIGHTS} is "
            f"{(folder / WEIGHTS).stat().st_size:,} bytes: load it on a larger machine"
        ) from error
    return model.eval()


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES[path.name]:
            raise CheckpointError(
                f"{path} has {size:,} bytes, but that of a model has fewer than {MOST_BYTES[path.name]:,}: "
                "it is not what `limelight train` wrote, copy the checkpoint again"
            )
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"could not read {path}: {reason(error)}; check its permissions and the disk") from error
    try:
        return content.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        raise CheckpointError(
            f"{path} is not UTF-8 text: byte {error.object[error.start]:#04x} at offset {error.start}; "
            "the file is damaged, copy the checkpoint again"
        ) from error


# ── what config.json says ─────────────────────────────────────────────────────────────────────────────────────────────


class _Configuration(NamedTuple):
    sizes: Config
    labels: tuple[str, ...]
    dtype: str
    words: int


def _read_config(path: Path) -> _Configuration:
    try:
        config = json.loads(_text(path), parse_constant=_no_number, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:  # ValueError: not JSON, or a number of thousands of digits
        raise CheckpointError(f"{path} is not valid JSON: {error}; copy the checkpoint again") from error

    def wrong(what: str, given: object, wanted: str) -> CheckpointError:
        return CheckpointError(f"{path}: {what} is {given!r:.{_SHOWN}}, but {wanted}")

    if not isinstance(config, dict):
        raise wrong("its content", config, "an object with the sizes of a model is needed")
    if config.get("format_version") != FORMAT_VERSION:
        wanted = f"this limelight reads version {FORMAT_VERSION}: install the limelight that wrote it, or train again"
        raise wrong("format_version", config.get("format_version"), wanted)
    if config.get("kind") not in list(CONFIGS):
        raise wrong("kind", config.get("kind"), f"this limelight reads {' and '.join(map(repr, CONFIGS))}")
    if config.get("dtype") not in list(DTYPES):
        raise wrong("dtype", config.get("dtype"), f"weights are stored as {' or '.join(DTYPES)}")
    labels = config.get("labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise wrong("labels", labels, "a list of names is needed")
    if half := next((own for own in labels if any("\ud800" <= character <= "\udfff" for character in own)), None):
        raise wrong("a label", half, "half of a character cannot be shown: write it out in full")
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise wrong("labels", labels, "a classifier needs at least two labels, all different")
    try:
        words = checked_size("words", config.get("words"), 2, " ([CLS] and [UNK] are two)")
        sizes = _sizes(CONFIGS[config["kind"]], config.get("sizes"))
    except LimelightError as error:
        raise CheckpointError(f"{path}: {error}") from error
    return _Configuration(sizes, tuple(labels), config["dtype"], words)


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _sizes(kind: type[Config], sizes: Any) -> Config:
    names = {field.name for field in fields(kind)}
    if not isinstance(sizes, dict) or set(sizes) != names:
        raise ParameterError(f"sizes must give {', '.join(sorted(names))}: got {sizes!r:.{2 * _SHOWN}}")
    return kind(**sizes)


# ── what the files beside it must then hold ───────────────────────────────────────────────────────────────────────────


def _read_vocabulary(path: Path, n_words: int) -> Vocabulary:
    lines = _text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, word in enumerate(lines, start=1):
        if word.split() != [word]:
            raise CheckpointError(
                f"{path}, line {number}: {word!r:.{_SHOWN}} is not one word; copy the checkpoint again"
            )
    if len(lines) + 2 != n_words:
        raise CheckpointError(
            f"{path} has {len(lines)} words, but {CONFIG} announces {n_words - 2} beside [CLS] and [UNK]: "
            "the two files belong to different models, or one was cut short; copy the checkpoint again"
        )
    try:
        return Vocabulary(lines)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error


_STORED_DTYPES = {"float32": "F32", "float16": "F16"}
"""As safetensors calls them."""


def _read_head(path: Path) -> dict[str, tuple[Shape, str]]:
    """Shapes and types of the weights that the file announces. Its length is checked, and none of them is read."""
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            return {name: (tuple(part.get_shape()), part.get_dtype()) for name, part in slices.items()}
    except (SafetensorError, OSError, ValueError, OverflowError, RuntimeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"{path} cannot be read ({reason(error)}): the file is damaged, or it may not be read; "
        "copy the checkpoint again, or check its permissions"
    )


def _check_head(path: Path, stored: Mapping[str, tuple[Shape, str]], config: _Configuration) -> None:
    """The stored weights are those of a model of these sizes, labels and words."""
    if len(stored) < weight_count(config.sizes) // 2:  # a model of a million layers is not spelled out to say so
        raise CheckpointError(
            f"{path} holds {len(stored):,} tensors, but {CONFIG} asks for {weight_count(config.sizes):,}; "
            "the files belong to different models, copy the checkpoint again"
        )
    shapes = weight_shapes(config.sizes, config.words, len(config.labels))
    if missing := sorted(set(shapes) - set(stored)):
        raise CheckpointError(
            f"{path} lacks {_listed(missing)}: found {_listed(sorted(stored))}; copy the checkpoint again"
        )
    if extra := sorted(set(stored) - set(shapes)):
        raise CheckpointError(
            f"{path} holds tensors of another model: {_listed(extra)}; expected {_listed(list(shapes))}; "
            "copy the checkpoint again"
        )
    for name, shape in shapes.items():
        stored_shape, dtype = stored[name]
        if stored_shape != shape:
            raise CheckpointError(
                f"{path}: {name} has shape {stored_shape}, but {CONFIG} and {VOCABULARY} ask for {shape}; "
                "the files belong to different models, copy the checkpoint again"
            )
        if dtype != _STORED_DTYPES[config.dtype]:
            raise CheckpointError(
                f"{path}: {name} is stored as {dtype}, but {CONFIG} says {config.dtype}; copy the checkpoint again"
            )


def _listed(names: list[str]) -> str:
    return ", ".join(f"{name:.{_SHOWN}}" for name in names[:10]) + (", …" if len(names) > 10 else "") or "no tensors"


def _read_weights(path: Path, model: Model) -> None:
    weights = dict(model.named_parameters())
    try:
        with safe_open(path, framework="pt") as file, torch.no_grad():
            for name, weight in weights.items():
                stored = file.get_tensor(name)
                if bad := int((~stored.isfinite()).sum()):
                    raise CheckpointError(
                        f"{path}: {bad} weights of {name} are not finite; the model cannot be used, train it again"
                    )
                weight.copy_(stored)
    except (SafetensorError, OSError) as error:
        raise _unreadable(path, error) from error


Config = AttentionConfig | TransformerConfig
Model = AttentionClassifier | TransformerClassifier
Shape = tuple[int, ...]

CONFIGS: dict[str, type[Config]] = {config.kind: config for config in (AttentionConfig, TransformerConfig)}
"""The sizes of each kind, by the name that a checkpoint calls it."""


def build(sizes: Config, vocabulary: Vocabulary, labels: Sequence[str]) -> Model:
    """A classifier of these sizes, without weights yet."""
    if isinstance(sizes, TransformerConfig):
        return TransformerClassifier(sizes, vocabulary, labels)
    return AttentionClassifier(sizes, vocabulary, labels)


# ── the weights that a model of some sizes has ────────────────────────────────────────────────────────────────────────


def weight_count(sizes: Config) -> int:
    """How many tensors, without naming them: a configuration may ask for a million layers."""
    return 5 if isinstance(sizes, AttentionConfig) else 2 + sizes.layers * len(_layer_shapes(sizes))


def weight_shapes(sizes: Config, words: int, labels: int) -> dict[str, Shape]:
    """Names and shapes of the weights of `build`, without building anything."""
    if isinstance(sizes, AttentionConfig):
        return {"W_e": (words, sizes.d_e), **_head_shapes(sizes), "W_l": (sizes.K, labels, sizes.d_out)}
    layer = _layer_shapes(sizes)
    return {
        "W_e": (words, sizes.d_e),
        "W_l": (labels, sizes.d_e),
        **{f"layers.{i}.{name}": shape for i in range(sizes.layers) for name, shape in layer.items()},
    }


def _head_shapes(sizes: Config) -> dict[str, Shape]:
    keys = (sizes.K, sizes.d_att, sizes.d_e)
    return {"W_q": keys, "W_k": keys, "W_v": (sizes.K, sizes.d_out, sizes.d_e)}


def _layer_shapes(sizes: TransformerConfig) -> dict[str, Shape]:
    d_e, norm = sizes.d_e, (sizes.d_e,)
    shapes: dict[str, Shape] = {**_head_shapes(sizes), "W_o": (d_e, sizes.K * sizes.d_out)}
    if sizes.layer_norm:
        shapes |= {"norm.weight": norm, "norm.bias": norm}
    if sizes.mlp != "none":
        shapes |= {"W_1": (sizes.d_mlp, d_e), "b_1": (sizes.d_mlp,), "W_2": (d_e, sizes.d_mlp), "b_2": norm}
        if sizes.layer_norm:
            shapes |= {"mlp_norm.weight": norm, "mlp_norm.bias": norm}
    return shapes
