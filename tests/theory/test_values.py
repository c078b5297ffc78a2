"""Exact LIME, Shapley, Banzhaf and leave-one-out values against their definitions over all subsets."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import NumericalError, ParameterError
from limelight.theory.moments import size_moments
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import (
    banzhaf,
    lime_limit,
    lime_limit_and_shapley,
    shapley,
)
from reference.enumeration import (
    banzhaf_by_subsets,
    lime_ridge,
    random_game,
    shapley_by_permutations,
    shapley_by_subsets,
    tabulated,
)

# What the package promises, relative to the largest value of an attribution.
PROMISED = 1e-9
# The twin solves normal equations of condition number up to about 1e4 in float64.
TWIN_ROUNDING = 1e-12

GAMES = {
    "seed": st.integers(0, 2**32 - 1),
    "d": st.integers(2, 7),
    "heads": st.integers(2, 6),
    "ratio": st.sampled_from([1.5, 1e3, 1e9]),
    "target": st.integers(0, 2),
}


def assert_exact(result, expected, unit):
    """Within what the result claims of itself, and that within what the package promises."""
    distance = np.abs(result.values - expected).max()
    assert distance <= result.error + TWIN_ROUNDING * unit
    assert distance <= PROMISED * max(unit, np.abs(expected).max())


@settings(deadline=None, max_examples=30)
@given(
    **GAMES,
    n=st.sampled_from([2, 50, 5000, math.inf]),
    nu=st.sampled_from([0.25, 1.0, math.inf]),
    ridge=st.sampled_from([0.0, 1e-3, 1.0]),
)
def test_lime_limit_is_the_ridge_regression_on_all_subsets(seed, d, heads, ratio, target, n, nu, ridge):
    game = random_game(seed, d, heads, ratio=ratio)
    result = lime_limit(game, target, n, nu, ridge)
    beta, intercept = lime_ridge(tabulated(game, target), n, nu, ridge)
    unit = game.largest_output()[target]
    assert_exact(result, beta, unit)
    assert result.intercept == pytest.approx(intercept, abs=PROMISED * unit)


@settings(deadline=None, max_examples=20)
@given(**GAMES)
def test_shapley_and_banzhaf_are_their_definitions(seed, d, heads, ratio, target):
    game = random_game(seed, d, heads, ratio=ratio)
    table, unit = tabulated(game, target), game.largest_output()[target]
    assert_exact(shapley(game, target), shapley_by_subsets(table), unit)
    assert_exact(banzhaf(game, target), banzhaf_by_subsets(table), unit)


@pytest.mark.parametrize(("seed", "heads", "ratio"), [(11, 2, 1e3), (12, 6, 1e9)])
def test_all_values_with_twelve_features(seed, heads, ratio):
    game = random_game(seed, 12, heads, ratio=ratio)
    table, unit = tabulated(game, 1), game.largest_output()[1]
    assert_exact(lime_limit(game, 1), lime_ridge(table, 5000, 0.25, 1.0)[0], unit)
    assert_exact(shapley(game, 1), shapley_by_subsets(table), unit)
    assert_exact(banzhaf(game, 1), banzhaf_by_subsets(table), unit)


def test_the_two_twins_of_shapley_agree():
    table = tabulated(random_game(13, 5), 0)
    assert shapley_by_permutations(table) == pytest.approx(shapley_by_subsets(table), abs=1e-13)


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), ratio=st.sampled_from([1e1, 1e4, 1e9]))
def test_shapley_values_share_out_the_whole_difference_at_two_hundred_and_fifty_features(seed, ratio):
    game = random_game(seed, 250, 2, ratio=ratio)
    all_kept, none_kept = game.evaluate(np.array([np.ones(250, dtype=bool), np.zeros(250, dtype=bool)]))[:, 0]
    result = shapley(game, 0)
    assert abs(result.values.sum() - (all_kept - none_kept)) < PROMISED
    assert result.intercept == pytest.approx(none_kept, abs=PROMISED)


def test_a_feature_without_effect_gets_nothing_and_equals_get_equal():
    game = random_game(14, 6, 3)
    a, A, b, B = game.a.copy(), game.A.copy(), game.b.copy(), game.B.copy()
    b[:, 0], B[:, 0] = a[:, 0], A[:, 0]  # removing it changes nothing
    a[:, 1], A[:, 1], b[:, 1], B[:, 1] = a[:, 2], A[:, 2], b[:, 2], B[:, 2]
    changed = RatioGame(a, A, b, B, game.c0, game.C0)
    for result in (shapley(changed, 0), banzhaf(changed, 0)):
        assert abs(result.values[0]) <= result.error
        assert abs(result.values[1] - result.values[2]) <= result.error
    lime = lime_limit(changed, 0)
    assert abs(lime.values[1] - lime.values[2]) <= lime.error


def additive_game(d, phi, level=0.3):
    """f(z) = level + Σ_j z_j phi_j: the denominator is 1 whatever is removed."""
    return RatioGame.from_affine(np.reshape(phi, (1, d, 1)), np.zeros((1, d)), np.full((1, 1), level), np.ones(1))


@pytest.mark.parametrize("nu", [0.1, 0.25, math.inf])
@pytest.mark.parametrize("n", [10, 5000, math.inf])
def test_every_method_returns_the_coefficients_of_an_additive_game(n, nu):
    phi = np.array([1.0, -2.0, 0.5, 0.0])
    game = additive_game(4, phi)
    for result in (lime_limit(game, 0, n, nu, 0.0), shapley(game, 0), banzhaf(game, 0)):
        assert result.values == pytest.approx(phi, abs=1e-10)
    assert lime_limit(game, 0, n, nu, 0.0).intercept == pytest.approx(0.3, abs=1e-10)


@pytest.mark.parametrize(("n", "ridge"), [(2, 1.0), (5000, 0.0), (5000, 1.0)])
def test_one_feature(n, ridge):
    game = random_game(15, 1, 3)
    table = tabulated(game, 2)
    difference = table[(1,)] - table[(0,)]
    result = lime_limit(game, 2, n, 0.25, ridge)
    beta, intercept = lime_ridge(table, n, 0.25, ridge)
    assert result.values == pytest.approx(beta, rel=PROMISED)
    assert result.intercept == pytest.approx(intercept, rel=PROMISED)
    for other in (shapley(game, 2), banzhaf(game, 2)):
        assert other.values == pytest.approx([difference], rel=PROMISED)


def test_one_feature_and_infinitely_many_samples_is_the_limit_of_many():
    """All samples but the document itself remove the only feature, so the ridge never washes out."""
    game = random_game(16, 1, 2)
    limit, many = lime_limit(game, 0, math.inf, 0.25, 1.0), lime_limit(game, 0, 10**12, 0.25, 1.0)
    assert limit.values == pytest.approx(many.values, rel=1e-6)
    assert limit.intercept == pytest.approx(many.intercept, rel=1e-6)
    table = tabulated(game, 0)
    assert limit.values[0] == pytest.approx((table[(1,)] - table[(0,)]) / 2, rel=PROMISED)


def test_infinitely_many_samples_is_the_limit_of_many():
    game = random_game(17, 20, 3)
    limit = lime_limit(game, 0, math.inf).values
    gaps = [np.abs(lime_limit(game, 0, n).values - limit).max() for n in (10**4, 10**6, 10**8)]
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2] > 0


def test_banzhaf_from_sizes_and_from_independent_coins_are_one_at_four_hundred_features():
    d = 400
    game = random_game(18, d, 2, ratio=1e6)
    log_share = [
        math.lgamma(d + 1) - math.lgamma(s + 1) - math.lgamma(d - s + 1) - d * math.log(2) for s in range(d + 1)
    ]
    share = np.exp(log_share)
    moments = size_moments(game, 0, share)
    by_sizes = 4.0 * moments.G[0, 0] - 2.0 * (share @ moments.F[0])
    assert np.abs(banzhaf(game, 0).values - by_sizes).max() < PROMISED


def test_sampled_lime_converges_to_the_limit():
    """Thirty runs of plain LIME: their mean is within five standard errors of the exact value, for each feature."""
    d, n, runs = 8, 3000, 30
    game = random_game(19, d, 3, ratio=1e2)
    rng = np.random.default_rng(19)
    estimates = []
    for _ in range(runs):
        ranks = rng.random((n, d)).argsort(axis=1).argsort(axis=1)
        kept = ranks >= rng.integers(1, d + 1, size=(n, 1))
        kept[0] = True
        z = kept.astype(float)
        weight = np.exp(-((1 - np.sqrt(z.mean(axis=1))) ** 2) / (2 * 0.25**2))
        y = game.evaluate(kept)[:, 0]
        z_centred, y_centred = z - np.average(z, axis=0, weights=weight), y - np.average(y, weights=weight)
        gram = z_centred.T @ (weight[:, None] * z_centred) + np.eye(d)
        estimates.append(np.linalg.solve(gram, z_centred.T @ (weight * y_centred)))
    error = np.std(estimates, axis=0, ddof=1) / math.sqrt(runs)
    assert (np.abs(np.mean(estimates, axis=0) - lime_limit(game, 0, n).values) < 5 * error).all()
    assert error.max() < 0.05  # otherwise the line above says nothing


@pytest.mark.parametrize("compiler", [True, False])
def test_many_documents_at_once_are_the_documents_one_by_one(compiler, monkeypatch):
    """Compiled one after the other; and by the batched recursion in torch, which serves where there is no numba."""
    if not compiler:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    games = [random_game(i, d, 2, ratio=1e4) for i, d in enumerate([1, 5, 3, 12])]
    targets = [0, 1, 2, 0]
    for game, target, (lime, shap) in zip(games, targets, lime_limit_and_shapley(games, targets), strict=True):
        alone = lime_limit(game, target)
        assert np.abs(lime.values - alone.values).max() <= lime.error + alone.error
        assert lime.intercept == pytest.approx(alone.intercept, abs=1e-9)
        assert np.abs(shap.values - shapley(game, target).values).max() <= 2 * shap.error


def test_a_smaller_tolerance_gives_a_smaller_error():
    game = random_game(20, 8, 2, ratio=1e6)
    exact = shapley_by_subsets(tabulated(game, 0))
    for tolerance in (1e-3, 1e-6, 1e-9):
        result = shapley(game, 0, tolerance)
        assert np.abs(result.values - exact).max() <= result.error <= 2.1 * tolerance * game.largest_output()[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 1}, "at least 2 samples"),
        ({"n_samples": math.nan}, "at least 2 samples"),
        ({"kernel_width": 0.0}, "positive or infinite"),
        ({"ridge": -1.0}, "at least 0"),
        ({"ridge": math.inf}, "finite"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        lime_limit(random_game(0, 3), 0, **arguments)


def test_a_regression_without_a_unique_solution_is_refused():
    with pytest.raises(NumericalError, match=r"too narrow.*use a larger kernel width"):
        lime_limit(random_game(0, 3), 0, 5000, 1e-3, 0.0)


def test_every_pair_of_values_differs():
    """The methods are different questions: none is another under a second name."""
    game = random_game(21, 6, 2, ratio=1e3)
    results = [lime_limit(game, 0), shapley(game, 0), banzhaf(game, 0)]
    for first, second in itertools.combinations(results, 2):
        assert np.abs(first.values - second.values).max() > 1e-3
