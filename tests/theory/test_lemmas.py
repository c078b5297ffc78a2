"""The lemmas of Appendix D against enumeration; where one does not hold as printed, a case that shows it."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from limelight.errors import ParameterError
from limelight.theory.lime_theorem import size_given_kept
from reference.enumeration import all_coalitions, removed_sets
from reference.lemmas import (
    lemma_d_1_bound,
    lemma_d_1_bound_as_printed,
    lemma_d_2_integral,
    lemma_d_2_series,
    lemma_d_3_mean,
    lemma_d_3_variance,
    lemma_d_4,
    lemma_d_5,
)

# Enumeration sums at most a few thousand terms of order one in float64.
ROUNDING = 1e-11


def ratio_gap(x, y, p):
    return abs((p * x / y).sum() - (p * x).sum() / (p * y).sum())


@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    C=st.floats(0.05, 20.0),
    closeness=st.floats(0.01, 0.99),
    n=st.floats(1.0, 1e4),
    points=st.integers(2, 5),
)
def test_lemma_d_1_bounds_the_gap_on_random_distributions(seed, C, closeness, n, points):
    rng = np.random.default_rng(seed)
    c = closeness * C
    x, y, p = rng.uniform(-C, C, points), rng.uniform(c * n, C * n, points), rng.dirichlet(np.ones(points))
    x[0], y[0] = C, C * n  # the extremes are where a bound is tested
    variance = (p * y**2).sum() - (p * y).sum() ** 2
    assert ratio_gap(x, y, p) <= lemma_d_1_bound(C, c, n, max(variance, 0.0)) * (1 + 1e-6) + 1e-13 / n


def test_lemma_d_1_as_printed_fails_for_constants_below_one():
    """X = -C where Y = cn, X = C where Y = Cn, C = 0.1, c = 0.09: the gap is 0.056, the printed bound 0.010."""
    C, c, n = 0.1, 0.09, 1.0
    x, y, p = np.array([-C, C]), np.array([c * n, C * n]), np.array([0.5, 0.5])
    gap = ratio_gap(x, y, p)
    assert gap > 5 * lemma_d_1_bound_as_printed(C, c, n, y.var())
    assert gap <= lemma_d_1_bound(C, c, n, y.var())


@settings(deadline=None, max_examples=100)
@given(a=st.one_of(st.floats(-0.999, 50.0), st.floats(-0.02, 0.02)))
def test_lemma_d_2_is_the_integral_for_negative_a_too(a):
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x = 0.5 * (nodes + 1)
    assert lemma_d_2_integral(a) == pytest.approx(0.5 * weights @ (x / (1 + a * x)), rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_lemma_d_2_series_is_off_by_a_quarter_of_a_squared(sign):
    for a in (sign * 1e-2, sign * 1e-3):
        assert (lemma_d_2_integral(a) - lemma_d_2_series(a)) / a**2 == pytest.approx(0.25, abs=abs(a))


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 8), data=st.data())
def test_lemma_d_3_mean_and_variance_divided_by_n(seed, n, data):
    s, ell = data.draw(st.integers(1, n - 1)), data.draw(st.integers(0, n - 1))
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))  # any sign: the lemma does not need positive numbers
    H = [sum(b[i] if i in S else a[i] for i in range(n)) for S in removed_sets(n, s) if ell not in S]
    assert lemma_d_3_mean(a, b, ell, s) == pytest.approx(np.mean(H), abs=ROUNDING)
    assert lemma_d_3_variance(a, b, ell, s) == pytest.approx(np.var(H), abs=ROUNDING)


def test_lemma_d_3_is_false_with_the_other_empirical_variance():
    a, b, n, s, ell = np.array([1.0, 5.0, 2.0, 4.0]), np.zeros(4), 4, 2, 0
    H = [sum(a[i] for i in range(n) if i not in S) for S in removed_sets(n, s) if ell not in S]
    own = (a[ell] - a.mean()) ** 2 / (n - 1)
    with_n_minus_1 = n * s * (n - s - 1) / ((n - 1) * (n - 2)) * (a.var(ddof=1) - own)
    assert lemma_d_3_variance(a, b, ell, s) == pytest.approx(np.var(H))
    assert abs(with_n_minus_1 - np.var(H)) > 1.0


@settings(deadline=None, max_examples=40)
@given(n=st.integers(3, 8), data=st.data())
def test_lemmas_d_4_and_d_5_count_subsets(n, data):
    s = data.draw(st.integers(0, n - 1))
    a, b, c = data.draw(st.permutations(range(n)))[:3]
    sets = removed_sets(n, s)

    def share(condition, given=lambda S: True):
        among = [S for S in sets if given(S)]
        return sum(condition(S) for S in among) / len(among)

    exact = {
        "a": share(lambda S: a not in S),
        "ab": share(lambda S: a not in S and b not in S),
        "aB": share(lambda S: a not in S and b in S),
        "abc": share(lambda S: not {a, b, c} & S),
        "aBc": share(lambda S: a not in S and b in S and c not in S),
    }
    assert lemma_d_4(n, s) == pytest.approx(exact)
    kept = {
        "a": share(lambda S: a not in S, lambda S: c not in S),
        "A": share(lambda S: a in S, lambda S: c not in S),
        "ab": share(lambda S: not {a, b} & S, lambda S: c not in S),
    }
    assert lemma_d_5(n, s) == pytest.approx(kept)


@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_the_size_given_that_a_word_is_kept_is_not_uniform(d):
    """Bayes' rule over all coalitions. The proof of Proposition B.1 takes 1/d for each s = 0..d-1."""
    joint = np.zeros(d + 1)
    for z in all_coalitions(d):
        s = z.count(0)
        if s >= 1 and z[0]:
            joint[s] += 1.0 / (d * math.comb(d, s))
    assert size_given_kept(d) == pytest.approx(joint / joint.sum())
    assert joint.sum() == pytest.approx((d - 1) / (2 * d))
    assert size_given_kept(d)[0] == 0.0


@settings(deadline=None, max_examples=30)
@given(n=st.integers(-1, 6), s=st.integers(-1, 8))
def test_sizes_out_of_range_are_refused(n, s):
    assume(n < 3 or not 0 <= s <= n - 1)
    with pytest.raises(ParameterError, match="this lemma needs"):
        lemma_d_4(n, s)
    with pytest.raises(ParameterError, match="this lemma needs"):
        lemma_d_3_variance(np.ones(max(n, 0)), np.ones(max(n, 0)), 0, s)


def test_other_values_out_of_range_are_refused():
    with pytest.raises(ParameterError, match="a > -1"):
        lemma_d_2_integral(-1.0)
    with pytest.raises(ParameterError, match="at least 2"):
        size_given_kept(1)
