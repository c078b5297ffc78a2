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
from limelight.errors import CheckpointError, ParameterError, shortened
from limelight.inputs.words import WordRule
from limelight.models import adapters
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.huggingface.folder import ADAPTER, INDEX, read_json
from limelight.models.huggingface.precision import Precision, known_dtype
from limelight.models.huggingface.subwords import LongTexts
from limelight.models.identity import named
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
    options: dict[str, Any] = {
        "window": bool(window),
        "max_length": max_length,
        "labels": labels,
        "kind": kind,
        "pairs": pairs,
        "words": words,
        "batch_tokens": batch_tokens,
    }
    path = _place(name)
    if path is None or not is_huggingface(name):
        elsewhere = {"device": device not in ("auto", "cpu"), "dtype": known_dtype(dtype) not in ("auto", "float32")}
        if given := _given({**elsewhere, **options}):
            raise ParameterError(
                f"only Hugging Face models take {', '.join(given)}: leave that out for limelight's own"
            )
        return named(checkpoint.load(path), name)  # it cuts long texts whatever `truncate` says, and says so
    from limelight.models.huggingface.hub import read_pretrained

    model, tokenizer = read_pretrained(str(path), find_device(device), dtype, "" if path.exists() else _near(path))
    own_dtype: Precision | None = "auto" if dtype == "auto" else None  # any other is the model's own
    return named(_huggingface(model, tokenizer, truncate=truncate, dtype=own_dtype, **options), name)


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
    of_transformers: dict[str, Any] = {
        "truncate": bool(truncate),
        "window": bool(window),
        "max_length": max_length,
        "batch_tokens": batch_tokens,
        "dtype": dtype,
    }
    of_functions: dict[str, Any] = {
        "mask": mask,
        "batch_texts": batch_texts,
        "cache": cache,
        "max_calls": max_calls,
        "name": name,
    }
    if tokenizer is None:
        _refuse(of_transformers, "a Hugging Face model and its tokenizer")
        function, labels, kind = adapters.answering(model, labels, kind, pairs)
        options = {**of_functions, "kind": kind, "words": words}
        given = {option: value for option, value in options.items() if value is not None}
        return BlackBoxClassifier(function, labels, pairs=pairs, **given)
    _refuse(of_functions, "a function")
    return _huggingface(model, tokenizer, labels=labels, kind=kind, pairs=pairs, words=words, **of_transformers)


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


def _given(options: dict[str, Any]) -> list[str]:
    """The names of options that are not as they are by default."""
    return [name for name, value in options.items() if value is not None and value is not False]


def _refuse(options: dict[str, Any], owner: str) -> None:
    if given := _given(options):
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
    """Whether `load` gives a Hugging Face model for this name: a folder of transformers, or a name of the hub."""
    path = _place(name)
    if path is None:
        return False
    if not path.exists():
        given = str(name)  # written like a path rather than like `name` or `owner/name` of the hub
        if given.startswith((".", "~", os.sep)) or given.count("/") > 1 or _HUB_NAME.fullmatch(given) is None:
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


def _near(path: Path) -> str:
    """The folder beside a path that does not exist whose name is most like it."""
    try:
        entries = islice(path.parent.iterdir(), _NEIGHBOURS)
        beside = [entry.name for entry in entries if (entry / checkpoint.CONFIG).exists()]
    except OSError:
        return ""
    alike = difflib.get_close_matches(path.name, beside, n=1)
    return f"did you mean {str(path.parent / alike[0])!r}?" if alike else ""
