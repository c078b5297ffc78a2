"""LIME on a ratio game by mean fields: what each word does in the mean of the others, with an estimate of the error.

**LIME as marginal contributions.** Let Δ_{k,j} be the mean of f(z with j) - f(z without j) over the sets of k removed
among the d - 1 other features, and Δ̄_k its mean over j. LIME's coefficients, for every game, bandwidth, number of
samples and ridge, are

    β_j = Σ_k θ_k (Δ_{k,j} - Δ̄_k) + Σ_k θ̄_k Δ̄_k,        k = 0..d-1

The mean needs F_k - F_{k+1} = Δ̄_k alone. Deviations are sums of η_{s,j} = E_s[f | j kept] - E_s[f | j removed], and
Δ_{k,j} - Δ̄_k = (k/d) η_{k,j} + (1 - (k+1)/d) η_{k+1,j}. Equal weights (ν = n = ∞) have
θ_k = 6 (k+1)(d-k) / (d(d+1)(d+2)) and θ̄_k = 6 k(d-k) / (d(d²-1)): both are 6x(1-x) dx with x = k/d.

**The mean field.** Per head, with N and D of the others at their mean over those sets,

    Δ_{k,j} ≈ (N + A_j)/(D + a_j) - (N + B_j)/(D + b_j)

**Dominant features.** A head that follows m features more than all others is averaged over their 2^m states, each with
its own mean field of the rest. The m are those of largest |a_j - b_j|. States have the weights of drawing without
replacement, k^(r) (d-1-k)^(m-r) / (d-1)^(m) for r of m removed, where x^(r) = x (x-1) … (x-r+1). With x^r (1-x)^{m-r}
in their place, a head would not be exact when all of its features are conditioned on.

**Sums over sizes.** With x the removed fraction of the rest and t = log(x/(1-x)), every D = D_0 (1-x) + D_1 x vanishes
only where Im t = ±π, whatever D_0 and D_1. So quotients are interpolated in t at g of Chebyshev's points, the ends
x = 0 and 1 apart: the error falls like ρ^{-g}, ρ = y + sqrt(1 + y²), y = π / log d. 30 points stand for d = 170 sizes.

**What is left out**, to its leading order, is the second-order term of N/D in the fluctuations of the rest,
(N/D · Var D - Cov(N, D)) / D²: it is the error estimate. docs/theory.md has the statement and its proof.

**Parts.** With attention p = a/(D + a) of the kept feature and p° = b/(D + b) of what stands in its place, values
w = A/a and w° = B/b, and f = N/D the level of the others,

    Δ = (p + p°)/2 · (w - w°)      value: another value under the same attention
      + (p - p°) · (w + w°)/2      attention: more or less of it, for the same value
      - (p - p°) · f               level: the others are heard less by as much

Value and attention together are p w - p° w°, the paper's Eq. 19; the level is what it leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from limelight.core.arrays import Floats, Integers, whole_number
from limelight.errors import ParameterError
from limelight.theory.moments import checked_targets
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import LimeDesign, check_solvable

DEFAULT_DOMINANT = 2
MOST_DOMINANT = 12
"""Each doubles the work: long before, the exact value is faster."""
_NUMBERS_AT_ONCE = 2**15
"""States are taken together while their points times features stay below it: arrays that stay in the cache."""
INTERPOLATION = 1e-7
"""Relative to a quotient, and far below what the mean field leaves out."""


@dataclass(frozen=True)
class MarginalWeights:
    """LIME's regression as a weighted sum of marginal contributions, by the number k of other features removed."""

    apart: Floats  # (d,): θ, on deviations from the mean over features
    along: Floats  # (d,): θ̄, on that mean

    @classmethod
    def of(cls, design: LimeDesign) -> MarginalWeights:
        """The weights of a design: β_j - β̄ = Σ_s c_s η_{s,j}, and β̄ = Σ_k θ̄_k (F_k - F_{k+1}) by Abel's summation."""
        d, v, document = len(design.size_weights) - 1, design.size_weights[1:], design.document
        if d == 1:
            return cls(np.zeros(1), np.array([1.0 / (1.0 + design.ridge * (1.0 + document))]))
        # As in LimeDesign.solve, where the reasons stand: nothing cancels where all weight is at s = 0 and 1.
        s, q, r = np.arange(1, d + 1), document / (1.0 + document), 1.0 / (1.0 + document)
        penalty = design.ridge * document
        beyond_one = float(v @ (s - 1))
        away = (s - 1) + (q - r * beyond_one)
        apart = float(v @ (s * (d - s) / (d * (d - 1.0)))) + penalty
        along = float(v @ away**2) / d + q * r * (1.0 + beyond_one) ** 2 / d + penalty
        check_solvable(apart, along)
        c = v * (s * (d - s) / d**2) / apart
        return cls(_on_marginals(c), np.cumsum((v * away)[::-1])[::-1] / (d * along))


def _on_marginals(c: Floats) -> Floats:
    """θ (d,) with θ_s s/d + θ_{s-1} (1 - s/d) = c_s for s = 1..d-1, from c (d,) of s = 1..d, where c_d = 0.

    One number is free, since (-1)^k C(d-1, k) solves the equations with c = 0; on true marginal contributions all
    solutions agree. That of the smallest steps is taken. From the middle outwards the recursion damps its errors.
    """
    d, wanted = len(c), c.tolist()
    middle, one, alternating = d // 2, [0.0] * d, [0.0] * d
    alternating[middle] = 1.0
    for s in range(middle + 1, d):
        one[s] = (d * wanted[s - 1] - one[s - 1] * (d - s)) / s
        alternating[s] = -alternating[s - 1] * (d - s) / s
    for s in range(middle, 0, -1):
        one[s - 1] = (d * wanted[s - 1] - one[s] * s) / (d - s)
        alternating[s - 1] = -alternating[s] * s / (d - s)
    steps, alternating_steps = np.diff(one), np.diff(alternating)
    share = float(alternating_steps @ steps) / float(alternating_steps @ alternating_steps)
    return np.array(one) - share * np.array(alternating)


@dataclass(frozen=True)
class MeanField:
    """LIME's coefficients in three parts that add up to them, and the term that is left out.

    `beside_kept` and `beside_removed`: by head and dominant feature, how much the head makes of all other features
    while that one is kept, and while it is removed (norm 2 of Σ_k θ_k Δ_{k,j} over the j that are not dominant, given
    its state).
    """

    attention: Floats  # (d,)
    value: Floats  # (d,)
    level: Floats  # (d,)
    next_order: Floats  # (d,): the second-order term of the fluctuations, by the same regression
    dominant: Integers  # (K, m): of each head, most dominant first
    beside_kept: Floats  # (K, m)
    beside_removed: Floats  # (K, m)

    @property
    def values(self) -> Floats:
        """(d,)"""
        return self.attention + self.value + self.level

    @property
    def error_estimate(self) -> float:
        """The expected ‖values - exact‖ / ‖exact‖, norm 2: no bound. Infinite where float64 cannot hold it."""
        if not np.isfinite(self.next_order).all():
            return math.inf
        size, missing = np.linalg.norm(self.values + self.next_order), np.linalg.norm(self.next_order)
        return float(missing / size) if size > 0.0 else (math.inf if missing > 0.0 else 0.0)


def lime_mean_field(
    game: RatioGame,
    target: int,
    n_samples: float = 5000,
    kernel_width: float = 0.25,
    ridge: float = 1.0,
    dominant: int = DEFAULT_DOMINANT,
) -> MeanField:
    """LIME's limit in the mean field, each head conditioned on its own `dominant` features: O(K 2^m d log d).

    Options are those of `values.lime_limit`. With as many dominant features as there are features it is exact.
    """
    (chosen,) = checked_targets(game, target)
    if whole_number("dominant", dominant, 0) > MOST_DOMINANT:
        raise ParameterError(
            f"dominant is at most {MOST_DOMINANT}, each feature doubling the work: got {dominant}; "
            "lime_limit is exact and then faster"
        )
    d, m = game.n_features, min(dominant, game.n_features)
    weights = MarginalWeights.of(LimeDesign.of(d, n_samples, kernel_width, ridge))
    both = np.stack([weights.apart, weights.along])
    ranked = np.argsort(-np.abs(game.a - game.b), axis=1, kind="stable")
    heads = _Heads.of(game, chosen, ranked)
    by_head, beside = np.zeros((4, 2, game.n_heads, d)), np.zeros((2, game.n_heads, m))
    if m < d:
        by_head[..., m:], beside = _of_the_rest(heads, m, _Sizes.of(both, m))
    if m > 0:
        by_head[..., :m] = _of_the_dominant(heads, m, _Sizes.of(both, m - 1))
    sums = np.zeros((4, 2, d))
    for head, order in enumerate(ranked):
        sums[:, :, order] += by_head[:, :, head] / game.n_heads
    apart, along = sums[:, 0], sums[:, 1]
    with np.errstate(invalid="ignore"):  # of a next order that is infinite
        common = along.mean(axis=1, keepdims=True) - apart.mean(axis=1, keepdims=True)
        attention, value, level, next_order = apart + common
    return MeanField(attention, value, level, next_order, ranked[:, :m].astype(np.int64), beside[0], beside[1])


# ── sums over sizes ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Sizes:
    """Sums over k, of which r removals fall on the m conditioned features and the others on the rest of `count`.

    Row r of `weights` (m + 1, 2, g) holds θ_k and θ̄_k times the chance of one state with r removed, given to the points
    `x` (g,) of the removed fraction of the rest; `fluctuations` the same times the variance of drawing from the rest,
    per sum of squares.
    """

    count: int
    x: Floats
    weights: Floats
    fluctuations: Floats
    shares: Floats  # (m + 1,): Σ_k θ_k times the chance

    @classmethod
    def of(cls, weights: Floats, m: int) -> _Sizes:
        """Sums from θ and θ̄, (2, d), for m conditioned features among the d - 1 others."""
        others = weights.shape[1] - 1
        count = others - m
        x, interpolation = _points(count)
        chances, gone = _chances(others, m), np.arange(count + 1)
        by_gone = np.stack([(weights * chances[r])[:, r : r + count + 1] for r in range(m + 1)])
        variance = gone * (count - gone) / max(count * (count - 1), 1)
        return cls(count, x, by_gone @ interpolation, (by_gone * variance) @ interpolation, by_gone[:, 0].sum(axis=1))


def _chances(others: int, m: int) -> Floats:
    """P(these r of m are removed and those m - r kept | k of `others` removed), (m + 1, others + 1): by r and k."""
    k, table = np.arange(others + 1), np.ones((m + 1, others + 1))
    for r in range(m + 1):
        for i in range(r):
            table[r] *= np.maximum(k - i, 0) / (others - i)
        for i in range(m - r):
            table[r] *= np.maximum(others - k - i, 0) / (others - r - i)
    return table


def _points(count: int) -> tuple[Floats, Floats]:
    """Points x (g,) in [0, 1], and the matrix (count + 1, g) that takes values at them to those at 0/count, …, 1.

    All of them where they are few.
    """
    shares = np.arange(count + 1) / max(count, 1)
    half = math.log(max(count - 1, 2))
    rho = math.pi / half + math.hypot(1.0, math.pi / half)
    g = 2 * math.ceil(0.5 * math.log(1.0 / INTERPOLATION) / math.log(rho))
    if count + 1 <= g + 2:
        return shares, np.eye(count + 1)
    angles = math.pi * (np.arange(g) + 0.5) / g
    points, signed = half * np.cos(angles), np.sin(angles) * (-1.0) ** np.arange(g)
    gaps = np.log(shares[1:-1] / shares[:0:-1][1:])[:, None] - points
    hit = gaps == 0.0
    terms = np.where(hit.any(axis=1, keepdims=True), hit.astype(np.float64), signed / np.where(hit, 1.0, gaps))
    matrix = np.zeros((count + 1, g + 2))
    matrix[0, 0] = matrix[-1, -1] = 1.0
    matrix[1:-1, 1:-1] = terms / terms.sum(axis=1, keepdims=True)
    return np.concatenate([[0.0], 1.0 / (1.0 + np.exp(-points)), [1.0]]), matrix


# ── heads ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Heads:
    """All heads, for one class: the most dominant features of each first, in units of its largest denominator."""

    features: Floats  # (4, K, d): a, A, b and B
    c0: Floats  # (K,)
    C0: Floats  # (K,)

    @classmethod
    def of(cls, game: RatioGame, target: int, ranked: Integers) -> _Heads:
        unit = game.denominator_range()[1]
        numbers = np.stack([game.a, game.A[:, :, target], game.b, game.B[:, :, target]])
        ordered = np.take_along_axis(numbers, ranked[None], axis=2) / unit[:, None]
        return cls(ordered, game.c0 / unit, game.C0[:, target] / unit)

    def in_states(self, known: slice | list[int], states: Integers) -> tuple[Floats, Floats]:
        """D and N of what is not removed and of the known features, (K, n), for rows of zeros and ones (n, len)."""
        (a, A, b, B), gone = (own[:, known] for own in self.features), 1 - states
        return self.c0[:, None] + (a @ states.T + b @ gone.T), self.C0[:, None] + (A @ states.T + B @ gone.T)


def _middle_value(own: Floats) -> Floats:
    """(w + w°)/2 of a, A, b, B; where a feature is never attended to in one of its states, the value of the other."""
    a, A, b, B = own
    w, w_removed = (np.divide(N, g, out=np.zeros_like(N), where=g > 0.0) for g, N in ((a, A), (b, B)))
    middle: Floats = 0.5 * (np.where(a > 0.0, w, w_removed) + np.where(b > 0.0, w_removed, w))
    return middle


def _taken_in_the_mean(features: Floats, count: int, summed: Callable[[Floats], Floats]) -> Floats:
    """Sums over `count` features (4, …), by column: of a, A, b and B, Σ (δ - δ̄)² and Σ (δ - δ̄)(ε - ε̄), (6, …).

    δ = a - b and ε = A - B. Each column is that of a feature whose others they are.
    """
    a, A, b, B = features
    delta, epsilon = a - b, A - B
    mean = summed(delta) / max(count, 1)
    # All sums are over what stays, so nothing of what was left out has to cancel.
    spread = np.maximum(summed(delta**2) - count * mean**2, 0.0)
    return np.stack([*map(summed, features), spread, summed(delta * epsilon) - mean * summed(epsilon)])


def _all_but_each(columns: Floats) -> Floats:
    """Σ_{i≠j} x_i for each j, without a difference: what comes before plus what comes after."""
    result = np.zeros_like(columns)
    np.cumsum(columns[..., :-1], axis=-1, out=result[..., 1:])
    result[..., :-1] += np.cumsum(columns[..., :0:-1], axis=-1)[..., ::-1]
    return result


def _states(m: int) -> Integers:
    """All rows of m zeros and ones: (2^m, m)."""
    return np.array(list(product((0, 1), repeat=m)), dtype=np.int64).reshape(2**m, m)


def _of_the_rest(heads: _Heads, m: int, sizes: _Sizes) -> tuple[Floats, Floats]:
    """Sums over k for the features that are not dominant (4, 2, K, d - m), with θ and with θ̄, of attention, value,
    level and the next order; and how much of them beside each dominant one, kept and removed, (2, K, m)."""
    rest, states = heads.features[..., m:], _states(m)
    others, left = _taken_in_the_mean(rest, sizes.count, _all_but_each), rest.shape[2]
    D, N = heads.in_states(slice(m), states)
    removed, at_once = m - states.sum(axis=1), max(1, _NUMBERS_AT_ONCE // (len(sizes.x) * left))
    sums, by_state = np.zeros((4, 2, *rest.shape[1:])), np.zeros((len(states), left))
    beside = np.zeros((2, len(D), m))
    for head in range(len(D)):
        own, own_others = rest[:, head], others[:, head]
        for start in range(0, len(states), at_once):
            some = slice(start, start + at_once)
            marginals = _marginals(D[head, some], N[head, some], removed[some], own, own_others, sizes)
            sums[:, :, head] += marginals.sum(axis=1)
            by_state[some] = marginals[:3, :, 0].sum(axis=0)
        for row, kept in enumerate((1, 0)):
            chosen = (states == kept).T.astype(np.float64)  # (m, n)
            share = np.maximum(chosen @ sizes.shares[removed], np.finfo(np.float64).tiny)
            beside[row, head] = np.linalg.norm(chosen @ by_state, axis=1) / share
    return sums, beside


def _of_the_dominant(heads: _Heads, m: int, sizes: _Sizes) -> Floats:
    """Sums over k for the dominant features, each beside the states of the others: (4, 2, K, m)."""
    K, states = len(heads.c0), _states(m - 1)
    removed = np.tile(m - 1 - states.sum(axis=1), K)

    def by_row(per_head: Floats) -> Floats:
        """(…, K) to the rows of all heads and states."""
        return np.repeat(per_head, len(states), axis=-1)[..., None, None]

    rest = by_row(_taken_in_the_mean(heads.features[..., m:], sizes.count, lambda column: column.sum(axis=1)))
    sums = np.zeros((4, 2, K, m))
    for i in range(m):
        D, N = heads.in_states([other for other in range(m) if other != i], states)
        own = by_row(heads.features[..., i])
        marginals = _marginals(D.ravel(), N.ravel(), removed, own, rest, sizes)
        sums[:, :, :, i] = marginals.reshape(4, K, len(states), 2).sum(axis=2).transpose(0, 2, 1)
    return sums


def _marginals(D: Floats, N: Floats, removed: Integers, own: Floats, rest: Floats, sizes: _Sizes) -> Floats:
    """Attention, value, level and next order of the features `own`, summed over k with θ and with θ̄: (4, n, 2, r).

    `D`, `N` and `removed` (n,) are those of n states of the known features. `own` (4, …) are a, A, b and B, `rest`
    (6, …) as `_taken_in_the_mean` gives it, with columns (r,), or (n, 1, 1): a feature of its own for each state.
    """
    (a, A, b, B), (rest_a, rest_A, rest_b, rest_B, spread, joint) = own, rest
    x, D, N = sizes.x[:, None], D[:, None, None], N[:, None, None]
    mean_D = (1.0 - x) * rest_a + x * rest_b  # ([n,] g, r)
    mean_N = (1.0 - x) * rest_A + x * rest_B
    u, v = 1.0 / (mean_D + a + D), 1.0 / (mean_D + b + D)  # (n, g, r)

    w = sizes.weights[removed]  # (n, 2, g)
    sum_u, sum_v, powers = w @ u, w @ v, u - v
    attention = (a * sum_u - b * sum_v) * _middle_value(own)
    value = A * sum_u - B * sum_v - attention
    level = w @ np.multiply(mean_N, powers, out=powers) + N * (sum_u - sum_v)

    w = sizes.fluctuations[removed]
    with np.errstate(over="ignore", invalid="ignore"):  # cubes of 1/D, where D spans a hundred orders of magnitude
        u_power, v_power = u * u, v * v
        squares = w @ np.subtract(u_power, v_power, out=powers)
        sum_u, sum_v = w @ np.multiply(u_power, u, out=u_power), w @ np.multiply(v_power, v, out=v_power)
        np.multiply(mean_N, np.subtract(u_power, v_power, out=powers), out=powers)
        cubes = (N + A) * sum_u - (N + B) * sum_v + w @ powers
        next_order = spread * cubes - joint * squares
    return np.stack([attention, value, level, next_order])
