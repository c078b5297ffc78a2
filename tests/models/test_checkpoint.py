"""Checkpoints: what is saved is what is loaded, and a folder that cannot be used says why."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from limelight.errors import CheckpointError, ParameterError
from limelight.models.words import checkpoint
from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.checkpoint import load, save
from limelight.models.words.classifier import Vocabulary
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig

TEXTS = ["a fine film", "ünïcode 映 画 unheard", "."]


def small_model(seed: int = 0, words: tuple[str, ...] = ("film", "fine", "ünïcode", "映", ".")) -> AttentionClassifier:
    model = AttentionClassifier(AttentionConfig(6, 4, 3, 2, 2), Vocabulary(words), ("no", "yes & <b>", "vielleicht"))
    model.initialise(seed)
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(small_model(), tmp_path / "model", "# A card\n")


def test_round_trip(folder: Path) -> None:
    model, loaded = small_model(), load(folder)
    assert loaded.labels == model.labels
    assert loaded.config == model.config
    assert loaded.vocabulary.words == model.vocabulary.words
    for name, weight in model.named_parameters():
        assert torch.equal(dict(loaded.named_parameters())[name], weight)
    np.testing.assert_array_equal(loaded.predict_logits(TEXTS), model.predict_logits(TEXTS))
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(checkpoint.FILES)
    assert (folder / "README.md").read_text() == "# A card\n"


def test_kinds_are_kept_apart(tmp_path: Path) -> None:
    sizes = TransformerConfig(T_max=6, d_e=4, d_att=3, d_out=2, K=2, layers=2, d_mlp=5, residual=False, mlp="gelu")
    deep = TransformerClassifier(sizes, small_model().vocabulary, ("no", "yes"))
    deep.initialise(1)
    folder = save(deep, tmp_path / "deep", "", dtype="float16")
    assert json.loads((folder / "config.json").read_text())["kind"] == "transformer-classifier"
    loaded = load(folder)
    assert isinstance(loaded, TransformerClassifier)
    assert loaded.config == sizes
    assert torch.equal(loaded.layers[1].W_2, deep.layers[1].W_2.half().float())
    for changes, message in (
        ({"kind": "attention-classifier"}, "sizes must give K, T_max, d_att, d_e, d_out: got"),
        ({"sizes": {**asdict(sizes), "mlp": "tanh"}}, "unknown mlp 'tanh'"),
        ({"sizes": {**asdict(sizes), "layers": 1}}, "tensors of another model: layers.1"),
        ({"kind": ["forest"]}, "reads 'attention-classifier' and 'transformer-classifier'"),
    ):
        broken = shutil.copytree(folder, tmp_path / "broken")
        change_config(**changes)(broken)
        with pytest.raises(CheckpointError, match=message):
            load(broken)
        shutil.rmtree(broken)


def test_half_precision_is_float32_in_memory_and_stable(tmp_path: Path) -> None:
    model = small_model()
    first = save(model, tmp_path / "first", "", dtype="float16")
    loaded = load(first)
    assert load_file(first / "model.safetensors")["W_e"].dtype == torch.float16
    assert loaded.W_e.dtype == torch.float32
    assert torch.equal(loaded.W_e, model.W_e.half().float())
    second = save(loaded, tmp_path / "second", "", dtype="float16")
    for name in checkpoint.FILES:
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_replacing_a_checkpoint(folder: Path) -> None:
    save(small_model(seed=5), folder, "# New\n")
    assert torch.equal(load(folder).W_e, small_model(seed=5).W_e)
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


def test_failed_write_leaves_the_old_checkpoint(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(CheckpointError, match=r"could not write the checkpoint .*no space left.*free space"):
        save(small_model(seed=5), folder, "# New\n")
    assert torch.equal(load(folder).W_e, small_model().W_e)
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


def test_files_of_others_are_not_replaced(folder: Path) -> None:
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match=r"thesis\.tex.*choose another folder"):
        save(small_model(seed=5), folder, "")
    assert (folder / "thesis.tex").read_text() == "years of work"
    with pytest.raises(CheckpointError, match="is a file"):
        save(small_model(), folder / "thesis.tex", "")


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    broken = small_model()
    with torch.no_grad():
        broken.W_q[0, 0, 0] = 1e6
    save(broken, tmp_path / "single", "")
    with pytest.raises(CheckpointError, match="W_q is not finite in float16"):
        save(broken, tmp_path / "half", "", dtype="float16")
    with pytest.raises(CheckpointError, match="'two words'"):
        save(small_model(words=("two words",)), tmp_path / "words", "")
    with pytest.raises(ParameterError, match="'int8'"):
        save(small_model(), tmp_path / "dtype", "", dtype="int8")
    assert [entry.name for entry in tmp_path.iterdir()] == ["single"]


# ── folders that cannot be used ───────────────────────────────────────────────────────────────────────────────────────


def change_config(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changes}))

    return change


def change_weights(edit: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        edit(tensors)
        save_file(tensors, folder / "model.safetensors")

    return change


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


SIZES = {"T_max": 6, "d_e": 4, "d_att": 3, "d_out": 2, "K": 2}

DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "no config": (remove("config.json"), r"incomplete: config\.json missing, found README\.md"),
    "no words": (remove("vocabulary.txt"), r"vocabulary\.txt missing"),
    "no weights": (remove("model.safetensors"), r"model\.safetensors missing"),
    "bad JSON": (write("config.json", b"{"), "not valid JSON"),
    "not an object": (write("config.json", b"[1]"), "an object with the sizes"),
    "config bytes": (write("config.json", b"\xff{}"), "not UTF-8 text: byte 0xff at offset 0"),
    "future version": (change_config(format_version=2), "format_version is 2, but this limelight reads version 1"),
    "other kind": (change_config(kind="forest"), "kind is 'forest'"),
    "other dtype": (change_config(dtype="int8"), "dtype is 'int8'"),
    "labels": (change_config(labels="yes"), "labels is 'yes'"),
    "one label": (change_config(labels=["yes"]), "at least two labels"),
    "words": (change_config(words="many"), "words must be a whole number of at least 2 .*: got 'many'"),
    "words a truth": (change_config(words=True), "words must be a whole number"),
    "size missing": (change_config(sizes={"K": 2}), "sizes must give K, T_max, d_att, d_e, d_out"),
    "size zero": (change_config(sizes={**SIZES, "K": 0}), "K must be a whole number"),
    "sizes changed": (change_config(sizes={**SIZES, "d_e": 8}), r"W_e has shape \(7, 4\).*ask for \(7, 8\)"),
    "vocabulary bytes": (write("vocabulary.txt", b"film\n\xe9t\xe9\n"), "byte 0xe9 at offset 5"),
    "vocabulary short": (write("vocabulary.txt", b"film\nfine\n"), "has 2 words, but config.json announces 5"),
    "vocabulary repeats": (write("vocabulary.txt", b"film\nfilm\na\nb\nc\n"), "'film'"),
    "vocabulary blank": (write("vocabulary.txt", b"film\n\na\nb\nc\n"), "line 2: '' is not one word"),
    "weights cut": (write("model.safetensors", b"\x40\x00\x00"), "cannot be read"),
    "tensor missing": (change_weights(lambda t: t.pop("W_k")), "lacks W_k: found W_e, W_l, W_q, W_v"),
    "tensor extra": (change_weights(lambda t: t.update(W_z=torch.ones(1))), "tensors of another model: W_z"),
    "wrong shape": (change_weights(lambda t: t.update(W_l=torch.ones(2, 2, 2))), r"W_l has shape \(2, 2, 2\)"),
    "wrong dtype": (change_weights(lambda t: t.update(W_q=t["W_q"].half())), "W_q is stored as F16"),
    "not finite": (change_weights(lambda t: t["W_v"].view(-1)[:2].fill_(torch.nan)), "2 weights of W_v are not finite"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_folder(folder: Path, name: str) -> None:
    damage, message = DAMAGE[name]
    damage(folder)
    with pytest.raises(CheckpointError, match=message) as caught:
        load(folder)
    assert str(folder) in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="does not exist; give the folder"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="is a file"):
        load(tmp_path / "file")


def test_card_is_not_needed_to_load(folder: Path) -> None:
    (folder / "README.md").unlink()
    assert load(folder).labels[0] == "no"


# ── the embedded model ────────────────────────────────────────────────────────────────────────────────────────────────


def test_embedded_model() -> None:
    model = load()
    assert model.labels == ("negative", "positive")
    predicted = model.predict_proba(["a great film", "what a terrible waste of time"]).argmax(axis=1)
    assert predicted.tolist() == [1, 0]
    with checkpoint.embedded_folder() as path:
        assert sum(file.stat().st_size for file in path.iterdir()) <= 10_000_000
        assert "test accuracy" in (path / "README.md").read_text()


def test_missing_embedded_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint.resources, "files", lambda package: tmp_path)
    with pytest.raises(CheckpointError, match="no embedded model"):
        load()
