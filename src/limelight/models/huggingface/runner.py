"""Many inputs through a model, as fast as its forward pass.

Inputs of different lengths are sorted, so that a batch holds hardly any padding, and none at all where enough of them
have the same length. What a batch needs in memory does not depend on how many inputs there are. `Shapes` holds what
was chosen by measuring, for each kind of device; `benchmarks/first_seen.py` measures it.

Which implementation of attention a forward runs with is chosen for one thread and one block. torch chooses one by
itself, by switches that belong to the whole process. On recent GPUs its choice may be cuDNN's, which plans each new
shape of a batch for longer than it computes it. Inside `attention_of` the function `scaled_dot_product_attention` is
answered by an implementation that plans nothing; what that does not do (a mask with a gradient, float32) is left to
torch. Nothing outside the block, and no other thread, sees a difference.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from limelight.core.arrays import Array, Floats, Integers, whole_number
from limelight.errors import CapabilityError, LimelightError, shortened
from limelight.models.huggingface.subwords import TokenWindow

Batching = Literal["padded", "equal lengths", "one at a time", "does not repeat itself"]
"""Which inputs share a forward: any, padded to one length; those of one length; none, for the last two."""


@dataclass(frozen=True)
class Shapes:
    """The shapes of batches on one kind of device.

    `tokens`: the most in one forward. `alone`: so many tokens of inputs of one width are a batch of their own; without
    padding attention needs no mask, which costs more than the launch of one more batch from there on. `step`: widths
    are rounded up to a multiple of it, so that there are few of them. `asked`: tokens of the inputs that are best asked
    for at once, 0 where few are as good. `attention`: which implementation (`kernels`), None for torch's own choice.
    """

    tokens: int
    alone: int
    step: int
    asked: int
    attention: str | None = None


SHAPES = {
    # Throughput is flat from 512 to 4,096 tokens and falls beyond, when activations leave the cache; a constant rather
    # than a stopwatch keeps the last bits of a result the same from run to run.
    "cpu": Shapes(tokens=2048, alone=512, step=1, asked=0),
    # A GPU is busy long before. torch's own choice of attention plans each new shape of batch for longer than it
    # computes it, so that the first run of a text took five times as long as the second. These kernels plan nothing,
    # and widths in steps of 16 keep their memory aligned: 0.17 s instead of 0.88 s (docs/benchmarks.md).
    "cuda": Shapes(tokens=2**17, alone=24_000, step=16, asked=2**20, attention="flash"),
}
_GPU_PROBE = 4096
_GPU_MEMORY = 0.4
"""How much of the free memory a batch may take."""


def shapes_of(device: torch.device) -> Shapes:
    return SHAPES.get(device.type, SHAPES["cpu"])


@dataclass(frozen=True)
class Inputs:
    """A batch on the model's device: token numbers (B, L); `attention` is None where nothing is hidden."""

    ids: Tensor
    types: Tensor | None = None
    attention: Tensor | None = None


Forward = Callable[[Inputs], Tensor]
Build = Callable[[Integers, int], Inputs]
"""The batch of these rows, of this width: that of the longest of them, or more."""
Finished = Callable[[Integers], None]
"""Is told of the rows that a forward has answered."""


@dataclass(frozen=True)
class Batches:
    """Inputs of these lengths (n,), and how a batch of them is built."""

    lengths: Integers
    build: Build


class Runner:
    """Runs inputs through a model in batches whose size it finds itself, and halves when memory runs out.

    The size is kept for the next run on the same device in the same precision. No batch is wider than `widest`, where
    that is given. Threads may share a runner.
    """

    def __init__(self, classes: int, batch_tokens: int | None = None, widest: int | None = None) -> None:
        self.given = None if batch_tokens is None else whole_number("batch_tokens", batch_tokens, 1)
        self._classes, self._widest = classes, widest
        self._tokens: dict[object, int] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, object]:
        """Without its lock, which no other process can have."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    def most_tokens(self, device: torch.device) -> int:
        """The most that a forward may hold."""
        return shapes_of(device).tokens if self.given is None else self.given

    def run(
        self,
        forward: Forward,
        device: torch.device,
        batches: Batches,
        finished: Finished = lambda rows: None,
        precision: object = None,
        batching: Batching = "padded",
    ) -> Floats:
        """Logits (n, C) of n inputs. The longest come first: memory that suffices once suffices.

        A batch that the model refuses, such as texts of which one has more end tokens than another, is asked one by
        one.
        """
        n, shapes = len(batches.lengths), shapes_of(device)
        widths = self._widths(batches.lengths, shapes.step) if batching == "padded" else batches.lengths
        order = np.argsort(-batches.lengths, kind="stable")
        descending = -widths[order]
        logits = torch.empty((n, self._classes), dtype=torch.float64, device=device)
        memory = _Memory(forward, device, batches, precision, batching)
        done = 0
        while done < n:
            width = max(int(widths[order[done]]), 1)
            room = max(1, self._batch_tokens(memory, order) // width)
            same = int(np.searchsorted(descending, -width, side="right")) - done
            if batching in ("one at a time", "does not repeat itself"):
                room = 1
            elif batching == "equal lengths" or same * width >= shapes.alone:
                room = min(room, same)
            rows = order[done : done + room]
            answers = self._attempt(memory, rows, width)
            if answers is None:
                continue
            logits[done : done + len(rows)] = answers
            done += len(rows)
            finished(rows)
        result = np.empty((n, self._classes))
        result[order] = logits.cpu().numpy()  # the one moment at which a GPU is waited for
        return result

    def _widths(self, lengths: Integers, step: int) -> Integers:
        """The lengths, rounded up to a multiple of `step`, and no wider than the model reads."""
        rounded = -(-lengths // step) * step
        return rounded if self._widest is None else np.maximum(np.minimum(rounded, self._widest), lengths)

    def _attempt(self, memory: _Memory, rows: Integers, width: int) -> Tensor | None:
        """The logits of a batch; None, and smaller batches from now on, where memory ran out."""
        try:
            return memory.asked(rows, width)
        except Exception as error:
            refused = not _is_out_of_memory(error)
            if refused and (len(rows) == 1 or isinstance(error, RuntimeError)):  # of torch, not of a model's own check
                raise _refusal(error, width) from error
            if len(rows) == 1:
                raise
        if refused:
            lengths = memory.batches.lengths[rows].tolist()
            alone = [self._attempt(memory, rows[i : i + 1], max(own, 1)) for i, own in enumerate(lengths)]
            return torch.cat([answer for answer in alone if answer is not None])  # of one input there is an answer
        # Outside the handler: the error's traceback would keep the memory that it complains of.
        half = len(rows) * width // 2
        with self._lock:
            self._tokens[memory.key] = min(self._tokens[memory.key], half)  # another thread may have gone lower
        if memory.device.type == "cuda":
            torch.cuda.empty_cache()
        return None

    def _batch_tokens(self, memory: _Memory, order: Integers) -> int:
        """Tokens in one forward: as given, or found by the first thread that asks."""
        with self._lock:
            if memory.key not in self._tokens:
                is_found = self.given is None and memory.device.type == "cuda"
                self._tokens[memory.key] = memory.fitting(order) if is_found else self.most_tokens(memory.device)
            return self._tokens[memory.key]


@dataclass(frozen=True)
class _Memory:
    """A run as far as its memory is concerned: what is computed, where, of what, and in which precision."""

    forward: Forward
    device: torch.device
    batches: Batches
    precision: object
    batching: Batching

    @property
    def key(self) -> object:
        return self.device, self.precision

    def asked(self, rows: Integers, width: int) -> Tensor:
        """The logits of some inputs as one batch."""
        with torch.inference_mode(), attention_of(self.device, shapes_of(self.device).attention):
            return self.forward(self.batches.build(rows, width))

    @torch.inference_mode()
    def fitting(self, order: Integers) -> int:
        """What a token costs in memory, from one small forward; as many as fit are then taken, in a power of two."""
        longest = int(self.batches.lengths[order[0]])
        rows = order[: max(1, _GPU_PROBE // longest)] if self.batching == "padded" else order[:1]
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)
        before = torch.cuda.memory_allocated(self.device)
        try:
            self.asked(rows, longest)
        except Exception as error:
            if _is_out_of_memory(error) or len(rows) == 1:
                raise
            rows = rows[:1]  # a batch that the model refuses is asked one by one
            self.asked(rows, longest)
        per_token = max(1, torch.cuda.max_memory_allocated(self.device) - before) / (len(rows) * longest)
        free, _ = torch.cuda.mem_get_info(self.device)
        fitting = int(_GPU_MEMORY * free / per_token)
        return min(shapes_of(self.device).tokens, 1 << max(fitting, 1).bit_length() - 1)


def _is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, RuntimeError) and (
        isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
    )


def _refusal(error: Exception, width: int) -> LimelightError:
    """What the model raised on one input, in words; an error of our own as it is."""
    if isinstance(error, LimelightError):
        return error
    return CapabilityError(
        f"the model cannot be run on an input of {width} tokens, {type(error).__name__}: {shortened(str(error))}; give "
        "another text or another removal, or wrap a function from texts to probabilities, limelight.wrap(f)"
    )


def to_device(array: Array, device: torch.device) -> Tensor:
    """Copied beside the computation where the device allows it."""
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def ragged_batches(windows: Sequence[TokenWindow], pad: int, device: torch.device) -> Batches:
    """Windows of different texts, padded to the width of a batch."""
    lengths = np.array([len(window.ids) for window in windows], dtype=np.int64)

    def build(rows: Integers, width: int) -> Inputs:
        ids = np.full((len(rows), width), pad, dtype=np.int64)
        types = np.zeros_like(ids)
        for b, i in enumerate(rows):
            ids[b, : lengths[i]] = windows[i].ids
            types[b, : lengths[i]] = windows[i].types
        shown = np.arange(width) < lengths[rows][:, None]
        return Inputs(
            to_device(ids, device),
            to_device(types, device) if types.any() else None,
            None if shown.all() else to_device(shown.astype(np.int64), device),
        )

    return Batches(lengths, build)


def one_batch(windows: Sequence[TokenWindow], device: torch.device, pad: int = 0) -> Inputs:
    """Windows as a batch of as many."""
    batches = ragged_batches(windows, pad, device)
    return batches.build(np.arange(len(windows)), int(batches.lengths.max()))


# ── attention ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_HALVES = (torch.float16, torch.bfloat16)
_ALIGNED = 8
"""Rows of a mask must begin at a multiple of so many numbers for the kernel that takes one."""
_LARGEST_HEAD = 256


def attention_of(device: torch.device, name: str | None) -> AbstractContextManager[Any]:
    """Inside, attention on a GPU is that of `IMPLEMENTATIONS`; on any other device, or without a name, torch's own."""
    if device.type != "cuda" or name is None:
        return contextlib.nullcontext()
    return _Chosen(IMPLEMENTATIONS[name])


Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None, float | None], Tensor | None]
"""From queries, keys and values (B, H, L, D), a mask (B, 1 or H, L, L) and a scale to (B, H, L, D), or None where an
implementation is not for them."""


class _Chosen(TorchFunctionMode):
    """Answers attention by an implementation, in this thread."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self._attention = attention

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.nn.functional.scaled_dot_product_attention:
            answer = self._instead(*args, **(kwargs or {}))
            if answer is not None:
                return answer
        return function(*args, **(kwargs or {}))

    def _instead(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor | None:
        plain = query.dim() == 4 and query.shape == key.shape == value.shape and not (dropout_p or is_causal)
        if not plain or enable_gqa or query.dtype not in _HALVES or query.shape[-1] > _LARGEST_HEAD:
            return None
        if query.shape[-1] % _ALIGNED or torch.is_grad_enabled():
            return None
        return self._attention(query, key, value, attn_mask, scale)


def _flash(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None) -> Tensor | None:
    """FlashAttention without a mask, the memory-efficient kernel with one: neither plans anything."""
    if mask is not None:
        return _efficient(query, key, value, mask, scale)
    answer: Tensor = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, 0.0, False, scale=scale)[0]
    return answer


def _efficient(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None) -> Tensor | None:
    """The memory-efficient kernel, which takes any mask."""
    bias = None if mask is None else _as_bias(mask, query)
    answer: Tensor = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, False, 0.0, False, scale=scale
    )[0]
    return answer


def _as_bias(mask: Tensor, query: Tensor) -> Tensor:
    """A mask as numbers that are added, in rows that begin where the kernel can read them, for all heads."""
    B, H, L, _ = query.shape
    if mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=query.dtype, device=mask.device).masked_fill_(~mask, float("-inf"))
    keys = mask.shape[-1]
    if keys % _ALIGNED:
        mask = torch.nn.functional.pad(mask, (0, _ALIGNED - keys % _ALIGNED))[..., :keys]
    return mask.to(query.dtype).expand(B, H, L, keys)


IMPLEMENTATIONS: dict[str, Attention] = {"flash": _flash, "efficient": _efficient}
