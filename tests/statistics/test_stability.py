"""When the strongest weights are settled: against what follows from the definition, and the rate of wrong claims."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.core.arrays import Floats
from limelight.statistics.stability import settled

LEVEL = 0.05


def covariance(d: int, error: float, shared: float = 0.0) -> Floats:
    """Of errors of one size, with a part in common."""
    return error**2 * ((1.0 - shared) * np.eye(d) + shared)


def test_clear_weights_are_settled_and_blurred_ones_are_not() -> None:
    weights = np.array([5.0, -4.0, 3.0, 0.5, -0.4, 0.1])
    clear = settled(weights, covariance(6, 0.01), LEVEL, k=3)
    assert (clear.state, clear.words, clear.of) == ("settled", (0, 1, 2), 3)
    assert settled(weights, covariance(6, 2.0), LEVEL, k=3).state == "open"


def test_a_part_of_them_may_be_settled() -> None:
    weights = np.array([9.0, 0.50, 0.30, 0.0])
    found = settled(weights, covariance(4, 0.15), LEVEL, k=2, tie=0.0)
    assert (found.state, found.words) == ("open", (0,))


def test_two_weights_across_the_border_that_hardly_differ_are_a_tie() -> None:
    weights = np.array([10.0, 5.0, 4.99, 0.2])
    assert settled(weights, covariance(4, 0.05), LEVEL, k=2).state == "tied"
    assert settled(weights, covariance(4, 0.05), LEVEL, k=3).state == "settled"
    assert settled(weights, covariance(4, 0.4), LEVEL, k=2).state == "open"  # it may be a tie; nothing shows it


def test_equal_size_and_other_sign_is_a_tie_as_well() -> None:
    assert settled(np.array([10.0, 5.0, -5.0]), covariance(3, 0.01), LEVEL, k=2).state == "tied"


def test_a_strong_word_whose_sign_cannot_be_told_is_a_tie_with_zero() -> None:
    found = settled(np.array([10.0, 0.001]), covariance(2, 0.01), LEVEL, k=5)
    assert (found.state, found.words) == ("tied", (0,))


def test_without_errors_everything_is_settled() -> None:
    assert settled(np.array([1.0, 0.5, -0.2]), np.zeros((3, 3)), LEVEL, k=2).state == "settled"


def test_errors_that_are_not_known_settle_nothing() -> None:
    found = settled(np.array([1.0, 0.5, -0.2]), np.full((3, 3), np.nan), LEVEL, k=2)
    assert (found.state, found.words) == ("open", ())


def test_errors_that_move_together_settle_differences_sooner() -> None:
    """What two weights have in common cancels in their difference."""
    weights = np.array([3.0, 2.0, 1.0])
    shared = covariance(3, 0.45, shared=0.95)
    assert settled(weights, shared, LEVEL, k=2, tie=0.0).state == "settled"
    assert settled(weights, np.diag(np.diagonal(shared)), LEVEL, k=2, tie=0.0).state == "open"


def test_one_error_that_is_not_known_settles_nothing() -> None:
    errors = covariance(3, 0.01)
    errors[0, 1] = errors[1, 0] = np.nan  # which none of the claims would ask for
    assert settled(np.array([1.0, 0.5, -0.2]), errors, LEVEL, k=2).state == "open"


def test_what_may_be_more_than_a_tie_is_open() -> None:
    """A gap of 0.2 known to 0.44 at the best: less than 0.5 is a tie beside 10, and 0.64 may be none."""
    assert settled(np.array([10.0, 5.0, 4.8, 0.2]), covariance(4, 0.16), LEVEL, k=2).state == "open"


def test_errors_that_move_together_settle_weights_of_other_signs_later() -> None:
    """What -2 and 1 have in common counts twice in how much stronger one is than the other."""
    weights, shared = np.array([3.0, -2.0, 1.0]), covariance(3, 0.45, shared=0.95)
    assert settled(weights, shared, LEVEL, k=2, tie=0.0).state == "open"
    assert settled(np.abs(weights), shared, LEVEL, k=2, tie=0.0).state == "settled"


def test_a_sign_takes_as_much_as_a_claim_on_both_sides() -> None:
    """A single weight has a single claim, its sign, of which nobody said before which it would be: 1.96 errors."""
    for sign in (-1.0, 1.0):
        assert settled(np.array([sign * 1.9]), np.eye(1), LEVEL).state == "open"
        assert settled(np.array([sign * 2.0]), np.eye(1), LEVEL).state == "settled"


@given(st.integers(2, 12), st.integers(0, 10**6), st.floats(0.01, 1.0))
def test_what_is_claimed_follows_from_bonferroni_at_the_latest(d: int, seed: int, error: float) -> None:
    """Step by step more is claimed than at once, never less."""
    from statistics import NormalDist

    rng = np.random.default_rng(seed)
    weights, k = rng.normal(size=d), min(3, d)
    order = np.argsort(-np.abs(weights))
    contrasts = k * (d - k) * 2 + k
    limit = NormalDist().inv_cdf(1.0 - LEVEL / (2 * contrasts)) * error
    gaps = [abs(weights[i]) - abs(weights[j]) for i in order[:k] for j in order[k:]]
    at_once = all(gap > limit * 2**0.5 for gap in gaps) and all(abs(weights[i]) > limit for i in order[:k])
    if at_once:
        assert settled(weights, covariance(d, error), LEVEL, k=k).state == "settled"


@pytest.mark.parametrize("shared", [0.0, 0.6])
def test_wrong_claims_are_as_rare_as_the_level_says(shared: float) -> None:
    """Where truths are close, the set that is called settled is the true one in at least 95 % of runs."""
    truth, k, error, runs = np.array([1.0, 0.9, 0.55, 0.5, 0.45, *np.linspace(0.4, 0.0, 15)]), 3, 0.05, 600
    sigma = covariance(len(truth), error, shared)
    draws = np.random.default_rng(0).multivariate_normal(truth, sigma, size=runs)
    found = [settled(own, sigma, LEVEL, k=k, tie=0.0) for own in draws]
    claimed = [
        set(np.argsort(-np.abs(own))[:k]) for own, one in zip(draws, found, strict=True) if one.state == "settled"
    ]
    wrong = sum(words != {0, 1, 2} for words in claimed)
    assert wrong <= LEVEL * runs
    clear = np.random.default_rng(1).multivariate_normal(3 * truth, sigma / 4, size=100)
    assert np.mean([settled(own, sigma / 4, LEVEL, k=k).state == "settled" for own in clear]) > 0.5
