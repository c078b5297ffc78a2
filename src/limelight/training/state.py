"""The state of an unfinished training run on disk, so that the same command goes on where it stopped.

    OUT/.training/lock                 who is writing: one run at a time
    OUT/.training/state.safetensors    weights and moments after the last whole epoch; history and settings as JSON
    OUT/.training/best/                the best model so far, a checkpoint like any other
    OUT/.training/final/               the files of the finished model, until each is moved to OUT

The state is one file, replaced in one move: it is always that of the end of an epoch. It goes when the model is in its
place, so that a run that is stopped at any moment goes on, and nothing of it is left in the end.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from limelight.core.arrays import whole_number
from limelight.errors import CheckpointError, ParameterError
from limelight.models.words.checkpoint import CONFIG, FILES, UNFINISHED
from limelight.storage.files import only_writer, reason, remove, remove_dead_parts, replace_file
from limelight.storage.run_folder import RunFolder

Settings = dict[str, Any]
"""Everything that the result depends on, by name, as JSON values."""


@dataclass(frozen=True)
class EpochRecord:
    """Measurements of one epoch. Training figures are means over the epoch, while the weights changed."""

    epoch: int
    train_loss: float
    train_accuracy: float
    validation_accuracy: float
    seconds: float


@dataclass(frozen=True)
class TrainingState:
    """A run at the end of an epoch."""

    steps: int
    history: tuple[EpochRecord, ...]
    tensors: dict[str, Tensor]

    @property
    def best(self) -> EpochRecord:
        return best_epoch(self.history)


def best_epoch(history: Sequence[EpochRecord]) -> EpochRecord:
    """The epoch of the highest validation accuracy; the first of equals."""
    return max(history, key=lambda record: record.validation_accuracy)


class TrainingFolder(RunFolder):
    """The folder that a training run writes to: its state while it is unfinished, in the end the model."""

    CANNOT_WRITE = CheckpointError

    def __init__(self, out: str | os.PathLike[str]) -> None:
        try:
            super().__init__(Path(os.path.realpath(out)))
        except (OSError, ValueError, TypeError) as error:
            raise ParameterError(f"{out!r:.80} is no folder to write a model to: {error}; give another name") from error
        self._own = self.path / UNFINISHED
        self.best = self._own / "best"
        self._final = self._own / "final"
        self.state = self._own / "state.safetensors"

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only run that writes here; whatever else is in the folder is found to be one's own before."""
        self._check_free(alone=False)
        try:
            with only_writer(self.path, self._own / "lock"):
                if self._is_finished():
                    self._remove_own()
                self._check_free(alone=True)  # another run may have ended in the meantime
                remove_dead_parts(self._own)
                yield
        finally:
            with contextlib.suppress(OSError):  # not empty: the run is unfinished, or another has begun
                self._own.rmdir()

    def _is_finished(self) -> bool:
        """Whether a run was stopped when its model was in its place, but not everything of its own gone."""
        return not self.state.exists() and all((self.path / name).exists() for name in FILES)

    def _check_free(self, alone: bool) -> None:
        """A finished model, or anything else of the user's, is never written over.

        Before one is `alone` here, the files of a model may be those that another run is moving to their place.
        """
        try:
            there = sorted(set(os.listdir(self.path)) - {UNFINISHED})
        except FileNotFoundError:
            return
        except NotADirectoryError as error:
            raise ParameterError(f"{self.path} is a file: give the name of a folder to write the model to") from error
        except OSError as error:
            raise ParameterError(f"cannot write to {self.path}: {reason(error)}; choose another folder") from error
        being_moved = self._final.is_dir() if alone else self._own.is_dir()
        if being_moved and set(there) <= set(FILES):
            return
        if set(FILES) <= set(there):
            raise ParameterError(
                f"{self.path} holds a finished model: choose another folder, or remove this one to train it again"
            )
        if there:
            raise ParameterError(f"{self.path} is not empty ({', '.join(there[:3])}): choose another folder")

    def store(self, state: TrainingState, settings: Settings) -> None:
        """Replace the stored state by this one, in one move."""
        about = {"steps": state.steps, "history": [asdict(record) for record in state.history], "settings": settings}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}
        with self.explained("the state of the run"):
            self._own.mkdir(parents=True, exist_ok=True)
            replace_file(self.state, tensor_bytes(tensors, metadata={"training": json.dumps(about)}))

    def discard(self) -> None:
        """Remove the state of an earlier run that is not gone on with: the best model is another's from now on."""
        with self.explained("the state of the run"):
            if self._final.is_dir():
                for name in (CONFIG, *FILES):
                    (self.path / name).unlink(missing_ok=True)
                remove(self._final)
            self.state.unlink(missing_ok=True)

    def finish(self, files: Mapping[str, bytes]) -> None:
        """Put the finished model in its place, and remove the state of the run."""
        with self.explained("the model"):
            self._final.mkdir(exist_ok=True)
            for name, content in files.items():
                replace_file(self._final / name, content)
            # config.json comes last: until then the folder is no checkpoint to anybody.
            for name in sorted(files, key=lambda name: name == CONFIG):
                (self._final / name).replace(self.path / name)
            self._remove_own()

    def _remove_own(self) -> None:
        """All but the lock. The state goes first: without it, a model in its place is a finished one."""
        for path in (self.state, self.best, self._final):
            remove(path)

    def restore(self, settings: Settings) -> TrainingState | None:
        """The stored state of a run with these settings, or None where there is none."""
        if not self.state.exists():
            return None
        try:
            with safe_open(self.state, framework="pt") as stored:
                about = _about(stored)
                tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            history = tuple(EpochRecord(**record) for record in about["history"])
            steps, earlier = whole_number("steps", about["steps"], 1), dict(about["settings"])
            if not history:
                raise ValueError("it holds no epoch")
        except _UNREADABLE as error:
            raise self.unusable(error) from error
        self._check_settings(earlier, settings)
        return TrainingState(steps, history, tensors)

    def unusable(self, error: Exception) -> CheckpointError:
        """The error for an unfinished run that is damaged."""
        return CheckpointError(
            f"the state of the unfinished run in {self.path} cannot be read ({reason(error)}): "
            f"remove {self._own} to begin again, or choose another folder"
        )

    def _check_settings(self, stored: Settings, asked: Settings) -> None:
        if names := [name for name in {**stored, **asked} if stored.get(name) != asked.get(name)]:
            differences = "; ".join(f"{name} was {stored.get(name)!r}, now {asked.get(name)!r}" for name in names)
            raise ParameterError(
                f"{self.path} holds an unfinished run with other settings ({differences}): give these to go on with "
                "it, choose another folder, or start over without resuming"
            )


_UNREADABLE = (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError)
"""Errors of reading a state that is missing, cut short or not ours."""


def _about(stored: Any) -> dict[str, Any]:
    """Steps, history and settings, from the head of an open state file."""
    about: dict[str, Any] = json.loads(stored.metadata()["training"])
    return about


def finished_epochs(out: str | os.PathLike[str]) -> int:
    """Epochs that an unfinished run in this folder can go on after; 0 where there is none, or none that can be read."""
    try:
        with safe_open(TrainingFolder(out).state, framework="pt") as stored:
            return len(_about(stored)["history"])
    except _UNREADABLE:
        return 0
