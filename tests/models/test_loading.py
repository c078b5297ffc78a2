"""load(): whose folder it is, what is refused, and that nothing is unpickled or fetched."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import limelight
from conftest import small_model
from limelight.errors import CheckpointError, ParameterError, UnknownNameError
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
    for option in ({"dtype": "float16"}, {"window": True}, {"max_length": 9}, {"labels": ("a", "b")}):
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
        batch_tokens=7,
    )
    assert isinstance(classifier, HuggingFaceClassifier)
    assert (classifier.dtype, classifier.max_length, classifier.long_texts) == (torch.bfloat16, 10, "truncate")
    assert classifier.labels == ("a", "b", "c")
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
    with pytest.raises(ParameterError, match="only a function can take mask: leave that out"):
        limelight.wrap(*small_transformer("bert"), mask="x")
