"""Many inputs through a model, as fast as its forward pass.

Inputs of different lengths are sorted, so that a batch holds hardly any padding, and none at all where enough of them
have the same length. What a batch needs in memory does not depend on how many inputs there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from limelight.arrays import Array, Floats, Integers, whole_number
from limelight.models.huggingface.subwords import TokenWindow

_CPU_TOKENS = 2048
"""Tokens in one forward on a CPU. Throughput is flat from 512 to 4,096 and falls beyond, when activations leave the
cache; a constant rather than a stopwatch keeps the last bits of a result the same from run to run."""
_GPU_TOKENS = 2**17
"""The most tokens in one forward on a GPU: it is busy long before."""
_GPU_PROBE = 4096
_GPU_MEMORY = 0.4
"""How much of the free memory a batch may take."""
_ALONE = {"cpu": 512, "cuda": 24_000}
"""So many tokens of inputs of one length are a batch of their own: without padding attention needs no mask, which costs
more than the launch of one more batch from here on."""


@dataclass(frozen=True)
class Inputs:
    """A batch on the model's device: token numbers (B, L); `attention` is None where nothing is hidden."""

    ids: Tensor
    types: Tensor | None = None
    attention: Tensor | None = None


Forward = Callable[[Inputs], Tensor]
Build = Callable[[Integers], Inputs]
"""The batch of these rows, as wide as the longest of them."""
Finished = Callable[[Integers], None]
"""Is told of the rows that a forward has answered."""


@dataclass(frozen=True)
class Batches:
    """Inputs of these lengths (n,), and how a batch of them is built."""

    lengths: Integers
    build: Build


class Runner:
    """Runs inputs through a model in batches whose size it finds itself, and halves when memory runs out.

    The size is kept for the next run on the same device. Threads may share a runner.
    """

    def __init__(self, classes: int, batch_tokens: int | None = None) -> None:
        self._given = None if batch_tokens is None else whole_number("batch_tokens", batch_tokens, 1)
        self._classes = classes
        self._tokens: dict[torch.device, int] = {}
        self._lock = threading.RLock()

    def run(
        self, forward: Forward, device: torch.device, batches: Batches, finished: Finished = lambda rows: None
    ) -> Floats:
        """Logits (n, C) of n inputs. The longest come first: memory that suffices once suffices."""
        lengths, n = batches.lengths, len(batches.lengths)
        order = np.argsort(-lengths, kind="stable")
        descending = -lengths[order]
        logits = torch.empty((n, self._classes), dtype=torch.float64, device=device)
        done = 0
        while done < n:
            longest = int(lengths[order[done]])
            room = max(1, self._batch_tokens(forward, device, batches, order) // max(longest, 1))
            same = int(np.searchsorted(descending, -longest, side="right")) - done
            if same * longest >= _ALONE.get(device.type, 0):
                room = min(room, same)
            rows = order[done : done + room]
            answers = self._attempt(forward, device, batches, rows)
            if answers is None:
                continue
            logits[done : done + len(rows)] = answers
            done += len(rows)
            finished(rows)
        result = np.empty((n, self._classes))
        result[order] = logits.cpu().numpy()  # the one moment at which a GPU is waited for
        return result

    def _attempt(self, forward: Forward, device: torch.device, batches: Batches, rows: Integers) -> Tensor | None:
        """The logits of a batch; None, and smaller batches from now on, where memory ran out."""
        try:
            with torch.inference_mode():
                return forward(batches.build(rows))
        except RuntimeError as error:
            if not _is_out_of_memory(error) or len(rows) == 1:
                raise
        # Outside the handler: the error's traceback would keep the memory that it complains of.
        half = len(rows) * int(batches.lengths[rows].max()) // 2
        with self._lock:
            self._tokens[device] = min(self._tokens[device], half)  # another thread may have gone lower meanwhile
        if device.type == "cuda":
            torch.cuda.empty_cache()
        return None

    def _batch_tokens(self, forward: Forward, device: torch.device, batches: Batches, order: Integers) -> int:
        """Tokens in one forward: as given, or found by the first thread that asks."""
        with self._lock:
            if device not in self._tokens:
                if self._given is not None:
                    self._tokens[device] = self._given
                elif device.type == "cuda":
                    self._tokens[device] = _probe(forward, device, batches, order)
                else:
                    self._tokens[device] = _CPU_TOKENS
            return self._tokens[device]


@torch.inference_mode()
def _probe(forward: Forward, device: torch.device, batches: Batches, order: Integers) -> int:
    """What a token costs in memory, from one small forward; as many as fit are then taken, in a power of two."""
    longest = int(batches.lengths[order[0]])
    rows = order[: max(1, _GPU_PROBE // longest)]
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    forward(batches.build(rows))
    per_token = max(1, torch.cuda.max_memory_allocated(device) - before) / (len(rows) * longest)
    free, _ = torch.cuda.mem_get_info(device)
    fitting = int(_GPU_MEMORY * free / per_token)
    return min(_GPU_TOKENS, 1 << max(fitting, 1).bit_length() - 1)


def _is_out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def to_device(array: Array, device: torch.device) -> Tensor:
    """Copied beside the computation where the device allows it."""
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def ragged_batches(windows: Sequence[TokenWindow], pad: int, device: torch.device) -> Batches:
    """Windows of different texts, padded to the longest of a batch."""
    lengths = np.array([len(window.ids) for window in windows], dtype=np.int64)

    def build(rows: Integers) -> Inputs:
        longest = int(lengths[rows].max())
        ids = np.full((len(rows), longest), pad, dtype=np.int64)
        types = np.zeros_like(ids)
        for b, i in enumerate(rows):
            ids[b, : lengths[i]] = windows[i].ids
            types[b, : lengths[i]] = windows[i].types
        shown = np.arange(longest) < lengths[rows][:, None]
        return Inputs(
            to_device(ids, device),
            to_device(types, device) if types.any() else None,
            None if shown.all() else to_device(shown.astype(np.int64), device),
        )

    return Batches(lengths, build)
