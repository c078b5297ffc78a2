"""Training a classifier on labelled texts, and going on with a run that was interrupted."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from limelight.core.arrays import Integers, whole_number
from limelight.core.device import find_device
from limelight.core.progress import SILENT, Progress
from limelight.errors import CheckpointError, DataError, NumericalError, ParameterError
from limelight.models.words import checkpoint
from limelight.models.words.checkpoint import build
from limelight.models.words.classifier import Vocabulary, WordClassifier
from limelight.render.numbers import percent
from limelight.storage.labelled_texts import LabelledTexts, read_labelled
from limelight.training.batches import TokenTexts, epoch_batches, split_rows
from limelight.training.card import command_again, data_name, model_card
from limelight.training.optimiser import Optimiser, check_training_memory
from limelight.training.presets import Preset, find_preset
from limelight.training.state import EpochRecord, Settings, TrainingFolder, TrainingState, best_epoch

Source = str | os.PathLike[str] | LabelledTexts

_EVALUATION_BATCH = 256
"""Texts in one forward when accuracy is measured."""


@dataclass(frozen=True)
class TrainingReport:
    """The result of a run. Accuracies are those of the model as stored at `path`."""

    path: Path
    preset: Preset
    seed: int
    device: str
    labels: tuple[str, ...]
    n_words: int
    n_train: int
    n_validation: int
    n_test: int
    best_epoch: int
    history: tuple[EpochRecord, ...]
    validation_accuracy: float
    test_accuracy: float | None


def train(
    data: Source,
    out: str | os.PathLike[str],
    *,
    preset: str | Preset = "default",
    test: Source | None = None,
    text_column: str = "text",
    label_column: str = "label",
    label_names: Mapping[str, str] | None = None,
    validation: int | float | None = None,
    seed: int = 0,
    epochs: int | None = None,
    device: str = "auto",
    resume: bool = True,
    progress: Progress | None = None,
) -> TrainingReport:
    """Train on a data file and write the best model, by validation accuracy, to the folder `out`.

    The same data, settings, seed and device give the same weights, also when the run was interrupted and started again.
    `validation` is a number of rows or a share of them; `resume=False` starts over where an unfinished run stands. One
    run at a time writes to a folder: another is refused, in this process or in others, for as long as the first lasts.
    `progress` hears of every step, and stops the run by raising an exception: called again, it goes on after the last
    whole epoch.
    """
    chosen = find_preset(preset, epochs)
    seed = whole_number("seed", seed, 0)
    where = find_device(device)
    folder, columns = TrainingFolder(out), (text_column, label_column, label_names)
    with folder.writing():
        texts = data if isinstance(data, LabelledTexts) else read_labelled(data, *columns)
        n_validation = _validation_size(len(texts), chosen.validation if validation is None else validation)
        held_out = test  # read now, so that a wrong file is known before the training, not after it
        if held_out is not None and not isinstance(held_out, LabelledTexts):
            held_out = read_labelled(held_out, *columns, known=texts.label_names)
        settings: Settings = {
            **asdict(chosen),
            "seed": seed,
            "validation rows": n_validation,
            "data": fingerprint(texts),
            "device": where.type,
        }
        stored = folder.restore(settings) if resume else None
        run = _Run(texts, chosen, n_validation, seed, where, SILENT if progress is None else progress)
        state = run.epochs(stored, folder, settings)
        command = command_again(data, test, *columns, validation, chosen, seed)
        return run.finish(state, folder, held_out, data_name(data), command)


def fingerprint(texts: LabelledTexts) -> str:
    """A short name for exactly these texts and labels, in this order."""
    digest = hashlib.sha256(repr(texts.label_names).encode())
    digest.update(texts.labels.tobytes())
    for text in texts.texts:
        digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()[:16]


def accuracy(model: WordClassifier, texts: LabelledTexts) -> float:
    """The share of texts whose label the model predicts."""
    right = 0
    for start in range(0, len(texts), _EVALUATION_BATCH):
        logits = model.predict_logits(texts.texts[start : start + _EVALUATION_BATCH])
        right += int((logits.argmax(axis=1) == texts.labels[start : start + _EVALUATION_BATCH]).sum())
    return right / len(texts)


def _validation_size(n: int, asked: int | float) -> int:
    """Rows kept for validation, of n: a number of them, or a share."""
    if isinstance(asked, float | np.floating):
        size = round(float(asked) * n) if np.isfinite(asked) else 0
    else:
        size = whole_number("validation", asked, 1, ", or a share between 0 and 1")
    if not 1 <= size < n:
        raise ParameterError(
            f"of {n} rows, {size} would be kept for validation (asked for: {asked}): "
            f"give a number from 1 to {n - 1}, or a share between 0 and 1"
        )
    return size


def _first_few(labels: Sequence[str], shown: int = 10) -> str:
    more = f" and {len(labels) - shown:,} more" if len(labels) > shown else ""
    return ", ".join(labels[:shown]) + more


class _Run:
    """The data in numbers, the model and its optimiser."""

    def __init__(
        self,
        texts: LabelledTexts,
        preset: Preset,
        n_validation: int,
        seed: int,
        device: torch.device,
        progress: Progress,
    ) -> None:
        self.preset, self.seed, self.device, self.progress = preset, seed, device, progress
        self.texts = texts
        self.train_rows, self.validation_rows = split_rows(len(texts), n_validation, seed)
        absent = set(range(len(texts.label_names))) - set(texts.labels[self.train_rows].tolist())
        if absent:
            name = texts.label_names[min(absent)]
            raise DataError(
                f"no text labelled {name!r} is left to train on: keep fewer rows for validation, or give more data"
            )
        progress.say(f"reading {len(texts):,} texts")
        tokens = TokenTexts.read(texts.texts, progress)
        counted = np.arange(len(texts)) if preset.whole_vocabulary else self.train_rows
        vocabulary = Vocabulary.from_counts(tokens.counts(counted), preset.max_vocabulary, preset.min_count)
        self.tokens = tokens.numbered(vocabulary)
        check_training_memory(preset, len(vocabulary), len(texts.label_names), device)
        self.model = build(preset.sizes, vocabulary, texts.label_names)
        self.model.initialise(seed, preset.embedding_scale, preset.heads_scale)
        self.model.to(device)
        self.steps_per_epoch = -(-len(self.train_rows) // preset.batch_size)
        self.optimiser = Optimiser(self.model, preset, self.steps_per_epoch * preset.epochs)
        progress.say(
            f"{len(self.train_rows):,} texts to train on, {n_validation:,} to validate on, {len(vocabulary):,} words, "
            f"labels {_first_few(texts.label_names)}"
        )

    def epochs(self, state: TrainingState | None, folder: TrainingFolder, settings: Settings) -> TrainingState:
        """All epochs that a stored state has not seen yet; the state is stored after each."""
        done = 0
        if state is not None:
            try:
                self.optimiser.restore(state.tensors, state.steps)
            except (KeyError, RuntimeError) as error:  # a tensor that is missing, or of another shape
                raise folder.unusable(error) from error
            done = len(state.history)
            self.progress.say(f"going on after epoch {done} of {self.preset.epochs}")
        try:
            # One task over all epochs: what a person wants to know is when the training ends.
            steps = self.steps_per_epoch
            self.progress.begin("training", steps * self.preset.epochs, steps * done)
            for epoch in range(done + 1, self.preset.epochs + 1):
                state = self._epoch(epoch, () if state is None else state.history, folder)
                folder.store(state, settings)
                self._say_epoch(state)
        finally:
            self.progress.end()
        assert state is not None
        return state

    def _epoch(self, epoch: int, history: tuple[EpochRecord, ...], folder: TrainingFolder) -> TrainingState:
        """One pass over the training rows, and what validation says of it; the model is stored if it is the best."""
        began = time.perf_counter()
        loss, right = self._pass(epoch)
        with self.optimiser.averaged():
            validation = self._accuracy(self.validation_rows)
            record = EpochRecord(epoch, loss, right, validation, time.perf_counter() - began)
            if best_epoch((*history, record)) is record:
                if not history:
                    folder.discard()
                card = f"# Unfinished\n\nThe best model after epoch {epoch} of {self.preset.epochs}.\n"
                checkpoint.save(self.model, folder.best, card, self.preset.stored_dtype)
        return TrainingState(self.optimiser.steps, (*history, record), self.optimiser.state())

    def _pass(self, epoch: int) -> tuple[float, float]:
        """Every training row once: mean loss and accuracy, as measured before each step."""
        loss_sum, right, seen = 0.0, 0, 0
        batches = epoch_batches(self.tokens, self.train_rows, self.preset, self.seed, epoch)
        for step, (rows, ids) in enumerate(batches, start=1):
            labels = torch.from_numpy(self.texts.labels[rows]).to(self.device)
            loss, hits = self.optimiser.step(torch.from_numpy(ids).to(self.device), labels)
            if not np.isfinite(loss):
                raise NumericalError(f"the loss became {loss} in epoch {epoch}, step {step}: lower the learning rate")
            loss_sum, right, seen = loss_sum + loss * len(rows), right + hits, seen + len(rows)
            figures = f"loss {loss_sum / seen:.3f}  accuracy {percent(right / seen)}"
            self.progress.advance(1, f"epoch {epoch}/{self.preset.epochs}  {figures}")
        return loss_sum / seen, right / seen

    def _say_epoch(self, state: TrainingState) -> None:
        last = state.history[-1]
        self.progress.say(
            f"epoch {last.epoch}/{self.preset.epochs}  loss {last.train_loss:.4f}  "
            f"accuracy {percent(last.train_accuracy)}  validation {percent(last.validation_accuracy)}"
            f"{'  best so far' if state.best is last else ''}  {last.seconds:.1f} s"
        )

    @torch.no_grad()
    def _accuracy(self, rows: Integers) -> float:
        right = 0
        for start in range(0, len(rows), _EVALUATION_BATCH):
            batch = rows[start : start + _EVALUATION_BATCH]
            ids = torch.from_numpy(self.tokens.pad(batch, self.preset.sizes.T_max)).to(self.device)
            right += int((self.model(ids).argmax(dim=1).cpu().numpy() == self.texts.labels[batch]).sum())
        return right / len(rows)

    def finish(
        self,
        state: TrainingState,
        folder: TrainingFolder,
        test: LabelledTexts | None,
        data: str | None,
        command: str,
    ) -> TrainingReport:
        """Measure the best model as it was stored, and put it in place with its card."""
        try:
            best = checkpoint.load(folder.best)
            self.model.load_state_dict(best.state_dict())
        except (CheckpointError, RuntimeError) as error:
            raise folder.unusable(error) from error
        if test is not None:
            self.progress.say(f"testing on {len(test):,} texts")
        report = TrainingReport(
            path=folder.path,
            preset=self.preset,
            seed=self.seed,
            device=self.device.type,
            labels=self.texts.label_names,
            n_words=len(self.model.vocabulary),
            n_train=len(self.train_rows),
            n_validation=len(self.validation_rows),
            n_test=0 if test is None else len(test),
            best_epoch=state.best.epoch,
            history=state.history,
            validation_accuracy=self._accuracy(self.validation_rows),
            test_accuracy=None if test is None else accuracy(self.model, test),
        )
        folder.finish(checkpoint.contents(best, model_card(report, data, command), self.preset.stored_dtype))
        return report
