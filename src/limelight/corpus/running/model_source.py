"""The model of a run: by name, so that every worker can load it, or one that is in memory; and what tells two apart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from limelight.attribution.api import check_model, reads_pairs
from limelight.errors import ParameterError
from limelight.models.identity import fingerprint, name_of
from limelight.models.interface import Classifier
from limelight.models.outputs import Kind

GPU_TOKENS = 2**17
"""Tokens in one forward on a GPU, unless said otherwise: fixed, where `limelight.load` looks at the free memory."""
GPU_SHARE = 8
"""One part of so many of a GPU's memory is for the exact values of a batch of documents."""

_DESCRIBED = 300
"""Characters of what a model says of itself."""
_PACKAGES = ("torch", "numpy", "numba", "pyarrow", "transformers", "tokenizers")


@dataclass(frozen=True)
class Loading:
    """A model as `limelight.load` takes it; None is the embedded one."""

    name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Any:
        """The model, on its device: limelight's own ones too."""
        from limelight.core.device import find_device
        from limelight.models.load import is_huggingface, load

        options = {name: value for name, value in self.options.items() if value is not None}
        device = find_device(options.get("device", "auto"))
        if not is_huggingface(self.name):
            options.pop("device", None)
            own: Any = load(self.name, **options)
            return own.to(device)
        if device.type == "cuda":
            options.setdefault("batch_tokens", GPU_TOKENS)
        return load(self.name, **options)


@dataclass(frozen=True)
class Loaded:
    """A model in memory, and how a worker gets the same one; None where it cannot."""

    model: Classifier
    loading: Loading | None

    @classmethod
    def of(cls, given: object, options: Mapping[str, Any]) -> Loaded:
        if given is None or isinstance(given, str | os.PathLike):
            loading = Loading(None if given is None else os.fspath(given), options)
            return cls(loading.load(), loading)
        check_model(given)
        has_it = {"pairs"} if reads_pairs(given) else set()  # type: ignore[arg-type]
        if asked := [name for name, value in options.items() if value is not None and name not in has_it]:
            raise ParameterError(
                f"{', '.join(asked)} cannot be changed of a model that is loaded: load it so, or give its name"
            )
        return cls(given, None)  # type: ignore[arg-type]

    @property
    def kind(self) -> Kind:
        kind: Kind = getattr(self.model, "kind", "classes")
        return kind

    @property
    def is_own(self) -> bool:
        from limelight.models.words.classifier import WordClassifier

        return isinstance(self.model, WordClassifier)

    @property
    def device(self) -> str:
        parameters = getattr(self.model, "parameters", None)
        first = next(iter(parameters()), None) if callable(parameters) else None
        return "cpu" if first is None else str(first.device)

    def identity(self, memory_bytes: int | None) -> dict[str, Any]:
        """What a result depends on beside its question and text. The manifest has it, every worker's is the same, and a
        run goes on with no other. It is asked for before the model is: "auto" may find that half precision fails."""
        return {"computing": self.computing(memory_bytes), "model": self.describe(), "versions": self._versions()}

    def _versions(self) -> dict[str, str]:
        """Of what the last bits of a result may depend on."""
        from limelight import __version__

        versions = {"limelight": __version__}
        for package in _PACKAGES if not self.is_own else _PACKAGES[:4]:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                versions[package] = "not installed"
        return versions

    def describe(self) -> dict[str, Any]:
        """What is written down of a model, and compared before a run goes on."""
        described = repr(self.model)[:_DESCRIBED]  # the precision of what it computes is in it
        return {
            "name": name_of(self.model) if self.loading is None else str(self.loading.name or "embedded"),
            "labels": list(self.model.labels),
            "kind": self.kind,
            "pairs": reads_pairs(self.model),
            "fingerprint": fingerprint(self.model),
            "described": described,
        }

    def computing(self, memory_bytes: int | None) -> dict[str, Any]:
        """Where and in which pieces it computes: what the last bits of a result depend on."""
        import torch

        device = torch.device(self.device)
        name, memory = device.type, None
        if device.type == "cuda":
            total = torch.cuda.get_device_properties(device).total_memory
            share = 1 << (total // GPU_SHARE).bit_length() - 1
            name, memory = torch.cuda.get_device_name(device), share if memory_bytes is None else memory_bytes
        batch_tokens = getattr(getattr(self.model, "runner", None), "given", None)
        return {"device": name, "threads": 1, "memory_bytes": memory, "batch_tokens": batch_tokens}
