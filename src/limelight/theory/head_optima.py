"""The lowest quotient of one head alone, with exactly k features removed."""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.theory.quadrature import UNIT
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_rankings import sets_removing_first

_STEPS = 60
"""Dinkelbach's iteration converges faster than linearly: it takes about five."""


def head_optima(game: RatioGame, sizes: Integers) -> tuple[Floats, Coalitions]:
    """A certified lower bound of N/D for each head and size (K, n), and the sets that reach it: what is kept (K, n, d).

    Dinkelbach (1967), of a game of one class: for a guess λ the set that makes N - λD lowest removes the k features
    with the smallest (B_j - λ b_j) - (A_j - λ a_j), one sort; its quotient is the next λ, and the guess is right once
    the lowest N - λD is 0. Whatever λ is, no quotient is below λ + min(0, lowest N - λD) / lowest D. The bound is that,
    less what rounding may have added.
    """
    a, b, A, B = game.a[:, None], game.b[:, None], game.A[:, None, :, 0], game.B[:, None, :, 0]
    c0, C0 = game.c0[:, None], game.C0[:, :1]

    def chosen(differences: Floats) -> Coalitions:
        """Sets that remove the k features with the smallest differences."""
        return sets_removing_first(np.argsort(differences, axis=-1, kind="stable"), sizes)

    def sums(kept: Coalitions) -> tuple[Floats, Floats]:
        return c0 + np.where(kept, a, b).sum(axis=-1), C0 + np.where(kept, A, B).sum(axis=-1)

    kept = chosen(np.broadcast_to(b - a, (game.n_heads, len(sizes), game.n_features)))
    rounding = (game.n_features + 8.0) * UNIT
    total_D = c0 + (a + b).sum(axis=-1)
    total_N = np.abs(C0) + (np.abs(A) + np.abs(B)).sum(axis=-1)
    lowest_D, N = sums(kept)
    # The choice by differences may be off by rounding, but never below each feature's own smaller part.
    floor = np.maximum(lowest_D - rounding * total_D, (1.0 - rounding) * game.denominator_range()[0][:, None])
    quotient, bound = N / lowest_D, np.full(lowest_D.shape, -np.inf)
    for _ in range(_STEPS):
        kept = chosen((B - A) - quotient[:, :, None] * (b - a))
        D, N = sums(kept)
        below = N - quotient * D
        slack = rounding * (total_N + np.abs(quotient) * total_D)
        bound = np.maximum(bound, quotient + (np.minimum(below, 0.0) - slack) / floor)
        if not (below < -slack).any():
            break
        quotient = np.minimum(quotient, N / D)
    return bound, kept
