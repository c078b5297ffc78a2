"""What documents say of a score, against SciPy, against hand-made cases, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import ParameterError
from limelight.evaluation.bootstrap import BCA_FROM, STUDENTISED_FROM, Bootstrap
from limelight.evaluation.inference import (
    Comparison,
    Interval,
    against,
    holm,
    mean,
    paired_difference,
    ratio_of_means,
    texts_needed,
    verdict_of_difference,
    verdicts_of_differences,
)
from limelight.evaluation.student import student_chance, student_quantile


def documents(n: int, seed: int = 0):
    """Skewed numerators of two methods and their denominators: the ratios of means are 0.7 and 0.2."""
    rng = np.random.default_rng(seed)
    denominators = rng.lognormal(-0.08, 0.4, n)
    good = denominators * (1.0 - 0.3 * rng.exponential(1.0, n))
    weak = denominators * 0.2 * rng.lognormal(-0.32, 0.8, n)
    return good, weak, denominators


def ratio(numerators, denominators, axis=-1):
    return numerators.sum(axis) / denominators.sum(axis)


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 20, 199])
def test_students_distribution_is_scipys(freedom):
    for t in (-7.0, -1.3, 0.0, 0.4, 12.0):
        assert student_chance(t, freedom) == pytest.approx(scipy.stats.t.cdf(t, freedom), abs=1e-14)
    for chance in (0.001, 0.025, 0.5, 0.9):
        assert student_quantile(chance, freedom) == pytest.approx(
            scipy.stats.t.ppf(chance, freedom), abs=1e-9, rel=1e-9
        )
    assert (student_chance(math.inf, freedom), student_chance(-math.inf, freedom)) == (1.0, 0.0)


def test_bca_is_scipys_but_for_the_stretch_of_few_documents():
    """SciPy has no stretch: at a level whose normal quantile is our stretched one, both must agree."""
    good, weak, denominators = documents(80)
    stretched = math.sqrt(80 / 79) * student_quantile(0.975, 79)
    level = 2.0 * scipy.stats.norm.cdf(stretched) - 1.0
    pairs = {
        "ratio": ([(good, denominators)], (good, denominators), ratio),
        "difference": (
            [(good, denominators), (weak, denominators)],
            (good, weak, denominators),
            lambda a, b, d, axis=-1: ratio(a, d, axis) - ratio(b, d, axis),
        ),
    }
    for ours, samples, statistic in pairs.values():
        theirs = scipy.stats.bootstrap(
            samples, statistic, paired=True, method="BCa", confidence_level=level, n_resamples=20_000, rng=1
        )
        sample = Bootstrap.of(ours, seed=2, resamples=20_000, way="bca")
        low, high = sample.ends(0.95)
        # Both are quantiles of random resamples: 2 % of the width.
        allowed = 0.02 * (high - low)
        assert low == pytest.approx(theirs.confidence_interval.low, abs=allowed)
        assert high == pytest.approx(theirs.confidence_interval.high, abs=allowed)
        assert sample.error == pytest.approx(theirs.standard_error, rel=0.03)


def test_the_studentised_ends_are_their_definition():
    """By hand: resample, measure each value in its own standard error, turn the quantiles around."""
    good, _, denominators = documents(15)
    sample = Bootstrap.of([(good, denominators)], seed=3, resamples=20_000, way="studentised")
    rng, value, pivots = np.random.default_rng(7), ratio(good, denominators), []

    def error(n, d):
        return math.sqrt(((n - ratio(n, d) * d) ** 2).sum() * 15 / 14) / d.sum()

    for _ in range(20_000):
        rows = rng.integers(0, 15, 15)
        n, d = good[rows], denominators[rows]
        pivots.append((ratio(n, d) - value) / error(n, d))
    low, high = (value - np.quantile(pivots, share) * error(good, denominators) for share in (0.975, 0.025))
    assert sample.ends(0.95) == pytest.approx((low, high), abs=0.03 * (high - low))


def test_the_interval_follows_the_skew():
    """A right tail: the upper end is farther away than the lower one."""
    _, weak, denominators = documents(200)
    found = ratio_of_means(weak, denominators)
    assert found.high - found.value > 1.1 * (found.value - found.low)
    assert found.value == pytest.approx(weak.sum() / denominators.sum())


def test_the_number_of_documents_chooses_the_way():
    good, _, denominators = documents(BCA_FROM)
    ways = [
        ratio_of_means(good[:n], denominators[:n]).method for n in (BCA_FROM, BCA_FROM - 1, STUDENTISED_FROM - 1, 1)
    ]
    assert [way.split()[0] for way in ways] == ["BCa", "studentised", "Student's", "none:"]
    few = ratio_of_means(good[:4], denominators[:4])
    by_hand = scipy.stats.t.ppf(0.975, 3) * Bootstrap.of([(good[:4], denominators[:4])], 0).error
    assert (few.low, few.high) == pytest.approx((few.value - by_hand, few.value + by_hand))


@pytest.mark.parametrize("n", [20, 60])
def test_intervals_cover(n):
    """A coarse look at what benchmarks/evaluation_intervals.py measures: 300 evaluations, so ± 2.5 points."""
    rng = np.random.default_rng(n)
    covered = 0
    for i in range(300):
        denominators = rng.lognormal(-0.08, 0.4, n)
        numerators = denominators * (1.0 - 0.3 * rng.exponential(1.0, n))
        covered += 0.7 in ratio_of_means(numerators, denominators, seed=i, resamples=500)
    assert 0.90 <= covered / 300 <= 0.985


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
        assert same.low == same.high == same.value == pytest.approx(0.1)
        comparison = against(np.full(n, 0.3), np.ones(n), 0.3)
        assert comparison.p == 1.0
        assert comparison.p_equal == 0.5**n
        assert against(np.full(n, 0.3), np.ones(n)).p == 2.0 * 0.5**n


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
    first, second = (paired_difference((good, denominators), (weak, denominators), seed=5) for _ in range(2))
    assert first == second
    assert first != paired_difference((good, denominators), (weak, denominators), seed=6)
    assert (good == before).all()


# ── p-values ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([5, 20, 60]), level=st.sampled_from([0.8, 0.95]))
def test_a_p_value_and_its_interval_never_disagree(seed, n, level):
    good, weak, denominators = documents(n, seed)
    sample = Bootstrap.of([(good, denominators), (weak, denominators)], seed, resamples=2000)
    for end, chance in zip(sample.ends(level), ((1 - level) / 2, (1 + level) / 2), strict=True):
        assert sample.chance_below(end) == pytest.approx(chance, abs=2e-3)


def test_a_difference_is_taken_on_the_same_documents():
    """Two methods that follow each other closely: apart, their intervals overlap; paired, they are told apart."""
    good, _, denominators = documents(60)
    other = good + 0.02 * denominators * np.random.default_rng(0).uniform(0.5, 1.5, 60)
    one, two = ratio_of_means(good, denominators), ratio_of_means(other, denominators)
    assert one.high > two.low
    difference = paired_difference((other, denominators), (good, denominators))
    assert difference.interval.low > 0.0
    assert difference.p < 0.001
    apart = (other - good) - (ratio(other, denominators) - ratio(good, denominators)) * denominators
    error = math.sqrt((apart**2).sum() * 60 / 59) / denominators.sum()
    assert difference.standard_error == pytest.approx(error)
    reverse = paired_difference((good, denominators), (other, denominators))
    assert reverse.value == pytest.approx(-difference.value)


@pytest.mark.parametrize("n", [20, 60])
def test_chance_is_called_different_as_seldom_as_promised(n):
    rng, called = np.random.default_rng(n), 0
    for i in range(300):
        numerators = rng.exponential(1.0, n) - 1.0
        called += against(numerators, np.ones(n), seed=i, resamples=500).p < 0.05
    assert called / 300 < 0.105


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_holm_by_hand():
    # 0.01 · 4, 0.02 · 3, then 0.03 · 2, which 0.06 may not fall below, then 0.5.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]).tolist() == []
    with_none = holm([0.01, math.nan, 0.04])
    assert with_none[[0, 2]] == pytest.approx([0.02, 0.04])
    assert math.isnan(with_none[1])


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


def test_holm_makes_verdicts_of_many_more_careful():
    alone = comparison(0.1, 0.03, 0.9)
    assert verdict_of_difference(alone).verdict == "better"
    together = verdicts_of_differences([alone, comparison(0.1, 0.04, 0.9), comparison(0.3, 0.001, 1.0)])
    assert [decision.verdict for decision in together] == ["undecided", "undecided", "better"]
    assert together[0].p == pytest.approx(0.06)
    assert together[0].texts_needed is not None
    assert together[2].texts_needed is None


def test_a_method_is_compared_with_chance_and_with_its_like():
    good, weak, denominators = documents(200)
    assert verdict_of_difference(against(good, denominators)).verdict == "better"
    assert verdict_of_difference(against(-good, denominators)).verdict == "worse"
    noise = 0.1 * np.random.default_rng(1).normal(size=200)
    assert verdict_of_difference(against(noise, denominators)).verdict == "equal"
    assert verdict_of_difference(paired_difference((good, denominators), (good, denominators))).verdict == "equal"
    assert verdict_of_difference(paired_difference((weak, denominators), (good, denominators))).verdict == "worse"


def test_as_many_texts_as_are_said_to_be_needed_decide():
    """A difference of 0.06 that 30 documents leave undecided: with `texts_needed` of them, most evaluations decide."""
    rng = np.random.default_rng(2)

    def evaluated(n: int, seed: int):
        return against(0.06 + 0.25 * rng.normal(size=n), np.ones(n), seed=seed, resamples=500)

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
    with pytest.raises(ParameterError, match="resamples"):
        mean(ones, resamples=3)
    with pytest.raises(ParameterError, match="p-values lie between 0 and 1"):
        holm([0.1, 1.2])
    with pytest.raises(ParameterError, match="alpha"):
        verdict_of_difference(comparison(0.1, 0.1, 0.1), alpha=0.7)
