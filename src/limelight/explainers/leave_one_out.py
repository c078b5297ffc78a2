"""Leave-one-out weights: what the output loses without each word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.explainers.method import Exact, Question, Sampled, Weights, method
from limelight.explainers.output_game import NOISE_ALONE, asked_together, by_game
from limelight.models.interface import Perturbable

leave_one_out = method("leave-one-out", label="Leave one out", summary="What the output loses when one word is removed")


_CELLS_AT_ONCE = 2**26
"""Entries of the matrix of coalitions that are held at once: all rows up to 8,000 features, blocks of rows beyond."""


@leave_one_out.implementation_of_many(Perturbable, uses=("removal", "output"))
def one_after_the_other(questions: Sequence[Question[Perturbable]]) -> list[Weights]:
    return [weights for group in by_game(questions) for weights in _together(group)]


def _together(questions: Sequence[Question[Perturbable]]) -> list[Weights]:
    d = len(questions[0].features)
    game, size = asked_together(questions, d + 1, about_mask=False), max(1, _CELLS_AT_ONCE // d)
    outputs = np.concatenate([game(_coalitions(d, start, start + size)) for start in range(0, d + 1, size)])
    game.ask_about_mask(questions, outputs[1:])
    noise, membership = game.noise, questions[0].features.membership

    def of_noise(sizes: Floats, i: int) -> Floats:
        """Standard errors of sums over so many words: one answer on the text is in all of them, another in each."""
        assert noise is not None
        return noise.stderr(sizes**2 + sizes)[:, i]

    return [
        Weights(
            own[0] - own[1:],
            Exact() if noise is None else Sampled(of_noise(np.ones(d), i), freedom=noise.freedom),
            evaluations=game.asked,
            diagnostics={"intercept": float(own[0]), **game.noise_of(i), **({} if noise is None else NOISE_ALONE)},
            notices=game.notices,
            group_stderr=None if noise is None or membership is None else of_noise(membership.sum(axis=0), i),
            rounding=2.0 * rounding,  # of a difference
            warnings=game.warnings_of(i),
        )
        for i, (own, rounding) in enumerate(zip(outputs.T, game.rounding.tolist(), strict=True))
    ]


def _coalitions(d: int, start: int, stop: int) -> Coalitions:
    """Rows start..stop of the coalitions: row 0 keeps everything, row j + 1 leaves feature j out."""
    rows = np.arange(start, min(stop, d + 1))
    kept: Coalitions = rows[:, None] != np.arange(1, d + 1)
    return kept
