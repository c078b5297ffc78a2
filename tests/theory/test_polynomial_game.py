"""Polynomial games against enumeration of all subsets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from limelight.theory.polynomial_game import PolynomialGame


def random_game(d: int, seed: int) -> PolynomialGame:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(d, d))
    return PolynomialGame(rng.normal(size=(4, d + 1)), 0.3, rng.normal(size=d), W + W.T, rng.normal(size=d), 0.7)


def by_definition(game: PolynomialGame, z: np.ndarray) -> float:
    s, t = int((1 - z).sum()), game.t_0 + float(game.c @ z)
    return float(sum(game.a[k, s] * t**k for k in range(4)) + z @ game.W @ z + game.l @ z + game.b)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_values_and_means_equal_enumeration(d: int) -> None:
    game = random_game(d, d)
    kept = np.array(list(itertools.product([False, True], repeat=d)))
    values = np.array([by_definition(game, z.astype(float)) for z in kept])
    np.testing.assert_allclose(game.of(kept), values, rtol=1e-12, atol=1e-12)
    removed = d - kept.sum(axis=1)
    means = [values[removed == s].mean() for s in range(d + 1)]
    np.testing.assert_allclose(game.means_by_size(), means, rtol=1e-11, atol=1e-11)
    weights = np.random.default_rng(9).random(d + 1)
    with_feature = [
        sum(weights[s] * (values * kept[:, j])[removed == s].mean() for s in range(d + 1)) for j in range(d)
    ]
    np.testing.assert_allclose(game.means_with_feature(weights), with_feature, rtol=1e-11, atol=1e-11)
