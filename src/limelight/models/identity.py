"""Which model it is: its name in front of people, and a hash of all that its answers follow from."""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from typing import Any, TypeVar

T = TypeVar("T")
_known: weakref.WeakKeyDictionary[Any, tuple[object, str | None]] = weakref.WeakKeyDictionary()


def named(model: T, name: str | os.PathLike[str] | None) -> T:
    """The model, which knows from now on what it was loaded by; None is the embedded one."""
    model.loaded_by = "embedded" if name is None else os.fspath(name)  # type: ignore[attr-defined]
    return model


def name_of(model: Any) -> str:
    """What it was loaded by, else what transformers or its owner calls it, else its class."""
    own = getattr(getattr(getattr(model, "model", None), "config", None), "name_or_path", None)
    loaded = getattr(model, "loaded_by", None) or own or getattr(model, "name", None)
    return str(loaded or f"a {type(getattr(model, 'model', model)).__name__}")


def called(name: str) -> str:
    """A model's name in a title."""
    return "the embedded model" if name == "embedded" else os.path.basename(os.path.normpath(name))


def known_fingerprint(model: Any) -> str | None:
    """The fingerprint, computed once as long as no tensor of the model is changed."""
    inner = getattr(model, "model", model)
    if not callable(getattr(inner, "state_dict", None)):
        return None
    state = tuple((name, t.data_ptr(), 0 if t.is_inference() else t._version) for name, t in inner.state_dict().items())
    if model not in _known or _known[model][0] != state:
        _known[model] = state, fingerprint(model)
    return _known[model][1]


def fingerprint(model: Any) -> str | None:
    """A hash of all that a model's answers follow from; None of a function, which cannot be looked into."""
    import torch

    inner = getattr(model, "model", model)
    if not callable(getattr(inner, "state_dict", None)):
        return None
    digest = hashlib.sha256()

    def add(part: object) -> None:
        digest.update(json.dumps(part, sort_keys=True, default=str).encode() + b"\n")

    add([list(model.labels), getattr(model, "kind", None), getattr(model, "pairs", None)])
    add([getattr(model, "long_texts", None), getattr(model, "max_length", None), repr(getattr(model, "config", None))])
    if (vocabulary := getattr(model, "vocabulary", None)) is not None:
        add(vocabulary.words)
    if (tokenizer := getattr(model, "tokenizer", None)) is not None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        add(repr(tokenizer) if backend is None else backend.to_str())
    for name, tensor in sorted(inner.state_dict().items()):
        add([name, str(tensor.dtype), list(tensor.shape)])
        whole = tensor.detach().cpu().contiguous()
        digest.update(whole.flatten().view(dtype=torch.uint8).numpy().tobytes() if whole.numel() else b"")
    return digest.hexdigest()
