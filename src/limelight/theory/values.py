"""Exact attributions of a ratio game: what LIME and sampled Shapley values converge to.

Every function returns `ExactValues`. Its `error` bounds the distance of each value from the exact one: the moments are
those of a game f̃ with |f̃ - f| <= ε on every coalition, up to rounding, and each value is linear in the game. Rounding
counts in units of the terms that are summed, which may be larger than the value. `intercept_error` does the same for
the intercept.

Owen values are of features in groups, the groups in any order, each group's features in any order within. The value of
feature i of group S is what it adds when its group arrives among the others, which are there as a whole or not at all,
and i among its own. It is the Shapley value of the group, handed on to its features: the values of a group's features
add up to the group's own, and all of them to f(document) - f(nothing).

A Shapley value is an integral over independent coins (Owen, 1972): with every other group kept with chance t, every
other feature of S with chance u, and both uniform,

    φ_i = ∫_0^1 ∫_0^1 E[ f(i kept) - f(i removed) ] dt du.

With 1/D as a sum of exponentials (`quadrature`), E[exp(-λD)] is a product over groups times one over features, of
degree below their numbers in t and in u: Gauss and Legendre's rule of half as many nodes integrates that exactly. All
terms but the values are positive, so nothing cancels before the last difference.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import NumericalError, ParameterError
from limelight.theory.lime_kernel import LEAST_KERNEL_LOG, kernel_beside_one, kernel_log_of_one
from limelight.theory.moments import (
    DEFAULT_TOLERANCE,
    Moments,
    checked_targets,
    head_rules,
    recursion_rounding,
    size_moments,
)
from limelight.theory.quadrature import UNIT, ExponentialSum
from limelight.theory.ratio_game import RatioGame

LOG_TINY = -708.0  # of the smallest number with all digits: exp() of less is 0 here
SECOND_ORDER = 1.001
"""Error bounds are of first order in the roundings; products of two of them are below a thousandth of it."""
MOST_WHOLE = 1e300
COMPILED_ABOVE = 64
"""Features: below, torch takes some 50 ms at most; loading compiled code takes half a second, compiling it several."""


@dataclass(frozen=True)
class ExactValues:
    """One number per feature, and how far from exact each can be; an intercept has a bound of its own."""

    values: Floats  # (d,)
    error: float
    nodes: int  # quadrature nodes used; 0 where none were needed
    intercept: float | None = None
    intercept_error: float | None = None


@dataclass(frozen=True)
class LimeDesign:
    """LIME's expected weighted least squares, by the number s of removed features.

    Official LIME takes the document itself once and n - 1 samples with s uniform on 1..d, weighs a sample by
    π_s = exp(-(1 - sqrt(1 - s/d))² / (2ν²)), and fits a ridge regression whose intercept is not penalised. In a narrow
    kernel the samples weigh 1e-20 or 1e-200 beside the document, so all weights here are divided by that of the n - 1
    samples together: size s has v_s = π_s / Σ_{s>=1} π_s, the document κ = d / ((n - 1) Σ_{s>=1} π_s), and the penalty
    is κ · ridge. n = ∞ is κ = 0.
    """

    size_weights: Floats  # (d + 1,): v_s, with v_0 = 0: the document is no part of the sums over sizes
    document: float  # κ
    ridge: float
    rounding: Floats  # (d + 1,): relative errors of v_s; that of κ stands first

    @classmethod
    def of(cls, d: int, n_samples: float = 5000, kernel_width: float = 0.25, ridge: float = 1.0) -> LimeDesign:
        check_real(n_samples=n_samples, kernel_width=kernel_width, ridge=ridge)
        if math.isnan(n_samples) or n_samples < 2:
            raise ParameterError(f"LIME needs at least 2 samples, or infinitely many: got n_samples={n_samples}")
        if math.isnan(kernel_width) or kernel_width <= 0:
            raise ParameterError(f"LIME's kernel width is positive or infinite: got kernel_width={kernel_width}")
        if not (math.isfinite(ridge) and ridge >= 0):
            raise ParameterError(f"LIME's ridge penalty is finite and at least 0: got ridge={ridge}")
        log_of_one = kernel_log_of_one(d, kernel_width)
        if log_of_one < LEAST_KERNEL_LOG:
            raise _too_narrow(d, kernel_width, log_of_one)
        beside, exponents = kernel_beside_one(d, kernel_width)
        total = float(beside.sum())
        document = d / ((n_samples - 1) * total) * math.exp(-log_of_one)
        if not math.isfinite(4.0 * document * (1.0 + ridge)):
            raise _too_narrow(d, kernel_width, log_of_one)
        # An exponent is computed with eight roundings, and its error is relative to e^x what it is absolutely to x.
        rounding = UNIT * np.concatenate([[24.0 - 8.0 * log_of_one], 4.0 + 8.0 * np.minimum(exponents, -LOG_TINY)])
        return cls(np.concatenate([[0.0], beside / total]), document, ridge, rounding)

    def solve(self, moments: Moments, row: int = 0) -> ExactValues:
        """LIME's weights from the moments of one class, whose size weights number `row` are the design's.

        LIME does not see a constant, so f - f(document) is fitted: the document, whose weight may exceed all others by
        any factor, then adds nothing to a sum that others have to be told apart in. With r = 1 / (1 + κ), q = 1 - r and
        S the mean of s under v, the mean of s under all weights is rS, and every deviation from it is taken as
        (s - 1) + (q - r Σ v (s - 1)): neither cancels where all weight is at s = 0 and 1. The centred Gram matrix acts
        as `apart` on vectors that sum to zero and as `along` on constant ones, which is all that Sherman and Morrison's
        formula would say.

        Error: `moments.error` is that of a game f̃ whose distance from f is at most ε M everywhere; it moves the part
        that sums to zero by at most ε M E|z_j - mean(z)| / apart and the constant part by ε M E|s - rS| / (d · along).
        Rounding of the sums over sizes is no game's and counts in full; rounding of the kernel moves each weight by
        `rounding`.
        """
        F, G = moments.F[0], moments.G[0, row]
        M = float(moments.largest_output[0])
        if len(G) == 1:
            return self._solve_one(F, M, moments)
        d, s, v, kappa = len(G), np.arange(1, len(F)), self.size_weights[1:], self.document
        q, r = kappa / (1.0 + kappa), 1.0 / (1.0 + kappa)
        penalty, change = self.ridge * kappa, F[1:] - F[0]
        beyond_one = float(v @ (s - 1))  # S - 1
        S, away = 1.0 + beyond_one, (s - 1) + (q - r * beyond_one)
        pairs, squares = v * (s * (d - s) / (d * (d - 1.0))), v * away**2 / d
        apart = float(pairs.sum()) + penalty
        along = float(squares.sum()) + q * r * S * S / d + penalty
        check_solvable(apart, along)
        uneven, slope = (G - G.mean()) / apart, float(-(v * away) @ change) / d / along
        mu = q + r * float(v @ (d - s)) / d
        intercept = float(F[0]) + r * float(v @ change) - mu * d * slope

        eta_document, eta = float(self.rounding[0]), self.rounding[1:]
        sums = UNIT * (d + 8.0)  # of d terms
        kept = float(v @ (d - s)) / d
        uneven_error = (
            M * (2.0 * (d - 1.0) / d) * float(pairs @ (moments.error + eta))
            + 2.0 * M * moments.rounding * kept
            + float(np.abs(uneven).max()) * (float(pairs @ eta) + eta_document * penalty)
        ) / apart
        epsilon = (moments.error + moments.rounding) * M
        slope_error = (
            float((v * np.abs(away)) @ (epsilon + 2.0 * M * eta)) / d
            + q * S / d * (epsilon + 2.0 * M * eta_document)
            + 2.0 * M * sums * (beyond_one + q + r * beyond_one) / d
            + abs(slope) * (float(squares @ eta) + eta_document * (q * r * S * S / d + penalty) + sums * along)
        ) / along
        weighing = r * (float(v @ eta) + eta_document) + sums
        return ExactValues(
            uneven + slope,
            SECOND_ORDER * (uneven_error + slope_error + 4.0 * UNIT * (float(np.abs(uneven).max()) + abs(slope))),
            moments.nodes,
            intercept,
            SECOND_ORDER * (epsilon + mu * d * slope_error + weighing * (2.0 * M + d * abs(slope))),
        )

    def weights_of(self, F: Floats, G: Floats) -> Floats:
        """The regression's weights (k, d) of k games from their means by size (k, d + 1) and Σ_s v_s G_{s,j} (k, d)."""
        d = G.shape[1]
        change = F[:, 1:] - F[:, :1]
        if d == 1:
            return np.asarray(-change / (1.0 + self.ridge * (1.0 + self.document)), dtype=np.float64)
        s, v, kappa = np.arange(1, d + 1), self.size_weights[1:], self.document
        q, r, penalty = kappa / (1.0 + kappa), 1.0 / (1.0 + kappa), self.ridge * kappa
        S = float(v @ s)
        away = s - r * S
        apart = float(v @ (s * (d - s))) / (d * (d - 1.0)) + penalty
        along = float(v @ away**2) / d + q * r * S * S / d + penalty
        slope = -(change @ (v * away)) / d / along
        return np.asarray((G - G.mean(axis=1, keepdims=True)) / apart + slope[:, None], dtype=np.float64)

    def _solve_one(self, F: Floats, M: float, moments: Moments) -> ExactValues:
        """One feature: β = (f(document) - f(nothing)) / (1 + ridge (1 + κ)). Only the document keeps the feature."""
        q, r = self.document / (1.0 + self.document), 1.0 / (1.0 + self.document)
        shrink = 1.0 + self.ridge * (1.0 + self.document)
        drop = float(F[0] - F[1])
        slope = drop / shrink
        eta, epsilon = float(self.rounding[0]), (moments.error + moments.rounding) * M
        error = 2.0 * epsilon / shrink + (eta + 8.0 * UNIT) * abs(slope)
        intercept_error = epsilon + q * error + (eta * r + 8.0 * UNIT) * (2.0 * M + abs(slope))
        return ExactValues(
            np.array([slope]),
            SECOND_ORDER * error,
            moments.nodes,
            float(F[0]) - r * drop - q * slope,
            SECOND_ORDER * intercept_error,
        )


def check_solvable(apart: float, along: float) -> None:
    """Refuse a regression whose matrix is singular on vectors that sum to zero, or on constant ones."""
    if not (apart > 0.0 and along > 0.0):
        raise NumericalError(
            "LIME's regression has no unique solution: with these weights all samples remove equally many words; "
            "use a larger kernel width, or a finite n_samples"
        )


def _too_narrow(d: int, kernel_width: float, log_of_one: float) -> NumericalError:
    return NumericalError(
        f"LIME's kernel is too narrow: with kernel_width={kernel_width} and {d} features no sample but the document "
        f"itself has a weight that float64 can hold (the logarithm of the largest is {log_of_one:.4g}); "
        "use a larger kernel width"
    )


def check_real(**numbers: object) -> None:
    """Say which of these is no number, or a whole one that float64 does not reach."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise ParameterError(f"{name} must be a number: got {value!r}")
        if isinstance(value, int) and abs(value) > MOST_WHOLE:
            raise ParameterError(f"{name} must be a number below {MOST_WHOLE:.0e}, or infinite: got a larger one")


def moments_of_one(game: RatioGame, target: int, size_weights: Floats, tolerance: float) -> Moments:
    """Moments of one document: by torch where it is short, as loading compiled code would cost more than it saves."""
    if game.n_features > COMPILED_ABOVE:
        return size_moments(game, target, size_weights, tolerance)
    from limelight.theory.moments_torch import size_moments_of_many  # torch takes seconds to import

    return size_moments_of_many([game], [target], [size_weights], tolerance)[0]


def lime_limit(
    game: RatioGame,
    target: int,
    n_samples: float = 5000,
    kernel_width: float = 0.25,
    ridge: float = 1.0,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ExactValues:
    """LIME's coefficients without its noise: the ridge regression on the expected design of n samples.

    `n_samples=math.inf` drops the original document's own share and the ridge (both are divided by n);
    `kernel_width=math.inf` makes all samples equal.
    """
    design = LimeDesign.of(game.n_features, n_samples, kernel_width, ridge)
    return design.solve(moments_of_one(game, target, design.size_weights, tolerance))


def shapley_weights(d: int) -> Floats:
    """w_s = 1/(d-s) for s < d, plus 1/s for s >= 1: then φ_j = Σ_s w_s G_{s,j} - Σ_{s>=1} F_s / s."""
    s = np.arange(d + 1, dtype=np.float64)
    weights = np.zeros(d + 1)
    weights[:-1] += 1.0 / (d - s[:-1])
    weights[1:] += 1.0 / s[1:]
    return weights


def shapley(game: RatioGame, target: int, tolerance: float = DEFAULT_TOLERANCE) -> ExactValues:
    """Exact Shapley values; the intercept is f with everything removed, so that all of it sums to f(document)."""
    return shapley_from(moments_of_one(game, target, shapley_weights(game.n_features), tolerance))


def shapley_from(moments: Moments, row: int = 0) -> ExactValues:
    """Shapley values from moments of one class whose size weights number `row` are `shapley_weights`."""
    F = moments.F[0]
    d = len(F) - 1
    phi = moments.G[0, row] - (F[1:] / np.arange(1, d + 1)).sum()
    # A Shapley value is a mean of differences of two values of f: 2ε. Both sums above are of size (1 + … + 1/d) M, and
    # round as such.
    M = float(moments.largest_output[0])
    rounding = 2.0 * moments.rounding * (1.0 + math.log(d))
    error, intercept_error = (2.0 * moments.error + rounding) * M, (moments.error + moments.rounding) * M
    return ExactValues(phi, error, moments.nodes, float(F[-1]), intercept_error)


def banzhaf(game: RatioGame, target: int, tolerance: float = DEFAULT_TOLERANCE) -> ExactValues:
    """E[f | j kept] - E[f | j removed], every other feature kept or removed by a fair coin.

    Coins are independent, so E[exp(-λD)] is a plain product over features and needs no recursion over sizes: O(K L d).
    """
    (chosen,) = checked_targets(game, target)
    lowest, _ = game.denominator_range()
    rules = head_rules(game, tolerance)
    values = np.zeros(game.n_features)
    for head, (unit, rule) in enumerate(zip(lowest, rules, strict=True)):
        lam = rule.nodes[:, None]
        a, b = lam * (game.a[head] / unit), lam * (game.b[head] / unit)  # (L, d)
        A, B = game.A[head, :, chosen] / unit, game.B[head, :, chosen] / unit
        either = np.logaddexp(-a, -b)
        coin = either - math.log(2.0)
        # Chances of feature i under the measure tilted by exp(-λD). Either may be tiny, and B as large as 1 / chance.
        expected = np.exp(-a - either) * A + np.exp(-b - either) * B
        others = game.C0[head, chosen] / unit + expected.sum(axis=1, keepdims=True) - expected
        rest = coin.sum(axis=1, keepdims=True) - coin - lam * (game.c0[head] / unit)
        kept, removed = np.exp(rest - a) * (others + A), np.exp(rest - b) * (others + B)
        values += rule.weights @ (kept - removed) / game.n_heads
    nodes = sum(len(rule) for rule in rules)
    # 2 d logarithms and a term per node are summed; each is rounded once.
    bound = max(rule.error for rule in rules) + recursion_rounding(game.n_features) + UNIT * (nodes + 16.0)
    return ExactValues(values, 2.0 * bound * float(game.largest_output()[chosen]), nodes)


def banzhaf_weights(d: int) -> Floats:
    """The chance of s removed features when each is kept by a fair coin: C(d, s) / 2^d."""
    return np.array([math.comb(d, s) / 2**d for s in range(d + 1)])


def banzhaf_from(moments: Moments, row: int = 0) -> ExactValues:
    """Banzhaf values from moments of one class whose size weights number `row` are `banzhaf_weights`.

    E[f | j kept] - E[f | j removed] = 4 E[f 1{j kept}] - 2 E[f], a mean of differences of two values of f.
    """
    d, largest = moments.n_features, float(moments.largest_output[0])
    mean = float(banzhaf_weights(d) @ moments.F[0])
    values = 4.0 * moments.G[0, row] - 2.0 * mean
    return ExactValues(values, largest * (2.0 * moments.error + 8.0 * moments.rounding), moments.nodes)


def lime_limit_and_shapley(
    games: Sequence[RatioGame],
    targets: Sequence[int],
    n_samples: float = 5000,
    kernel_width: float = 0.25,
    ridge: float = 1.0,
    tolerance: float = DEFAULT_TOLERANCE,
    device: str = "cpu",
) -> list[tuple[ExactValues, ExactValues]]:
    """Both values of many documents, from one pass over each."""
    designs = [LimeDesign.of(game.n_features, n_samples, kernel_width, ridge) for game in games]
    weights = [
        np.stack([design.size_weights, shapley_weights(game.n_features)])
        for design, game in zip(designs, games, strict=True)
    ]
    moments = moments_of_many(games, targets, weights, tolerance, device)
    return [(design.solve(m, 0), shapley_from(m, 1)) for m, design in zip(moments, designs, strict=True)]


def moments_of_many(
    games: Sequence[RatioGame],
    targets: Sequence[int],
    weights: Sequence[Floats],
    tolerance: float,
    device: str,
    memory_bytes: int | None = None,
) -> list[Moments]:
    """The compiled recursion, document by document, on a CPU, where no wide batch beats it; else the one in torch,
    within so much memory."""
    if device.split(":")[0] == "cpu" and importlib.util.find_spec("numba") is not None:
        return [size_moments(game, c, w, tolerance) for game, c, w in zip(games, targets, weights, strict=True)]
    from limelight.theory.moments_torch import size_moments_of_many  # torch takes seconds to import

    return size_moments_of_many(games, targets, weights, tolerance, device=device, memory_bytes=memory_bytes)


# ── features in groups ────────────────────────────────────────────────────────────────────────────────────────────────


def owen(game: RatioGame, groups: Sequence[Sequence[int]], tolerance: float = DEFAULT_TOLERANCE) -> ExactValues:
    """Owen values of a game with one class whose every feature is in a group; the intercept is f(nothing)."""
    rules = head_rules(game, tolerance)
    lowest, _ = game.denominator_range()
    values = np.zeros(game.n_features)
    for head, (unit, rule) in enumerate(zip(lowest, rules, strict=True)):
        parts = np.stack([game.a[head], game.A[head, :, 0], game.b[head], game.B[head, :, 0]]) / unit
        values += _of_head(parts, game.c0[head] / unit, game.C0[head, 0] / unit, groups, rule) / game.n_heads
    nodes = sum(len(rule) for rule in rules)
    # A difference of two values of f; logarithms of d factors, and a term for each node of three rules, are rounded.
    terms = nodes + game.n_features + len(groups) + 32.0
    bound = max(rule.error for rule in rules) + 2.0 * recursion_rounding(game.n_features) + UNIT * terms
    nothing = game.evaluate(np.zeros((1, game.n_features), dtype=bool))[0, 0]
    M = float(game.largest_output()[0])
    return ExactValues(values, 2.0 * bound * M, nodes, float(nothing), UNIT * terms * M)


def _of_head(parts: Floats, c0: float, C0: float, groups: Sequence[Sequence[int]], rule: ExponentialSum) -> Floats:
    """φ of every feature, by one head in units of its smallest denominator: `parts` (4, d) are a, A, b and B."""
    lam, values = rule.nodes, np.zeros(parts.shape[1])
    joined = np.array([[own[list(group)].sum() for group in groups] for own in parts])
    for own, members in enumerate(groups):
        t, t_weights = _unit_interval(len(groups))
        logs, means = _tilted(np.delete(joined, own, axis=1), lam, t)
        # E over the other groups, integrated over t: of exp(-λD), and of N exp(-λD). What always stays is with them.
        product = np.exp(logs.sum(axis=2) - lam[:, None] * c0)
        exponential = product @ t_weights
        weighted = (product * (C0 + means.sum(axis=2))) @ t_weights
        inner = np.take(parts, list(members), axis=1)
        u, u_weights = _unit_interval(len(members))
        logs, means = _tilted(inner, lam, u)
        rest = np.exp(logs.sum(axis=2, keepdims=True) - logs)  # without the feature itself
        mean_rest = means.sum(axis=2, keepdims=True) - means
        outside = (weighted[:, None, None], exponential[:, None, None])
        kept, removed = (
            np.exp(-lam[:, None, None] * g) * rest * (outside[0] + outside[1] * (mean_rest + G))
            for g, G in (inner[:2], inner[2:])
        )
        values[list(members)] = rule.weights @ np.einsum("lmd,m->ld", kept - removed, u_weights)
    return values


def _tilted(parts: Floats, lam: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """Means for λ (L,) and chances (m,): log E[exp(-λD)] and E[N exp(-λD)] / E[exp(-λD)], (L, m, d)."""
    a, A, b, B = parts
    kept = -lam[:, None, None] * a + np.log(chance)[:, None]
    removed = -lam[:, None, None] * b + np.log1p(-chance)[:, None]
    either = np.logaddexp(kept, removed)
    return either, np.exp(kept - either) * A + np.exp(removed - either) * B


def _unit_interval(features: int) -> tuple[Floats, Floats]:
    """Nodes and weights on (0, 1) that integrate polynomials of degree below the number of features."""
    nodes, weights = np.polynomial.legendre.leggauss(max(1, (features + 1) // 2))
    return (nodes + 1.0) / 2.0, weights / 2.0
