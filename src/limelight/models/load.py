"""load() and wrap(): whatever a user has, as a classifier that can be explained."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from limelight.device import find_device
from limelight.document import UNKNOWN
from limelight.errors import ParameterError
from limelight.models.blackbox import TEXTS_AT_ONCE, BlackBoxClassifier
from limelight.models.huggingface.subwords import LongTexts
from limelight.models.words import checkpoint
from limelight.models.words.classifier import WordClassifier

if TYPE_CHECKING:
    from limelight.models.huggingface.classifier import HuggingFaceClassifier

_HUB_NAME = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?")


def load(
    name: str | os.PathLike[str] | None = None,
    *,
    device: str = "auto",
    dtype: str = "float32",
    truncate: bool = False,
    window: bool = False,
    max_length: int | None = None,
    labels: Sequence[str] | None = None,
    batch_tokens: int | None = None,
) -> WordClassifier | HuggingFaceClassifier:
    """A classifier: the embedded one, one of `limelight train`, or any Hugging Face sequence classifier.

    `name`: a folder, or a name on the Hugging Face hub. The options belong to Hugging Face models: `device` ("auto",
    "cpu", "cuda"), `dtype` ("float32", "bfloat16", "float16"); for texts beyond the model's length `truncate` keeps
    their beginning and `window` reads them in overlapping parts, an error without; see HuggingFaceClassifier.
    """
    if name is None or not _is_huggingface(Path(name)):
        options = {
            "device": device not in ("auto", "cpu"),
            "dtype": dtype != "float32",
            "window": window,
            "max_length": max_length is not None,
            "labels": labels is not None,
            "batch_tokens": batch_tokens is not None,
        }
        if given := [option for option, is_given in options.items() if is_given]:
            raise ParameterError(
                f"only Hugging Face models take {', '.join(given)}: leave that out for limelight's own"
            )
        return checkpoint.load(name)  # it cuts long texts whatever `truncate` says, and says so
    from limelight.models.huggingface.hub import read_pretrained

    model, tokenizer = read_pretrained(os.fspath(name), find_device(device), dtype)
    return _huggingface(
        model,
        tokenizer,
        labels=labels,
        truncate=truncate,
        window=window,
        max_length=max_length,
        batch_tokens=batch_tokens,
    )


def wrap(
    model: Any,
    tokenizer: Any = None,
    *,
    labels: Sequence[str] | None = None,
    truncate: bool = False,
    window: bool = False,
    max_length: int | None = None,
    batch_tokens: int | None = None,
    mask: str | None = None,
    batch_texts: int | None = None,
) -> HuggingFaceClassifier | BlackBoxClassifier:
    """A classifier of yours: a transformers model with its tokenizer, or any function from texts to probabilities.

    Nothing about a model of transformers is changed: limelight runs copies of its modules that share its weights, in
    evaluation mode, and sees when the weights change. An object with `predict_proba` (a scikit-learn pipeline)
    counts as a function; its classes are the labels unless `labels` are given. `mask` is the string that takes the
    place of a word when a function is asked about a text without it; `batch_texts` how many it is given at once.
    """
    if tokenizer is None:
        hf_options = {
            "truncate": truncate,
            "window": window,
            "max_length": max_length is not None,
            "batch_tokens": batch_tokens is not None,
        }
        _refuse(hf_options, "a Hugging Face model and its tokenizer")
        return BlackBoxClassifier(
            *_function(model, labels),
            mask=UNKNOWN if mask is None else mask,
            batch_texts=TEXTS_AT_ONCE if batch_texts is None else batch_texts,
        )
    _refuse({"mask": mask is not None, "batch_texts": batch_texts is not None}, "a function")
    return _huggingface(
        model,
        tokenizer,
        labels=labels,
        truncate=truncate,
        window=window,
        max_length=max_length,
        batch_tokens=batch_tokens,
    )


def _huggingface(model: Any, tokenizer: Any, *, truncate: bool, window: bool, **options: Any) -> HuggingFaceClassifier:
    from limelight.models.huggingface.classifier import HuggingFaceClassifier

    if truncate and window:
        raise ParameterError("truncate and window exclude each other: give one of them")
    long_texts: LongTexts = "truncate" if truncate else "window" if window else "refuse"
    return HuggingFaceClassifier(model, tokenizer, long_texts=long_texts, **options)


def _refuse(options: dict[str, bool], owner: str) -> None:
    if given := [option for option, is_given in options.items() if is_given]:
        raise ParameterError(f"only {owner} can take {', '.join(given)}: leave that out")


def _function(model: Any, labels: Sequence[str] | None) -> tuple[Callable[[list[str]], Any], Sequence[str] | None]:
    predict = getattr(model, "predict_proba", None)
    if predict is not None:
        classes = getattr(model, "classes_", None)
        return predict, [str(c) for c in classes] if labels is None and classes is not None else labels
    if isinstance(model, torch.nn.Module):
        raise ParameterError(
            f"a {type(model).__name__} reads no texts: give its tokenizer too, wrap(model, tokenizer), or wrap a "
            "function from texts to probabilities"
        )
    return model, labels


def _is_huggingface(path: Path) -> bool:
    """A folder whose config.json has a model type of transformers, or a name that could be one on the hub."""
    if not path.exists():
        return not path.is_absolute() and _HUB_NAME.fullmatch(str(path)) is not None
    try:
        config = json.loads((path / checkpoint.CONFIG).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and "model_type" in config and "kind" not in config
