"""What an unfinished training run leaves on disk, so that the same command goes on where it stopped.

    OUT/.training/state.safetensors    weights and moments after the last whole epoch; history and settings as JSON
    OUT/.training/best/                the best model so far, a checkpoint like any other

The state is one file, replaced in one move: it is always that of the end of an epoch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from limelight.errors import CheckpointError, ParameterError
from limelight.files import replace_file
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
        return best_epoch(self.history)


def best_epoch(history: Sequence[EpochRecord]) -> EpochRecord:
    """The epoch of the highest validation accuracy; the first of equals."""
    return max(history, key=lambda record: record.validation_accuracy)


class TrainingFolder:
    """The folder that a training run writes to: its state while it is unfinished, in the end the model."""

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
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}
        try:
            self._state.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._state, tensor_bytes(tensors, metadata={"training": json.dumps(about)}))
        except OSError as error:
            raise CheckpointError(
                f"could not write the state of the run in {self.out}: {error}; check the path and the free space"
            ) from error

    def discard(self) -> None:
        """Remove the state of an earlier run that is not gone on with: the best model is another's from now on."""
        self._state.unlink(missing_ok=True)

    def restore(self, settings: Settings) -> TrainingState | None:
        """The stored state of a run with these settings, or None where there is none."""
        if not self._state.exists():
            return None
        try:
            with safe_open(self._state, framework="pt") as stored:
                about = _about(stored)
                tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            history = tuple(EpochRecord(**record) for record in about["history"])
            steps, earlier = about["steps"], about["settings"]
        except _UNREADABLE as error:
            raise CheckpointError(
                f"the state of the unfinished run in {self.out} cannot be read ({error}): "
                f"remove {self._state.parent} to begin again, or choose another folder"
            ) from error
        self._check_settings(earlier, settings)
        return TrainingState(steps, history, tensors)

    def finished_epochs(self) -> int:
        """Epochs that the stored state holds; 0 where there is none, or none that can be read."""
        try:
            with safe_open(self._state, framework="pt") as stored:
                return len(_about(stored)["history"])
        except _UNREADABLE:
            return 0

    def _check_settings(self, stored: Settings, asked: Settings) -> None:
        names = [name for name in {**stored, **asked} if stored.get(name) != asked.get(name)]
        if names:
            differences = "; ".join(f"{name} was {stored.get(name)!r}, now {asked.get(name)!r}" for name in names)
            raise ParameterError(
                f"{self.out} holds an unfinished run with other settings ({differences}): give these to go on with it, "
                "choose another folder, or start over without resuming"
            )


_UNREADABLE = (SafetensorError, OSError, KeyError, TypeError, json.JSONDecodeError)
"""What reading a state raises that is missing, cut short or not ours."""


def _about(stored: Any) -> dict[str, Any]:
    """Steps, history and settings, from the head of an open state file."""
    about: dict[str, Any] = json.loads(stored.metadata()["training"])
    return about


def finished_epochs(out: str | os.PathLike[str]) -> int:
    """Epochs that an unfinished run in this folder can go on after, as it stands on disk."""
    return TrainingFolder(out).finished_epochs()
