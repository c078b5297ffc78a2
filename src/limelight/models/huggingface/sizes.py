"""The model that a configuration describes, built without memory, against the weights that are stored."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from limelight.errors import CheckpointError
from limelight.models.huggingface.folder import StoredWeights

_CALLS_PER_WEIGHT = 50
"""Calls of torch that building a model takes: the families of transformers take 4 to 6 for each of its weights."""
_CALLS = 2000
_TIMES_STORED = 2
"""How many numbers a model may have for each one that is stored: a head may be missing, which is said later."""
_NUMBERS = 10**6


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
