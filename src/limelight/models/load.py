"""load() and wrap(): whatever a user has, as a classifier that can be explained."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from limelight.core.device import find_device
from limelight.errors import CheckpointError, ParameterError
from limelight.inputs.words import WordRule
from limelight.models import adapters
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.huggingface.folder import ADAPTER, INDEX, read_json, shortened
from limelight.models.huggingface.precision import Precision, known_dtype
from limelight.models.huggingface.subwords import LongTexts
from limelight.models.outputs import Kind
from limelight.models.words import checkpoint
from limelight.models.words.classifier import WordClassifier
from limelight.storage.files import expanded

if TYPE_CHECKING:
    from limelight.models.huggingface.classifier import HuggingFaceClassifier

_HUB_NAME = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?")
_OF_TRANSFORMERS = ("tokenizer.json", "tokenizer_config.json", "pytorch_model.bin", ADAPTER, INDEX)
"""Files that say whose folder it is where its configuration does not."""
_NEIGHBOURS = 10_000


def load(
    name: str | os.PathLike[str] | None = None,
    *,
    device: str = "auto",
    dtype: Precision = "auto",
    truncate: bool = False,
    window: bool = False,
    max_length: int | None = None,
    labels: Sequence[str] | None = None,
    kind: Kind | None = None,
    pairs: bool = False,
    words: WordRule | None = None,
    batch_tokens: int | None = None,
) -> WordClassifier | HuggingFaceClassifier:
    """A classifier: the embedded one, one of `limelight train`, or any Hugging Face sequence classifier.

    `name`: a folder, or a name on the Hugging Face hub; what is written like a path is never asked of the hub. Weights
    are safetensors files inside the folder, and their shapes are compared with its configuration before anything is
    loaded; no code and no pickle of it runs. The options belong to Hugging Face models: `device` ("auto",
    "cpu", "cuda"); `dtype`, "auto" for float32 with half precision where words are removed and the device is faster for
    it, or "float32", "bfloat16", "float16" for everything; for texts beyond the model's length `truncate` keeps their
    beginning and `window` reads them in overlapping parts, an error without; `kind` ("classes", "multi-label",
    "regression") where its configuration does not say that rightly; `pairs` for a model that reads pairs of texts;
    `words`, a function that divides a text into words; see HuggingFaceClassifier.
    """
    path = _place(name)
    if path is None or not _is_huggingface(path, str(name)):
        options = {
            "device": device not in ("auto", "cpu"),
            "dtype": known_dtype(dtype) not in ("auto", "float32"),
            "window": window,
            "max_length": max_length is not None,
            "labels": labels is not None,
            "kind": kind is not None,
            "pairs": pairs is not False,
            "words": words is not None,
            "batch_tokens": batch_tokens is not None,
        }
        if given := [option for option, is_given in options.items() if is_given]:
            raise ParameterError(
                f"only Hugging Face models take {', '.join(given)}: leave that out for limelight's own"
            )
        return checkpoint.load(path)  # it cuts long texts whatever `truncate` says, and says so
    from limelight.models.huggingface.hub import read_pretrained

    model, tokenizer = read_pretrained(str(path), find_device(device), dtype, "" if path.exists() else _near(path))
    return _huggingface(
        model,
        tokenizer,
        labels=labels,
        truncate=truncate,
        window=window,
        max_length=max_length,
        kind=kind,
        pairs=pairs,
        words=words,
        batch_tokens=batch_tokens,
        dtype="auto" if dtype == "auto" else None,  # any other is the model's own
    )


def wrap(
    model: Any,
    tokenizer: Any = None,
    *,
    labels: Sequence[str] | None = None,
    kind: Kind | None = None,
    pairs: bool = False,
    words: WordRule | None = None,
    truncate: bool = False,
    window: bool = False,
    max_length: int | None = None,
    batch_tokens: int | None = None,
    dtype: Precision | None = None,
    mask: str | None = None,
    batch_texts: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    max_calls: int | None = None,
    name: str | None = None,
) -> HuggingFaceClassifier | BlackBoxClassifier:
    """A model of yours: of transformers, spaCy, SetFit or scikit-learn, or any function from texts to probabilities.

    All methods: a transformers model with its tokenizer, or a `transformers.pipeline` for text classification, which
    brings both. Nothing about them is changed: limelight runs copies of the model's modules that share its weights, in
    evaluation mode, and sees when the weights change.

    Methods that remove words: a spaCy pipeline with a textcat or a textcat_multilabel, a SetFit model, an object with
    `predict_proba` (a scikit-learn pipeline), a function from a list of texts to an array or a tensor with a row for
    each. Their own labels are the labels unless `labels` are given.

    `kind` says what the outputs are: "classes" that exclude each other, the labels of a "multi-label" model, or the
    numbers of a "regression" (an object's `predict`); by default what the model says, and classes for a function. With
    `pairs` a text is a tuple of two strings. `words` is a function that divides a text into words, as strings or
    (start, end) spans.

    For a function alone: `mask` is the string that takes the place of a removed word; `batch_texts` how many texts it
    is given at once; `cache` a folder in which its answers are kept, under its `name`; `max_calls` the most texts that
    it is asked about. For transformers models see `load` and HuggingFaceClassifier; your model stays in the precision
    that it has, and `dtype` ("auto", "float32", "bfloat16", "float16") is for texts with words removed alone.
    """
    if tokenizer is not None:
        _check_order(model, tokenizer)
    elif adapters.is_pipeline(model):
        model, tokenizer, own_kind, cuts, own_length = adapters.pipeline_parts(model, pairs)
        kind = own_kind if kind is None else kind
        truncate = truncate or (cuts and not window)
        max_length = own_length if max_length is None else max_length
    else:
        hf_options = {
            "truncate": truncate,
            "window": window,
            "max_length": max_length is not None,
            "batch_tokens": batch_tokens is not None,
            "dtype": dtype is not None,
        }
        _refuse(hf_options, "a Hugging Face model and its tokenizer")
        function, names, known_kind = adapters.answering(model, labels, kind, pairs)
        options: dict[str, Any] = {
            "mask": mask,
            "batch_texts": batch_texts,
            "kind": known_kind,
            "words": words,
            "cache": cache,
            "max_calls": max_calls,
            "name": name,
        }
        given = {option: value for option, value in options.items() if value is not None}
        return BlackBoxClassifier(function, names, pairs=pairs, **given)
    of_functions = {"mask": mask, "batch_texts": batch_texts, "cache": cache, "max_calls": max_calls, "name": name}
    _refuse({option: value is not None for option, value in of_functions.items()}, "a function")
    return _huggingface(
        model,
        tokenizer,
        labels=labels,
        truncate=truncate,
        window=window,
        max_length=max_length,
        kind=kind,
        pairs=pairs,
        words=words,
        batch_tokens=batch_tokens,
        dtype=dtype,
    )


def _check_order(model: Any, tokenizer: Any) -> None:
    """That a tokenizer is the second argument, and that the model needs one."""
    if adapters.brings_its_tokenizer(model):
        raise ParameterError(
            f"a {type(model).__name__} reads texts by itself: got a {type(tokenizer).__name__} too; leave that out"
        )
    if isinstance(tokenizer, torch.nn.Module):
        raise ParameterError(
            f"the model comes first and its tokenizer second: got a {type(tokenizer).__name__} as the second argument; "
            "write wrap(model, tokenizer)"
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


def _place(name: str | os.PathLike[str] | None) -> Path | None:
    """What was given as a path, whether or not something stands there."""
    if name is None:
        return None
    given = os.fspath(name) if isinstance(name, str | os.PathLike) else None
    if not isinstance(given, str):
        raise ParameterError(f"a model is a folder or a name on the hub: got {type(name).__name__}; give a string")
    if not given.strip():
        raise ParameterError(f"the name of the model is empty, {given!r}: leave it out for the embedded one")
    path = expanded(given)
    try:
        os.stat(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"no checkpoint at {shortened(given, 100)!r}: {shortened(str(error), 200)}; give the path of a folder"
        ) from error
    return path


def is_huggingface(name: str | os.PathLike[str] | None) -> bool:
    """Whether `load` gives a Hugging Face model for this name."""
    path = _place(name)
    return path is not None and _is_huggingface(path, str(name))


def _is_huggingface(path: Path, given: str) -> bool:
    """A folder of transformers, or a name that could be one on the hub."""
    if not path.exists():
        if _is_path(given):
            raise CheckpointError(f"no checkpoint at {path}: it does not exist; {_near(path) or 'check the path'}")
        return True
    if not path.is_dir():
        return False
    try:
        ours = (path / checkpoint.VOCABULARY).exists()
        theirs = any((path / name).exists() for name in _OF_TRANSFORMERS)
        config = read_json(path / checkpoint.CONFIG) if (path / checkpoint.CONFIG).exists() else {}
    except OSError as error:
        raise CheckpointError(f"the folder {path} cannot be read: {error}; check its permissions") from error
    except CheckpointError:
        if ours:
            return False  # its own reader says what is wrong
        raise
    if not isinstance(config, dict):
        return theirs and not ours
    return "kind" not in config and ("model_type" in config or (theirs and not ours))


def _is_path(given: str) -> bool:
    """Written like a path rather than like `name` or `owner/name` of the hub."""
    return given.startswith((".", "~", os.sep)) or given.count("/") > 1 or _HUB_NAME.fullmatch(given) is None


def _near(path: Path) -> str:
    """The folder beside a path that does not exist whose name is most like it."""
    try:
        entries = islice(path.parent.iterdir(), _NEIGHBOURS)
        beside = [entry.name for entry in entries if (entry / checkpoint.CONFIG).exists()]
    except OSError:
        return ""
    alike = difflib.get_close_matches(path.name, beside, n=1)
    return f"did you mean {str(path.parent / alike[0])!r}?" if alike else ""
