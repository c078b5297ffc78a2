"""What an unfinished training run leaves on disk, so that the same command goes on where it stopped.

    OUT/.training/state.safetensors    weights and moments after the last whole epoch; history and settings as JSON
    OUT/.training/best/                the best model so far, a checkpoint like any other

The state is one file, replaced in one move: it is always that of the end of an epoch.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from limelight.errors import CheckpointError, ParameterError
from limelight.models.words.checkpoint import FILES, UNFINISHED

Settings = dict[str, Any]
"""Everything that the result depends on, by name, as JSON values."""


@dataclass(frozen=True)
class EpochRecord:
    """What was measured in one epoch. Training figures are means over the epoch, while the weights changed."""

    epoch: int
    train_loss: float
    train_accuracy: float
    validation_accuracy: float
    seconds: float


@dataclass(frozen=True)
class TrainingState:
    """Where a run stands at the end of an epoch."""

    steps: int
    history: tuple[EpochRecord, ...]
    tensors: dict[str, Tensor]

    @property
    def best(self) -> EpochRecord:
        """The epoch of the highest validation accuracy; the first of equals."""
        return max(self.history, key=lambda record: record.validation_accuracy)


class RunFolder:
    """The folder that a run writes to."""

    def __init__(self, out: str | os.PathLike[str]) -> None:
        self.out = Path(os.path.realpath(out))
        self.best = self.out / UNFINISHED / "best"
        self._state = self.out / UNFINISHED / "state.safetensors"

    def check_free(self) -> None:
        """A finished model, or anything else of the user's, is never written over."""
        if not self.out.exists():
            return
        if not self.out.is_dir():
            raise ParameterError(f"{self.out} is a file: give the name of a folder to write the model to")
        there = sorted({entry.name for entry in self.out.iterdir()} - {UNFINISHED})
        if set(FILES) <= set(there):
            raise ParameterError(
                f"{self.out} holds a finished model: choose another folder, or remove this one to train it again"
            )
        if there:
            raise ParameterError(f"{self.out} is not empty ({', '.join(there[:3])}): choose another folder")

    def store(self, state: TrainingState, settings: Settings) -> None:
        """Replace the stored state by this one, in one move."""
        about = {"steps": state.steps, "history": [asdict(record) for record in state.history], "settings": settings}
        self._state.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._state.with_suffix(".incoming")
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}
        save_file(tensors, fresh, metadata={"training": json.dumps(about)})
        fresh.replace(self._state)

    def restore(self, settings: Settings) -> TrainingState | None:
        """The stored state of a run with these settings, or None where there is none."""
        if not self._state.exists():
            return None
        try:
            with safe_open(self._state, framework="pt") as stored:
                about = json.loads(stored.metadata()["training"])
                tensors: dict[str, torch.Tensor] = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        except (SafetensorError, OSError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise CheckpointError(
                f"the state of the unfinished run in {self.out} cannot be read ({error}): "
                f"remove {self._state.parent} to begin again, or choose another folder"
            ) from error
        self._check_settings(about["settings"], settings)
        return TrainingState(about["steps"], tuple(EpochRecord(**record) for record in about["history"]), tensors)

    def _check_settings(self, stored: Settings, asked: Settings) -> None:
        names = [name for name in {**stored, **asked} if stored.get(name) != asked.get(name)]
        if names:
            differences = "; ".join(f"{name} was {stored.get(name)!r}, now {asked.get(name)!r}" for name in names)
            raise ParameterError(
                f"{self.out} holds an unfinished run with other settings ({differences}): give these to go on with it, "
                "choose another folder, or start over without resuming"
            )
