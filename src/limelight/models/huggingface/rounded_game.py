"""A game that is asked in half precision, with the difference measured on its own inputs.

What is asked of it is divided by coalition, whoever asks and however often:

- A coalition that lacks at most one feature, or has at most one, is asked in full precision: the text itself, the empty
  one, leaving one out. Single answers count there, and their difference would be rounding.
- Of the first 512 others every sixteenth is asked in both precisions.
- All others are asked in half precision. The mean difference that was measured so far is added: what rounding has in
  common is gone, and what is left is noise beside that of the samples, in their residuals and so in the standard
  errors.

An answer that is not finite in half precision is asked again in full.
"""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.core.progress import SILENT
from limelight.models.counting_game import checked_coalitions
from limelight.models.huggingface.game import TokenGame
from limelight.models.huggingface.module_copy import ModuleCopy
from limelight.models.interface import AskedTwice, Game, GameFacts

FEW_FEATURES = 12
"""Up to so many a game stays in full precision: its 4,096 coalitions are soon asked, and may be asked completely."""
_EVERY, _FIRST = 16, 512
_DEVIATIONS = 2.0
"""Standard deviations that an answer is said to be off by; what varies of it is in the samples' own errors as well."""
_ENOUGH = 8
"""So many comparisons tell how far answers spread; with fewer, what is known of the precision in general is stated."""


class RoundedGame(Game):
    """`exact` asked as little as possible, and the same of a tree in half precision for the rest."""

    def __init__(self, exact: TokenGame, tree: ModuleCopy, known: tuple[float, float]) -> None:
        """`known`: how far logits are rounded in full and in half precision, where nothing was measured."""
        self._exact, self._silent, self._rounded = exact, exact.on(exact.tree, SILENT), exact.on(tree, exact.progress)
        self._dtype = str(tree.dtype).removeprefix("torch.")
        self.features, self._known = exact.features, known
        self._others = 0
        """How many coalitions were asked so far that may be asked in half precision."""
        self._both: list[tuple[Floats, Floats]] = []
        self._largest = 0.0

    @property
    def asked(self) -> int:
        return self._exact.asked + self._silent.asked + self._rounded.asked

    @property
    def step(self) -> int:
        return self._exact.step

    @property
    def facts(self) -> GameFacts:
        asked = self._compared()
        return GameFacts(rounding=self._rounding(asked), precision=asked)

    def _rounding(self, asked: AskedTwice | None) -> float:
        """How far an answer may be off, as a fraction of the largest logit: what is left of measured differences."""
        full, half = self._known
        if asked is None:
            return full
        if len(asked.exact) < _ENOUGH or not self._largest:
            return half
        left = asked.exact - asked.rounded
        spread = float(np.sqrt((left**2).sum(axis=0) / (len(left) - 1)).max())
        return max(full, _DEVIATIONS * spread / self._largest)

    def _compared(self) -> AskedTwice | None:
        """What was measured, or None where nothing was asked in half precision."""
        if not self._rounded.asked:
            return None
        classes = self._exact.classes
        exact, rounded = map(np.concatenate, zip((np.zeros((0, classes)),) * 2, *self._both, strict=True))
        shift = self._shift()
        return AskedTwice(self._dtype, self._rounded.asked, exact, rounded + shift, shift)

    def __call__(self, kept: Coalitions) -> Floats:
        kept = checked_coalitions(kept, self.features)
        size = kept.sum(axis=1)
        alone = (size <= 1) | (size >= self.features - 1)
        number = self._others + np.cumsum(~alone) - 1
        twice = ~alone & (number < _FIRST) & (number % _EVERY == 0)
        self._others += int((~alone).sum())
        logits = np.empty((len(kept), self._exact.classes))
        if alone.any():
            logits[alone] = self._exact(kept[alone])
        if not alone.all():
            logits[~alone] = self._of_others(kept[~alone], twice[~alone])
        self._largest = max(self._largest, float(np.abs(logits).max(initial=0.0, where=np.isfinite(logits))))
        return logits

    def _of_others(self, kept: Coalitions, twice: Coalitions) -> Floats:
        rounded = self._rounded(kept)
        finite = np.isfinite(rounded).all(axis=1)
        again = twice | ~finite
        if again.any():
            exact = self._silent(kept[again])
            compared = (twice & finite)[again]
            self._both.append((exact[compared], rounded[again][compared]))
        logits = rounded + self._shift()
        if again.any():
            logits[again] = exact
        return logits

    def _shift(self) -> Floats:
        """The mean of full less half precision, of each logit."""
        differences = [exact - rounded for exact, rounded in self._both]
        count = sum(map(len, differences))
        return np.concatenate(differences).sum(axis=0) / count if count else np.zeros(self._exact.classes)
