"""Damaged and hostile folders of transformers: one clear error each, soon and in silence; nothing of them is run."""

from __future__ import annotations

import json
import os
import pickle
import random
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub.utils import logging as hub_logging
from safetensors.torch import load_file, save_file

import limelight
from limelight.errors import CapabilityError, CheckpointError, LimelightError
from reference.small_transformers import small_transformer

SECONDS = 1.5
"""Of the processor, for an answer about a folder that cannot be read."""
MEMORY = 200 * 2**20
"""Bytes by which the process may grow meanwhile: the model itself has 31 kB."""

Damage = Callable[[Path], object]


def state_of_process() -> tuple[Any, ...]:
    """What reading a folder could leave changed."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled
    from transformers.utils import logging

    return (
        torch.get_rng_state().tolist(),
        str(np.random.get_state()),  # noqa: NPY002
        random.getstate(),
        torch.get_default_dtype(),
        (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_device()),
        (logging.get_verbosity(), logging.is_progress_bar_enabled()),
        (hub_logging.get_verbosity(), are_progress_bars_disabled()),
        list(warnings.filters),
        dict(os.environ),
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folders") / "whole"
    model, tokenizer = small_transformer("bert")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    limelight.load(folder)  # what a first load imports is no part of the answers below
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


@pytest.fixture
def hub_level() -> Iterator[None]:
    """A level of the hub's log other than what is set while reading."""
    former = hub_logging.get_verbosity()
    hub_logging.set_verbosity_info()
    yield
    hub_logging.set_verbosity(former)


def configured(**changes: Any) -> Damage:
    """Other values in config.json; ... takes one out."""

    def damage(folder: Path) -> None:
        path = folder / "config.json"
        config = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({name: value for name, value in config.items() if value is not ...}))

    return damage


def written(name: str, content: str | bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def in_config(value: str) -> Damage:
    """A value of config.json that json.dumps would not write."""

    def damage(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(path.read_text().replace('"hidden_size": 16', f'"hidden_size": {value}'))
        assert value in path.read_text()

    return damage


def removed(*names: str) -> Damage:
    return lambda folder: [(folder / name).unlink() for name in names]


def weighted(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> Damage:
    def damage(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        save_file(change(weights), folder / "model.safetensors", {"format": "pt"})

    return damage


def indexed(name: Any, *, move_to: str | None = None) -> Damage:
    """An index that names this file for every weight; the weights themselves go elsewhere."""

    def damage(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        shown = name.format(folder=folder) if isinstance(name, str) else name
        index = {"metadata": {}, "weight_map": dict.fromkeys(weights, shown)}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        if move_to is None:
            (folder / "model.safetensors").unlink()
            return
        target = folder / move_to
        target.parent.mkdir(exist_ok=True)
        (folder / "model.safetensors").rename(target)

    return damage


def linked(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder.parent / "outside.safetensors")
    (folder / "model.safetensors").symlink_to(folder.parent / "outside.safetensors")


def indexed_link(folder: Path) -> None:
    indexed("part.safetensors", move_to="../outside.safetensors")(folder)
    (folder / "part.safetensors").symlink_to(folder.parent / "outside.safetensors")


def as_folder(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return damage


def as_pipe(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return damage


def cut(name: str, part: float) -> Damage:
    def damage(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(part * len(content))])

    return damage


def tokenised(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return damage


def pickled_only(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def without(*parts: str) -> Damage:
    """Weights whose name holds one of these are not there."""
    return weighted(lambda weights: {n: w for n, w in weights.items() if not any(part in n for part in parts)})


HEADER_BOMB = (2**62).to_bytes(8, "little") + b"{}"
SHAPE_BOMB_JSON = b'{"classifier.weight":{"dtype":"F32","shape":[1000000000,1000000000],"data_offsets":[0,8]}}'
SHAPE_BOMB = len(SHAPE_BOMB_JSON).to_bytes(8, "little") + SHAPE_BOMB_JSON + bytes(8)
THREE = {"0": "a", "1": "b", "2": "c"}

FOLDERS: dict[str, tuple[Damage, str]] = {
    # the configuration as a file
    "config empty": (written("config.json", ""), "config.json is not valid JSON"),
    "config cut": (cut("config.json", 0.5), "config.json is not valid JSON"),
    "config of no text": (written("config.json", b"\xff\xfe\x00\xd8"), "config.json is not valid JSON"),
    "config of a list": (written("config.json", "[]"), "config.json does not say what kind of model"),
    "config missing": (removed("config.json"), "config.json cannot be read"),
    "config a folder": (as_folder("config.json"), "config.json is not a regular file"),
    "config a pipe": (as_pipe("config.json"), "config.json is not a regular file"),
    "brackets": (written("config.json", "[" * 200_000), "config.json is nested too deeply"),
    "objects": (written("config.json", '{"a":' * 200_000), "config.json is nested too deeply"),
    "5,000 digits": (in_config("9" * 5000), "a number of 5000 digits stands in it, 9999"),
    "NaN": (in_config("NaN"), "NaN stands in it"),
    "infinity": (in_config("1e999"), "1e999 stands in it"),
    # the kind of model
    "no type": (configured(model_type=...), "config.json does not say what kind of model"),
    "type null": (configured(model_type=None), "config.json does not say what kind of model"),
    "type a list": (configured(model_type=["bert"]), "config.json does not say what kind of model"),
    "type unknown": (configured(model_type="bertt"), "model type `bertt`"),
    "type of images": (configured(model_type="vit"), "no text classifier of model_type 'vit'"),
    # sizes
    "a billion labels": (configured(num_labels=10**9, id2label=...), "labels = 1,000,000,000, but the largest weight"),
    "2**63 words": (configured(vocab_size=2**63), "vocab_size = 9,223,372,036,854,775,808, but the weights are"),
    "2**31 wide": (configured(hidden_size=2**31), "hidden_size = 2,147,483,648, but the weights are"),
    "wide": (configured(hidden_size=2**14), "model of .* numbers, but the weights beside it"),
    "a million layers": (
        configured(num_hidden_layers=10**6),
        "num_hidden_layers = 1,000,000, but there are 41 weights",
    ),
    "90 layers": (configured(num_hidden_layers=90), "many more parts than the 41 weights"),
    "three layers": (configured(num_hidden_layers=3), "are incomplete: bert.encoder.layer.2"),
    "positions": (configured(max_position_embeddings=10**9), "max_position_embeddings = 1,000,000,000, but"),
    "more positions": (configured(max_position_embeddings=65), "65, but the table of positions has 64 rows"),
    "fewer words": (configured(vocab_size=10), r"word_embeddings.weight is stored with shape \(150, 16\)"),
    "other width": (configured(hidden_size=18), "is stored with shape"),
    "width a name": (configured(hidden_size="big"), "hidden_size"),
    "width null": (configured(hidden_size=None), "hidden_size"),
    "width a fraction": (configured(hidden_size=16.5), "hidden_size"),
    "width negative": (configured(hidden_size=-16), "model"),
    "no heads": (configured(num_attention_heads=0), "model"),
    "three heads": (configured(num_attention_heads=3), "heads"),
    "no such activation": (configured(hidden_act="nonsense"), "nonsense"),
    # labels
    "labels negative": (configured(num_labels=-1, id2label=...), "num_labels is -1, but"),
    "labels a name": (configured(num_labels="three", id2label=...), "num_labels is 'three', but"),
    "labels a list": (configured(id2label=["a", "b", "c"]), r"id2label is \['a', 'b', 'c'\], but"),
    "labels by name": (configured(id2label={"a": 0, "b": 1, "c": 2}), "keys must be the numbers 0 to 2"),
    "labels with a gap": (configured(id2label={"0": "a", "1": "b", "3": "c"}), "keys must be the numbers 0 to 2"),
    "labels null": (configured(id2label=THREE | {"1": None}), "id2label is"),
    "labels of two counts": (configured(id2label=THREE, num_labels=5), "id2label is .* but num_labels is 5"),
    "four labels": (configured(id2label=THREE | {"3": "d"}), r"classifier.bias is stored with shape \(3,\)"),
    "many labels": (configured(id2label={str(i): f"c{i}" for i in range(151)}), "labels = 151, but the largest weight"),
    # what leads elsewhere
    "other weights": (configured(transformers_weights="adapter_model.bin"), "transformers_weights"),
    "other configurations": (configured(configuration_files=["config.4.0.0.json"]), "configuration_files"),
    "quantised": (configured(quantization_config={"quant_method": "bitsandbytes"}), "quantization_config"),
    "kernels": (configured(attn_implementation="evil/kernel"), "asks for code from the hub"),
    "adapter": (written("adapter_config.json", '{"base_model_name_or_path": "evil/base"}'), "holds an adapter"),
    # weights
    "no weights": (removed("model.safetensors"), "has no weights: model.safetensors is missing"),
    "pickle": (pickled_only, r"limelight unpickles nothing \(found pytorch_model.bin\)"),
    "weights empty": (written("model.safetensors", ""), "model.safetensors is damaged"),
    "weights damaged": (written("model.safetensors", b"damaged"), "model.safetensors is damaged"),
    "weights cut": (cut("model.safetensors", 0.9), "model.safetensors is damaged"),
    "header cut": (cut("model.safetensors", 0.01), "model.safetensors is damaged"),
    "header of exabytes": (written("model.safetensors", HEADER_BOMB), "model.safetensors is damaged"),
    "shape of exabytes": (written("model.safetensors", SHAPE_BOMB), "model.safetensors is damaged"),
    "weights a folder": (as_folder("model.safetensors"), "model.safetensors are missing or no file"),
    "weights a pipe": (as_pipe("model.safetensors"), "model.safetensors are missing or no file"),
    "weights none": (weighted(lambda weights: {}), "holds no weights"),
    "link out": (linked, "model.safetensors is a link out of the folder"),
    "head missing": (without("classifier"), r"has no classification head: classifier\.bias, classifier\.weight would"),
    "head wrong": (
        weighted(
            lambda weights: weights | {"classifier.weight": torch.zeros(5, 16), "classifier.bias": torch.zeros(5)}
        ),
        r"classifier\.bias is stored with shape \(5,\), but the model that is described has \(3,\)",
    ),
    "layer missing": (without("layer.1."), "are incomplete: bert.encoder.layer.1"),
    "other names": (weighted(lambda weights: {f"x.{n}": w for n, w in weights.items()}), "would be random numbers"),
    # an index
    "index of a pickle": (indexed("weights.bin", move_to="weights.bin"), "names 'weights.bin' as a file of weights"),
    "index outside": (indexed("../outside.safetensors", move_to="../outside.safetensors"), r"names '\.\./outside"),
    "index absolute": (indexed("{folder}/part.safetensors", move_to="part.safetensors"), "as a file of weights"),
    "index below": (indexed("sub/part.safetensors", move_to="sub/part.safetensors"), "names 'sub/part.safetensors'"),
    "index of a link": (indexed_link, "part.safetensors is a link out of the folder"),
    "index of nothing": (indexed("part.safetensors"), "part.safetensors are missing or no file"),
    "index of numbers": (indexed(3), "names 3 as a file of weights"),
    "index empty": (
        lambda folder: (indexed("x")(folder), written("model.safetensors.index.json", "{}")(folder)),
        "index.json names no files",
    ),
    "index of brackets": (
        lambda folder: (indexed("x")(folder), written("model.safetensors.index.json", "[" * 200_000)(folder)),
        "index.json is nested too deeply",
    ),
    # tokenizers
    "no tokenizer": (removed("tokenizer.json"), "has no tokenizer: tokenizer.json is missing"),
    "tokenizer of no model": (tokenised(model=None), "the tokenizer of .* cannot be read"),
    "tokenizer of another model": (tokenised(model={"type": "Other"}), "the tokenizer of .* cannot be read"),
    "tokenizer empty": (written("tokenizer.json", ""), "the tokenizer of .* cannot be read"),
    "tokenizer an object": (written("tokenizer.json", "{}"), "the tokenizer of .* cannot be read"),
    "tokenizer a list": (written("tokenizer.json", "[]"), "the tokenizer of .* cannot be read"),
    "tokenizer cut": (cut("tokenizer.json", 0.7), "the tokenizer of .* cannot be read"),
    "tokenizer of brackets": (written("tokenizer.json", "[" * 200_000), "the tokenizer of .* cannot be read"),
    "tokenizer a pipe": (as_pipe("tokenizer.json"), "tokenizer.json is not a regular file"),
    "tokenizer settings a list": (written("tokenizer_config.json", "[]"), "tokenizer"),
    "tokenizer settings cut": (cut("tokenizer_config.json", 0.5), "tokenizer"),
    "tokenizer settings of brackets": (written("tokenizer_config.json", "[" * 200_000), "tokenizer"),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_damaged_folder_is_one_clear_error(
    name: str, folder: Path, capfd: pytest.CaptureFixture[str], hub_level: None
) -> None:
    damage, message = FOLDERS[name]
    damage(folder)
    before = state_of_process()
    peak, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(CheckpointError, match=message) as caught:
        limelight.load(folder, device="cpu")
    assert time.process_time() - started < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024 < MEMORY
    assert str(folder) in str(caught.value)
    assert "report" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 900
    assert state_of_process() == before
    assert capfd.readouterr() == ("", "")


def test_nothing_is_printed(whole: Path, tmp_path: Path) -> None:
    """In a process of its own: a logger keeps the stream that it was made with, where pytest does not look."""
    for i, (damage, _) in enumerate(FOLDERS.values()):
        (tmp_path / str(i)).mkdir()
        damage(Path(shutil.copytree(whole, tmp_path / str(i) / "model")))
    code = (
        "import sys, pathlib, limelight\n"
        "refused = 0\n"
        "for folder in pathlib.Path(sys.argv[1]).glob('*/model'):\n"
        "    try:\n"
        "        limelight.load(folder, device='cpu')\n"
        "    except limelight.errors.CheckpointError:\n"
        "        refused += 1\n"
        "sys.exit(refused)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == len(FOLDERS)


def test_the_whole_folder_is_read(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """So that the table says something; in one file, and in several that an index names."""
    expected = limelight.load(folder, device="cpu").predict_logits(["a great film"])
    weights = load_file(folder / "model.safetensors")
    halves = list(weights)[::2], list(weights)[1::2]
    index: dict[str, str] = {}
    for i, names in enumerate(halves):
        part = f"model-0000{i + 1}-of-00002.safetensors"
        save_file({name: weights[name] for name in names}, folder / part, {"format": "pt"})
        index |= dict.fromkeys(names, part)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    found = limelight.load(folder, device="cpu").predict_logits(["a great film"])
    assert found.tobytes() == expected.tobytes()
    assert capfd.readouterr() == ("", "")


# ── nothing is run ────────────────────────────────────────────────────────────────────────────────────────────────────

_opened: list[str] | None = None


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open":
        _opened.append(str(arguments[0]))


sys.addaudithook(_listen)  # it cannot be taken back, only told to rest


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The names of all files that Python opens from now on."""
    global _opened
    _opened = []
    yield _opened
    _opened = None


class Trap:
    """Unpickled, it makes a folder."""

    def __init__(self, sprung: Path) -> None:
        self._sprung = sprung

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._sprung),)


PICKLES = (
    "pytorch_model.bin",
    "weights.bin",
    "model.pt",
    "vocab.pkl",
    "tokenizer.pkl",
    "training_args.bin",
    "adapter_model.bin",
    "optimizer.pt",
)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: None,
        removed("model.safetensors"),
        indexed("weights.bin"),
        configured(transformers_weights="adapter_model.bin"),
        written("adapter_config.json", '{"base_model_name_or_path": ".", "peft_type": "LORA"}'),
        written("tokenizer_config.json", '{"tokenizer_class": "TransfoXLTokenizer", "vocab_file": "vocab.pkl"}'),
        removed("tokenizer.json"),
    ],
    ids=["whole", "no weights", "index", "weights by name", "adapter", "tokenizer of a pickle", "no tokenizer"],
)
def test_no_pickle_is_opened(damage: Damage, folder: Path, opened: list[str]) -> None:
    damage(folder)
    sprung = folder.parent / "sprung"
    for name in PICKLES:
        (folder / name).write_bytes(pickle.dumps(Trap(sprung)))
    opened.clear()
    try:
        limelight.load(folder, device="cpu")
    except LimelightError as error:
        assert str(folder) in str(error)  # noqa: PT017
    assert str(folder / "config.json") in opened  # so that the list says something
    assert not [name for name in opened if name.endswith((".bin", ".pt", ".pkl"))]
    assert not sprung.exists()
    pickle.loads((folder / "weights.bin").read_bytes())  # noqa: S301
    assert sprung.exists()  # the trap does work


@pytest.mark.parametrize("model_type", ["bert", "evil"])
def test_code_of_a_folder_is_never_run(model_type: str, folder: Path) -> None:
    sprung = folder.parent / "sprung"
    (folder / "evil.py").write_text(f"import os\nos.mkdir({str(sprung)!r})\n")
    remote = {name: f"evil.{name}" for name in ("AutoConfig", "AutoModel", "AutoModelForSequenceClassification")}
    configured(model_type=model_type, auto_map=remote)(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["auto_map"] = {"AutoTokenizer": ["evil.Slow", "evil.Fast"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    try:
        limelight.load(folder, device="cpu")  # a known kind of model is that of transformers
    except CheckpointError as error:
        assert str(folder) in str(error)  # noqa: PT017
    assert not sprung.exists()


# ── the cache of the hub ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cached(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model in the hub's cache, as files that are links to blobs; the hub itself is out of reach."""
    from huggingface_hub import constants

    cache, repository = tmp_path / "hub", tmp_path / "hub" / "models--owner--film"
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    for entry in whole.iterdir():
        shutil.copy(entry, repository / "blobs" / f"of-{entry.name}")
        (snapshot / entry.name).symlink_to(Path("../../blobs") / f"of-{entry.name}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return snapshot


def test_the_cache_of_the_hub_is_read_without_the_hub(cached: Path, whole: Path) -> None:
    expected = limelight.load(whole, device="cpu").predict_logits(["a great film"])
    for name in ("owner/film", cached):
        assert limelight.load(name, device="cpu").predict_logits(["a great film"]).tobytes() == expected.tobytes()


def test_the_cache_of_the_hub_is_looked_at_like_a_folder(cached: Path, tmp_path: Path) -> None:
    (cached / "model.safetensors").unlink()
    (cached / "model.safetensors").symlink_to(tmp_path / "outside.safetensors")
    shutil.copy(cached.parents[1] / "blobs" / "of-model.safetensors", tmp_path / "outside.safetensors")
    with pytest.raises(CheckpointError, match="is a link out of the folder"):
        limelight.load("owner/film")


# ── models that are there but cannot be used ──────────────────────────────────────────────────────────────────────────


def test_weights_without_numbers_are_refused() -> None:
    model, tokenizer = small_transformer("bert")
    with pytest.raises(CapabilityError, match=r"41 of the 41 weights .* are on the meta device.*load it onto a device"):
        limelight.wrap(model.to("meta"), tokenizer)


def test_a_folder_is_read_whatever_the_caller_does_with_torch(whole: Path) -> None:
    expected = limelight.explain(limelight.load(whole, device="cpu"), "a great film", "gxi").weights
    with torch.inference_mode():
        inference = limelight.load(whole, device="cpu")
        assert limelight.explain(inference, "a great film", "gxi").weights.tobytes() == expected.tobytes()
    with torch.device("meta"):
        elsewhere = limelight.load(whole, device="cpu")
    assert limelight.explain(elsewhere, "a great film", "gxi").weights.tobytes() == expected.tobytes()
    assert np.abs(expected).max() > 0
