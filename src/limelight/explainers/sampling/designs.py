"""Coalitions that are drawn at random, by NumPy for one document or by torch where many are computed on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_ROWS_AT_ONCE = 1024
"""Samples turned into keys or floating-point numbers at once: they stay in the cache, and memory is bounded."""
_GOLDEN = (5.0**0.5 - 1.0) / 2.0
_BLOCK = 1024
"""Rows of a `Sequence` that are drawn by one generator: a beginning is never drawn in part."""


def blocks(n: int, size: int | None = None) -> list[slice]:
    """Rows 0..n in pieces of this size, or in pieces that stay in the cache."""
    size = _ROWS_AT_ONCE if size is None else size
    return [slice(start, start + size) for start in range(0, n, size)]


def all_coalitions(d: int) -> Coalitions:
    """All 2^d coalitions, counted in binary: nothing first, everything last, (2^d, d)."""
    bits: Coalitions = (np.arange(2**d)[:, None] >> np.arange(d - 1, -1, -1)) & 1 == 1
    return bits


def sample_coalitions(d: int, n: int, rng: np.random.Generator, original_first: bool = True) -> Coalitions:
    """n coalitions of LIME: s uniform in 1..d features are removed, uniformly among the subsets of that size.

    A uniform subset of size s holds the features with the s smallest of d random keys. Sorting the keys of all rows at
    once is far cheaper than drawing each subset by itself. With `original_first` the first row keeps everything.
    """
    sizes = rng.integers(1, d + 1, size=n)
    kept = np.empty((n, d), dtype=bool)
    for rows in blocks(n):
        kept[rows] = _removed_by_keys(sizes[rows], d, rng)
    if original_first:
        kept[0] = True
    return kept


def _removed_by_keys(sizes: Integers, d: int, rng: np.random.Generator) -> Coalitions:
    """A row for each of the sizes, which are at least 1: so many of d features removed, uniformly among the subsets."""
    keys = rng.integers(0, 2**32, size=(len(sizes), d), dtype=np.uint32)
    # The column number in the lowest bits makes the keys of a row distinct, so that exactly s are removed.
    keys &= np.uint32(2**32 - (1 << _bits(d)))
    keys |= np.arange(d, dtype=np.uint32)
    last_removed = np.take_along_axis(np.sort(keys, axis=1), sizes[:, None] - 1, axis=1)
    kept: Coalitions = keys > last_removed
    return kept


def _bits(d: int) -> int:
    """Bits of a column number."""
    return max(d - 1, 1).bit_length()


def sample_coalitions_on(
    device: torch.device, d: int, n: int, runs: int, seed: int, original_first: bool = True
) -> Tensor:
    """`sample_coalitions` by torch, several runs in one block: (runs · n, d). Each device draws its own."""
    import torch

    generator = torch.Generator(device).manual_seed(seed)
    sizes = torch.randint(1, d + 1, (runs * n, 1), generator=generator, device=device)
    keys = torch.randint(0, 2**31 - 1, (runs * n, d), generator=generator, device=device, dtype=torch.int32)
    keys = (keys >> _bits(d) << _bits(d)) | torch.arange(d, device=device, dtype=torch.int32)
    kept = keys > keys.sort(dim=1).values.gather(1, sizes - 1)
    if original_first:
        kept[::n] = True
    return kept


class Sequence:
    """Endless sequence of coalitions per seed, whose every beginning is balanced.

    Row i depends on the seed and on i alone, so the same rows come however a run is cut. The number of removed features
    follows `size_weights` (d + 1,) as evenly as points can: sizes are read off at u_i = frac(u_0 + i·φ) with φ the
    golden ratio, whose multiples leave no gap much wider than another after any number of steps (Weyl's sequence).
    Among the subsets of a size the choice is uniform.
    """

    def __init__(self, size_weights: Floats, seed: int) -> None:
        self._d, self._seed = len(size_weights) - 1, seed
        self._cumulated = np.cumsum(size_weights) / float(size_weights.sum())
        self._start = float(np.random.default_rng([seed, 1]).random())
        self._last: tuple[int, Coalitions] | None = None

    def sizes(self, start: int, stop: int) -> Integers:
        """How many features rows start..stop remove."""
        u = (self._start + np.arange(start, stop) * _GOLDEN) % 1.0
        return np.minimum(np.searchsorted(self._cumulated, u, side="right"), self._d)

    def rows(self, start: int, stop: int) -> Coalitions:
        """Rows start..stop of kept features."""
        kept = np.empty((stop - start, self._d), dtype=bool)
        for block in range(start // _BLOCK, -(-stop // _BLOCK)):
            first = block * _BLOCK
            inside = slice(max(start, first) - first, min(stop, first + _BLOCK) - first)
            kept[max(start, first) - start : min(stop, first + _BLOCK) - start] = self._block(block)[inside]
        return kept

    def _block(self, block: int) -> Coalitions:
        """All rows of a block. The last one is kept: a run that goes on in short steps asks for it several times."""
        if self._last is None or self._last[0] != block:
            first, rng = block * _BLOCK, np.random.default_rng([self._seed, 2, block])
            self._last = block, _removed_by_keys(self.sizes(first, first + _BLOCK), self._d, rng)
        return self._last[1]


def arrivals(permutations: Integers) -> Coalitions:
    """Coalitions after 1, …, d - 1 arrivals in each permutation of features (n, d): (n · (d - 1), d)."""
    n, d = permutations.shape
    there: Coalitions = np.argsort(permutations, axis=1)[:, None, :] < np.arange(1, d)[None, :, None]
    return there.reshape(n * (d - 1), d)
