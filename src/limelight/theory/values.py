"""Exact attributions of a ratio game: what LIME and sampled Shapley values converge to.

Every function returns `ExactValues`. Its `error` bounds the distance of each value from the exact one: the moments are
those of a game f̃ with |f̃ - f| <= ε on every coalition, and each value is linear in the game.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limelight.arrays import Floats
from limelight.errors import NumericalError, ParameterError
from limelight.theory.lime_kernel import kernel_by_size
from limelight.theory.moments import (
    DEFAULT_TOLERANCE,
    Moments,
    checked_targets,
    head_rules,
    recursion_rounding,
    size_moments,
)
from limelight.theory.quadrature import UNIT
from limelight.theory.ratio_game import RatioGame

COMPILED_ABOVE = 64
"""Features: below, torch takes some 50 ms at most; loading compiled code takes half a second, compiling it several."""


@dataclass(frozen=True)
class ExactValues:
    """One number per feature, and how far from exact it can be."""

    values: Floats  # (d,)
    error: float
    nodes: int  # quadrature nodes used; 0 where none were needed
    intercept: float | None = None


@dataclass(frozen=True)
class LimeDesign:
    """LIME's expected weighted least squares, by the number s of removed features.

    Official LIME takes the document itself once and n - 1 samples with s uniform on 1..d, weighs a sample by
    exp(-(1 - sqrt(1 - s/d))² / (2ν²)), and fits a ridge regression whose intercept is not penalised. All quantities
    here are divided by n, so that n = ∞ is the plain limit.
    """

    size_weights: Floats  # (d + 1,): expected share of size s times its kernel weight
    ridge: float  # ridge / n

    @classmethod
    def of(cls, d: int, n_samples: float = 5000, kernel_width: float = 0.25, ridge: float = 1.0) -> LimeDesign:
        if math.isnan(n_samples) or n_samples < 2:
            raise ParameterError(f"LIME needs at least 2 samples, or infinitely many: got n_samples={n_samples}")
        if math.isnan(kernel_width) or kernel_width <= 0:
            raise ParameterError(f"LIME's kernel width is positive or infinite: got {kernel_width}")
        if not (math.isfinite(ridge) and ridge >= 0):
            raise ParameterError(f"LIME's ridge penalty is finite and at least 0: got {ridge}")
        kernel = kernel_by_size(d, kernel_width)
        if d == 1 and math.isinf(n_samples):
            # The only kept sample is the document itself. Its weight of 1 is all there is against the penalty, however
            # many samples there are, so this limit is taken without dividing by n: s = 1 then has weight infinity.
            return cls(np.array([1.0, np.inf]), ridge)
        own = 1.0 / n_samples
        share = np.full(d + 1, (1.0 - own) / d)
        share[0] = own
        return cls(share * kernel, ridge * own)

    @property
    def finite_weights(self) -> Floats:
        """The size weights without the infinite one of a document of one word."""
        return np.where(np.isfinite(self.size_weights), self.size_weights, 0.0)

    def solve(self, F: Floats, G: Floats, epsilon: float) -> tuple[Floats, float, float]:
        """Coefficients, intercept and error from F_s (d + 1,) and Σ_s w_s G_{s,j} (d,), |f̃ - f| <= epsilon.

        The centred Gram matrix is (v1 - v2) I + v2 11ᵀ plus the ridge: it acts as `apart` on vectors that sum to zero
        and as `along` on constant ones, which is all that Sherman and Morrison's formula would say.
        """
        d, w = len(G), self.size_weights
        s = np.arange(d + 1)
        if d == 1 and np.isinf(w[1]):
            slope = (F[0] - F[1]) / (1.0 + self.ridge)
            return np.array([slope]), float(F[1]), 2.0 * epsilon / (1.0 + self.ridge)
        total = w.sum()
        mu = (w * (d - s)).sum() / (d * total)
        # v1 - v2 = Σ w s(d-s) / (d(d-1)); v1 + (d-1) v2 = Σ w (d - s - dμ)² / d. Neither form cancels.
        apart = (w * s * (d - s)).sum() / (d * (d - 1)) + self.ridge if d > 1 else math.inf
        along = (w * (d - s - d * mu) ** 2).sum() / d + self.ridge
        if not (apart > UNIT * total and along > UNIT * total):
            raise NumericalError(
                "LIME's regression has no unique solution: with these weights the samples do not vary and ridge is 0; "
                "use a larger kernel width or a positive ridge"
            )
        y = G - mu * (w @ F)
        level = (w * (d - s - d * mu)) @ F / d  # the mean of y, since Σ_j G_{s,j} = (d - s) F_s
        apart_part = (y - y.mean()) / apart if d > 1 else np.zeros(1)
        beta = apart_part + level / along
        intercept = float((w @ F) / total - mu * beta.sum())
        moved = epsilon * (w * ((d - s) / d * (1.0 - mu) + s / d * mu)).sum()
        return beta, intercept, float(moved * (2.0 / apart + 1.0 / along))


def _moments(game: RatioGame, target: int, size_weights: Floats, tolerance: float) -> Moments:
    """For one document: by torch where it is short, since loading the compiled code would cost more than it saves."""
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
    return lime_limit_from(_moments(game, target, design.finite_weights, tolerance), design)


def lime_limit_from(moments: Moments, design: LimeDesign, row: int = 0, target_row: int = 0) -> ExactValues:
    """The same from moments at hand whose size weights number `row` are the design's."""
    epsilon = moments.error * float(moments.largest_output[target_row])
    beta, intercept, error = design.solve(moments.F[target_row], moments.G[target_row, row], epsilon)
    return ExactValues(beta, error, moments.nodes, intercept)


def shapley_weights(d: int) -> Floats:
    """w_s = 1/(d-s) for s < d, plus 1/s for s >= 1: then φ_j = Σ_s w_s G_{s,j} - Σ_{s>=1} F_s / s."""
    s = np.arange(d + 1, dtype=np.float64)
    weights = np.zeros(d + 1)
    weights[:-1] += 1.0 / (d - s[:-1])
    weights[1:] += 1.0 / s[1:]
    return weights


def shapley(game: RatioGame, target: int, tolerance: float = DEFAULT_TOLERANCE) -> ExactValues:
    """Exact Shapley values; the intercept is f with everything removed, so that all of it sums to f(document)."""
    return shapley_from(_moments(game, target, shapley_weights(game.n_features), tolerance))


def shapley_from(moments: Moments, row: int = 0, target_row: int = 0) -> ExactValues:
    """The same from moments at hand whose size weights number `row` are `shapley_weights`."""
    F = moments.F[target_row]
    d = len(F) - 1
    phi = moments.G[target_row, row] - (F[1:] / np.arange(1, d + 1)).sum()
    # A Shapley value is a mean of differences of two values of f. The sums above are of size log d, and round as such.
    epsilon = moments.error * float(moments.largest_output[target_row])
    rounding = UNIT * float(moments.largest_output[target_row]) * 4.0 * (1.0 + math.log(d))
    return ExactValues(phi, 2.0 * epsilon + rounding, moments.nodes, float(F[-1]))


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
        coin = np.logaddexp(-a, -b) - math.log(2.0)
        chance_kept = np.exp(-a - np.logaddexp(-a, -b))  # of feature i, under the measure tilted by exp(-λD)
        expected = chance_kept * A + (1.0 - chance_kept) * B
        others = game.C0[head, chosen] / unit + expected.sum(axis=1, keepdims=True) - expected
        rest = coin.sum(axis=1, keepdims=True) - coin - lam * (game.c0[head] / unit)
        kept, removed = np.exp(rest - a) * (others + A), np.exp(rest - b) * (others + B)
        values += rule.weights @ (kept - removed) / game.n_heads
    bound = max(rule.error for rule in rules) + recursion_rounding(game.n_features)
    error = 2.0 * bound * float(game.largest_output()[chosen])
    return ExactValues(values, error, sum(len(rule) for rule in rules))


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
        np.stack([design.finite_weights, shapley_weights(game.n_features)])
        for design, game in zip(designs, games, strict=True)
    ]
    moments = moments_of_many(games, targets, weights, tolerance, device)
    return [(lime_limit_from(m, design, 0), shapley_from(m, 1)) for m, design in zip(moments, designs, strict=True)]


def moments_of_many(
    games: Sequence[RatioGame], targets: Sequence[int], weights: Sequence[Floats], tolerance: float, device: str
) -> list[Moments]:
    """The compiled recursion, document by document, on a CPU, where no wide batch beats it; else the one in torch."""
    if device.split(":")[0] == "cpu" and importlib.util.find_spec("numba") is not None:
        return [size_moments(game, c, w, tolerance) for game, c, w in zip(games, targets, weights, strict=True)]
    from limelight.theory.moments_torch import size_moments_of_many  # torch takes seconds to import

    return size_moments_of_many(games, targets, weights, tolerance, device=device)
