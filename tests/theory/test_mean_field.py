"""LIME as marginal contributions, its mean field, dominant words, and the size of what is left out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import NumericalError, ParameterError
from limelight.theory.lime_theorem import theorem_5_1
from limelight.theory.mean_field import MOST_DOMINANT, MarginalWeights, MeanField, lime_mean_field
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import LimeDesign, lime_limit
from reference.enumeration import all_coalitions, lime_ridge, random_document, random_game

ROUNDING = 1e-12  # sums of a few hundred terms, relative to the largest output
REGRESSION = 1e-9  # the twin solves normal equations whose condition number is up to 1e5
INTERPOLATED = 1e-6  # ten times what is asked of the interpolation over sizes
DESIGNS = [(5000, 0.25, 1.0), (math.inf, math.inf, 0.0), (50, 0.5, 3.0), (math.inf, 0.25, 0.0)]


def weights_of(d: int, n: float, nu: float, ridge: float) -> MarginalWeights:
    return MarginalWeights.of(LimeDesign.of(d, n, nu, ridge))


def regression(marginals: np.ndarray, weights: MarginalWeights) -> np.ndarray:
    """β from Δ (k, j), as the lemma says."""
    mean = marginals.mean(axis=1)
    return weights.apart @ (marginals - mean[:, None]) + weights.along @ mean


# ── LIME as marginal contributions ────────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 6), design=st.sampled_from(DESIGNS))
def test_lime_is_a_sum_of_marginal_contributions_for_every_game(seed, d, design):
    rng = np.random.default_rng(seed)
    table = {z: float(rng.normal()) for z in all_coalitions(d)}
    marginals = np.zeros((d, d))
    for k, j in itertools.product(range(d), repeat=2):
        with_j = [z for z in table if z[j] and z.count(0) == k]
        marginals[k, j] = np.mean([table[z] - table[(*z[:j], 0, *z[j + 1 :])] for z in with_j])
    if d == 1 and math.isinf(design[0]):
        expected = marginals[0]  # no sample keeps the only feature: the limit of ever more samples without a penalty
    else:
        expected, _ = lime_ridge(table, *design)
    assert regression(marginals, weights_of(d, *design)) == pytest.approx(expected, abs=REGRESSION)


@pytest.mark.parametrize("d", [2, 3, 4, 17, 170])
def test_equal_weights_have_closed_forms(d):
    weights, k = weights_of(d, math.inf, math.inf, 0.0), np.arange(d)
    assert weights.along == pytest.approx(6 * k * (d - k) / (d * (d**2 - 1)), abs=ROUNDING)
    if d > 4:  # below, the smoothest solution is another one of those that agree
        assert weights.apart == pytest.approx(6 * (k + 1) * (d - k) / (d * (d + 1) * (d + 2)), rel=1e-4)


@settings(deadline=None, max_examples=60)
@given(
    d=st.integers(2, 300),
    n=st.sampled_from([10.0, 5000.0, math.inf]),
    nu=st.floats(0.05, 100.0),
    ridge=st.sampled_from([0.0, 1.0, 30.0]),
)
def test_the_weights_are_nearly_a_mean(d, n, nu, ridge):
    weights = weights_of(d, n, nu, ridge)
    assert weights.along.min() >= -ROUNDING
    assert weights.along.sum() <= 1 + ROUNDING
    assert np.abs(weights.apart).sum() <= 4 / 3 + ROUNDING
    if ridge == 0.0:
        assert weights.apart.sum() == pytest.approx(1.0)
        assert weights.along.sum() == pytest.approx(1.0)


def test_a_regression_without_a_unique_solution_is_refused():
    with pytest.raises(NumericalError, match="no unique solution"):
        lime_mean_field(random_game(0, 3), 0, math.inf, 0.01)


# ── the naive twin ────────────────────────────────────────────────────────────────────────────────────────────────────


def naive(game: RatioGame, target: int, design: tuple[float, float, float], m: int) -> dict[str, np.ndarray]:
    """By loops over sizes, heads, features and states of each head's m features of largest |a - b|."""
    K, d = game.a.shape
    parts = {name: np.zeros((d, d)) for name in ("attention", "value", "level", "next_order")}
    for head, j, k in itertools.product(range(K), range(d), range(d)):
        a, b, A, B = game.a[head], game.b[head], game.A[head, :, target], game.B[head, :, target]
        ranked = sorted(range(d), key=lambda i: -abs(a[i] - b[i]))[:m]
        known = [i for i in ranked if i != j]
        rest = [i for i in range(d) if i != j and i not in known]
        for state in itertools.product((0, 1), repeat=len(known)):
            gone = k - state.count(0)
            if not 0 <= gone <= len(rest):
                continue
            chance = math.comb(len(rest), gone) / math.comb(d - 1, k) / K
            x = gone / len(rest) if rest else 0.0
            D, N = game.c0[head], game.C0[head, target]
            for i, kept in zip(known, state, strict=True):
                D, N = (D + a[i], N + A[i]) if kept else (D + b[i], N + B[i])
            for i in rest:
                D, N = D + (1 - x) * a[i] + x * b[i], N + (1 - x) * A[i] + x * B[i]
            p, p_removed, w, w_removed = a[j] / (D + a[j]), b[j] / (D + b[j]), A[j] / a[j], B[j] / b[j]
            parts["value"][k, j] += chance * (p + p_removed) / 2 * (w - w_removed)
            parts["attention"][k, j] += chance * (p - p_removed) * (w + w_removed) / 2
            parts["level"][k, j] -= chance * (p - p_removed) * N / D
            if len(rest) > 1:
                pairs = np.array([[a[i] - b[i], A[i] - B[i]] for i in rest])
                (variance, covariance), _ = np.cov(pairs.T, ddof=0) * gone * (len(rest) - gone) / (len(rest) - 1)
                for sign, own_D, own_N in ((1, D + a[j], N + A[j]), (-1, D + b[j], N + B[j])):
                    second = (own_N / own_D * variance - covariance) / own_D**2
                    parts["next_order"][k, j] += sign * chance * second
    weights = weights_of(d, *design)
    return {name: regression(marginals, weights) for name, marginals in parts.items()}


def assert_same(computed: MeanField, expected: dict[str, np.ndarray], unit: float, tolerance: float) -> None:
    for name, own in expected.items():
        scale = unit + float(np.abs(own).max())
        assert np.abs(getattr(computed, name) - own).max() <= tolerance * scale, name
    total = expected["attention"] + expected["value"] + expected["level"]
    assert np.abs(computed.values - total).max() <= tolerance * unit


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 7),
    m=st.integers(0, 8),
    design=st.sampled_from(DESIGNS),
    ratio=st.sampled_from([2.0, 1e3, 1e9]),
)
def test_the_mean_field_is_its_naive_twin(seed, d, m, design, ratio):
    game = random_game(seed, d, heads=3, ratio=ratio)
    computed = lime_mean_field(game, 1, *design, dominant=m)
    assert_same(computed, naive(game, 1, design, m), game.largest_output()[1], 100 * ROUNDING)


@pytest.mark.parametrize("m", [0, 2])
@pytest.mark.parametrize("ratio", [10.0, 1e6])
def test_interpolation_over_sizes_is_close_to_all_sizes(m, ratio):
    game = random_game(3, 41, heads=1, ratio=ratio)
    assert_same(
        lime_mean_field(game, 0, dominant=m), naive(game, 0, DESIGNS[0], m), game.largest_output()[0], INTERPOLATED
    )


def test_states_may_be_taken_one_by_one(monkeypatch):
    game = random_game(5, 30)
    together = lime_mean_field(game, 0, dominant=4)
    monkeypatch.setattr("limelight.theory.mean_field._NUMBERS_AT_ONCE", 1)
    apart = lime_mean_field(game, 0, dominant=4)
    assert apart.values == pytest.approx(together.values, abs=ROUNDING)
    assert apart.beside_kept == pytest.approx(together.beside_kept, abs=ROUNDING)


# ── where it is exact ─────────────────────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 8),
    design=st.sampled_from([*DESIGNS, (5000, 0.05, 1.0)]),
    ratio=st.sampled_from([2.0, 1e9]),
)
def test_it_is_exact_when_all_features_but_one_are_conditioned_on(seed, d, design, ratio):
    game = random_game(seed, d, ratio=ratio)
    exact = lime_limit(game, 2, *design)
    for m in (d - 1, d, d + 3):
        values = lime_mean_field(game, 2, *design, dominant=min(m, MOST_DOMINANT)).values
        assert np.abs(values - exact.values).max() <= exact.error + 100 * ROUNDING * game.largest_output()[2]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("d", [3, 40, 200])
def test_additive_games_are_exact_without_dominant_features(d, design):
    phi = np.random.default_rng(d).normal(size=(2, d, 1))
    game = RatioGame.from_affine(phi, np.zeros((2, d)), np.ones((2, 1)), np.ones(2))
    computed, exact = lime_mean_field(game, 0, *design, dominant=0), lime_limit(game, 0, *design)
    assert computed.values == pytest.approx(exact.values, abs=d * REGRESSION)
    assert computed.error_estimate == pytest.approx(0.0, abs=REGRESSION)


# ── the order of the error ────────────────────────────────────────────────────────────────────────────────────────────


def document(d, law, seed, *, times=1, padding=0, planted=0):
    """d words that stand `times` each, then padding; `planted` words have as much attention as all others together."""
    rng = np.random.default_rng(seed)
    words = d * times
    T = words + padding
    draw = {
        "log-normal": lambda: rng.normal(0.0, 0.7, (T, 2)),
        "uniform": lambda: np.log(rng.uniform(0.3, 1.7, (T, 2))),
    }
    scores, removed_scores = draw[law](), draw[law]()
    values, removed_values = 1.0 + rng.uniform(-1.0, 1.0, (2, T, 2, 1))
    values[:words] += 0.5
    scores[words:], values[words:] = removed_scores[words:], removed_values[words:]
    scores[:planted] = math.log(d)
    return scores, values, removed_scores, removed_values, [list(range(j, words, d)) for j in range(d)]


def relative(weights, exact):
    return float(np.linalg.norm(weights - exact) / np.linalg.norm(exact))


SIZES = (25, 100, 400)


def slopes(nu, dominant, make):
    """Of the relative error and of what is left with the next order, over SIZES; the errors at the largest size."""
    errors = np.zeros((len(SIZES), 2))
    for row, d in enumerate(SIZES):
        for seed in range(3):
            game = RatioGame.from_positions(*make(d, seed))
            exact = lime_limit(game, 0, math.inf, nu, 0.0).values
            computed = lime_mean_field(game, 0, math.inf, nu, 0.0, dominant)
            errors[row] += relative(computed.values, exact), relative(computed.values + computed.next_order, exact)
    fitted = np.polyfit(np.log(SIZES), np.log(errors), 1)[0]
    return fitted[0], fitted[1], errors[-1] / 3


@pytest.mark.parametrize("nu", [math.inf, 0.25])
@pytest.mark.parametrize("law", ["log-normal", "uniform"])
@pytest.mark.parametrize("case", [{}, {"padding": 3}, {"times": 2}], ids=["d=T_max", "d=T_max/4", "repeated"])
def test_the_error_falls_like_one_over_d_and_with_the_next_order_like_its_square(nu, law, case):
    """Slopes over a factor of 16 in d: -1 and -2 within 0.3, also where the text fills the input."""

    def make(d, seed):
        scaled = {name: d * value if name == "padding" else value for name, value in case.items()}
        return document(d, law, seed, **scaled)

    first, second, errors = slopes(nu, 0, make)
    assert first == pytest.approx(-1.0, abs=0.3)
    assert second == pytest.approx(-2.0, abs=0.3)
    assert errors[0] < 2e-3


@pytest.mark.parametrize("nu", [math.inf, 0.25])
@pytest.mark.parametrize("law", ["log-normal", "uniform"])
def test_planted_words_stop_the_mean_field_until_it_is_conditioned_on_them(nu, law):
    def make(d, seed):
        return document(d, law, seed, planted=2)

    without, _, errors = slopes(nu, 0, make)
    assert without > -0.2
    assert errors[0] > 0.02
    conditioned, next_order, errors = slopes(nu, 2, make)
    assert conditioned < -0.75
    assert next_order < -1.6
    assert errors[0] < 2e-3


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 30), ratio=st.sampled_from([1.5, 4.0]))
def test_the_theorems_bound_holds(seed, d, ratio):
    """5 M σ²/L² · min(1, m_j/L) per marginal contribution and head; M bounds the values."""
    rng = np.random.default_rng(seed)
    a, b, c0 = *(ratio ** rng.uniform(0.0, 1.0, (2, 2, d))), rng.uniform(0.0, 2.0 * d, 2)
    values = rng.uniform(-1.0, 1.0, (2, 2, d))
    game = RatioGame(a, (a * values[0])[..., None], b, (b * values[1])[..., None], c0, c0[:, None])
    lowest, largest = game.denominator_range()[0][:, None], np.maximum(a, b)
    bound = (5 * (largest**2).sum(axis=1, keepdims=True) / lowest**2 * np.minimum(1, largest / lowest)).mean(axis=0)
    weights = weights_of(d, 5000, 0.25, 1.0)
    allowed = np.abs(weights.apart).sum() * (bound + bound.mean()) + bound.mean()
    exact = lime_limit(game, 0)
    error = np.abs(lime_mean_field(game, 0, dominant=0).values - exact.values)
    assert (error <= allowed + exact.error + INTERPOLATED).all()


def heavy(seed, d=60, sigma=2.0):
    """Log-normal attention with a heavy tail: a few words take most of a head."""
    rng = np.random.default_rng(seed)
    scores, removed_scores = rng.normal(0.0, sigma, (d, 3)), rng.normal(0.0, 0.2, (d, 3))
    values, removed_values = rng.normal(size=(2, d, 3, 1))
    return RatioGame.from_positions(scores, values, removed_scores, removed_values, [[t] for t in range(d)])


def test_the_error_falls_as_more_features_are_conditioned_on_and_the_estimate_follows_it():
    errors, estimates = np.zeros((20, 6)), np.zeros((20, 6))
    for seed in range(20):
        game = heavy(seed)
        exact = lime_limit(game, 0).values
        for m in range(6):
            computed = lime_mean_field(game, 0, dominant=m)
            errors[seed, m], estimates[seed, m] = relative(computed.values, exact), computed.error_estimate
    medians = np.median(errors, axis=0)
    assert (np.diff(medians) < 0).all()
    assert medians[5] < 0.3 * medians[0]
    ratio = errors / estimates
    assert np.mean((ratio[:, 2:] > 0.5) & (ratio[:, 2:] < 2.0)) >= 0.95
    assert np.mean((ratio[:, 0] > 1 / 3) & (ratio[:, 0] < 3.0)) >= 0.8


def test_repeated_words_are_features_like_others():
    seen = random_document(4, 9, [[1, 4, 7], [2], [6, 3, 5], [8]], heads=2)
    joined = RatioGame.from_positions(*seen)
    exact = lime_limit(joined, 1)
    assert lime_mean_field(joined, 1, dominant=3).values == pytest.approx(exact.values, abs=1e-9)
    assert_same(lime_mean_field(joined, 1, dominant=1), naive(joined, 1, DESIGNS[0], 1), 1.0, 100 * ROUNDING)


# ── what it says ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_equal_attention_leaves_the_value_alone():
    scores, values, _, removed_values, owners = document(30, "uniform", 0)
    game = RatioGame.from_positions(scores, values, scores, removed_values, owners)
    computed = lime_mean_field(game, 0)
    assert np.abs(computed.attention).max() < ROUNDING
    assert np.abs(computed.level).max() < ROUNDING
    assert computed.value == pytest.approx(lime_limit(game, 0).values, abs=REGRESSION)


def test_equal_values_leave_attention_and_level():
    scores, values, removed_scores, _, owners = document(30, "uniform", 0)
    computed = lime_mean_field(RatioGame.from_positions(scores, values, removed_scores, values, owners), 0)
    assert computed.value == pytest.approx(np.full(30, computed.value.mean()), abs=ROUNDING)
    assert np.abs(computed.value).max() < ROUNDING
    assert np.abs(computed.attention + computed.level).max() > 1e-3


def test_a_constant_added_to_all_values_moves_from_attention_to_level():
    scores, values, removed_scores, removed_values, owners = document(30, "uniform", 0)
    here = lime_mean_field(RatioGame.from_positions(scores, values, removed_scores, removed_values, owners), 0)
    moved = RatioGame.from_positions(scores, values + 10.0, removed_scores, removed_values + 10.0, owners)
    there = lime_mean_field(moved, 0)
    assert there.values == pytest.approx(here.values, abs=1e-11)
    assert there.value == pytest.approx(here.value, abs=1e-11)
    assert np.abs(there.attention - here.attention).max() > 5 * np.abs(here.attention).max()


def test_with_much_padding_value_and_attention_are_eq_19_and_the_level_is_what_it_lacks():
    """The field does not move any more: α_t w_t - g_h/Σg · w_h without the factor 3/2, and -(α_t - g_h/Σg) f."""
    seen = document(20, "uniform", 1, padding=20_000)
    computed, (scores, values, removed_scores, removed_values, owners) = (
        lime_mean_field(RatioGame.from_positions(*seen), 0, math.inf, 0.25, 0.0),
        seen,
    )
    g, g_h, w, w_h = np.exp(scores), np.exp(removed_scores), values[..., 0], removed_values[..., 0]
    eq_19 = ((g * w - g_h * w_h) / g.sum(axis=0)).mean(axis=1)[:20]
    level = -((g - g_h) / g.sum(axis=0) * (g * w).sum(axis=0) / g.sum(axis=0)).mean(axis=1)[:20]
    assert computed.attention + computed.value == pytest.approx(eq_19, abs=5e-3 * np.abs(eq_19).max())
    assert computed.level == pytest.approx(level, abs=5e-3 * np.abs(level).max())
    assert computed.values == pytest.approx(theorem_5_1(*seen, 0, corrected=True), abs=5e-3 * np.abs(eq_19).max())
    assert len(owners) == 20


def test_a_dominant_word_silences_the_others_while_it_is_kept():
    """One word as heavy as all others: D doubles while it is kept, and what a word adds is about one over D."""
    d = 200
    game = RatioGame.from_positions(
        *(table[:, :1] for table in document(d, "uniform", 0, planted=1)[:4]), [[t] for t in range(d)]
    )
    computed = lime_mean_field(game, 0, dominant=1)
    assert computed.dominant.tolist() == [[0]]
    assert computed.beside_kept[0, 0] / computed.beside_removed[0, 0] == pytest.approx(0.5, abs=0.1)


def test_a_head_may_be_scaled_and_features_may_be_reordered():
    game = random_game(2, 12, ratio=100.0)
    computed = lime_mean_field(game, 0)
    order = np.random.default_rng(0).permutation(12)
    numbers = [getattr(game, name).copy() for name in ("a", "A", "b", "B", "c0", "C0")]
    for own in numbers:
        own[1] *= 1e-7
    scaled = RatioGame(*numbers)
    assert lime_mean_field(scaled, 0).values == pytest.approx(computed.values, rel=1e-9)
    assert lime_mean_field(scaled, 0).next_order == pytest.approx(computed.next_order, rel=1e-9)
    turned = RatioGame(game.a[:, order], game.A[:, order], game.b[:, order], game.B[:, order], game.c0, game.C0)
    assert lime_mean_field(turned, 0).values == pytest.approx(computed.values[order], rel=1e-9)


def test_a_game_that_says_nothing_has_no_error():
    game = RatioGame(np.ones((1, 4)), np.zeros((1, 4, 1)), np.ones((1, 4)), np.zeros((1, 4, 1)), [1.0], [[0.0]])
    computed = lime_mean_field(game, 0)
    assert computed.values.tolist() == [0.0] * 4
    assert computed.error_estimate == 0.0


def test_an_estimate_that_float64_cannot_hold_is_infinite_and_the_weights_are_not():
    a, w = np.full((1, 6), 1e-200), np.array([[1.0, -1.0, 2.0, 0.5, 3.0, -2.0]])
    a[0, 0] = 1.0
    game = RatioGame(a, (a * w)[..., None], np.full((1, 6), 1e-200), np.zeros((1, 6, 1)), [0.0], [[0.0]])
    computed = lime_mean_field(game, 0, dominant=0)
    assert np.isfinite(computed.values).all()
    assert computed.error_estimate == math.inf


@pytest.mark.parametrize("dominant", [-1, MOST_DOMINANT + 1, 1.5, True])
def test_a_number_of_dominant_features_that_is_none_is_refused(dominant):
    with pytest.raises(ParameterError, match="dominant"):
        lime_mean_field(random_game(0, 4), 0, dominant=dominant)


def test_a_class_that_does_not_exist_is_refused():
    with pytest.raises(ParameterError, match="class 3"):
        lime_mean_field(random_game(0, 4), 3)
