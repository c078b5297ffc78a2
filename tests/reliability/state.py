"""What a call has to leave as it found it: recorded before the call, compared after it, however the call ended.

    with unchanged(model, options):
        limelight.explain(model, text, **options)

`model` and whatever else the caller passed in are looked into; the process is too. The first call of a kind loads
libraries and starts their threads: make it once before recording.
"""

from __future__ import annotations

import contextlib
import decimal
import gc
import hashlib
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import nn

_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
)


# ── the process ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _library_threads() -> Any:
    return [(library["filepath"], library["num_threads"]) for library in ThreadpoolController().info()]


def _torch_settings() -> Any:
    return {
        "threads": torch.get_num_threads(),
        "threads between operations": torch.get_num_interop_threads(),
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomaly mode": torch.is_anomaly_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
    }


def _random_states() -> Any:
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    return {
        "torch": torch.get_rng_state().numpy().tobytes(),
        "NumPy": (kind, keys.tobytes(), *rest),
        "Python": random.getstate(),
    }


def _numpy_settings() -> Any:
    return {"errors": np.geterr(), "printing": np.get_printoptions()}


def _warnings() -> Any:
    return {"filters": list(warnings.filters), "shown by": warnings.showwarning}


def _matplotlib() -> Any:
    return dict(sys.modules["matplotlib"].rcParams) if "matplotlib" in sys.modules else None


def _logging() -> Any:
    root = logging.getLogger()
    return {"level": root.level, "handlers": list(root.handlers), "disabled": root.manager.disable}


def _python_settings() -> Any:
    return {
        "path": list(sys.path),
        "stdout": sys.stdout,
        "stderr": sys.stderr,
        "excepthook": sys.excepthook,
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "garbage collection": gc.isenabled(),
        "decimal precision": decimal.getcontext().prec,
        "locale": locale.setlocale(locale.LC_ALL),
    }


def _signal_handlers() -> Any:
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def _open_files() -> Any:
    """Numbers and targets of file descriptors, without the one that lists them."""
    folder, targets = Path("/proc/self/fd"), {}
    for number in os.listdir(folder) if folder.exists() else ():
        with contextlib.suppress(FileNotFoundError):
            targets[number] = os.readlink(folder / number)
    return targets


def _live_threads() -> Any:
    return sorted((thread.ident or 0, thread.name) for thread in threading.enumerate())


PROCESS: Mapping[str, Callable[[], Any]] = {
    "torch": _torch_settings,
    "random states": _random_states,
    "NumPy": _numpy_settings,
    "warnings": _warnings,
    "signal handlers": _signal_handlers,
    "environment": lambda: dict(os.environ),
    "current directory": os.getcwd,
    "live threads": _live_threads,
    "threads of BLAS and OpenMP": _library_threads,
    "matplotlib": _matplotlib,
    "logging": _logging,
    "Python": _python_settings,
    "open files": _open_files,
}
"""Parts of the process, each as something that can be compared."""
CHEAP = ("torch", "random states", "NumPy", "warnings", "current directory", "live threads")
"""Parts that take a few microseconds."""


# ── what the caller passed in ─────────────────────────────────────────────────────────────────────────────────────────


def described(value: Any, cheap: bool = False) -> Any:
    """Something that differs where `value` was changed in place: by content for what is known, else by identity."""
    if isinstance(value, nn.Module):
        return _module(value, cheap)
    if isinstance(getattr(value, "model", None), nn.Module):
        return {"model": _module(value.model, cheap), "tokenizer": _tokenizer(getattr(value, "tokenizer", None))}
    if isinstance(value, np.ndarray):
        return (id(value), value.dtype.str, value.shape, value.flags.writeable, _bytes_of(value))
    if isinstance(value, torch.Tensor):
        return (id(value), str(value.dtype), tuple(value.shape), value.requires_grad, _digest(value))
    if isinstance(value, Mapping):
        return [(key, described(own, cheap)) for key, own in value.items()]
    if isinstance(value, list | tuple):
        return [described(own, cheap) for own in value]
    if isinstance(value, float):
        return repr(value)  # NaN is not equal to itself
    return value if isinstance(value, str | bytes | int | None) else id(value)


def _bytes_of(array: np.ndarray) -> Any:
    plain = np.asarray(array)
    return list(map(id, plain.ravel())) if plain.dtype.hasobject else plain.tobytes()


def _module(module: nn.Module, cheap: bool) -> Any:
    """Weights, gradients, flags, hooks and configuration of a module and all that it holds."""
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    content = _version if cheap else _digest
    return {
        "weights": {name: (id(t), t.requires_grad, t.data_ptr(), content(t)) for name, t in tensors.items()},
        "gradients": {name: None if t.grad is None else content(t.grad) for name, t in tensors.items() if t.is_leaf},
        "training": {name: own.training for name, own in module.named_modules()},
        "modules": {name: (id(own), type(own)) for name, own in module.named_modules()},
        "hooks": {name: _hooks(own) for name, own in module.named_modules()},
        "attention": getattr(getattr(module, "config", None), "_attn_implementation", None),
        "configuration": None if cheap else repr(getattr(module, "config", None)),
    }


def _hooks(module: nn.Module) -> list[list[int]]:
    return [list(map(id, getattr(module, kind).values())) for kind in _HOOKS if getattr(module, kind, None)]


def _version(tensor: torch.Tensor) -> int:
    """Counted up by torch with every change in place."""
    return -1 if tensor.is_inference() else tensor._version


def _digest(tensor: torch.Tensor) -> str:
    """Of the bytes: a change behind torch's back counts too."""
    plain = tensor.detach().cpu().contiguous()
    return hashlib.sha256(plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b"").hexdigest()


def _tokenizer(tokenizer: Any) -> Any:
    inner = getattr(tokenizer, "backend_tokenizer", None)
    return None if inner is None else repr((inner.truncation, inner.padding, len(tokenizer), tokenizer.padding_side))


# ── recorded and compared ─────────────────────────────────────────────────────────────────────────────────────────────


class State:
    """The process and what was passed in, at one moment."""

    def __init__(self, *given: Any, cheap: bool = False) -> None:
        self._given, self._cheap = given, cheap
        self._parts = self._read()

    def _read(self) -> dict[str, Any]:
        parts = {name: PROCESS[name]() for name in (CHEAP if self._cheap else PROCESS)}
        return parts | {f"argument {i + 1}": described(own, self._cheap) for i, own in enumerate(self._given)}

    def changes(self) -> list[str]:
        """What differs by now, in words."""
        now = self._read()
        return [line for name, value in self._parts.items() for line in _differences(name, value, now[name])]


def _differences(name: str, before: Any, after: Any) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = dict.fromkeys([*before, *after])
        return [
            line for key in keys for line in _differences(f"{name}: {key}", before.get(key, "—"), after.get(key, "—"))
        ]
    return [] if before == after else [f"{name}: {_short(before)} became {_short(after)}"]


def _short(value: Any) -> str:
    written = repr(value)
    return written if len(written) <= 120 else f"{written[:119]}…"


@contextlib.contextmanager
def unchanged(*given: Any, cheap: bool = False) -> Iterator[None]:
    """Inside, nothing of the process and nothing of what is given may change; it is compared after an exception too.

    `cheap`: only what takes a few microseconds, weights by their version instead of their bytes.
    """
    before = State(*given, cheap=cheap)
    try:
        yield
    finally:
        changes = before.changes()
        assert not changes, "left changed behind:\n" + "\n".join(changes)


def growth(call: Callable[[], object], calls: int, rounds: int = 4) -> float:
    """Blocks of Python's memory that each of many equal calls leaves behind: an object that stays is one or more.

    The least of several rounds: what leaks grows in each of them, what fills a cache does not.
    """
    grown = []
    for _ in range(rounds):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(calls):
            call()
        gc.collect()
        grown.append((sys.getallocatedblocks() - before) / calls)
    return min(grown)


def resident() -> int:
    """Bytes of memory that this process holds, those of C libraries included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
