"""Owen values against all orders that keep groups together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import owen, shapley
from reference.enumeration import random_game, tabulated

GROUPS = [[[0, 1, 5], [2, 3], [4]], [[0], [1], [2], [3, 4, 5]], [[5, 4, 3, 2, 1, 0]], [[0, 3], [1, 4], [2, 5]]]


def owen_by_orders(game: RatioGame, groups: list[list[int]]) -> np.ndarray:
    value, d = tabulated(game, 0), game.n_features
    phi, orders = np.zeros(d), 0
    for outer in itertools.permutations(range(len(groups))):
        for inner in itertools.product(*(itertools.permutations(group) for group in groups)):
            there = [0] * d
            for j in (j for g in outer for j in inner[g]):
                before = value[tuple(there)]
                there[j] = 1
                phi[j] += value[tuple(there)] - before
            orders += 1
    return phi / orders


@pytest.mark.parametrize("ratio", [3.0, 1e3, 1e9])
@pytest.mark.parametrize("groups", GROUPS)
def test_values_equal_the_mean_over_all_orders_of_groups(groups: list[list[int]], ratio: float) -> None:
    game = random_game(seed=3, d=6, heads=3, ratio=ratio).along(np.array([1.0, -1.0, 0.0]))
    values = owen(game, groups)
    error = np.abs(values.values - owen_by_orders(game, groups)).max()
    assert error <= values.error, f"{error} is beyond the bound {values.error}"
    assert values.error <= 1e-9 * float(game.largest_output()[0])
    ends = game.evaluate(np.array([[False] * 6, [True] * 6]))[:, 0]
    np.testing.assert_allclose(values.values.sum(), ends[1] - ends[0], rtol=0, atol=7 * values.error)
    assert values.intercept == pytest.approx(ends[0], abs=1e-12)


def test_groups_of_one_and_one_group_of_all_are_shapley_values() -> None:
    game = random_game(seed=1, d=40, heads=2, ratio=1e4).along(np.array([0.0, 1.0, 0.0]))
    plain = shapley(game, 0)
    for groups in ([[j] for j in range(40)], [list(range(40))]):
        values = owen(game, groups)
        assert np.abs(values.values - plain.values).max() <= values.error + plain.error


def test_the_values_of_a_group_add_up_to_its_own_among_groups() -> None:
    """The quotient game: groups as features. Its Shapley values are the sums of the Owen values."""
    game = random_game(seed=5, d=30, heads=2, ratio=1e4).along(np.array([0.0, 1.0, 0.0]))
    groups = [list(range(0, 4)), list(range(4, 18)), list(range(18, 19)), list(range(19, 30))]

    def summed(array: np.ndarray) -> np.ndarray:
        return np.stack([array[:, group].sum(axis=1) for group in groups], axis=1)

    quotient = RatioGame(summed(game.a), summed(game.A), summed(game.b), summed(game.B), game.c0, game.C0)
    values, of_groups = owen(game, groups), shapley(quotient, 0)
    sums = np.array([values.values[group].sum() for group in groups])
    assert np.abs(sums - of_groups.values).max() <= 14 * values.error + of_groups.error


def test_a_game_along_a_direction_is_the_sum_of_its_classes() -> None:
    game = random_game(seed=4, d=5, heads=2, ratio=10.0)
    kept = np.random.default_rng(0).random((20, 5)) < 0.5
    for direction in ([0.0, 1.0, 0.0], [0.0, -2.0, 0.0], [1.0, -1.0, 0.5]):
        along = game.along(np.array(direction)).evaluate(kept)[:, 0]
        np.testing.assert_allclose(along, game.evaluate(kept) @ direction, rtol=0, atol=1e-12)
