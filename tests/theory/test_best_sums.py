"""The table of best sums: each is within its error by a bound, is as short as claimed, and is the one that is used."""

import math

import numpy as np
import pytest

from limelight.theory.quadrature import ERROR, _trapezoid, best_sum, exponential_sum, rounding_error, table
from reference.exponential_sums import certified_error, measured_error

# D Σ w exp(-λD) in float64, by two ways of summing it.
ROUNDING = 4e-15


@pytest.mark.parametrize("row", table(), ids=lambda row: f"{len(row[1])}-terms")
def test_every_sum_of_the_table_is_certified(row):
    ratio, nodes, weights = row
    assert certified_error(nodes, weights, ratio) <= ERROR
    assert (weights > 0).all()
    assert (np.diff(nodes) > 0).all()


@pytest.mark.parametrize("row", table(), ids=lambda row: f"{len(row[1])}-terms")
def test_the_error_swings_as_often_as_that_of_a_best_sum(row):
    """2m + 1 extrema of changing sign and of nearly one size: by Chebyshev's theorem no sum of m terms is better."""
    ratio, nodes, weights = row
    D = np.exp(np.linspace(0.0, math.log(ratio), 200 * len(nodes)))
    error = D * (np.exp(-np.outer(D, nodes)) @ weights) - 1.0
    pieces = np.split(error, np.flatnonzero(np.diff(np.sign(error)) != 0) + 1)
    swings = np.array([np.abs(piece).max() for piece in pieces if np.abs(piece).max() > 10 * ROUNDING])
    assert len(swings) == 2 * len(nodes) + 1
    assert swings.min() > 0.8 * ERROR


def test_the_bound_sees_an_error_that_stands_between_its_points():
    """A sum that is spoilt anywhere has a bound above what is measured there."""
    ratio, nodes, weights = table()[9]
    spoilt = weights.copy()
    spoilt[4] *= 1.0 + 1e-9
    D = np.exp(np.linspace(0.0, math.log(ratio), 100_003))
    measured = np.abs(D * (np.exp(-np.outer(D, nodes)) @ spoilt) - 1.0).max()
    bound = certified_error(nodes, spoilt, ratio)
    assert measured - ROUNDING <= bound <= 1.02 * measured


def test_the_table_has_one_sum_for_each_number_of_terms_and_longer_ones_reach_further():
    assert [len(nodes) for _, nodes, _ in table()] == list(range(3, 49))
    ratios = np.array([ratio for ratio, _, _ in table()])
    assert (np.diff(ratios) > 0).all()
    np.testing.assert_allclose(ratios[-20:] / ratios[-21:-1], 1.4, atol=0.01)


@pytest.mark.parametrize("ratio", [1.0, 2.0, 3.0, 10.0, 1e3, 1e6])
def test_at_the_default_precision_the_best_sum_is_taken_and_saves_six_nodes_or_more(ratio):
    rule = exponential_sum(ratio, 1e-11)
    trapezoid = _trapezoid(ratio, 1e-11, rounding_error(ratio))
    assert len(trapezoid) - len(rule) >= 6
    assert measured_error(rule, 16) <= rule.error + ROUNDING
    assert rule.error < trapezoid.error


@pytest.mark.parametrize(("ratio", "tolerance"), [(1e9, 1e-11), (10.0, 1e-12), (10.0, 1e-6)])
def test_beyond_the_table_the_trapezoid_rule_is_taken(ratio, tolerance):
    rule = exponential_sum(ratio, tolerance)
    rounding = rounding_error(ratio)
    np.testing.assert_array_equal(rule.nodes, _trapezoid(ratio, tolerance - rounding, rounding).nodes)
    assert measured_error(rule, 16) <= rule.error + ROUNDING
    assert rule.error <= tolerance


def test_a_ratio_at_the_end_of_a_sum_is_still_its_own():
    for ratio, nodes, _ in table()[:5]:
        found = best_sum(ratio)
        assert found is not None
        assert len(found[0]) == len(nodes)
