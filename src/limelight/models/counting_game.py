"""What every game that asks a model has in common: each input is given once, and answers are counted."""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Coalitions, Integers
from limelight.core.progress import Progress
from limelight.errors import ParameterError


def checked_coalitions(kept: Coalitions, n_features: int) -> Coalitions:
    """Coalitions as a boolean matrix with one column per feature."""
    kept = np.asarray(kept, dtype=bool)
    if kept.ndim != 2 or kept.shape[1] != n_features:
        raise ParameterError(f"coalitions have shape {kept.shape}: this text has {n_features} features")
    return kept


def first_rows(kept: Coalitions) -> tuple[Integers, Integers]:
    """Where each distinct row stands first, and for each row which of these it is.

    It takes an eighth of the memory of the rows: no copy is made of them.
    """
    if not kept.shape[1]:
        return np.zeros(min(1, len(kept)), dtype=np.int64), np.zeros(len(kept), dtype=np.int64)
    packed = np.ascontiguousarray(np.packbits(kept, axis=1))
    keys = packed.view(f"V{packed.shape[1]}")[:, 0]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first.astype(np.int64), which.astype(np.int64)


class AnsweredCoalitions:
    """Advances a progress by one for each coalition that is answered, by an answer from each of `n_windows`."""

    def __init__(self, progress: Progress, n_windows: int = 1) -> None:
        self._progress, self._n_windows = progress, n_windows
        self._answers = self._told = 0

    def add(self, answers: int) -> None:
        """So many more coalitions were answered by one window."""
        self._answers += answers
        complete = self._answers // self._n_windows
        if complete > self._told:
            self._progress.advance(complete - self._told)
            self._told = complete
