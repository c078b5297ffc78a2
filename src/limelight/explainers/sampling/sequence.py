"""Coalitions as one endless sequence per seed, whose every beginning is balanced.

Row i of a sequence depends on the seed and on i alone, so the same rows come however a run is cut. The number of
removed features follows its distribution as evenly as points can: sizes are read off at u_i = frac(u_0 + i·φ) with φ
the golden ratio, whose multiples leave no gap much wider than another after any number of steps (Weyl's sequence).
Among the subsets of a size the choice is uniform.
"""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.explainers.sampling.designs import removed_by_keys

_GOLDEN = (5.0**0.5 - 1.0) / 2.0
_BLOCK = 1024
"""Rows that are drawn by one generator: a beginning is never drawn in part."""


class Draws:
    """Rows of kept features; `size_weights` (d + 1,) are in proportion to the chance of s removed features."""

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
        kept = np.empty((stop - start, self._d), dtype=bool)
        for block in range(start // _BLOCK, -(-stop // _BLOCK)):
            first = block * _BLOCK
            inside = slice(max(start, first) - first, min(stop, first + _BLOCK) - first)
            kept[max(start, first) - start : min(stop, first + _BLOCK) - start] = self._drawn(block)[inside]
        return kept

    def _drawn(self, block: int) -> Coalitions:
        """All rows of a block. The last one is kept: a run that goes on in short steps asks for it several times."""
        if self._last is None or self._last[0] != block:
            first, rng = block * _BLOCK, np.random.default_rng([self._seed, 2, block])
            self._last = block, removed_by_keys(self.sizes(first, first + _BLOCK), self._d, rng)
        return self._last[1]
