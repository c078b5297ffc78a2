"""Leaving one word out: what the output loses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limelight.arrays import Coalitions
from limelight.explainers.method import Exact, Question, Weights, asked_together, by_game, method
from limelight.view import Perturbable

leave_one_out = method("leave-one-out", label="Leave one out", summary="What the output loses when one word is removed")


_CELLS_AT_ONCE = 2**26
"""Entries of the matrix of coalitions that are held at once: all rows up to 8,000 features, blocks of rows beyond."""


def _of_many(questions: Sequence[Question[Perturbable]]) -> list[Weights]:
    return [weights for group in by_game(questions) for weights in _together(group)]


@leave_one_out.way(Perturbable, uses=("removal", "output"), many=_of_many)
def one_after_the_other(question: Question[Perturbable]) -> Weights:
    return _together([question])[0]


def _together(questions: Sequence[Question[Perturbable]]) -> list[Weights]:
    d = len(questions[0].features)
    game, size = asked_together(questions, d + 1), max(1, _CELLS_AT_ONCE // d)
    outputs = np.concatenate([game(_coalitions(d, start, start + size)) for start in range(0, d + 1, size)])
    return [
        Weights(
            own[0] - own[1:],
            Exact(),
            evaluations=game.asked,
            diagnostics={"intercept": float(own[0])},
            notices=game.notices,
            rounding=2.0 * rounding,  # of a difference
            warnings=game.warnings,
        )
        for own, rounding in zip(outputs.T, game.rounding.tolist(), strict=True)
    ]


def _coalitions(d: int, start: int, stop: int) -> Coalitions:
    """Rows start..stop of the matrix that keeps everything in row 0, and leaves feature j out in row j + 1."""
    rows = np.arange(start, min(stop, d + 1))
    kept: Coalitions = rows[:, None] != np.arange(1, d + 1)
    return kept
