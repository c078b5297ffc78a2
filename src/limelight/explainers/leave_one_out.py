"""Leaving one word out: what the output loses."""

from __future__ import annotations

import numpy as np

from limelight.explainers.method import Exact, Question, Weights, method
from limelight.view import Perturbable

leave_one_out = method("leave-one-out", label="Leave one out", summary="What the output loses when one word is removed")


@leave_one_out.way(Perturbable, uses=("removal", "output"))
def one_after_the_other(question: Question[Perturbable]) -> Weights:
    d = len(question.features)
    everything_then_one_out = np.vstack([np.ones((1, d), dtype=bool), ~np.eye(d, dtype=bool)])
    game = question.game(d + 1)
    outputs = game(everything_then_one_out)
    return Weights(outputs[0] - outputs[1:], Exact(), game.asked, {"intercept": float(outputs[0])})
