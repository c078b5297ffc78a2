"""Theorem 5.1 (Eq. 19), Proposition B.1 and Eq. 17, as the paper states them and as they hold.

A document is its ratio game, or the arrays of `RatioGame.from_positions`: `scores` (T, K) are q·k_t/√d_att, `values`
(T, K, C) are W_ℓ v_t, the `removed_` arrays the same for [UNK] at that position, and `owners[j]` the positions of
feature j.

`corrected=False` is the paper's formula to the letter. docs/theory.md derives what `corrected=True` does instead:

* P(s | ℓ ∉ S) is proportional to d - s, not uniform: Eq. 29, 30, and the factor 3/2 of Eq. 19 becomes 1;
* Eq. 17 lacks a term of the size of the coefficients themselves (without it they always sum to zero);
* a word also moves the denominator under *all* positions: Eq. 35 may not drop it, and in Eq. 19 it puts W_ℓ v_t - f in
  place of W_ℓ v_t.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import ParameterError
from limelight.theory.ratio_game import RatioGame


def theorem_5_1(
    scores: Floats,
    values: Floats,
    removed_scores: Floats,
    removed_values: Floats,
    owners: Sequence[Sequence[int]],
    target: int,
    *,
    corrected: bool = False,
) -> Floats:
    """Eq. 19, (d,): (3/2K) Σ_i Σ_t W_ℓ (α_t v_t - α_{h,t} v_{h,t}) 1{ξ_t = j}.

    Corrected: (1/K) Σ_i Σ_t [ α_t (W_ℓ v_t - f_i) - (g_{h,t} / Σ_u g_u) (W_ℓ v_{h,t} - f_i) ] 1{ξ_t = j}, with an error
    of O(T_max^{ε-2}).
    """
    seen, seen_h = values[:, :, target], removed_values[:, :, target]
    alpha = _softmax(scores, scores)
    if corrected:
        alpha_h = _softmax(removed_scores, scores)
        f = (alpha * seen).sum(axis=0)
        per_position = (alpha * (seen - f) - alpha_h * (seen_h - f)).mean(axis=1)
    else:
        alpha_h = _softmax(removed_scores, removed_scores)
        per_position = 1.5 * (alpha * seen - alpha_h * seen_h).mean(axis=1)
    order = np.array([t for positions in owners for t in positions], dtype=np.int64)
    return np.add.reduceat(per_position[order], np.cumsum([0, *map(len, owners)])[:-1])


def _softmax(scores: Floats, over: Floats) -> Floats:
    """exp(scores) over Σ_u exp(over_u), per head."""
    top = over.max(axis=0)
    ratio: Floats = np.exp(scores - top) / np.exp(over - top).sum(axis=0)
    return ratio


def size_given_kept(d: int) -> Floats:
    """P(s | ℓ ∉ S) for s = 0..d, when s is uniform on 1..d: 2(d - s) / (d(d - 1)) for s = 1..d-1.

    The paper's proof of Proposition B.1 uses 1/d for s = 0..d-1. But large s leave ℓ in the text less often, and s = 0
    is never drawn.
    """
    if d < 2:
        raise ParameterError(f"with {d} feature, LIME's samples never keep one: this needs at least 2")
    s = np.arange(d + 1)
    return np.where(s >= 1, 2.0 * (d - s) / (d * (d - 1)), 0.0)


def proposition_b_1(game: RatioGame, target: int, *, corrected: bool = False) -> tuple[Floats, float]:
    """E[f | ℓ ∉ S] for each ℓ (d,), and E[f], with s uniform on 1..d: Eq. 29 and 30 summed over positions.

    Each is an expected numerator over an expected denominator, for each number s removed.

    As printed, sizes weigh 1/d for s = 1..d-1 and ℓ itself is forgotten in the denominator (Eq. 35). Corrected, sizes
    weigh `size_given_kept`, and the denominator is Lemma D.3's mean. Positions that no feature owns are never removed,
    and count as their own replacement.
    """
    d = game.n_features
    if d < 2:
        raise ParameterError(f"Proposition B.1 divides by d - 1: it needs at least 2 features, got {d}")
    A, B, C0 = game.A[:, :, target], game.B[:, :, target], game.C0[:, target]
    s = np.arange(1, d)
    x = (s / (d - 1))[:, None]  # P_s(removed | ℓ ∉ S), (S, 1)
    numerator = (1.0 - x) * (C0 + A.sum(axis=1)) + x * (C0 + B.sum(axis=1))  # (S, K)
    denominator = (1.0 - x) * (game.c0 + game.a.sum(axis=1)) + x * (game.c0 + game.b.sum(axis=1))
    own = x[:, :, None]  # ℓ itself is surely kept, (S, 1, 1)
    shift = own * (game.a - game.b) if corrected else np.zeros((d - 1, 1, 1))
    by_size = ((numerator[:, :, None] + own * (A - B)) / (denominator[:, :, None] + shift)).mean(axis=1)
    weights = size_given_kept(d)[1:d] if corrected else np.full(d - 1, 1.0 / d)
    return weights @ by_size, _mean_of_ratios(game, target)


def _mean_of_ratios(game: RatioGame, target: int) -> float:
    """E[f] in the same approximation: s uniform on 1..d, each feature removed with probability s/d."""
    d = game.n_features
    x = (np.arange(1, d + 1) / d)[:, None]
    A, B = game.A[:, :, target].sum(axis=1), game.B[:, :, target].sum(axis=1)
    numerator = game.C0[:, target] + (1.0 - x) * A + x * B
    denominator = game.c0 + (1.0 - x) * game.a.sum(axis=1) + x * game.b.sum(axis=1)
    return float((numerator / denominator).mean())


def lime_proposition(game: RatioGame, target: int, *, corrected: bool = False) -> Floats:
    """Eq. 17 with the finite sums of Proposition B.1 in it, before the Riemann sum and the series of Lemma D.2."""
    return limit_coefficients(*proposition_b_1(game, target, corrected=corrected), corrected=corrected)


def limit_coefficients(E: Floats, unconditional: float, *, corrected: bool = False) -> Floats:
    """Eq. 17: 3 (E_j - Ē), with E_j = E[f | j ∉ S] (d,) and Ē their mean over features.

    Corrected, for every d: 3 (d-1)/(d+1) (E_j - Ē) + 6/(d+1) (Ē - E[f]). This is LIME with infinitely many samples
    of equal weight, exactly.
    """
    d = len(E)
    if not corrected:
        return 3.0 * (E - E.mean())
    return 3.0 * (d - 1) / (d + 1) * (E - E.mean()) + 6.0 / (d + 1) * (E.mean() - unconditional)
