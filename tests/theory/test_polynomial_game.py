"""Polynomial games against enumeration of all subsets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from limelight.theory.control_games import PolynomialGames


def by_definition(games: PolynomialGames, line: int, shape: int, z: np.ndarray) -> float:
    s, t = int((1 - z).sum()), games.t_0[line] + float(games.c[line] @ z)
    return float(sum(games.a[shape, k, s] * t**k for k in range(4)))


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_values_and_means_equal_enumeration(d: int) -> None:
    rng = np.random.default_rng(d)
    games = PolynomialGames(rng.normal(size=(3, 4, d + 1)), rng.normal(size=2), rng.normal(size=(2, d)))
    kept = np.array(list(itertools.product([False, True], repeat=d)))
    removed, weights = d - kept.sum(axis=1), rng.random(d + 1)
    means, with_feature = games.means_by_size(), games.means_with_feature(weights)
    for line, shape in itertools.product(range(2), range(3)):
        values = np.array([by_definition(games, line, shape, z.astype(float)) for z in kept])
        own = [values[removed == s].mean() for s in range(d + 1)]
        np.testing.assert_allclose(means[line, shape], own, rtol=1e-11, atol=1e-11)
        own = [sum(weights[s] * (values * kept[:, j])[removed == s].mean() for s in range(d + 1)) for j in range(d)]
        np.testing.assert_allclose(with_feature[line, shape], own, rtol=1e-11, atol=1e-11)
