"""Slow twins: every quantity of `limelight.theory` from its definition, over all 2^d subsets, in float64.

Nothing here uses the code under test except a RatioGame as a holder of arrays, and nothing is clever.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from limelight.theory.ratio_game import RatioGame

Table = dict[tuple[int, ...], float]


def random_game(seed: int, d: int, heads: int = 2, classes: int = 3, ratio: float = 1e3) -> RatioGame:
    """Signed values; D_max / D_min of about `ratio`, each feature large either when kept or when removed."""
    rng = np.random.default_rng(seed)
    small, large = rng.uniform(0.0, 1.0 / d, (heads, d)), ratio ** rng.uniform(0.0, 1.0, (heads, d))
    large[:, rng.integers(d)] = ratio
    kept_is_large = rng.random((heads, d)) < 0.5
    a, b = np.where(kept_is_large, large, small), np.where(kept_is_large, small, large)
    c0 = rng.uniform(0.5, 1.5, heads)
    return RatioGame(
        a=a,
        A=a[:, :, None] * rng.normal(size=(heads, d, classes)),
        b=b,
        B=b[:, :, None] * rng.normal(size=(heads, d, classes)),
        c0=c0,
        C0=c0[:, None] * rng.normal(size=(heads, classes)),
    )


def random_document(seed: int, positions: int, owners, heads: int = 2, classes: int = 3, spread: float = 2.0):
    """scores, values, removed_scores, removed_values, owners; positions without an owner are their own replacement."""
    rng = np.random.default_rng(seed)
    scores, removed_scores = rng.normal(0.0, spread, (2, positions, heads))
    values, removed_values = rng.normal(size=(2, positions, heads, classes))
    free = sorted(set(range(positions)) - {t for own in owners for t in own})
    removed_scores[free], removed_values[free] = scores[free], values[free]
    return scores, values, removed_scores, removed_values, owners


def all_coalitions(d: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=d))


def game_value(game: RatioGame, z: Sequence[int], target: int) -> float:
    """f(z) term by term, each sum correctly rounded."""
    total = []
    for head in range(game.a.shape[0]):
        numerator = [game.C0[head, target]]
        denominator = [game.c0[head]]
        for j, kept in enumerate(z):
            numerator.append((game.A if kept else game.B)[head, j, target])
            denominator.append((game.a if kept else game.b)[head, j])
        total.append(math.fsum(numerator) / math.fsum(denominator))
    return math.fsum(total) / len(total)


def tabulated(game: RatioGame, target: int) -> Table:
    return {z: game_value(game, z, target) for z in all_coalitions(game.a.shape[1])}


def document_value(scores, values, removed_scores, removed_values, owners, z: Sequence[int], target: int) -> float:
    """The model on a perturbed document: softmax attention over positions, head by head (Eq. 8 and 9)."""
    scores, values = np.array(scores), np.array(values)
    for j, positions in enumerate(owners):
        for t in positions:
            if not z[j]:
                scores[t], values[t] = removed_scores[t], removed_values[t]
    outputs = []
    for head in range(scores.shape[1]):
        attention = np.exp(scores[:, head] - scores[:, head].max())
        attention /= attention.sum()
        outputs.append(float(attention @ values[:, head, target]))
    return sum(outputs) / len(outputs)


def mean_by_size(table: Table) -> np.ndarray:
    """F_s: mean of f over coalitions with s zeros."""
    d = len(next(iter(table)))
    return np.array([np.mean([f for z, f in table.items() if z.count(0) == s]) for s in range(d + 1)])


def kept_mean_by_size(table: Table) -> np.ndarray:
    """G_{s,j}: mean of f(z) z_j over coalitions with s zeros, (d + 1, d)."""
    d = len(next(iter(table)))
    rows = []
    for s in range(d + 1):
        of_size = [(z, f) for z, f in table.items() if z.count(0) == s]
        rows.append([sum(f * z[j] for z, f in of_size) / len(of_size) for j in range(d)])
    return np.array(rows)


def lime_ridge(table: Table, n: float, nu: float, ridge: float) -> tuple[np.ndarray, float]:
    """Weighted ridge regression on the expected sample: each coalition with its probability times its kernel weight.

    The normal equations of the full design with a column of ones, whose coefficient is not penalised.
    """
    d = len(next(iter(table)))
    rows, targets, weights = [], [], []
    for z, f in table.items():
        s = z.count(0)
        cosine = math.sqrt((d - s) / d)
        kernel = math.exp(-((1.0 - cosine) ** 2) / (2.0 * nu**2)) if math.isfinite(nu) else 1.0
        drawn = 0.0 if s == 0 else 1.0 / (d * math.comb(d, s))
        count = drawn if math.isinf(n) else (n - 1) * drawn + (1.0 if s == 0 else 0.0)
        rows.append([1.0, *z])
        targets.append(f)
        weights.append(count * kernel)
    X, y, w = np.array(rows), np.array(targets), np.array(weights)
    penalty = np.zeros((d + 1, d + 1)) if math.isinf(n) else np.diag([0.0] + [ridge] * d)
    solution = np.linalg.solve(X.T @ (w[:, None] * X) + penalty, X.T @ (w * y))
    return solution[1:], float(solution[0])


def shapley_by_subsets(table: Table) -> np.ndarray:
    """Σ over S without j of |S|! (d-|S|-1)! / d! · (f(S ∪ j) - f(S))."""
    d = len(next(iter(table)))
    phi = np.zeros(d)
    for z, f in table.items():
        for j in range(d):
            if not z[j]:
                size = sum(z)
                share = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
                phi[j] += share * (table[(*z[:j], 1, *z[j + 1 :])] - f)
    return phi


def shapley_by_permutations(table: Table) -> np.ndarray:
    """The mean over all orders of what a feature adds when it arrives."""
    d = len(next(iter(table)))
    phi = np.zeros(d)
    for order in itertools.permutations(range(d)):
        z = [0] * d
        for j in order:
            before = table[tuple(z)]
            z[j] = 1
            phi[j] += table[tuple(z)] - before
    return phi / math.factorial(d)


def banzhaf_by_subsets(table: Table) -> np.ndarray:
    d = len(next(iter(table)))
    result = np.zeros(d)
    for z, f in table.items():
        for j in range(d):
            result[j] += (f if z[j] else -f) / 2 ** (d - 1)
    return result


def expectation_given_kept(table: Table, ell: int) -> float:
    """E[f(X) | ℓ ∉ S]: sizes uniform on 1..d, subsets of a size uniform, conditioned by Bayes' rule."""
    d = len(next(iter(table)))
    joint = chance = 0.0
    for z, f in table.items():
        s = z.count(0)
        if s >= 1 and z[ell]:
            probability = 1.0 / (d * math.comb(d, s))
            joint += probability * f
            chance += probability
    return joint / chance


def expectation(table: Table) -> float:
    d = len(next(iter(table)))
    return math.fsum(f / (d * math.comb(d, z.count(0))) for z, f in table.items() if 0 in z)


def removed_sets(n: int, s: int) -> list[set[int]]:
    return [set(S) for S in itertools.combinations(range(n), s)]
