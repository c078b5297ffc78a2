"""load(): whose folder it is, what is refused, and that nothing is unpickled or fetched."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import limelight
from conftest import small_model
from limelight.errors import CheckpointError, ParameterError, UnknownNameError
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.huggingface import hub
from limelight.models.huggingface.classifier import HuggingFaceClassifier
from limelight.models.words import checkpoint
from limelight.models.words.attention import AttentionClassifier
from reference.small_transformers import FAMILIES, small_transformer

TEXT = "the film was great but too long"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def saved(path: Path, family: str = "bert") -> Path:
    model, own = small_transformer(family)
    model.save_pretrained(path)
    own.save_pretrained(path)
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_of_transformers_is_read(tmp_path: Path, family: str) -> None:
    classifier = limelight.load(saved(tmp_path / "model", family), device="cpu")
    assert isinstance(classifier, HuggingFaceClassifier)
    assert classifier.labels == ("negative", "neutral", "positive")
    assert classifier.dtype == torch.float32
    model, own = small_transformer(family)
    expected = limelight.wrap(model, own).predict_logits([TEXT])
    np.testing.assert_allclose(classifier.predict_logits([TEXT]), expected, atol=1e-5)


def test_a_folder_of_ours_and_none_are_ours(tmp_path: Path) -> None:
    checkpoint.save(small_model().float(), tmp_path / "ours", "# card\n")
    for classifier in (
        limelight.load(tmp_path / "ours"),
        limelight.load(),
        limelight.load(device="cpu", truncate=True),
    ):
        assert isinstance(classifier, AttentionClassifier)
    config = tmp_path / "ours" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "model_type": "bert"}))
    assert isinstance(limelight.load(tmp_path / "ours"), AttentionClassifier)  # its kind decides
    for option in (
        {"dtype": "float16"},
        {"window": True},
        {"max_length": 9},
        {"labels": ("a", "b")},
        {"kind": "multi-label"},
        {"pairs": True},
        {"words": str.split},
    ):
        with pytest.raises(ParameterError, match=f"only Hugging Face models take {next(iter(option))}: leave that out"):
            limelight.load(tmp_path / "ours", **option)  # type: ignore[arg-type]


def test_options_reach_the_classifier(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    classifier = limelight.load(
        str(folder),
        device="cpu",
        dtype="bfloat16",
        truncate=True,
        max_length=10,
        labels=("a", "b", "c"),
        kind="multi-label",
        pairs=True,
        words=str.split,
        batch_tokens=7,
    )
    assert isinstance(classifier, HuggingFaceClassifier)
    assert (classifier.dtype, classifier.max_length, classifier.long_texts) == (torch.bfloat16, 10, "truncate")
    assert classifier.labels == ("a", "b", "c")
    assert (classifier.kind, classifier.pairs) == ("multi-label", True)
    assert [word.form for word in classifier.view(("it's", "film!")).document.words] == ["it's", "film!"]
    with pytest.raises(UnknownNameError, match="did you mean 'float16'"):
        limelight.load(folder, dtype="float61")


def state_of_process() -> tuple[Any, ...]:
    import random

    from huggingface_hub.utils.tqdm import are_progress_bars_disabled
    from transformers.utils import logging

    return (
        torch.get_rng_state().tolist(),
        str(np.random.get_state()),  # noqa: NPY002
        random.getstate(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
        logging.get_verbosity(),
        logging.is_progress_bar_enabled(),
        are_progress_bars_disabled(),
    )


@pytest.mark.parametrize("bars", [True, False])
@pytest.mark.parametrize("downloads", [True, False])
def test_loading_leaves_the_process_as_it_was(tmp_path: Path, bars: bool, downloads: bool) -> None:
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars
    from transformers.utils import logging

    whole, headless = saved(tmp_path / "model"), tmp_path / "body"
    model, own = small_transformer("bert")
    model.bert.save_pretrained(headless)
    own.save_pretrained(headless)
    former = logging.get_verbosity(), torch.get_default_dtype()
    try:
        logging.set_verbosity_info()
        torch.set_default_dtype(torch.float64)
        (logging.enable_progress_bar if bars else logging.disable_progress_bar)()
        (enable_progress_bars if downloads else disable_progress_bars)()
        before = state_of_process()
        limelight.load(whole, device="cpu", dtype="bfloat16")
        assert state_of_process() == before
        for broken in (headless, "no-such-model"):  # the first would be given a random head
            with pytest.raises(CheckpointError):
                limelight.load(broken)
            assert state_of_process() == before
    finally:
        logging.set_verbosity(former[0])
        torch.set_default_dtype(former[1])
        logging.enable_progress_bar()


def test_threads_that_load_at_once_leave_the_process_as_it_was(tmp_path: Path) -> None:
    folder, before = saved(tmp_path / "model"), state_of_process()
    threads = [threading.Thread(target=lambda: limelight.load(folder, device="cpu")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state_of_process() == before


def test_progress_belongs_to_a_call() -> None:
    with pytest.raises(TypeError, match="progress"):
        limelight.load(progress=lambda done, total: None)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="progress"):
        limelight.wrap(*small_transformer("bert"), progress=lambda done, total: None)  # type: ignore[call-arg]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no device 'cuda' here"):
        limelight.load(saved(tmp_path / "model"), device="cuda")
    with pytest.raises(ParameterError, match="no device 'gpu' here"):
        limelight.load(saved(tmp_path / "model"), device="gpu")


def test_a_body_without_a_head_is_not_given_a_random_one(tmp_path: Path) -> None:
    model, own = small_transformer("bert")
    model.bert.save_pretrained(tmp_path)
    own.save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match=r"has no classification head: classifier\.bias"):
        limelight.load(tmp_path)


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    torch.save(small_transformer("bert")[0].state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"no weights in safetensors, and limelight unpickles nothing"):
        limelight.load(folder)


def test_code_in_a_folder_is_not_run(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "evil.py").write_text("raise SystemExit('the code of a folder ran')")
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="cannot be read as a Hugging Face classifier"):
        limelight.load(folder)


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match="model"):
        limelight.load(folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text("[]")
    with pytest.raises(CheckpointError, match="incomplete"):
        limelight.load(tmp_path / "other")


def test_names_that_are_nothing_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckpointError, match="does not exist"):
        limelight.load(tmp_path / "none")
    with pytest.raises(CheckpointError, match="does not exist"):
        limelight.load("./none/of/these")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="'no-such-model' is neither a folder here nor a classifier"):
        limelight.load("no-such-model")


@pytest.mark.parametrize("name", ["./none", "../none", "~/none", "~nobody/none", "none/of/these", "a b", "/none", "-"])
def test_what_is_written_like_a_path_is_not_asked_of_the_hub(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "_from_hub", lambda name, near: pytest.fail("the hub was asked"))
    with pytest.raises(CheckpointError, match="does not exist; check the path"):
        limelight.load(name)


def test_the_folder_that_may_have_been_meant_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "models" / "film-reviews")
    (tmp_path / "models" / "film-review").mkdir()  # no model
    monkeypatch.chdir(tmp_path)
    for name in ("models/film-revews", "./models/film-revews", tmp_path / "models" / "film-revews"):
        with pytest.raises(CheckpointError, match=r"did you mean '.*models/film-reviews'\?"):
            limelight.load(name)
    monkeypatch.chdir(tmp_path / "models")
    with pytest.raises(CheckpointError, match=r"HF_HUB_OFFLINE is set: did you mean 'film-reviews'\?"):
        limelight.load("film-revews")


def test_a_path_from_home_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(saved(tmp_path / "model").parent))
    assert isinstance(limelight.load("~/model", device="cpu"), HuggingFaceClassifier)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (3, ParameterError, "a folder or a name on the hub: got int"),
        (b"model", ParameterError, "a folder or a name on the hub: got bytes"),
        ("", ParameterError, "the name of the model is empty"),
        ("x" * 5000, CheckpointError, "File name too long"),
        ("nul\0", CheckpointError, "null byte"),
    ],
)
def test_names_that_cannot_be_names(name: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        limelight.load(name)
    assert len(str(caught.value)) < 500


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match="it is a file"):
        limelight.load(tmp_path / "model.safetensors")


@pytest.fixture
def silent_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A hub that takes connections and never answers."""
    import huggingface_hub.constants

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(variable, raising=False)
        yield


def test_a_hub_that_does_not_answer_is_not_waited_for(
    silent_hub: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before, started = (state_of_process(), dict(os.environ)), time.monotonic()
    with pytest.raises(CheckpointError, match=r"'no-such-model' is neither a folder here.*the hub.*give the path"):
        limelight.load("no-such-model")
    assert time.monotonic() - started < 4
    assert (state_of_process(), dict(os.environ)) == before
    assert capfd.readouterr() == ("", "")


def test_a_hub_that_is_not_there_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import huggingface_hub.constants

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # nobody listens there once it is closed
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.chdir(tmp_path)
    started = time.monotonic()
    with pytest.raises(CheckpointError, match="the hub cannot be reached"):
        limelight.load("no-such-model")
    assert time.monotonic() - started < 4
    assert capfd.readouterr() == ("", "")


def test_a_model_of_the_hub_is_looked_at_before_its_weights_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    folder, fetched = saved(tmp_path / "snapshot"), []

    def fetch(name: str, *, allow_patterns: list[str], revision: str | None = None) -> str:
        fetched.append((name, revision, allow_patterns))
        return str(folder)

    monkeypatch.setattr(hub, "_out_of_reach", lambda: "")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    monkeypatch.chdir(tmp_path)
    assert isinstance(limelight.load("owner/film", device="cpu"), HuggingFaceClassifier)
    (_, first, described), (name, revision, weights) = fetched
    assert (first, name, revision, weights) == (None, "owner/film", "snapshot", ["model.safetensors"])
    assert "config.json" in described
    assert not [pattern for pattern in described if pattern.endswith((".safetensors", ".bin", ".py", "*"))]
    fetched.clear()
    index = {"metadata": {}, "weight_map": {"classifier.weight": "../weights.safetensors"}}
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match=r"names '\.\./weights.safetensors' as a file of weights"):
        limelight.load("owner/film")
    assert len(fetched) == 1
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *given, **named: 1 / 0)
    with pytest.raises(CheckpointError, match=r"'owner/film' is neither a folder here.*hub: division by zero; check"):
        limelight.load("owner/film")


def test_without_transformers_the_command_to_type_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ParameterError, match=r'pip install "limelight\[hf\]"'):
        limelight.load(folder)


def test_import_needs_no_transformers() -> None:
    import subprocess

    code = (
        "import sys; sys.modules['transformers'] = None; sys.modules['tokenizers'] = None\n"
        "import limelight\n"
        "model = limelight.load()\n"
        "limelight.explain(model, 'a great film', 'shapley')\n"
        "black = limelight.wrap(model.predict_proba, labels=model.labels)\n"
        "limelight.explain(black, 'a great film', 'lime', n_samples=9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_model_without_its_tokenizer_is_told_so() -> None:
    model: Any = small_transformer("bert")[0]
    with pytest.raises(ParameterError, match=r"reads no texts: give its tokenizer too, wrap\(model, tokenizer\)"):
        limelight.wrap(model)
    for option in ({"mask": "x"}, {"cache": "folder"}, {"max_calls": 9}, {"name": "f"}, {"batch_texts": 3}):
        with pytest.raises(ParameterError, match=f"only a function can take {next(iter(option))}: leave that out"):
            limelight.wrap(*small_transformer("bert"), **option)


def test_options_reach_a_function(tmp_path: Path) -> None:
    asked: list[list[Any]] = []

    def f(texts: list[Any]) -> list[list[float]]:
        asked.append(texts)
        return [[0.9, 0.8] for _ in texts]

    model = limelight.wrap(
        f,
        labels=("new", "red"),
        kind="multi-label",
        pairs=True,
        words=str.split,
        mask="_",
        batch_texts=2,
        cache=tmp_path / "answers",
        max_calls=100,
        name="colours",
    )
    assert isinstance(model, BlackBoxClassifier)
    assert (model.labels, model.kind, model.pairs) == (("new", "red"), "multi-label", True)
    e = limelight.explain(model, ("it's new", "or red"), "leave-one-out")
    assert e.features == ("it's", "new", "or", "red")
    assert ("it's _", "or red") in [text for texts in asked for text in texts]
    assert max(map(len, asked)) == 2
    assert list((tmp_path / "answers").iterdir())
    with pytest.raises(ParameterError, match="max_calls"):
        limelight.wrap(f, labels=("new", "red"), max_calls=0)


def test_an_object_that_predicts_numbers_is_a_regression() -> None:
    class Lengths:
        classes_ = ("short", "long")

        def predict(self, texts: list[str]) -> list[int]:
            return [len(text) for text in texts]

        def predict_proba(self, texts: list[str]) -> list[list[float]]:
            return [[0.25, 0.75] for _ in texts]

    numbers, chances = limelight.wrap(Lengths(), kind="regression"), limelight.wrap(Lengths())
    assert (numbers.kind, numbers.labels) == ("regression", ("value",))
    assert numbers.predict_logits(["film"]).tolist() == [[4.0]]
    assert (chances.kind, chances.labels) == ("classes", ("short", "long"))
    assert chances.predict_proba(["film"]).tolist() == [[0.25, 0.75]]
