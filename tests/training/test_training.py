"""Training: equal to the naive twin, reproducible, resumable, and careful with what it finds."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limelight.core.device import find_device
from limelight.core.progress import SILENT, Silent
from limelight.errors import CheckpointError, DataError, LimelightError, ParameterError, UnknownNameError
from limelight.models.words import checkpoint
from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.checkpoint import build
from limelight.models.words.classifier import Vocabulary
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig
from limelight.storage.labelled_texts import LabelledTexts
from limelight.training import train as training
from limelight.training.batches import TokenTexts, epoch_batches, split_rows
from limelight.training.optimiser import Optimiser, rate_factor
from limelight.training.presets import PRESETS, Preset, find_preset
from limelight.training.state import finished_epochs
from limelight.training.train import accuracy, train
from reference.training import train_naively

EXACT = 1e-12
"""Float64, a handful of steps: the two ways of computing differ by the order of additions alone."""

SMALL = Preset(
    "small",
    sizes=AttentionConfig(T_max=12, d_e=8, d_att=4, d_out=4, K=2),
    epochs=4,
    batch_size=8,
    learning_rate=0.02,
    embedding_scale=0.1,
    word_dropout=0.1,
    crop_probability=0.3,
    crop_min=3,
    averaging=0.9,
    warmup=0.1,
    schedule="cosine",
)

SMALL_DEEP = replace(
    SMALL,
    name="small-deep",
    sizes=TransformerConfig(T_max=12, d_e=8, d_att=4, d_out=4, K=2, layers=2, d_mlp=8, mlp="gelu"),
    epochs=10,
    word_dropout=0.0,
    crop_probability=0.0,
    clip_norm=1.0,
    embedding_scale=0.5,
    heads_scale=0.3,
)

GOOD, BAD = ("great", "lovely", "fine", "superb"), ("awful", "dull", "poor", "boring")
FILLER = ("the", "film", "was", "a", "story", "and", "actors", "scene", "with", "music")


def made_up(n: int = 80, seed: int = 1) -> LabelledTexts:
    """Sentences with one telling word each."""
    rng = random.Random(seed)
    labels = [i % 2 for i in range(n)]
    texts = []
    for label in labels:
        words = rng.choices(FILLER, k=rng.randint(3, 9))
        words.insert(rng.randrange(len(words)), rng.choice(GOOD if label else BAD))
        texts.append(" ".join(words))
    return LabelledTexts(tuple(texts), np.array(labels), ("negative", "positive"))


class Cancelled(Exception):
    """What somebody who watches a run raises to end it."""


class Recorder(Silent):
    """Remembers what it was told, and can end a run: at a step of the training, or at one of the other calls."""

    def __init__(
        self, stop_at: int | str | None = None, error: type[BaseException] = KeyboardInterrupt, stop_line: str = ""
    ) -> None:
        self.stop_at, self.error, self.stop_line = stop_at, error, stop_line
        self.tasks: list[tuple[str, int, int]] = []
        self.open = False
        self.done = 0
        self.notes: list[str] = []
        self.lines: list[str] = []

    @property
    def training(self) -> tuple[int, int]:
        """Steps in all, and those done before."""
        name, *steps = self.tasks[-1]
        assert name == "training"
        return steps[0], steps[1]

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        assert not self.open
        self.tasks.append((task, steps, done))
        self.open, self.done = True, done
        self._stop(f"begin {task}")

    def advance(self, steps: int = 1, note: str = "") -> None:
        assert self.open
        self.done += steps
        if self.tasks[-1][0] == "training":
            self.notes.append(note)
            self._stop(self.done)

    def end(self) -> None:
        self.open = False
        self._stop(f"end {self.tasks[-1][0]}")

    def say(self, line: str) -> None:
        self.lines.append(line)
        if self.stop_line and self.stop_line in line:
            raise self.error

    def _stop(self, where: int | str) -> None:
        if where == self.stop_at:
            self.stop_at = None
            raise self.error


def weights_of(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


# ── what a step computes ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"label_smoothing": 0.1, "clip_norm": 0.05},
        {"embedding_learning_rate": 0.1, "embedding_weight_decay": 0.5},
        {"embedding_weight_decay": 0.0},
        {"sizes": SMALL_DEEP.sizes, "clip_norm": 0.05, "embedding_learning_rate": 0.1},
    ],
)
def test_steps_equal_the_naive_twin(changes: dict[str, Any]) -> None:
    preset = replace(SMALL, warmup=0.0, schedule="constant", averaging=0.0, weight_decay=0.1, **changes)
    vocabulary = Vocabulary(f"w{i}" for i in range(20))
    ours, naive = (build(preset.sizes, vocabulary, ("a", "b", "c")).double() for _ in range(2))
    for model in (ours, naive):
        model.initialise(3, heads=0.5)
    rng = np.random.default_rng(0)
    batches = []
    for step in range(6):
        # The words of the even steps do not occur in the odd ones: momentum and weight decay must move them there too.
        ids = torch.from_numpy(rng.integers(2, 10, (5, 12)) + 10 * (step % 2))
        ids[:, 0] = vocabulary.cls_id
        ids[:, 9:] = vocabulary.unknown_id
        batches.append((ids, torch.from_numpy(rng.integers(0, 3, 5))))
    optimiser = Optimiser(ours, preset, total_steps=len(batches))
    before = {name: weight.detach().clone() for name, weight in ours.named_parameters()}
    losses = [optimiser.step(*batch)[0] for batch in batches]
    np.testing.assert_allclose(losses, train_naively(naive, preset, batches), rtol=EXACT)
    for name, weight in naive.named_parameters():
        torch.testing.assert_close(dict(ours.named_parameters())[name], weight, rtol=EXACT, atol=EXACT)
        assert not torch.equal(weight, before[name])


def test_average_follows_the_weights() -> None:
    preset = replace(SMALL, averaging=0.5, warmup=0.0, schedule="constant")
    model = AttentionClassifier(preset.sizes, Vocabulary(["a", "b"]), ("x", "y"))
    model.initialise(0)
    optimiser = Optimiser(model, preset, total_steps=3)
    ids, labels = torch.tensor([[0, 2, 3], [0, 3, 1]]), torch.tensor([0, 1])
    expected = model.W_e.detach().clone()
    for step in range(1, 4):
        optimiser.step(ids, labels)
        decay = min(0.5, step / (step + 10))
        expected = decay * expected + (1 - decay) * model.W_e.detach()
    last = model.W_e.detach().clone()
    with optimiser.averaged():
        torch.testing.assert_close(model.W_e.detach(), expected)
    assert torch.equal(model.W_e, last)
    assert not torch.allclose(expected, last)


@pytest.mark.parametrize(("schedule", "middle"), [("constant", 1.0), ("linear", 0.5), ("cosine", 0.5)])
def test_rate_rises_then_falls(schedule: str, middle: float) -> None:
    preset = replace(SMALL, warmup=0.2, schedule=schedule)
    factors = [rate_factor(preset, step, 100) for step in range(100)]
    assert factors[:20] == pytest.approx([(step + 1) / 20 for step in range(20)])
    assert factors[60] == pytest.approx(middle)
    assert all(later <= earlier for earlier, later in itertools.pairwise(factors[19:]))
    assert min(factors) > 0


# ── batches ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def tokens_of(*texts: str) -> TokenTexts:
    return TokenTexts.read(texts, SILENT)


def test_batches_read_texts_as_the_model_does() -> None:
    texts = ("A b c.", "d", "a b c d e f g h i j k l m n")
    tokens = tokens_of(*texts)
    vocabulary = Vocabulary.from_counts(tokens.counts(np.array([0, 2])), max_size=8)
    model = AttentionClassifier(SMALL.sizes, vocabulary, ("x", "y"))
    rows = np.array([2, 0, 1])
    ids = tokens.numbered(vocabulary).pad(rows, SMALL.sizes.T_max)
    assert torch.equal(torch.from_numpy(ids), model.encode([texts[i] for i in rows]))
    assert tokens.counts(np.array([0, 1])) == {"a": 1, "b": 1, "c": 1, ".": 1, "d": 1}


def test_an_epoch_shows_every_text_once_and_differs_from_the_next() -> None:
    tokens = tokens_of(*(f"t{i}" for i in range(20)))
    rows = np.arange(3, 20)
    first, again, second = (
        [batch.tolist() for batch, _ in epoch_batches(tokens, rows, SMALL, seed=0, epoch=epoch)] for epoch in (1, 1, 2)
    )
    assert sorted(itertools.chain(*first)) == rows.tolist()
    assert [len(batch) for batch in first] == [8, 8, 1]
    assert first == again != second


def test_word_dropout_and_crops() -> None:
    texts = tokens_of(*(" ".join(f"w{i}x{j}" for j in range(40)) for i in range(200)))
    tokens = texts.numbered(Vocabulary(texts.forms))
    rows = np.arange(200)
    whole = replace(
        SMALL, sizes=replace(SMALL.sizes, T_max=30), batch_size=200, crop_probability=0.0, word_dropout=0.25
    )
    (_, ids), *_ = epoch_batches(tokens, rows, whole, seed=0, epoch=1)
    assert (ids[:, 0] == Vocabulary.cls_id).all()
    assert np.mean(ids[:, 1:] == Vocabulary.unknown_id) == pytest.approx(0.25, abs=0.03)
    cropped = replace(whole, crop_probability=1.0, word_dropout=0.0)
    (batch, ids), *_ = epoch_batches(tokens, rows, cropped, seed=0, epoch=1)
    lengths = (ids[:, 1:] != Vocabulary.unknown_id).sum(axis=1)
    assert lengths.min() == 3
    assert lengths.max() >= 25
    for row, length, text in zip(batch, lengths, ids, strict=True):
        first = text[1] - 2 - 40 * row
        assert 0 <= first <= 40 - length
        np.testing.assert_array_equal(text[1 : 1 + length], 2 + 40 * row + first + np.arange(length))


def test_split_is_a_partition_that_follows_the_seed() -> None:
    training, validation = split_rows(50, 10, seed=0)
    assert sorted([*training, *validation]) == list(range(50))
    assert len(validation) == 10
    assert validation.tolist() != split_rows(50, 10, seed=1)[1].tolist()


# ── whole runs ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_training_learns_and_reports(tmp_path: Path) -> None:
    recorder = Recorder()
    test = made_up(40, seed=9)
    report = train(made_up(), tmp_path / "model", preset=SMALL, epochs=12, test=test, progress=recorder)
    assert report.test_accuracy is not None
    assert report.test_accuracy > 0.9
    assert (report.n_train, report.n_validation, report.n_test) == (64, 16, 40)
    assert recorder.tasks == [("reading", 80, 0), ("training", 96, 0)]
    assert (recorder.done, recorder.open) == (96, False)
    assert len(recorder.notes) == 96
    assert re.fullmatch(r"epoch 12/12  loss \d\.\d{3}  accuracy \d+\.\d %", recorder.notes[-1])
    epochs = [line for line in recorder.lines if line.startswith("epoch ")]
    assert len(epochs) == 12
    for number, (line, record) in enumerate(zip(epochs, report.history, strict=True), start=1):
        start, end = f"epoch {number}/12  loss {record.train_loss:.4f}  accuracy ", f"  {record.seconds:.1f} s"
        assert line.startswith(start)
        assert line.endswith(end)
        assert f"  validation {record.validation_accuracy:.1%}".replace("%", " %") in line
    assert recorder.lines[0] == "reading 80 texts"
    assert "64 texts to train on, 16 to validate on" in recorder.lines[1]
    assert recorder.lines[-1] == "testing on 40 texts"
    model = checkpoint.load(report.path)
    assert accuracy(model, test) == report.test_accuracy
    assert model.labels == ("negative", "positive")
    assert sorted(entry.name for entry in report.path.iterdir()) == sorted(checkpoint.FILES)
    card = (report.path / "README.md").read_text()
    assert f"{report.test_accuracy:.2%} of 40 texts" in card
    assert "| seed | 0 |" in card


def test_the_best_epoch_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With scripted accuracies of which the second is the highest: what is kept are the weights after two epochs."""
    steady = replace(SMALL, schedule="constant", warmup=0.0)  # the first two epochs do not depend on how many follow
    reports = {}
    for epochs in (2, 4):
        scripted = iter([*[0.5, 0.9, 0.7, 0.9][:epochs], 0.9])  # the last is measured on what was stored
        monkeypatch.setattr(training._Run, "_accuracy", lambda run, rows, scripted=scripted: next(scripted))
        recorder = Recorder()
        reports[epochs] = train(made_up(), tmp_path / str(epochs), preset=steady, epochs=epochs, progress=recorder)
        best = ["best so far" in line for line in recorder.lines if line.startswith("epoch ")]
        assert best == [True, True, False, False][:epochs]
    assert reports[4].best_epoch == 2
    assert weights_of(reports[4].path) == weights_of(reports[2].path)


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(made_up(), tmp_path / name, preset=SMALL, epochs=2, seed=seed)
    assert weights_of(tmp_path / "a") == weights_of(tmp_path / "b") != weights_of(tmp_path / "c")


@pytest.mark.parametrize(
    ("stopped", "finished"),
    [
        (Recorder("begin reading", Cancelled), 0),
        (Recorder("begin training", Cancelled), 0),
        (Recorder(3), 0),
        (Recorder(12), 1),
        (Recorder(12, Cancelled), 1),
        (Recorder(16, Cancelled), 1),
        (Recorder(32), 3),
        (Recorder(error=Cancelled, stop_line="epoch 2/4"), 2),
        (Recorder("end training", Cancelled), 4),
    ],
)
def test_resumed_run_equals_an_uninterrupted_one(tmp_path: Path, stopped: Recorder, finished: int) -> None:
    whole = train(made_up(), tmp_path / "whole", preset=SMALL)
    assert finished_epochs(tmp_path / "resumed") == 0
    with pytest.raises(stopped.error):
        train(made_up(), tmp_path / "resumed", preset=SMALL, progress=stopped)
    assert not stopped.open
    assert finished_epochs(tmp_path / "resumed") == finished
    recorder = Recorder()
    resumed = train(made_up(), tmp_path / "resumed", preset=SMALL, progress=recorder)
    assert recorder.training == (32, 8 * finished)
    assert (f"going on after epoch {finished} of 4" in recorder.lines) == (finished > 0)
    assert weights_of(resumed.path) == weights_of(whole.path)
    assert resumed.best_epoch == whole.best_epoch
    assert not (resumed.path / ".training").exists()


def test_unfinished_run_is_usable_and_other_settings_leave_it_alone(tmp_path: Path) -> None:
    out = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        train(made_up(), out, preset=SMALL, progress=Recorder(12))
    assert checkpoint.load(out / ".training" / "best").labels == ("negative", "positive")
    kept = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for named, call in {
        "seed was 0, now 5": {"seed": 5},
        "learning_rate was 0.02, now 0.5": {"preset": replace(SMALL, learning_rate=0.5)},
        "validation rows was 16, now 20": {"validation": 20},
        "epochs was 4, now 9": {"epochs": 9},
    }.items():
        with pytest.raises(ParameterError, match=f"{named}.*choose another folder"):
            train(made_up(), out, **{"preset": SMALL, **call})
    with pytest.raises(ParameterError, match=r"data was '[0-9a-f]+', now '[0-9a-f]+'"):
        train(made_up(seed=2), out, preset=SMALL)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == kept


def test_starting_over_ignores_the_unfinished_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(made_up(), tmp_path / "model", preset=SMALL, seed=7, progress=Recorder(17))
    recorder = Recorder()
    report = train(made_up(), tmp_path / "model", preset=SMALL, resume=False, progress=recorder)
    assert recorder.training == (32, 0)
    assert weights_of(report.path) == weights_of(train(made_up(), tmp_path / "fresh", preset=SMALL).path)


def test_starting_over_keeps_the_unfinished_run_until_its_best_model_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state and the best model beside it are always of the same run."""
    out = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        train(made_up(), out, preset=SMALL, seed=7, progress=Recorder(17))
    with pytest.raises(KeyboardInterrupt):
        train(made_up(), out, preset=SMALL, resume=False, progress=Recorder(3))
    assert finished_epochs(out) == 2

    def full_disk(*args: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("limelight.training.state.replace_file", full_disk)
    with pytest.raises(CheckpointError, match=r"could not write the state of the run in .*no space left.*free space"):
        train(made_up(), out, preset=SMALL, resume=False)
    assert finished_epochs(out) == 0


def test_damaged_state_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(made_up(), tmp_path / "model", preset=SMALL, progress=Recorder(9))
    state = tmp_path / "model" / ".training" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:100])
    assert finished_epochs(tmp_path / "model") == 0
    with pytest.raises(CheckpointError, match=r"cannot be read .*remove .*\.training"):
        train(made_up(), tmp_path / "model", preset=SMALL)


def test_finished_model_and_other_folders_are_not_overwritten(tmp_path: Path) -> None:
    report = train(made_up(), tmp_path / "model", preset=SMALL, epochs=1)
    before = weights_of(report.path)
    with pytest.raises(ParameterError, match="finished model: choose another folder"):
        train(made_up(), report.path, preset=SMALL, epochs=1, seed=3)
    assert weights_of(report.path) == before
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match=r"not empty \(model, notes.txt\)"):
        train(made_up(), tmp_path, preset=SMALL)
    with pytest.raises(ParameterError, match="is a file"):
        train(made_up(), tmp_path / "notes.txt", preset=SMALL)


def test_from_files(tmp_path: Path) -> None:
    data, test = made_up(), made_up(20, seed=4)
    for name, rows in (("train.jsonl", data), ("test.jsonl", test)):
        lines = [json.dumps({"body": t, "y": int(y)}) for t, y in zip(rows.texts, rows.labels, strict=True)]
        (tmp_path / name).write_text("\n".join(lines))
    report = train(
        tmp_path / "train.jsonl",
        tmp_path / "model",
        preset=SMALL,
        epochs=1,
        test=tmp_path / "test.jsonl",
        text_column="body",
        label_column="y",
        label_names={"0": "negative", "1": "positive"},
        validation=0.25,
    )
    assert report.labels == ("negative", "positive")
    assert report.n_validation == 20
    card = (report.path / "README.md").read_text()
    assert "train.jsonl" in card
    assert str(tmp_path) not in card


def test_stored_precision_and_vocabulary_follow_the_preset(tmp_path: Path) -> None:
    preset = replace(SMALL, stored_dtype="float16", max_vocabulary=9, epochs=1)
    report = train(made_up(), tmp_path / "model", preset=preset)
    assert json.loads((report.path / "config.json").read_text())["dtype"] == "float16"
    assert report.n_words == 9


def test_deep_model_is_trained_resumed_and_described(tmp_path: Path) -> None:
    data, test = made_up(200), made_up(40, seed=9)
    with pytest.raises(KeyboardInterrupt):
        train(data, tmp_path / "deep", preset=SMALL_DEEP, progress=Recorder(42))
    resumed, whole = (train(data, tmp_path / name, preset=SMALL_DEEP, test=test) for name in ("deep", "whole"))
    assert weights_of(resumed.path) == weights_of(whole.path)
    assert whole.test_accuracy is not None
    assert whole.test_accuracy > 0.9
    model = checkpoint.load(whole.path)
    assert isinstance(model, TransformerClassifier)
    assert accuracy(model, test) == whole.test_accuracy
    card = (whole.path / "README.md").read_text()
    assert "2 layers of 2 attention heads over words, with residual connections, layer norm and a GELU MLP" in card


def test_unfinished_run_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(made_up(), tmp_path / "model", preset=SMALL, progress=Recorder(9))
    with pytest.raises(ParameterError, match=r"sizes was {.*}, now {.*'layers': 2"):
        train(made_up(), tmp_path / "model", preset=replace(SMALL, sizes=SMALL_DEEP.sizes))


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"preset": "papre"}, UnknownNameError, "did you mean 'paper'"),
        ({"seed": -1}, ParameterError, "seed must be"),
        ({"seed": True}, ParameterError, "seed must be"),
        ({"validation": 80}, ParameterError, "from 1 to 79"),
        ({"validation": 0.0}, ParameterError, "0 would be kept"),
        ({"validation": math.nan}, ParameterError, r"0 would be kept for validation \(asked for: nan\)"),
        ({"validation": 0}, ParameterError, "validation must be a whole number of at least 1, or a share"),
        ({"validation": True}, ParameterError, "validation must be a whole number"),
        ({"epochs": 0}, ParameterError, "epochs must be"),
        ({"device": "abacus"}, ParameterError, "no device 'abacus'"),
        ({"test": "nowhere.csv"}, DataError, "nowhere.csv"),
    ],
)
def test_bad_calls(tmp_path: Path, call: dict[str, object], error: type[LimelightError], message: str) -> None:
    with pytest.raises(error, match=message):
        train(made_up(), tmp_path / "model", **{"preset": SMALL, **call})
    assert not (tmp_path / "model").exists()


def test_texts_without_words_and_lost_classes_are_refused(tmp_path: Path) -> None:
    data = made_up(10)
    wordless = LabelledTexts((*data.texts, "<br />", '"'), np.array([*data.labels, 0, 1]), data.label_names)
    with pytest.raises(DataError, match=r"2 texts have no words \(rows? 11, 12\)"):
        train(wordless, tmp_path / "model", preset=SMALL)
    rare = LabelledTexts(("a", "b", "c"), np.array([0, 0, 1]), ("x", "y"))
    seed = next(s for s in range(99) if 2 in split_rows(3, 1, s)[1])
    with pytest.raises(DataError, match="no text labelled 'y' is left"):
        train(rare, tmp_path / "model", preset=SMALL, validation=1, seed=seed)


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 0},
        {"word_dropout": 1.0},
        {"crop_probability": 2.0},
        {"learning_rate": 0.0},
        {"schedule": "zigzag"},
        {"stored_dtype": "int8"},
        {"max_vocabulary": 2},
        {"max_vocabulary": 9.5},
        {"batch_size": True},
        {"crop_min": 0},
        {"averaging": -0.1},
    ],
)
def test_preset_refuses_values_out_of_range(changes: dict[str, object]) -> None:
    with pytest.raises(LimelightError, match=next(iter(changes)).replace("learning_rate", "learning rates")):
        replace(SMALL, **changes)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    preset = replace(SMALL, batch_size=np.int64(8), max_vocabulary=np.int32(9))
    call = {"epochs": np.int64(2), "seed": np.int16(3), "validation": np.int64(16)}
    numpy = train(made_up(), tmp_path / "numpy", preset=preset, **call)
    plain = train(made_up(), tmp_path / "plain", preset=replace(SMALL, max_vocabulary=9), epochs=2, seed=3)
    share = train(made_up(), tmp_path / "share", preset=preset, **{**call, "validation": np.float32(0.2)})
    assert weights_of(numpy.path) == weights_of(plain.path) == weights_of(share.path)


def test_paper_preset_is_the_papers() -> None:
    paper = PRESETS["paper"]
    assert paper.sizes == AttentionConfig(T_max=256, d_e=128, d_att=64, d_out=64, K=6)
    assert (paper.learning_rate, paper.batch_size, paper.epochs) == (1e-4, 16, 10)
    assert round(25_000 * paper.validation) == 5_000
    assert paper.max_vocabulary is None
    assert find_preset("paper", epochs=3) == replace(paper, epochs=3)


def test_deep_preset_is_that_of_appendix_e() -> None:
    sizes = find_preset("deep").sizes
    assert isinstance(sizes, TransformerConfig)
    assert (sizes.layers, sizes.K) == (6, 6)


def test_auto_device_is_one_that_exists() -> None:
    assert find_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert math.isfinite(torch.zeros(1, device=find_device("cpu")).item())


@pytest.mark.parametrize("whole", [True, False])
def test_the_vocabulary_is_that_of_all_rows_or_of_those_to_train_on(whole: bool, tmp_path: Path) -> None:
    texts = LabelledTexts(tuple(f"word{i} film" for i in range(20)), np.arange(20) % 2, ("no", "yes"))
    preset = replace(PRESETS["paper"], sizes=AttentionConfig(T_max=4, d_e=2, d_att=1, d_out=1, K=1), epochs=1)
    report = train(texts, tmp_path / "model", preset=replace(preset, whole_vocabulary=whole), validation=5)
    assert report.n_words == 2 + 1 + (20 if whole else 15)
