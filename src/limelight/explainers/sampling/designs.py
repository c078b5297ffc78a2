"""Coalitions that are drawn at random, by NumPy for one document or by torch where many are computed on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from limelight.core.arrays import Coalitions, Integers

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_ROWS_AT_ONCE = 1024
"""Samples turned into keys or floating-point numbers at once: they stay in the cache, and memory is bounded."""


def blocks(n: int) -> list[slice]:
    """Rows 0..n in pieces that stay in the cache."""
    return blocks_of(n, _ROWS_AT_ONCE)


def blocks_of(n: int, size: int) -> list[slice]:
    """Rows 0..n in pieces of this size."""
    return [slice(start, start + size) for start in range(0, n, size)]


def sample_coalitions(d: int, n: int, rng: np.random.Generator, original_first: bool = True) -> Coalitions:
    """n coalitions of LIME: s uniform in 1..d features are removed, uniformly among the subsets of that size.

    A uniform subset of size s holds the features with the s smallest of d random keys. Sorting the keys of all rows at
    once is far cheaper than drawing each subset by itself. With `original_first` the first row keeps everything.
    """
    sizes = rng.integers(1, d + 1, size=n)
    kept = np.empty((n, d), dtype=bool)
    for rows in blocks(n):
        kept[rows] = removed_by_keys(sizes[rows], d, rng)
    if original_first:
        kept[0] = True
    return kept


def removed_by_keys(sizes: Integers, d: int, rng: np.random.Generator) -> Coalitions:
    """A row for each of the sizes, which are at least 1: so many of d features removed, uniformly among the subsets."""
    keys = rng.integers(0, 2**32, size=(len(sizes), d), dtype=np.uint32)
    # The column number in the lowest bits makes the keys of a row distinct, so that exactly s are removed.
    keys &= np.uint32(2**32 - (1 << _bits(d)))
    keys |= np.arange(d, dtype=np.uint32)
    last_removed = np.take_along_axis(np.sort(keys, axis=1), sizes[:, None] - 1, axis=1)
    kept: Coalitions = keys > last_removed
    return kept


def sample_coalitions_on(
    device: torch.device, d: int, n: int, runs: int, seed: int, original_first: bool = True
) -> Tensor:
    """The same by torch, several runs in one block: (runs · n, d). Each device has random numbers of its own."""
    import torch

    generator = torch.Generator(device).manual_seed(seed)
    sizes = torch.randint(1, d + 1, (runs * n, 1), generator=generator, device=device)
    keys = torch.randint(0, 2**31 - 1, (runs * n, d), generator=generator, device=device, dtype=torch.int32)
    keys = (keys >> _bits(d) << _bits(d)) | torch.arange(d, device=device, dtype=torch.int32)
    kept = keys > keys.sort(dim=1).values.gather(1, sizes - 1)
    if original_first:
        kept[::n] = True
    return kept


def _bits(d: int) -> int:
    """Of a column number."""
    return max(d - 1, 1).bit_length()


def arrivals(orders: Integers) -> Coalitions:
    """For each order of features (n, d), what is there after 1, …, d - 1 arrivals: (n · (d - 1), d)."""
    n, d = orders.shape
    arrives = np.empty((n, d), dtype=np.int64)
    np.put_along_axis(arrives, orders, np.broadcast_to(np.arange(d), (n, d)), axis=1)
    there: Coalitions = arrives[:, None, :] < np.arange(1, d)[None, :, None]
    return there.reshape(n * (d - 1), d)
