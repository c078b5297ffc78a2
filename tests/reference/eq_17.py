"""Eq. 17 with exact conditional expectations, to hold LIME's limit and the paper's finite sums against."""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import ParameterError
from limelight.theory.lime_theorem import limit_coefficients
from limelight.theory.moments import size_moments
from limelight.theory.ratio_game import RatioGame


def eq_17(game: RatioGame, target: int, *, corrected: bool = False) -> Floats:
    return limit_coefficients(*conditional_expectations(game, target), corrected=corrected)


def conditional_expectations(game: RatioGame, target: int) -> tuple[Floats, float]:
    """E[f | ℓ ∉ S] and E[f] without approximation: E[f 1{ℓ ∉ S}] over P(ℓ ∉ S) = (d-1)/(2d)."""
    d = game.n_features
    if d < 2:
        raise ParameterError("with 1 feature, LIME's samples never keep it: E[f | j ∉ S] needs at least 2")
    uniform = np.full(d + 1, 1.0 / d)
    uniform[0] = 0.0
    moments = size_moments(game, target, uniform)
    return moments.G[0, 0] / ((d - 1) / (2.0 * d)), float(moments.F[0, 1:].mean())
