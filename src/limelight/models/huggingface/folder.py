"""A folder of transformers, looked at before transformers is given it.

    config.json       plain JSON of a bounded size and depth, whose numbers fit the weights that are there
    weights           model.safetensors, or the *.safetensors files that model.safetensors.index.json names
    tokenizer files   regular files

Only JSON and the headers of safetensors files are read here; no weight is loaded. A weight file lies in the folder
itself: a path, a link that leads out of the folder, and every other format are refused. What else a configuration can
lead to (code, adapters, other files, kernels from the hub) is refused or left unused.
"""

from __future__ import annotations

import copy
import json
import math
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import torch
from safetensors import SafetensorError, safe_open
from torch.overrides import TorchFunctionMode

from limelight.errors import CheckpointError, shortened

CONFIG, WEIGHTS, INDEX, ADAPTER = (
    "config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "adapter_config.json",
)
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "bpe.codes",
    "spiece.model",
    "spm.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)
"""The files that tokenizers are read from: JSON, text and sentencepiece, none of which is code."""
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".msgpack")
_JSON_BYTES = 2**26
_DIGITS = 20
"""A number with more digits is no size, and Python refuses to read one with thousands."""
_LARGE = 2**24
"""What a number of a configuration may be whatever the weights are: a context length, a period of rotations."""
_MOST_SHARED_LAYERS = 100
"""So many layers may there be without weights of their own, as in ALBERT."""
_CALLS_PER_WEIGHT = 50
"""Calls of torch that building a model takes: the families of transformers take 4 to 6 for each of its weights."""
_CALLS = 2000
_TIMES_STORED = 2
"""How many numbers a model may have for each one that is stored: a head may be missing, which is said later."""
_NUMBERS = 10**6
_NO_SIZE = re.compile(r"theta|seed|factor|token_id")
_LAYERS = re.compile(r"(^|_)(n_layer|layers|groups|group_num|blocks)$")
_ELSEWHERE = {
    "transformers_weights": "names the weights itself",
    "configuration_files": "names other configurations",
    "quantization_config": "describes weights that are packed by another library",
}
"""What limelight does not follow in a configuration."""


@dataclass(frozen=True)
class StoredWeights:
    """The shapes of the weights of a folder, by name; `paths` are the files that hold them."""

    shapes: dict[str, tuple[int, ...]]
    paths: tuple[Path, ...]

    @cached_property
    def total(self) -> int:
        """How many numbers they are."""
        return sum(map(math.prod, self.shapes.values()))


def looked_at(folder: Path) -> StoredWeights:
    """The weights of a folder that transformers may be given; a CheckpointError says why it may not."""
    config = read_config(folder)
    for name in TOKENIZER:
        _check_regular(folder / name)
    stored = read_shapes(tuple(_inside(folder, name) for name in weight_names(folder)))
    check_sizes(config, folder / CONFIG, stored)
    return stored


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_json(path: Path) -> Any:
    """A JSON file of at most 64 MiB, without numbers that are not finite or have more than 20 digits."""
    _check_regular(path)
    try:
        with path.open("rb") as file:
            content = file.read(_JSON_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}; copy the folder again") from error
    if len(content) > _JSON_BYTES:
        raise CheckpointError(f"{path} has more than {_JSON_BYTES // 2**20} MiB, which no description of a model needs")
    try:
        return json.loads(content, parse_int=_integer, parse_float=_number, parse_constant=_number)
    except RecursionError as error:
        raise CheckpointError(f"{path} is nested too deeply to be read; copy the folder again") from error
    except ValueError as error:
        raise CheckpointError(f"{path} is not valid JSON: {error}; copy the folder again") from error


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"a number of {len(digits)} digits stands in it, {digits[:_DIGITS]}…")
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:_DIGITS]} stands in it, which is not a finite number")
    return number


def _check_regular(path: Path) -> None:
    """Of a pipe or a device there may never be an end; what is not there is somebody else's concern."""
    try:
        irregular = path.exists() and not path.is_file()
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}; check its permissions") from error
    if irregular:
        raise CheckpointError(f"{path} is not a regular file: copy the folder again")


# ── the configuration ─────────────────────────────────────────────────────────────────────────────────────────────────


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration, without anything in it that leads elsewhere."""
    path = folder / CONFIG
    if (folder / ADAPTER).exists():
        raise CheckpointError(
            f"{folder} holds an adapter ({ADAPTER}), which belongs to another model: merge the two with "
            "model.merge_and_unload(), save the result with save_pretrained(folder), and load that folder"
        )
    config = read_json(path)
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise CheckpointError(f"{path} does not say what kind of model it describes: model_type is missing or no name")
    for name, what in _ELSEWHERE.items():
        if config.get(name) is not None:
            raise CheckpointError(
                f"{path} {what} ({name}), which limelight does not follow: load the model with transformers where you "
                "trust it, save it with save_pretrained(folder), and load that folder"
            )
    for name, value in _numbers_and_names(config):
        if name.endswith("implementation") and isinstance(value, str) and "/" in value:
            raise CheckpointError(
                f"{path} asks for code from the hub, {name} = {value!r}, and limelight runs none: leave {name} out"
            )
    return config


def check_sizes(config: dict[str, Any], path: Path, stored: StoredWeights) -> None:
    """Numbers of a configuration that cannot be those of the weights, before a model is built of them."""
    labels = _check_labels(config, path)
    rows = max((shape[0] for shape in stored.shapes.values() if shape), default=0)
    if labels > max(rows, 2):
        _unborne(path, "labels", labels, f"the largest weight has {rows:,} rows")
    positions = [shape[0] for name, shape in stored.shapes.items() if "position_emb" in name and len(shape) == 2]
    for name, value in _numbers_and_names(config):
        if isinstance(value, bool) or not isinstance(value, int) or _NO_SIZE.search(name):
            continue
        if value > max(stored.total, _LARGE):
            _unborne(path, name, value, f"the weights are {stored.total:,} numbers in all")
        if _LAYERS.search(name) and value > max(len(stored.shapes), _MOST_SHARED_LAYERS):
            _unborne(path, name, value, f"there are {len(stored.shapes):,} weights")
        if name == "max_position_embeddings" and positions and value > max(positions):
            _unborne(path, name, value, f"the table of positions has {max(positions):,} rows")


def _unborne(path: Path, name: str, value: int, there: str) -> NoReturn:
    raise CheckpointError(
        f"{path} does not belong to the weights beside it: it gives {name} = {value:,}, but {there}; copy the "
        "configuration and the weights of one model"
    )


def _check_labels(config: dict[str, Any], path: Path) -> int:
    """How many labels a configuration has; their names have the numbers 0, 1, … as keys."""

    def wrong(name: str, value: object, wanted: str) -> CheckpointError:
        return CheckpointError(f"{path}: {name} is {shortened(repr(value), 100)}, but {wanted}; correct it there")

    count: int | None = None
    for name in ("_num_labels", "num_labels"):
        if (value := config.get(name)) is not None:
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise wrong(name, value, "the number of labels is a whole number of at least 1")
            count = value
    if (named := config.get("id2label")) is None:
        return 2 if count is None else count
    if not isinstance(named, dict) or any(label is None or isinstance(label, dict | list) for label in named.values()):
        raise wrong("id2label", named, 'the names of the labels stand there as {"0": "…", "1": "…"}')
    if sorted(named) != sorted(map(str, range(len(named)))):
        raise wrong("id2label", named, f"its keys must be the numbers 0 to {len(named) - 1}")
    if count is not None and count != len(named):
        raise wrong("id2label", named, f"num_labels is {count}")
    return len(named)


def _numbers_and_names(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """Every number and string of a configuration, with the name that it stands under."""
    pending, leaves = [(name, value)], []
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            if name not in ("id2label", "label2id"):
                pending += [(key, own) for key, own in value.items()]
        elif isinstance(value, list):
            pending += [(name, own) for own in value]
        else:
            leaves.append((name, value))
    return leaves


class _Unbounded(Exception):
    """A model takes more calls to build than its weights can need."""


class _Counting(TorchFunctionMode):
    """Stops a thread that calls torch too often."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._left -= 1
        if self._left < 0:
            raise _Unbounded
        return function(*args, **(kwargs or {}))


def check_described(auto_class: Any, config: Any, path: Path, stored: StoredWeights) -> None:
    """Refuse a configuration whose model is much larger than the weights that are there, before it takes memory.

    The model is built on torch's meta device, where a tensor is a shape; building stops where it takes many more
    steps than a model of so many weights.
    """
    try:
        with torch.device("meta"), _Counting(_CALLS + _CALLS_PER_WEIGHT * len(stored.shapes)):
            model = auto_class.from_config(copy.deepcopy(config), trust_remote_code=False)
    except _Unbounded:
        raise CheckpointError(
            f"{path} describes a model of many more parts than the {len(stored.shapes):,} weights beside it: copy the "
            "configuration and the weights of one model"
        ) from None
    described = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    if described > _TIMES_STORED * stored.total + _NUMBERS:
        raise CheckpointError(
            f"{path} describes a model of {described:,} numbers, but the weights beside it are {stored.total:,}: copy "
            "the configuration and the weights of one model"
        )


# ── the weights ───────────────────────────────────────────────────────────────────────────────────────────────────────


def weight_names(folder: Path) -> tuple[str, ...]:
    """The safetensors files that transformers will read: the one file, or else those of the index."""
    if os.path.lexists(folder / WEIGHTS):
        return (WEIGHTS,)
    if os.path.lexists(folder / INDEX):
        return _shards(folder / INDEX)
    others = [entry.name for entry in sorted(folder.iterdir()) if entry.suffix in _PICKLES]
    if not others:
        raise CheckpointError(f"{folder} has no weights: {WEIGHTS} is missing; copy the whole folder")
    raise CheckpointError(
        f"{folder} has no weights in safetensors, and limelight unpickles nothing (found {', '.join(others[:3])}): "
        "convert it where you trust it with model.save_pretrained(folder), then load that folder"
    )


def _shards(index: Path) -> tuple[str, ...]:
    described = read_json(index)
    named = described.get("weight_map") if isinstance(described, dict) else None
    if not isinstance(named, dict) or not named:
        raise CheckpointError(f"{index} names no files: weight_map must give the file of each weight; copy it again")
    for name in named.values():
        plain = isinstance(name, str) and name == os.path.basename(name) and not set(name) & set("\\\0")
        if not plain or not name.endswith(".safetensors"):
            raise CheckpointError(
                f"{index} names {shortened(repr(name), 100)} as a file of weights, but limelight reads safetensors "
                "files of the folder itself alone: save the model again with save_pretrained(folder)"
            )
    return tuple(sorted(set(named.values())))


def _inside(folder: Path, name: str) -> Path:
    """A file of weights, which lies in the folder itself."""
    path = folder / name
    if not path.is_file():
        raise CheckpointError(f"the weights {path} are missing or no file: copy the whole folder")
    real, root = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    roots = [root]
    if root.parent.name == "snapshots":  # the hub's cache: every file is a link to blobs/<hash>
        roots.append(root.parent.parent / "blobs")
    if not any(real.is_relative_to(own) for own in roots):
        raise CheckpointError(
            f"{path} is a link out of the folder, to {real}, and limelight reads weights inside it alone: copy the "
            "file into the folder"
        )
    return path


def read_shapes(paths: tuple[Path, ...]) -> StoredWeights:
    """From the headers of safetensors files; no weight is loaded."""
    shapes: dict[str, tuple[int, ...]] = {}
    for path in paths:
        try:
            with safe_open(path, framework="numpy") as file:
                for name in file.keys():  # noqa: SIM118
                    shapes[name] = tuple(file.get_slice(name).get_shape())
        except (SafetensorError, OSError, ValueError) as error:
            raise CheckpointError(
                f"{path} is damaged, or no safetensors file: {shortened(str(error))}; copy it again"
            ) from error
    if not shapes:
        raise CheckpointError(f"{', '.join(map(str, paths))} holds no weights: copy the whole folder")
    return StoredWeights(shapes, paths)
