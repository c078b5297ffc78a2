"""Odd games against enumeration, and Shapley values from signs against their definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from limelight.theory.odd_game import OddGame, sign_moments, size_weights


def random_game(d: int) -> OddGame:
    rng = np.random.default_rng(d)
    c, v, w, linear = rng.normal(size=(4, d))
    v[::2] = 0.0
    return OddGame(linear, c, rng.normal(size=5), v, w)


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
    game = random_game(d)
    signs = list(itertools.product((-1, 1), repeat=d))
    x = np.array(signs, dtype=np.float64)
    g = game.of(x)
    np.testing.assert_allclose(game.of(-x), -g, atol=1e-12)
    removed = (x < 0).sum(axis=1)
    weights, moments = size_weights(d), sign_moments(d)
    expected = np.zeros(d)
    for s in range(1, d):
        rows = removed == s
        expected += weights[s - 1] * (x[rows] * g[rows, None]).mean(axis=0)
        products = [x[rows][:, :k].prod(axis=1).mean() for k in range(min(d, 4) + 1)]
        np.testing.assert_allclose(moments[: len(products), s - 1], products, atol=1e-12)
    np.testing.assert_allclose(game.means_with_sign(weights), expected, rtol=1e-10, atol=1e-10)
    phi = shapley_from_signs(game.means_with_sign(weights), 2.0 * float(game.of(np.ones((1, d)))[0]))
    np.testing.assert_allclose(phi, shapley_by_subsets(dict(zip(signs, g.tolist(), strict=True)), d), atol=1e-9)
