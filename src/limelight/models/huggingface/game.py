"""A document of token windows as a game: its logits under each set of kept features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limelight.arrays import Coalitions, Floats, Integers
from limelight.models.coalitions import AnsweredCoalitions, checked_coalitions, distinct_rows
from limelight.models.huggingface.private import Tree
from limelight.models.huggingface.runner import Runner
from limelight.models.huggingface.variants import Variants
from limelight.progress import Progress

_ROWS_AT_ONCE = 2**16
"""Variants that are on the device at once, and among which the same one is computed once."""


class TokenGame:
    """Logits of a document under each row of kept (True) and removed (False) features.

    A document that is read in several windows has the mean of their logits, each weighted with its part.
    """

    def __init__(
        self,
        tree: Tree,
        runner: Runner,
        variants: Sequence[Variants],
        parts: Sequence[float],
        *,
        features: int,
        classes: int,
        progress: Progress,
    ) -> None:
        self._tree, self._runner, self._windows = tree, runner, list(zip(variants, parts, strict=True))
        self._features, self._classes, self._progress = features, classes, progress
        self.asked = 0

    def __call__(self, kept: Coalitions) -> Floats:
        kept = checked_coalitions(kept, self._features)
        logits = np.zeros((len(kept), self._classes))
        answered = AnsweredCoalitions(self._progress, len(self._windows))
        for start in range(0, len(kept), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            for variants, part in self._windows:
                logits[rows] += part * self._answer(variants, kept[rows, variants.features], answered)
        return logits

    def _answer(self, variants: Variants, kept: Coalitions, answered: AnsweredCoalitions) -> Floats:
        """The logits of one window; coalitions that leave the same of it are one input."""
        distinct, which = distinct_rows(kept)
        repetitions = np.bincount(which, minlength=len(distinct))

        def finished(rows: Integers) -> None:
            self.asked += len(rows)
            answered.add(int(repetitions[rows].sum()))

        logits = self._runner.run(self._tree.logits, self._tree.device, variants.batches(distinct), finished)
        return logits[which]
