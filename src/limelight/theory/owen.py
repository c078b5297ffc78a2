"""Owen values of a ratio game: features in groups, the groups in any order, each group's features in any order within.

The value of feature i of group S is what it adds when its group arrives among the others, which are there as a whole or
not at all, and i among its own. It is the Shapley value of the group, handed on to its features: the values of a
group's features add up to the group's own, and all of them to f(document) - f(nothing).

A Shapley value is an integral over independent coins (Owen, 1972): with every other group kept with chance t, every
other feature of S with chance u, and both uniform,

    φ_i = ∫_0^1 ∫_0^1 E[ f(i kept) - f(i removed) ] dt du.

With 1/D as a sum of exponentials (`quadrature`), E[exp(-λD)] is a product over groups times one over features, of
degree below their numbers in t and in u: Gauss and Legendre's rule of half as many nodes integrates that exactly. All
terms but the values are positive, so nothing cancels before the last difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limelight.core.arrays import Floats
from limelight.theory.moments import DEFAULT_TOLERANCE, head_rules, recursion_rounding
from limelight.theory.quadrature import UNIT, ExponentialSum
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import ExactValues


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
