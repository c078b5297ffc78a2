"""Eq. 17, Proposition B.1 and Theorem 5.1: the formulas as printed, and what holds instead."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import ParameterError
from limelight.theory.lime_theorem import lime_proposition, proposition_b_1, theorem_5_1
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import lime_limit
from reference.enumeration import expectation, expectation_given_kept, random_document, random_game, tabulated
from reference.eq_17 import conditional_expectations, eq_17

# Exact moments have a relative tolerance of 1e-11; conditioning divides by (d-1)/2d >= 1/4.
PROMISED = 1e-9
OWNERS = [[1, 4], [2], [6, 3, 5]]


def growing_document(T_max, epsilon, seed=0):
    """The setting of Theorem 5.1: d = T = T_max^ε distinct tokens, all constants between fixed bounds, then padding.

    Values average 1 and not 0, and the document's are above those of [UNK]: nothing in the theorem rules that out.
    """
    d = round(T_max**epsilon)
    rng = np.random.default_rng(seed)
    scores, removed_scores = rng.uniform(-0.5, 0.5, (2, T_max, 2))
    values, removed_values = 1.0 + rng.uniform(-1.0, 1.0, (2, T_max, 2, 1))
    values[:d] += 0.5
    scores[d:], values[d:] = removed_scores[d:], removed_values[d:]
    return scores, values, removed_scores, removed_values, [[t] for t in range(d)]


def limit(document, nu=math.inf):
    return lime_limit(RatioGame.from_positions(*document), 0, math.inf, nu, 0.0).values


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 7), ratio=st.sampled_from([2.0, 1e4, 1e9]))
def test_conditional_expectations_are_those_of_all_subsets(seed, d, ratio):
    game = random_game(seed, d, ratio=ratio)
    table = tabulated(game, 1)
    computed = conditional_expectations(game, 1)
    exact = [expectation_given_kept(table, j) for j in range(d)]
    unit = game.largest_output()[1]
    assert np.abs(computed[0] - exact).max() <= PROMISED * unit
    assert computed[1] == pytest.approx(expectation(table), abs=PROMISED * unit)
    assert eq_17(game, 1) == pytest.approx(3 * np.array(exact) - 3 / d * np.sum(exact), abs=10 * PROMISED * unit)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 40))
def test_eq_17_corrected_is_lime_with_infinitely_many_equal_samples(seed, d):
    game = random_game(seed, d, 3)
    exact = lime_limit(game, 0, math.inf, math.inf, 0.0)
    assert np.abs(eq_17(game, 0, corrected=True) - exact.values).max() <= exact.error


def test_eq_17_as_printed_always_sums_to_zero_and_so_misses_the_mean_coefficient():
    phi = np.array([2.0, 1.0, 3.0, 2.0, 2.0, 2.0])
    game = RatioGame.from_affine(phi.reshape(1, 6, 1), np.zeros((1, 6)), np.zeros((1, 1)), np.ones(1))
    assert lime_limit(game, 0, math.inf, math.inf).values == pytest.approx(phi)
    printed = eq_17(game, 0)
    assert printed.sum() == pytest.approx(0.0, abs=1e-9)
    assert printed == pytest.approx((phi - phi.mean()) * (6 + 1) / (6 - 1))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), target=st.integers(0, 2))
def test_theorem_5_1_as_printed_is_eq_19_with_repeated_words(seed, target):
    scores, values, removed_scores, removed_values, owners = random_document(seed, 8, OWNERS, heads=3)
    expected = []
    for positions in owners:
        total = 0.0
        for head in range(3):
            g, g_h = np.exp(scores[:, head]), np.exp(removed_scores[:, head])
            for t in positions:
                kept = g[t] / g.sum() * values[t, head, target]
                removed = g_h[t] / g_h.sum() * removed_values[t, head, target]
                total += 3.0 / (2 * 3) * (kept - removed)
        expected.append(total)
    assert theorem_5_1(scores, values, removed_scores, removed_values, owners, target) == pytest.approx(expected)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), target=st.integers(0, 2))
def test_proposition_b_1_as_printed_is_eq_29_and_30_with_repeated_words(seed, target):
    document = random_document(seed, 8, OWNERS, heads=3)
    scores, values, removed_scores, removed_values, owners = document
    d = len(owners)
    expected = np.zeros(d)
    for ell, positions in enumerate(owners):
        for head in range(3):
            g, g_h = np.exp(scores[:, head]), np.exp(removed_scores[:, head])
            for t in range(8):
                gv, gv_h = g[t] * values[t, head, target], g_h[t] * removed_values[t, head, target]
                for s in range(1, d):
                    x = s / (d - 1)
                    top = gv if t in positions else (1 - x) * gv + x * gv_h
                    expected[ell] += top / ((1 - x) * g.sum() + x * g_h.sum()) / d / 3
    assert proposition_b_1(RatioGame.from_positions(*document), target)[0] == pytest.approx(expected)
    assert lime_proposition(RatioGame.from_positions(*document), target) == pytest.approx(
        3 * expected - 3 / d * expected.sum()
    )


@pytest.mark.parametrize("epsilon", [0.4, 0.6])
def test_theorem_5_1_corrected_has_the_error_it_claims(epsilon):
    """The error falls like T_max^{ε-2} (slope within 0.2 over a factor of 64), for LIME's own bandwidth as well."""
    sizes = [2**8, 2**14]
    for nu in (math.inf, 0.25):
        errors = []
        for T_max in sizes:
            document = growing_document(T_max, epsilon)
            errors.append(np.abs(theorem_5_1(*document, 0, corrected=True) - limit(document, nu)).max())
        slope = math.log(errors[1] / errors[0]) / math.log(sizes[1] / sizes[0])
        assert slope == pytest.approx(epsilon - 2, abs=0.2)


@pytest.mark.parametrize("epsilon", [0.4, 0.6])
def test_theorem_5_1_as_printed_keeps_an_error_of_the_size_of_the_coefficients(epsilon):
    """At least half of the largest coefficient at every size, where the theorem claims a share of T_max^{-0.4}."""
    for T_max in (2**8, 2**11, 2**14):
        document = growing_document(T_max, epsilon)
        exact = limit(document)
        assert np.abs(theorem_5_1(*document, 0) - exact).max() > 0.5 * np.abs(exact).max()


def test_the_factor_of_theorem_5_1_is_one_and_not_three_halves():
    """Equal attention makes the model additive: LIME is then its coefficients, and Eq. 19 three halves of them."""
    scores, values, _, removed_values, owners = growing_document(400, 0.5)
    flat = (np.zeros_like(scores), values, np.zeros_like(scores), removed_values, owners)
    exact = limit(flat)
    assert theorem_5_1(*flat, 0, corrected=True) == pytest.approx(exact, abs=1e-11)
    assert theorem_5_1(*flat, 0) == pytest.approx(1.5 * exact, abs=1e-11)


def test_a_constant_added_to_all_values_changes_eq_19_and_not_lime():
    scores, values, removed_scores, removed_values, owners = growing_document(400, 0.5)
    shifted = (scores, values + 10.0, removed_scores, removed_values + 10.0, owners)
    document = (scores, values, removed_scores, removed_values, owners)
    assert limit(shifted) == pytest.approx(limit(document), abs=1e-9)
    corrected = [theorem_5_1(*which, 0, corrected=True) for which in (document, shifted)]
    assert corrected[0] == pytest.approx(corrected[1], abs=1e-12)
    printed = [theorem_5_1(*which, 0) for which in (document, shifted)]
    assert np.abs(printed[0] - printed[1]).max() > np.abs(limit(document)).max()


@pytest.mark.parametrize("epsilon", [0.4, 0.6])
def test_proposition_b_1_corrected_beats_its_claim_and_the_printed_one_misses_it(epsilon):
    """E[f | ℓ ∉ S] - E[f | m ∉ S] is of order 1/T_max; the claim per position is T_max^{-3/2}."""
    gaps: dict[bool, list[float]] = {False: [], True: []}
    for T_max in (2**8, 2**14):
        document = growing_document(T_max, epsilon)
        exact = conditional_expectations(RatioGame.from_positions(*document), 0)[0]
        for corrected in (False, True):
            computed = proposition_b_1(RatioGame.from_positions(*document), 0, corrected=corrected)[0]
            gap = (computed - computed.mean()) - (exact - exact.mean())
            gaps[corrected].append(float(np.abs(gap).max() / np.abs(exact - exact.mean()).max()))
    assert gaps[False][1] > 0.3
    assert gaps[True][0] < 5e-3
    assert gaps[True][1] < 0.1 * gaps[True][0]


def test_eq_30_as_printed_averages_kept_and_removed_half_and_half_where_two_thirds_are_kept():
    """Constant denominator: E[A_t V_t | ℓ ∉ S] for ξ_t ≠ ℓ is P(t ∉ S | ℓ ∉ S) = 2(d-2)/(3(d-1)), not about 1/2."""
    d = 50
    phi = np.zeros((1, d, 1))
    phi[0, 0, 0] = 1.0
    game = RatioGame.from_affine(phi, np.zeros((1, d)), np.zeros((1, 1)), np.ones(1))
    exact = conditional_expectations(game, 0)[0]
    assert exact[1:] == pytest.approx(2 * (d - 2) / (3 * (d - 1)))
    values = np.zeros((d, 1, 1))
    values[0] = d
    flat = (np.zeros((d, 1)), values, np.zeros((d, 1)), np.zeros((d, 1, 1)), [[t] for t in range(d)])
    assert proposition_b_1(RatioGame.from_positions(*flat), 0)[0][1:] == pytest.approx((d - 2) / (2 * d))
    assert proposition_b_1(RatioGame.from_positions(*flat), 0, corrected=True)[0][1:] == pytest.approx(
        2 * (d - 2) / (3 * (d - 1))
    )


@pytest.mark.parametrize("epsilon", [0.4, 0.6])
def test_the_corrected_proposition_is_closer_to_lime_than_the_corrected_theorem(epsilon):
    document = growing_document(2**10, epsilon)
    exact = limit(document)
    by_proposition = np.abs(lime_proposition(RatioGame.from_positions(*document), 0, corrected=True) - exact).max()
    assert by_proposition < 0.5 * np.abs(theorem_5_1(*document, 0, corrected=True) - exact).max()


def test_one_feature_is_refused_where_the_formula_divides_by_d_minus_1():
    document = random_document(0, 3, [[1]])
    with pytest.raises(ParameterError, match="at least 2"):
        proposition_b_1(RatioGame.from_positions(*document), 0)
    with pytest.raises(ParameterError, match="at least 2"):
        eq_17(RatioGame.from_positions(*document), 0)


def test_two_readings_of_eq_19_do_not_hold():
    """(iii) A word whose value is zero has a weight; (iv) so has one whose attention times value is that of [UNK]."""
    scores, values, removed_scores, removed_values, owners = growing_document(400, 0.5)
    values, removed_values = values + 2.0, removed_values + 2.0  # a head that says something everywhere else
    values[owners[0][0]] = 0.0
    attention, attention_h = (np.exp(s) / np.exp(s).sum(axis=0) for s in (scores, removed_scores))
    t = owners[1][0]
    values[t] = (attention_h[t] / attention[t])[:, None] * removed_values[t]
    document = (scores, values, removed_scores, removed_values, owners)
    exact, printed = limit(document), theorem_5_1(*document, 0)
    typical = np.median(np.abs(exact))
    assert abs(exact[0]) > typical
    assert abs(printed[1]) < 1e-12
    assert abs(exact[1]) > typical
