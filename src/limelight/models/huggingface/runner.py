"""Many variants of one text through a model, as fast as its forward pass.

Token numbers are built from the matrix of kept features: no strings, no tokenizer. Variants that are the same input are
computed once. Inputs of different lengths are sorted, so that a batch holds hardly any padding, and none at all where
enough of them have the same length. What a batch needs in memory does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.document import Features, owners_of_words
from limelight.errors import CapabilityError, ParameterError
from limelight.models.huggingface.subwords import TokenWindow
from limelight.theory.ratio_game import Coalitions
from limelight.view import Removal

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]
"""Is told how many of how many inputs are done."""

_CPU_TOKENS = 2048
"""Tokens in one forward on a CPU. Throughput is flat from 512 to 4,096 and falls beyond, when activations leave the
cache; a constant rather than a stopwatch keeps the last bits of a result the same from run to run."""
_GPU_TOKENS = 2**17
"""The most tokens in one forward on a GPU: it is busy long before."""
_GPU_PROBE = 4096
_GPU_SHARE = 0.4
"""The part of the free memory that a batch may take."""
_ALONE = {"cpu": 512, "cuda": 24_000}
"""So many tokens of inputs of one length are a batch of their own: without padding attention needs no mask, which costs
more than the launch of one more batch from here on."""
_ROWS_AT_ONCE = 2**16
"""Variants that are on the device at once, and among which the same one is computed once."""
_COUNTED_AT_ONCE = 8192


@dataclass(frozen=True)
class Inputs:
    """A batch on the model's device: token numbers (B, L); `attention` is None where nothing is hidden."""

    ids: Tensor
    types: Tensor | None = None
    attention: Tensor | None = None


Forward = Callable[[Inputs], Tensor]
Build = Callable[[Integers, int], Inputs]
"""The batch of these rows, as wide as the longest of them."""


class Runner:
    """Runs inputs through a model in batches whose size it finds itself, and halves when memory runs out."""

    def __init__(
        self,
        forward: Forward,
        device: torch.device,
        classes: int,
        batch_tokens: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if batch_tokens is not None and (not isinstance(batch_tokens, int) or batch_tokens < 1):
            raise ParameterError(f"batch_tokens must be a whole number of at least 1: got {batch_tokens!r}")
        self.forward, self.device, self.classes = forward, device, classes
        self.batch_tokens = batch_tokens
        self.progress = progress

    @torch.inference_mode()
    def run(self, lengths: Integers, build: Build) -> Floats:
        """Logits (n, C) of n inputs of these lengths. The longest come first: memory that suffices once suffices."""
        n = len(lengths)
        order = np.argsort(-lengths, kind="stable")
        descending = -lengths[order]
        found = torch.empty((n, self.classes), dtype=torch.float64, device=self.device)
        done = 0
        while done < n:
            longest = int(lengths[order[done]])
            room = max(1, self._tokens(longest, build, order) // max(longest, 1))
            same = int(np.searchsorted(descending, -longest, side="right")) - done
            if same * longest >= _ALONE.get(self.device.type, 0):
                room = min(room, same)
            rows = order[done : done + room]
            logits = self._attempt(rows, longest, build)
            if logits is None:
                continue
            found[done : done + len(rows)] = logits
            done += len(rows)
            if self.progress is not None:
                self.progress(done, n)
        result = np.empty((n, self.classes))
        result[order] = found.cpu().numpy()  # the one moment at which a GPU is waited for
        return result

    def _attempt(self, rows: Integers, longest: int, build: Build) -> Tensor | None:
        """The logits of a batch; None, and a smaller batch from now on, where memory ran out."""
        try:
            return self.forward(build(rows, longest))
        except RuntimeError as error:
            if not _is_out_of_memory(error) or len(rows) == 1:
                raise
        # Outside the handler: the error's traceback would keep the memory that it complains of.
        self.batch_tokens = len(rows) * longest // 2
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return None

    def _tokens(self, longest: int, build: Build, rows: Integers) -> int:
        if self.batch_tokens is None:
            self.batch_tokens = _CPU_TOKENS
            if self.device.type == "cuda":
                self.batch_tokens = self._probe(longest, build, rows)
        return self.batch_tokens

    def _probe(self, longest: int, build: Build, rows: Integers) -> int:
        """What a token costs in memory, from one small forward; as many as fit are then taken, in a power of two."""
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)
        before = torch.cuda.memory_allocated(self.device)
        rows = rows[: max(1, _GPU_PROBE // longest)]
        self.forward(build(rows, longest))
        per_token = max(1, torch.cuda.max_memory_allocated(self.device) - before) / (len(rows) * longest)
        free, _ = torch.cuda.mem_get_info(self.device)
        fitting = int(_GPU_SHARE * free / per_token)
        return min(_GPU_TOKENS, 1 << max(fitting, 1).bit_length() - 1)


def _is_out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def to_device(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Copied beside the computation where the device allows it."""
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def ragged_inputs(windows: Sequence[TokenWindow], pad: int, device: torch.device) -> tuple[Integers, Build]:
    """Inputs of different texts, as lengths and batches of them."""
    lengths = np.array([len(window.ids) for window in windows], dtype=np.int64)

    def build(rows: Integers, longest: int) -> Inputs:
        ids = np.full((len(rows), longest), pad, dtype=np.int64)
        types = np.zeros_like(ids)
        for i, row in enumerate(rows):
            ids[i, : lengths[row]], types[i, : lengths[row]] = windows[row].ids, windows[row].types
        shown = np.arange(longest) < lengths[rows][:, None]
        return Inputs(
            to_device(ids, device),
            to_device(types, device) if types.any() else None,
            None if shown.all() else to_device(shown.astype(np.int64), device),
        )

    return lengths, build


class TokenGame:
    """Logits of a document under each row of kept (True) and removed (False) features.

    A token is removed when one of the words that it belongs to is. A document that is read in several windows has the
    mean of their logits.
    """

    def __init__(
        self, windows: Sequence[TokenWindow], features: Features, n_words: int, removal: Removal, runner: Runner,
        *, mask: int, pad: int,
    ) -> None:  # fmt: skip
        owner = np.asarray(owners_of_words(features, n_words))
        self._runner, self._d = runner, len(features)
        self._variants = [Variants(window, owner, removal, runner.device, mask, pad) for window in windows]
        self._shares = [window.share for window in windows]

    def __call__(self, kept: Coalitions) -> Floats:
        kept = np.asarray(kept, dtype=bool)
        if kept.ndim != 2 or kept.shape[1] != self._d:
            raise ParameterError(f"coalitions have shape {kept.shape}: this text has {self._d} features")
        logits = np.zeros((len(kept), self._runner.classes))
        for start in range(0, len(kept), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            for variants, share in zip(self._variants, self._shares, strict=True):
                distinct, which = distinct_rows(kept[rows, variants.features])
                lengths, build = variants.inputs(distinct)
                logits[rows] += share * self._runner.run(lengths, build)[which]
        return logits


def distinct_rows(kept: Coalitions) -> tuple[Coalitions, Integers]:
    """The rows without repetition, and for each row which of them it is."""
    if not kept.shape[1]:
        return kept[:1], np.zeros(len(kept), dtype=np.int64)
    packed = np.ascontiguousarray(np.packbits(kept, axis=1))
    keys = packed.view(f"V{packed.shape[1]}")[:, 0]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return kept[first], which.astype(np.int64)


class Variants:
    """The inputs that one window becomes when features are removed.

    A masked word is one mask token, however many tokens it had: as if it had been replaced in the text.
    """

    def __init__(
        self, window: TokenWindow, owner: Integers, removal: Removal, device: torch.device, mask: int, pad: int
    ) -> None:
        self._removal, self._device, self._pad, self._mask = removal, device, pad, mask
        self.features, column = np.unique(owner[window.words], return_inverse=True)
        self._length, none = len(window.ids), len(self.features)
        owners = _columns(self._length, window.positions, column, none)
        if removal != "mask" and (owners[0] < none).all():
            raise CapabilityError(
                f"this tokenizer adds no special tokens, so removal={removal!r} of all words would leave nothing to "
                "read: use removal='mask'"
            )
        _, first = np.unique(window.words, return_index=True)
        heads = _columns(self._length, window.positions[first], column[first], none)
        self._owners = [to_device(columns, device) for columns in owners]
        self._heads = [to_device(columns, device) for columns in heads]
        self._shortens = removal == "delete" or (removal == "mask" and len(first) < len(window.words))
        self._ids, self._types = to_device(window.ids, device), to_device(window.types, device)
        self._typed = bool(window.types.any())

    def inputs(self, kept: Coalitions) -> tuple[Integers, Build]:
        """Lengths, and batches, of the variants with these features kept (n, features of this window)."""
        always = np.ones((len(kept), 1), dtype=bool)
        table = to_device(np.concatenate([kept, always], axis=1), self._device)

        def of(rows: Integers) -> Tensor:
            return table[torch.from_numpy(rows).to(self._device)]

        if not self._shortens:
            return np.full(len(kept), self._length), lambda rows, longest: self._in_place(of(rows))
        blocks = [self._left(block).sum(dim=1) for block in torch.split(table, _COUNTED_AT_ONCE)]
        lengths = torch.cat(blocks).cpu().numpy()
        return lengths, lambda rows, longest: self._shortened(of(rows), lengths[rows], longest)

    def _shown(self, kept: Tensor) -> Tensor:
        """Which tokens are as they were (n, T): those of no feature, and those whose features are all kept."""
        shown = kept[:, self._owners[0]]
        for others in self._owners[1:]:
            shown &= kept[:, others]
        return shown

    def _left(self, kept: Tensor) -> Tensor:
        """Which tokens are there (n, T): those that are shown, and where words are masked the first of each."""
        left = self._shown(kept)
        if self._removal == "mask":
            for first in self._heads:
                left |= ~kept[:, first]
        return left

    def _in_place(self, kept: Tensor) -> Inputs:
        shown = self._shown(kept)
        types = self._types.expand(shown.shape) if self._typed else None
        if self._removal == "attention":
            return Inputs(self._ids.expand(shown.shape), types, shown.long())
        return Inputs(torch.where(shown, self._ids, self._mask), types)

    def _shortened(self, kept: Tensor, lengths: Integers, longest: int) -> Inputs:
        """What is left moves up; where texts of a batch differ in length, padding follows and is hidden."""
        # A stable sort brings the tokens that are left to the front, in their order.
        source = self._left(kept).logical_not().byte().argsort(dim=1, stable=True)[:, :longest]
        ids = self._ids[source]
        if self._removal == "mask":
            ids = torch.where(self._shown(kept).gather(1, source), ids, self._mask)
        types = self._types[source] if self._typed else None
        if (lengths == longest).all():
            return Inputs(ids, types)
        left = torch.arange(longest, device=self._device) < torch.from_numpy(lengths).to(self._device)[:, None]
        return Inputs(torch.where(left, ids, self._pad), types, left.long())


def _columns(length: int, positions: Integers, column: Integers, none: int) -> list[Integers]:
    """For each token the columns that its positions are given, as several arrays (length,); `none` where none is left.

    A token seldom has more than one, so this is one array nearly always.
    """
    per_token: list[list[int]] = [[] for _ in range(length)]
    for position, feature in zip(positions, column, strict=True):
        if feature not in per_token[position]:
            per_token[position].append(int(feature))
    depth = max(1, *map(len, per_token))
    padded = [own + [none] * (depth - len(own)) for own in per_token]
    return [np.array([own[k] for own in padded], dtype=np.int64) for k in range(depth)]
