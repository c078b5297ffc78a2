"""Reading a Hugging Face classifier from a folder or the hub: safetensors alone, and no code that comes with it.

A name of the hub becomes a folder first, that of the hub's cache: its configuration is fetched and looked at before
its weights are. Every folder is then looked at, the model that it describes is compared with the weights that it
holds (`folder.py`), and only then does transformers read it, from that folder and nothing else.
"""

from __future__ import annotations

import contextlib
import logging
import random
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from limelight.errors import CheckpointError, LimelightError, ParameterError, shortened
from limelight.models.huggingface.folder import (
    ADAPTER,
    CONFIG,
    INDEX,
    TOKENIZER,
    WEIGHTS,
    StoredWeights,
    check_described,
    looked_at,
    read_config,
    weight_names,
)
from limelight.models.huggingface.precision import DTYPES, known_dtype

_one_at_a_time = threading.Lock()
"""What is set while reading belongs to the process: the next reader must find it restored."""
_SECONDS = 2.0
"""How long the hub may take to answer at all before it counts as out of reach."""
INSTALL = 'pip install "limelight[hf]"'


def read_pretrained(name: str, device: torch.device, dtype: str, near: str = "") -> tuple[Any, Any]:
    """The model and the tokenizer of a folder or of the hub; `near` says what else here the name could have meant.

    Checked before transformers is called, whether the folder is the user's or the hub's cache: the files of weights
    (safetensors inside the folder, whatever an index says), the configuration, its sizes against the headers of
    those files. While it reads: no remote code, no adapters, local files alone. Afterwards: that each weight of the
    model was there, with its shape.
    """
    read_in = DTYPES.get(known_dtype(dtype), torch.float32)  # "auto" keeps float32 for what is asked once
    try:
        import transformers
    except ImportError as error:
        raise ParameterError(f"a Hugging Face model needs the package transformers: {INSTALL}") from error
    with _one_at_a_time, _process_kept(), _quiet(transformers):
        folder = Path(name) if Path(name).is_dir() else _from_hub(name, near)
        stored = looked_at(folder)
        try:
            with torch.inference_mode(False), torch.device("cpu"):
                return _read(transformers, folder, stored, device, read_in)
        except LimelightError:
            raise
        except Exception as error:
            raise CheckpointError(
                f"the folder {folder} cannot be read as a Hugging Face classifier: {_reason(error)}; save the model "
                "again with save_pretrained(folder), or give another one"
            ) from error


def _read(
    transformers: Any, folder: Path, stored: StoredWeights, device: torch.device, dtype: torch.dtype
) -> tuple[Any, Any]:
    here = {"trust_remote_code": False, "local_files_only": True}
    auto_class = transformers.AutoModelForSequenceClassification
    config = transformers.AutoConfig.from_pretrained(str(folder), **here)
    if type(config) not in auto_class._model_mapping:
        raise CheckpointError(
            f"{folder / CONFIG}: transformers has no text classifier of model_type {config.model_type!r}; give a "
            "checkpoint that was fine-tuned for sequence classification"
        )
    check_described(auto_class, config, folder / CONFIG, stored)
    tokenizer = _read_tokenizer(transformers, folder, config, here)
    model, loading = auto_class.from_pretrained(
        str(folder),
        config=config,
        use_safetensors=True,
        dtype=dtype,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # transformers would point to a report that nobody sees: we say it ourselves
        **here,
    )
    _check_whole(folder, model, loading)
    return model.to(device).eval(), tokenizer


def _read_tokenizer(transformers: Any, folder: Path, config: Any, here: dict[str, bool]) -> Any:
    if not any((folder / name).is_file() for name in TOKENIZER if name not in ("tokenizer_config.json", "merges.txt")):
        raise CheckpointError(f"{folder} has no tokenizer: tokenizer.json is missing; copy the whole folder")
    try:
        return transformers.AutoTokenizer.from_pretrained(str(folder), config=config, use_fast=True, **here)
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of Rust, no Exception
            raise
        raise CheckpointError(
            f"the tokenizer of {folder} cannot be read: {_reason(error)}; save it again with "
            "tokenizer.save_pretrained(folder)"
        ) from error


def _check_whole(folder: Path, model: Any, loading: dict[str, Any]) -> None:
    """Every weight of the model was in the files: none is a random number."""
    for name, there, wanted in sorted(loading["mismatched_keys"]):
        raise CheckpointError(
            f"the weights of {folder} do not fit its {CONFIG}: {name} is stored with shape {tuple(there)}, but the "
            f"model that is described has {tuple(wanted)}; copy the configuration and the weights of one model"
        )
    missing = sorted(loading["missing_keys"])
    if not missing:
        return
    shown = ", ".join(missing[:3])
    body = [name for name in missing if name.startswith(f"{model.base_model_prefix}.")]
    if body:
        raise CheckpointError(
            f"the weights of {folder} are incomplete: {shown} would be random numbers ({len(missing)} in all); copy "
            "the whole folder"
        )
    raise CheckpointError(
        f"{folder} has no classification head: {shown} would be random numbers; give a checkpoint that was fine-tuned "
        "for sequence classification"
    )


# ── the hub ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _from_hub(name: str, near: str) -> Path:
    """The folder of a model in the hub's cache, fetched where the hub can be reached."""
    import huggingface_hub

    unreachable = _out_of_reach()
    try:
        if unreachable:
            config = huggingface_hub.try_to_load_from_cache(name, CONFIG)
            if not isinstance(config, str):
                raise CheckpointError(
                    f"{name!r} is neither a folder here nor a classifier in the cache of the Hugging Face hub, and "
                    f"{unreachable}: {near or 'give the path of a folder'}"
                )
            return Path(config).parent
        described = [CONFIG, INDEX, ADAPTER, *TOKENIZER]
        folder = Path(huggingface_hub.snapshot_download(name, allow_patterns=described))
        read_config(folder)
        names = weight_names(folder) if (folder / INDEX).exists() else (WEIGHTS,)
        return Path(huggingface_hub.snapshot_download(name, revision=folder.name, allow_patterns=list(names)))
    except LimelightError:
        raise
    except Exception as error:
        raise CheckpointError(
            f"{name!r} is neither a folder here nor a classifier that could be read from the Hugging Face hub: "
            f"{_reason(error)}; {near or 'check the name'}"
        ) from error


def _out_of_reach() -> str:
    """Why the hub cannot be asked, as far as that can be known within seconds; empty where it answers."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    answers: list[str] = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=_SECONDS)
            answers.append("")
        except Exception as error:
            answers.append(f"the hub cannot be reached ({_reason(error)})")

    # A thread: looking up an address has no time limit of its own.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_SECONDS)
    return answers[0] if answers else f"the hub ({constants.ENDPOINT}) did not answer within {_SECONDS:g} seconds"


# ── what belongs to the process ───────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """No bar and no advice while reading: what is wrong becomes an error, and the rest is nobody's concern."""
    import huggingface_hub.utils.logging as hub_log
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    log = transformers.utils.logging
    level, bar, downloads_hidden = log.get_verbosity(), log.is_progress_bar_enabled(), are_progress_bars_disabled()
    hub_level = hub_log.get_verbosity()
    log.set_verbosity(logging.CRITICAL)
    hub_log.set_verbosity(logging.CRITICAL)
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(level)
        hub_log.set_verbosity(hub_level)
        if bar:
            log.enable_progress_bar()
        # The bars of downloads, which transformers switches with its own.
        if are_progress_bars_disabled() != downloads_hidden:
            (disable_progress_bars if downloads_hidden else enable_progress_bars)()


@contextlib.contextmanager
def _process_kept() -> Iterator[None]:
    """Random states and torch's default type: a model is built with random weights before it reads its own."""
    states, dtype = (random.getstate(), np.random.get_state()), torch.get_default_dtype()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_default_dtype(dtype)


def _reason(error: BaseException) -> str:
    """What an exception of another library says; its type where it says nothing."""
    return shortened(str(error)).rstrip(".;:") or type(error).__name__
