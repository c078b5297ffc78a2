"""What documents say of a score, against SciPy, against hand-made cases, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import ParameterError
from limelight.evaluation.inference import (
    LEAST,
    METHOD,
    NO_INTERVAL,
    Comparison,
    Interval,
    against,
    compared,
    ratio_of_means,
    texts_needed,
    verdict_of_difference,
)
from limelight.statistics.sign_flips import ALL_UP_TO, FLIPS
from reference.closed_range import every_sign


def documents(n: int, seed: int = 0):
    """Skewed numerators of two methods and their denominators: the ratios of means are 0.7 and 0.2."""
    rng = np.random.default_rng(seed)
    denominators = rng.lognormal(-0.08, 0.4, n)
    good = denominators * (1.0 - 0.3 * rng.exponential(1.0, n))
    weak = denominators * 0.2 * rng.lognormal(-0.32, 0.8, n)
    return good, weak, denominators


def mean(values, **asked):
    return ratio_of_means(values, np.where(np.isnan(values), np.nan, 1.0), **asked)


def paired_difference(first, second, denominators, level=0.95, seed=0):
    return against(first - second, denominators, level=level, seed=seed)


def ratio(numerators, denominators, axis=-1):
    return numerators.sum(axis) / denominators.sum(axis)


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_ratio_of_means_and_what_its_interval_is_called():
    good, weak, denominators = documents(40)
    found = ratio_of_means(weak, denominators)
    assert found.value == pytest.approx(weak.sum() / denominators.sum())
    assert found.low < found.value < found.high
    names = [ratio_of_means(good[:n], denominators[:n]).method for n in (40, LEAST, LEAST - 1, 1, 0)]
    assert names == [METHOD, METHOD, NO_INTERVAL, NO_INTERVAL, NO_INTERVAL]


def test_a_symmetric_mean_has_students_interval():
    """With many documents both are normal: within a tenth of its width, which is what 10,000 signs leave."""
    values = np.random.default_rng(0).normal(1.0, 2.0, size=150)
    found, half = mean(values), scipy.stats.t.ppf(0.975, 149) * values.std(ddof=1) / math.sqrt(150)
    assert found.low == pytest.approx(values.mean() - half, abs=0.2 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.2 * half)


@pytest.mark.parametrize("n", [20, 60])
def test_intervals_cover(n):
    """A coarse look at what benchmarks/evaluation_intervals.py measures: 300 evaluations, so ± 2.5 points."""
    rng = np.random.default_rng(n)
    covered = 0
    for i in range(300):
        denominators = rng.lognormal(-0.08, 0.4, n)
        numerators = denominators * (1.0 - 0.3 * rng.exponential(1.0, n))
        covered += 0.7 in ratio_of_means(numerators, denominators, seed=i, flips=1000)
    assert 0.87 <= covered / 300 <= 0.985  # of skewed scores, less than 95 % with 20 documents


def test_documents_without_a_value_have_no_say():
    good, _, denominators = documents(60)
    holed = np.concatenate([good, [np.nan, 1.0]])
    with_holes = ratio_of_means(holed, np.concatenate([denominators, [1.0, np.nan]]))
    assert with_holes == ratio_of_means(good, denominators)
    assert with_holes.documents == 60
    assert mean(np.array([1.0, np.nan, 3.0])).value == 2.0
    nothing = mean(np.array([np.nan]))
    assert math.isnan(nothing.value)
    assert math.isnan(nothing.low)
    assert nothing.documents == 0


def test_documents_that_are_alike_have_an_interval_of_a_point():
    for n in (6, 20, 80):
        same = mean(np.full(n, 0.1))
        assert (same.low, same.high, same.value) == pytest.approx((0.1, 0.1, 0.1))
        comparison = against(np.full(n, 0.3), np.ones(n), 0.3)
        assert comparison.p == 1.0
        least = 0.5**n if n <= ALL_UP_TO else 1.0 / FLIPS
        assert comparison.p_equal == pytest.approx(least)
        assert against(np.full(n, 0.3), np.ones(n)).p == pytest.approx(2.0 * least if n <= ALL_UP_TO else least)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_few_documents_that_are_alike_prove_nothing(n):
    same = against(np.ones(n), np.ones(n))
    assert same.value == 1.0
    assert math.isnan(same.interval.low)
    assert math.isnan(same.interval.high)
    assert verdict_of_difference(same).verdict == "undecided"


def test_equal_seeds_give_equal_bytes_and_nothing_given_is_changed():
    good, weak, denominators = documents(70)
    before = good.copy()
    first, second = (paired_difference(good, weak, denominators, seed=5) for _ in range(2))
    assert first == second
    assert first != paired_difference(good, weak, denominators, seed=6)
    assert (good == before).all()


# ── p-values ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([6, 9, 12]), level=st.sampled_from([0.8, 0.95]))
def test_a_p_value_and_its_interval_never_disagree(seed, n, level):
    """Just inside an end the value is not rejected, just outside it is."""
    good, weak, denominators = documents(n, seed)
    own = paired_difference(good, weak, denominators, level)
    width = own.interval.high - own.interval.low
    for end, outwards in ((own.interval.low, -1e-6 * width), (own.interval.high, 1e-6 * width)):
        outside, inside = (against(good - weak, denominators, end + move) for move in (outwards, -outwards))
        assert outside.p <= 1.0 - level + 1e-12
        assert inside.p > 1.0 - level - 1e-12


def test_p_values_are_shares_of_every_sign():
    """By hand, on six documents."""
    rng = np.random.default_rng(3)
    own, room = rng.normal(0.4, 0.5, size=6), rng.lognormal(size=6)
    comparison, signs = against(own, room, 0.1, margin=0.3), every_sign(6)
    moved = own - 0.1 * room
    assert comparison.p == (np.abs(signs @ moved) >= abs(moved.sum()) - 1e-9).mean()
    above, below = (0.3 * room - moved, 0.3 * room + moved)
    shares = [((signs @ side) >= side.sum() - 1e-9).mean() for side in (above, below)]
    assert comparison.p_equal == max(shares)


def test_many_at_once_are_each_by_itself():
    good, weak, denominators = documents(30)
    together = compared(np.stack([good - weak, weak], axis=1), denominators)
    apart = [paired_difference(good, weak, denominators), against(weak, denominators)]
    for one, other in zip(together, apart, strict=True):
        assert one.interval.low == pytest.approx(other.interval.low)
        assert (one.p, one.p_equal) == (other.p, other.p_equal)
        assert one.standard_error == pytest.approx(other.standard_error)


def test_a_difference_is_taken_on_the_same_documents():
    """Two methods that follow each other closely: apart, their intervals overlap; paired, they are told apart."""
    good, _, denominators = documents(60)
    other = good + 0.02 * denominators * np.random.default_rng(0).uniform(0.5, 1.5, 60)
    one, two = ratio_of_means(good, denominators), ratio_of_means(other, denominators)
    assert one.high > two.low
    difference = paired_difference(other, good, denominators)
    assert difference.interval.low > 0.0
    assert difference.p < 0.001
    apart = (other - good) - (ratio(other, denominators) - ratio(good, denominators)) * denominators
    error = math.sqrt((apart**2).sum() * 60 / 59) / denominators.sum()
    assert difference.standard_error == pytest.approx(error)
    reverse = paired_difference(good, other, denominators)
    assert reverse.value == pytest.approx(-difference.value)


@pytest.mark.parametrize("n", [20, 60])
def test_chance_is_called_different_as_seldom_as_promised(n):
    rng, called = np.random.default_rng(n), 0
    for i in range(300):
        numerators = rng.exponential(1.0, n) - 1.0
        called += against(numerators, np.ones(n), seed=i, flips=1000).p < 0.05
    assert called / 300 < 0.105


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def comparison(value: float, p: float, p_equal: float, error: float = 0.02, documents: int = 100) -> Comparison:
    interval = Interval(value, value - 2 * error, value + 2 * error, 0.95, "by hand", documents)
    return Comparison(interval, p, p_equal, error, 0.05)


def test_verdicts():
    def said(value, p, p_equal):
        decision = verdict_of_difference(comparison(value, p, p_equal))
        return decision.verdict, decision.told_apart

    assert said(0.2, 0.001, 0.99) == ("better", True)
    assert said(-0.2, 0.001, 0.99) == ("worse", True)
    assert said(0.001, 0.8, 0.001) == ("equal", False)
    assert said(0.02, 0.001, 0.001) == ("equal", True)  # a difference, but none that matters
    assert said(0.06, 0.2, 0.6) == ("undecided", False)
    # Without a p-value nothing is decided.
    assert said(math.nan, math.nan, math.nan) == ("undecided", False)


def test_other_claims_make_more_texts_necessary():
    one = comparison(0.1, 0.06, 0.9, error=0.06)
    alone, among = verdict_of_difference(one), verdict_of_difference(one, pays=20.0, pays_equal=200.0)
    assert alone.verdict == among.verdict == "undecided"
    assert among.texts_needed > alone.texts_needed
    assert verdict_of_difference(comparison(0.3, 0.001, 1.0)).texts_needed is None
    few = comparison(2.0, 0.3, 1.0, error=0.01, documents=3)
    assert verdict_of_difference(few, least=9).texts_needed == 9


def test_p_values_of_too_few_documents_decide_nothing():
    assert verdict_of_difference(comparison(0.1, 0.001, 0.9, documents=LEAST)).verdict == "better"
    for p, p_equal in ((0.001, 0.9), (0.9, 0.001)):
        decision = verdict_of_difference(comparison(0.1, p, p_equal, documents=LEAST - 1))
        assert (decision.verdict, decision.told_apart) == ("undecided", False)


def test_a_method_is_compared_with_chance_and_with_its_like():
    good, weak, denominators = documents(200)
    assert verdict_of_difference(against(good, denominators)).verdict == "better"
    assert verdict_of_difference(against(-good, denominators)).verdict == "worse"
    noise = 0.1 * np.random.default_rng(1).normal(size=200)
    assert verdict_of_difference(against(noise, denominators)).verdict == "equal"
    assert verdict_of_difference(paired_difference(good, good, denominators)).verdict == "equal"
    assert verdict_of_difference(paired_difference(weak, good, denominators)).verdict == "worse"


def test_as_many_texts_as_are_said_to_be_needed_decide():
    """A difference of 0.06 that 30 documents leave undecided: with `texts_needed` of them, most evaluations decide."""
    rng = np.random.default_rng(2)

    def evaluated(n: int, seed: int):
        return against(0.06 + 0.25 * rng.normal(size=n), np.ones(n), seed=seed, flips=1000)

    needed = [evaluated(30, i) for i in range(40)]
    exact = math.ceil(((1.96 + 0.8416) * 0.25 / 0.06) ** 2)
    ideal = comparison(0.06, 0.2, 0.6, error=0.25 / math.sqrt(30), documents=30)
    assert texts_needed(ideal) == pytest.approx(exact, abs=1)
    assert any(verdict_of_difference(one).verdict == "undecided" for one in needed)
    decided = sum(verdict_of_difference(evaluated(exact, i)).verdict == "better" for i in range(100))
    assert 66 <= decided <= 92  # 80 in 100, give or take three standard errors


def test_texts_needed_takes_the_shorter_way():
    """A difference of 0.01 is shown to be small long before it is told from 0."""
    near = comparison(0.01, 0.6, 0.2, error=0.03)
    told_from_zero = 100 * ((1.96 + 0.8416) * 0.03 / 0.01) ** 2
    assert texts_needed(near) < 0.1 * told_from_zero
    assert texts_needed(near, alpha=0.001) > texts_needed(near)
    assert texts_needed(comparison(0.2, 0.3, 0.9, error=math.nan)) is None
    assert texts_needed(comparison(0.05, 0.3, 0.5, error=0.001)) == 101  # at least one more


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bad_input_is_named():
    ones = np.ones(5)
    with pytest.raises(ParameterError, match="the same documents"):
        ratio_of_means(ones, np.ones(4))
    with pytest.raises(ParameterError, match="above 0"):
        ratio_of_means(ones, np.zeros(5))
    with pytest.raises(ParameterError, match="infinite"):
        mean(np.array([1.0, math.inf]))
    with pytest.raises(ParameterError, match="one number per document"):
        mean(np.ones((2, 2)))
    with pytest.raises(ParameterError, match="between 0 and 1: got 95"):
        mean(ones, level=95)
    with pytest.raises(ParameterError, match="seed"):
        mean(ones, seed=-1)
    with pytest.raises(ParameterError, match="margin"):
        against(ones, ones, margin=0.0)
    with pytest.raises(ParameterError, match="must be finite"):
        against(ones, ones, constant=math.nan)
    with pytest.raises(ParameterError, match="flips"):
        mean(ones, flips=3)
    with pytest.raises(ParameterError, match="alpha"):
        verdict_of_difference(comparison(0.1, 0.1, 0.1), alpha=0.7)
