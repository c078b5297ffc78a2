"""A document of token windows as a game: its logits under each set of kept features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.models.counting_game import AnsweredCoalitions, checked_coalitions, first_rows
from limelight.models.huggingface.module_copy import ModuleCopy
from limelight.models.huggingface.runner import Batching, Runner, shapes_of
from limelight.models.huggingface.variants import Variants
from limelight.models.interface import STEP, Game, GameFacts

_ROWS_AT_ONCE = 2**16
"""Variants that are on the device at once, and among which the same one is computed once."""


@dataclass(eq=False)
class TokenGame(Game):
    """Logits of a document under each row of kept (True) and removed (False) features.

    A document that is read in several windows has the mean of their logits, each weighted with its fraction. `noise`:
    how far logits moved when a model that does not repeat itself was asked again.
    """

    tree: ModuleCopy
    runner: Runner
    windows: Sequence[tuple[Variants, float]]
    features: int
    classes: int
    progress: Progress
    batching: Batching = "padded"
    noise: float = 0.0
    asked: int = 0

    def on(self, tree: ModuleCopy, progress: Progress) -> TokenGame:
        """The same inputs for another tree, or told to another progress; it counts for itself what it asks."""
        return replace(self, tree=tree, progress=progress, asked=0)

    @property
    def facts(self) -> GameFacts:
        return GameFacts(noise=self.noise)

    @property
    def step(self) -> int:
        """Coalitions that are best asked for at once: enough for batches without padding, and for a GPU to be busy."""
        longest = max(variants.length for variants, _ in self.windows)
        return max(STEP, shapes_of(self.tree.device).asked // max(longest, 1))

    def __call__(self, kept: Coalitions) -> Floats:
        kept = checked_coalitions(kept, self.features)
        logits = np.zeros((len(kept), self.classes))
        answered = AnsweredCoalitions(self.progress, len(self.windows))
        for start in range(0, len(kept), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            for variants, part in self.windows:
                logits[rows] += part * self._answer(variants, kept[rows, variants.features], answered)
        return logits

    def _answer(self, variants: Variants, kept: Coalitions, answered: AnsweredCoalitions) -> Floats:
        """The logits of one window; coalitions that leave the same of it are one input."""
        first, which = first_rows(kept)
        repetitions = np.bincount(which, minlength=len(first))

        def finished(rows: Integers) -> None:
            self.asked += len(rows)
            answered.add(int(repetitions[rows].sum()))

        logits = self.runner.run(
            self.tree.logits, self.tree.device, variants.batches(kept[first]), finished, self.tree.dtype, self.batching
        )
        return logits[which]

    def again(self, kept: Coalitions, time: int) -> Floats:
        once_more = self.on(self.tree, SILENT)
        logits = once_more(kept)
        self.asked += once_more.asked
        return logits
