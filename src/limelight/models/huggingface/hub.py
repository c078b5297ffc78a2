"""Reading a Hugging Face classifier from a folder or the hub: safetensors alone, and no code that comes with it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from limelight.errors import CheckpointError, ParameterError, UnknownNameError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_one_at_a_time = threading.Lock()
"""What is set while reading belongs to the process: the next reader must find it restored."""
INSTALL = 'pip install "limelight[hf]"'


def read_pretrained(name: str, device: torch.device, dtype: str) -> tuple[Any, Any]:
    """The model and the tokenizer of a folder or of the hub."""
    if dtype not in DTYPES:
        raise UnknownNameError("dtype", dtype, DTYPES)
    transformers = _transformers()
    local = Path(name).is_dir()
    common = {"trust_remote_code": False, "local_files_only": local}
    with _one_at_a_time, _quiet(transformers), _random_state_kept(), _explained(name, local):
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, use_fast=True, **common)
        model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
            name, use_safetensors=True, dtype=DTYPES[dtype], output_loading_info=True, **common
        )
    missing = sorted(loading["missing_keys"])
    if missing:
        raise CheckpointError(
            f"{name} has no classification head: {', '.join(missing[:3])} would be random numbers; give a checkpoint "
            "that was fine-tuned for sequence classification"
        )
    return model.to(device).eval(), tokenizer


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise ParameterError(f"a Hugging Face model needs the package transformers: {INSTALL}") from error
    return transformers


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """No bar and no advice while reading: what is wrong becomes an error, and the rest is nobody's concern."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    log = transformers.utils.logging
    level, bar, downloads_hidden = log.get_verbosity(), log.is_progress_bar_enabled(), are_progress_bars_disabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bar:
            log.enable_progress_bar()
        # The bars of downloads, which transformers switches with its own.
        if are_progress_bars_disabled() != downloads_hidden:
            (disable_progress_bars if downloads_hidden else enable_progress_bars)()


@contextlib.contextmanager
def _random_state_kept() -> Iterator[None]:
    """A model is built with random weights before it reads its own."""
    random, dtype = torch.get_rng_state(), torch.get_default_dtype()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        torch.set_default_dtype(dtype)


@contextlib.contextmanager
def _explained(name: str, local: bool) -> Iterator[None]:
    """Errors of transformers in our own tree, with what to do."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, ImportError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        reason = reason if len(reason) <= 300 else reason[:300] + "…"
        if "safetensors" in reason and not isinstance(error, SafetensorError):
            raise CheckpointError(
                f"{name} has no weights in safetensors, and limelight unpickles nothing: convert it on a machine you "
                f"trust with model.save_pretrained(folder), then load the folder ({reason})"
            ) from error
        if local:
            raise CheckpointError(f"the folder {name} cannot be read as a Hugging Face classifier: {reason}") from error
        raise CheckpointError(
            f"{name!r} is neither a folder here nor a classifier that could be read from the Hugging Face hub: {reason}"
        ) from error
