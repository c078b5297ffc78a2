"""Leaving one word out: what the output loses."""

from __future__ import annotations

import numpy as np

from limelight.arrays import Coalitions
from limelight.explainers.method import Exact, Question, Weights, for_target, method
from limelight.view import Perturbable

leave_one_out = method("leave-one-out", label="Leave one out", summary="What the output loses when one word is removed")


_CELLS_AT_ONCE = 2**26
"""Entries of the matrix of coalitions that are held at once: all rows up to 8,000 features, blocks of rows beyond."""


@leave_one_out.way(Perturbable, uses=("removal", "output"))
def one_after_the_other(question: Question[Perturbable]) -> Weights:
    question = for_target(question)
    d = len(question.features)
    game, size = question.game(d + 1), max(1, _CELLS_AT_ONCE // d)
    outputs = np.concatenate([game(_coalitions(d, start, start + size)) for start in range(0, d + 1, size)])
    return Weights(outputs[0] - outputs[1:], Exact(), game.asked, {"intercept": float(outputs[0])})


def _coalitions(d: int, start: int, stop: int) -> Coalitions:
    """Rows start..stop of the matrix that keeps everything in row 0, and leaves feature j out in row j + 1."""
    rows = np.arange(start, min(stop, d + 1))
    kept: Coalitions = rows[:, None] != np.arange(1, d + 1)
    return kept
