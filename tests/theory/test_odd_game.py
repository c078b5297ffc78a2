"""Odd games against enumeration, and Shapley values from signs against their definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from limelight.theory.control_games import means_with_sign, sign_moments, size_weights


def by_definition(c: np.ndarray, strong: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Values of the games for signs (n, d): (4 + 2 strong, n)."""
    p, m = x @ c, x.mean(axis=1)
    return np.stack([m**3, m**2 * p, m * p**2, p**3, *(p**2 * x[:, strong].T), *(m * p * x[:, strong].T)])


def shapley_by_subsets(f: dict[tuple[int, ...], float], d: int) -> np.ndarray:
    phi = np.zeros(d)
    for j in range(d):
        for x in f:
            if x[j] < 0:
                size = sum(own > 0 for own in x)
                weight = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
                phi[j] += weight * (f[(*x[:j], 1, *x[j + 1 :])] - f[x])
    return phi


def shapley_from_signs(with_sign: np.ndarray, total: float) -> np.ndarray:
    """Shapley values from Σ_s weights_s E[x_j o | s], weights those of `size_weights`; they add up to `total`.

    They minimise Σ_s weights_s E[(o(x) - φ·x / 2)² | s] among all φ with that sum. The matrix E[x xᵀ] is 1 on its
    diagonal and constant beside it, so the part of φ that sums to zero is read off, and the rest is given.
    """
    d = len(with_sign)
    apart = 1.0 - float(size_weights(d) @ sign_moments(d)[2])
    return 2.0 * (with_sign - with_sign.mean()) / apart + total / d


@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_means_and_shapley_values_equal_enumeration(d: int) -> None:
    rng = np.random.default_rng(d)
    c, strong = rng.normal(size=d), np.arange(1, d, 2)
    signs = list(itertools.product((-1, 1), repeat=d))
    x = np.array(signs, dtype=np.float64)
    games = by_definition(c, strong, x)
    removed = (x < 0).sum(axis=1)
    weights, moments = size_weights(d), sign_moments(d)
    expected = np.zeros((len(games), d))
    for s in range(1, d):
        rows = removed == s
        expected += weights[s - 1] * (games[:, rows] @ x[rows]) / rows.sum()
        products = [x[rows][:, :k].prod(axis=1).mean() for k in range(min(d, 4) + 1)]
        np.testing.assert_allclose(moments[: len(products), s - 1], products, atol=1e-12)
    found = means_with_sign(c, strong, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(means_with_sign(c, strong, weights, 3.0)[:4], 3.0 * found[:4], rtol=1e-12, atol=1e-12)
    parts = rng.normal(size=len(games))
    g = parts @ games
    phi = shapley_from_signs(parts @ found, 2.0 * float(parts @ by_definition(c, strong, np.ones((1, d)))[:, 0]))
    np.testing.assert_allclose(phi, shapley_by_subsets(dict(zip(signs, g.tolist(), strict=True)), d), atol=1e-9)
