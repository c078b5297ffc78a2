"""1/D as a sum of exponentials: the proven bound holds, is tight, and costs what it should."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import NumericalError, ParameterError
from limelight.theory.quadrature import _gauss_tail, exponential_sum, step_error
from reference.exponential_sums import measured_error

# The grid that measures the error evaluates D Σ w exp(-λD) in float64: a few units in the last place.
ROUNDING = 2e-15


@settings(deadline=None, max_examples=60)
@given(log_ratio=st.floats(0.0, 80.0), digits=st.floats(2.0, 13.0))
def test_the_error_seen_is_within_the_bound_and_the_bound_within_the_tolerance(log_ratio, digits):
    tolerance = 10.0**-digits
    rule = exponential_sum(math.exp(log_ratio), tolerance)
    assert measured_error(rule, 16) <= rule.error + ROUNDING
    assert rule.error <= tolerance
    assert (rule.weights > 0).all()
    assert (np.diff(rule.nodes) > 0).all()


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
def test_the_bound_is_not_far_above_the_error(tolerance):
    rule = exponential_sum(1e9, tolerance)
    assert measured_error(rule, 16) > 0.6 * rule.error


def test_the_node_count_follows_the_range_and_stays_near_the_optimum():
    counts = [len(exponential_sum(10.0**k, 1e-12)) for k in (3, 6, 9, 12)]
    assert counts[2] <= 80  # without the Gauss tail it is 150
    steps = np.diff(counts)
    assert steps.max() - steps.min() <= 2  # linear in log(ratio)


def test_the_step_error_is_the_amplitude_of_the_trapezoid_error():
    h = 1.0
    y = h * np.arange(-60, 10)
    offsets = np.linspace(0.0, h, 400)
    sums = (h * np.exp(y[:, None] + offsets - np.exp(y[:, None] + offsets))).sum(axis=0)
    assert np.abs(sums - 1.0).max() == pytest.approx(step_error(h), rel=1e-3)


@pytest.mark.parametrize("m", [1, 3, 6])
def test_the_gauss_tail_integrates_polynomials_of_degree_2m_minus_1(m):
    h = 0.35
    nodes, weights, norm = _gauss_tail(m, h)
    moments = [h / -math.expm1(-h * (degree + 1)) for degree in range(2 * m + 1)]
    for degree in range(2 * m):
        assert weights @ nodes**degree == pytest.approx(moments[degree], rel=1e-12)
    # and x^{2m} is missed by exactly the squared norm of the orthogonal polynomial
    assert moments[2 * m] - weights @ nodes ** (2 * m) == pytest.approx(norm, rel=1e-4)


def test_ranges_far_beyond_any_trained_model_work():
    assert measured_error(exponential_sum(1e200, 1e-9)) < 1e-9


@pytest.mark.parametrize("tolerance", [1e-16, 1e-15])
def test_a_tolerance_below_rounding_is_refused_and_the_message_says_what_can_be_had(tolerance):
    with pytest.raises(NumericalError, match=r"cannot be reached.*ask for") as error:
        exponential_sum(1e9, tolerance)
    reachable = float(str(error.value).split("ask for ")[1].split(" ")[0])
    assert measured_error(exponential_sum(1e9, 1.1 * reachable)) <= 1.1 * reachable


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0, math.nan, math.inf])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        exponential_sum(10.0, tolerance)


@pytest.mark.parametrize("ratio", [0.5, math.inf, math.nan])
def test_a_range_that_is_none_is_refused(ratio):
    with pytest.raises(NumericalError, match="at least 1"):
        exponential_sum(ratio, 1e-9)
