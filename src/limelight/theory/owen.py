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
from dataclasses import dataclass

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
        values += _of_head(_Head.of(game, head, float(unit)), groups, rule) / game.n_heads
    nodes = sum(len(rule) for rule in rules)
    # A difference of two values of f; logarithms of d factors, and a term for each node of three rules, are rounded.
    terms = nodes + game.n_features + len(groups) + 32.0
    bound = max(rule.error for rule in rules) + 2.0 * recursion_rounding(game.n_features) + UNIT * terms
    nothing = game.evaluate(np.zeros((1, game.n_features), dtype=bool))[0, 0]
    M = float(game.largest_output()[0])
    return ExactValues(values, 2.0 * bound * M, nodes, float(nothing), UNIT * terms * M)


@dataclass(frozen=True)
class _Head:
    """One head in units of its smallest denominator: kept and removed parts of each feature, and what always stays."""

    a: Floats  # (d,)
    A: Floats  # (d,)
    b: Floats  # (d,)
    B: Floats  # (d,)
    c0: float = 0.0
    C0: float = 0.0

    @classmethod
    def of(cls, game: RatioGame, head: int, unit: float) -> _Head:
        a, b = game.a[head] / unit, game.b[head] / unit
        A, B = game.A[head, :, 0] / unit, game.B[head, :, 0] / unit
        return cls(a, A, b, B, float(game.c0[head] / unit), float(game.C0[head, 0] / unit))

    def joined(self, groups: Sequence[Sequence[int]]) -> _Head:
        """Head whose features are the groups."""
        a, A, b, B = (
            np.array([own[list(group)].sum() for group in groups]) for own in (self.a, self.A, self.b, self.B)
        )
        return _Head(a, A, b, B, self.c0, self.C0)

    def only(self, chosen: Sequence[int]) -> _Head:
        """Head of some features, and of nothing that always stays."""
        rows = list(chosen)
        return _Head(self.a[rows], self.A[rows], self.b[rows], self.B[rows])

    def tilted(self, lam: Floats, chance: Floats) -> tuple[Floats, Floats]:
        """Means for λ (L,) and chances (m,): log E[exp(-λD)] and E[N exp(-λD)] / E[exp(-λD)], (L, m, d)."""
        kept = -lam[:, None, None] * self.a + np.log(chance)[:, None]
        removed = -lam[:, None, None] * self.b + np.log1p(-chance)[:, None]
        either = np.logaddexp(kept, removed)
        return either, np.exp(kept - either) * self.A + np.exp(removed - either) * self.B


def _of_head(head: _Head, groups: Sequence[Sequence[int]], rule: ExponentialSum) -> Floats:
    """φ of every feature, by one head."""
    lam, joined = rule.nodes, head.joined(groups)
    values = np.zeros(len(head.a))
    for own, members in enumerate(groups):
        others = joined.only([other for other in range(len(groups)) if other != own])
        t, t_weights = _unit_interval(len(groups))
        logs, means = others.tilted(lam, t)
        # E over the other groups, integrated over t: of exp(-λD), and of N exp(-λD). What always stays is with them.
        product = np.exp(logs.sum(axis=2) - lam[:, None] * head.c0)
        exponential = product @ t_weights
        weighted = (product * (head.C0 + means.sum(axis=2))) @ t_weights
        inner = head.only(members)
        u, u_weights = _unit_interval(len(members))
        logs, means = inner.tilted(lam, u)
        rest = np.exp(logs.sum(axis=2, keepdims=True) - logs)  # without the feature itself
        mean_rest = means.sum(axis=2, keepdims=True) - means
        outside = (weighted[:, None, None], exponential[:, None, None])
        kept, removed = (
            np.exp(-lam[:, None, None] * g) * rest * (outside[0] + outside[1] * (mean_rest + G))
            for g, G in ((inner.a, inner.A), (inner.b, inner.B))
        )
        values[list(members)] = rule.weights @ np.einsum("lmd,m->ld", kept - removed, u_weights)
    return values


def _unit_interval(features: int) -> tuple[Floats, Floats]:
    """Nodes and weights on (0, 1) that integrate polynomials of degree below the number of features."""
    nodes, weights = np.polynomial.legendre.leggauss(max(1, (features + 1) // 2))
    return (nodes + 1.0) / 2.0, weights / 2.0
