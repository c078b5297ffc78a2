"""Limits of removal: found, certified, and in order, against every set and every order."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import NumericalError, ParameterError
from limelight.theory import removal_rankings
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_bounds import (
    CLOSE_ENOUGH,
    EFFORT,
    Envelope,
    HeadPoints,
    LowestOutputs,
    envelope_bound,
    head_optima,
)
from limelight.theory.removal_rankings import (
    all_coalitions,
    beam_search,
    improved_ranking,
    limits_by_enumeration,
    lowest_found,
    sets_of_ranking,
)
from limelight.theory.subsets import best_ranking, lowest_outputs, negated, one_class, size_means, smallest_flip
from reference.enumeration import game_value, random_game, tabulated
from reference.removals import areas_of_all_orders, fewest_that_flip, limits_by_size

# The twin sums in another order: a few units of rounding, relative to the largest output.
ROUNDING = 1e-12
GAMES = {
    "seed": st.integers(0, 2**32 - 1),
    "d": st.integers(2, 8),
    "heads": st.integers(1, 5),
    "ratio": st.sampled_from([1.5, 1e3, 1e9]),
}
NO_ENUMERATION = {"ENUMERATED": 0}
"""So that small games, whose truth is known, are searched and bounded as long ones are."""


def best_removals(game: RatioGame, column: int, sizes=None, effort: int = EFFORT) -> SimpleNamespace:
    """The lowest and the highest outputs, and their bounds."""
    one = one_class(game, column)
    low, high = lowest_outputs(one, sizes, effort), lowest_outputs(negated(one), sizes, effort)
    return SimpleNamespace(
        sizes=low.sizes, lowest=low.found, lowest_bound=low.bound, lowest_sets=low.kept,
        gap=max((low.found - low.bound).max(), (high.found - high.bound).max()),
        highest=-high.found, highest_bound=-high.bound, highest_sets=high.kept,
    )  # fmt: skip


def searched(game: RatioGame, effort: int):
    with mock.patch.multiple(removal_rankings, **NO_ENUMERATION):
        return best_removals(game, 0, effort=effort)


@settings(deadline=None, max_examples=60)
@given(**GAMES, effort=st.sampled_from([0, 1, 5, 200]))
def test_the_truth_lies_between_what_was_found_and_its_bound(seed, d, heads, ratio, effort):
    game = random_game(seed, d, heads, classes=1, ratio=ratio)
    lowest, highest, _ = map(np.array, limits_by_size(tabulated(game, 0)))
    unit = ROUNDING * game.largest_output()[0]
    found = searched(game, effort)
    assert (found.lowest_bound <= lowest + unit).all()
    assert (lowest <= found.lowest + unit).all()
    assert (found.highest <= highest + unit).all()
    assert (highest <= found.highest_bound + unit).all()
    for sets, outputs in ((found.lowest_sets, found.lowest), (found.highest_sets, found.highest)):
        assert (d - sets.sum(axis=1) == found.sizes).all()
        assert outputs == pytest.approx([game_value(game, z, 0) for z in sets.astype(int)], abs=unit)


@settings(deadline=None, max_examples=30)
@given(**GAMES)
def test_enough_branches_close_the_gap(seed, d, heads, ratio):
    game = random_game(seed, d, heads, classes=1, ratio=ratio)
    lowest, highest, _ = map(np.array, limits_by_size(tabulated(game, 0)))
    found = searched(game, effort=2**d)
    unit = game.largest_output()[0]
    # Where D spans nine orders of magnitude the bound pays for rounding.
    allowed = CLOSE_ENOUGH * max(np.ptp(found.lowest), np.ptp(found.highest)) + 1e-15 * ratio * 1e3 * unit
    assert (lowest - found.lowest_bound).max() <= allowed + ROUNDING * unit
    assert (found.highest_bound - highest).max() <= allowed + ROUNDING * unit


@pytest.mark.parametrize(("seed", "heads", "ratio"), [(1, 2, 1e3), (2, 6, 1.5), (3, 1, 1e9)])
def test_ten_features_equal_enumeration(seed, heads, ratio):
    game = random_game(seed, 10, heads, ratio=ratio)
    lowest, highest, mean = limits_by_size(tabulated(game, 2))
    found, unit = best_removals(game, 2), ROUNDING * game.largest_output()[2]
    assert found.lowest == pytest.approx(lowest, abs=unit)
    assert found.highest == pytest.approx(highest, abs=unit)
    assert found.gap == 0.0
    assert size_means(game, 2) == pytest.approx(mean, abs=1e-9 * game.largest_output()[2])


def test_one_head_needs_no_search():
    game = random_game(5, 9, heads=1, classes=1)
    lowest, _, _ = limits_by_size(tabulated(game, 0))
    bound, kept = head_optima(game, np.arange(10))
    assert bound[0] == pytest.approx(lowest, abs=1e-9)
    assert game.evaluate(kept[0])[:, 0] == pytest.approx(lowest, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_line_under_a_head_is_under_all_its_sets_and_what_lies_between_them(seed):
    """α of random slopes, against y/x - βy - γx at every set of a size and on the lines between any two."""
    game, rng = random_game(seed, 6, heads=2, classes=1, ratio=20.0), np.random.default_rng(seed)
    points, every, size = HeadPoints.of(game), np.arange(6), 3
    sets = removal_rankings.all_sets(6, size)
    x, y = points.of_sets(sets)  # (heads, sets)
    between = np.linspace(0.0, 1.0, 21)
    x, y = ((v[:, :, None, None] * between + v[:, None, :, None] * (1.0 - between)).reshape(2, -1) for v in (x, y))
    base = np.ones(2), np.zeros(2)
    envelope = Envelope.of(points, base, every, np.array([size]))
    tight = []
    for _ in range(40):
        at = rng.integers(x.shape[1])
        beta = rng.uniform(0.5, 1.5, (2, 1)) / x[:, [at]]
        slopes = np.stack([beta, -rng.uniform(0.5, 1.5, (2, 1)) * (y / x**2)[:, [at]]])
        alpha, _, _ = envelope.least(slopes)
        least = (y / x - slopes[0] * y - slopes[1] * x).min(axis=1)
        assert (alpha[:, 0] <= least + 1e-9).all()
        tight.append((least - alpha[:, 0]).max())
        bound, _, _ = envelope_bound(points, base, every, np.array([size]), slopes, np.array([np.inf]), steps=1)
        assert bound[0] <= game.evaluate(sets).min() + 1e-9
    assert np.median(tight) < 0.1 * np.ptp(y / x)  # the polygon around a head is close to it


def test_envelopes_and_branches_beat_the_heads_own_optima():
    """Thirty features, of which words that are always there take most attention: a long document."""
    game = random_game(8, 30, heads=4, classes=1, ratio=20.0)
    game = RatioGame(game.a, game.A, game.b, game.B, game.c0 + 200.0, game.C0)
    limits = [best_removals(game, 0, sizes=[6, 15], effort=effort) for effort in (0, 1, 60)]
    of_heads, of_envelopes, of_branches = (one.gap for one in limits)
    assert 0.0 < of_branches < 0.5 * of_envelopes < 0.25 * of_heads


def test_the_best_sets_of_single_heads_lead_out_of_a_valley():
    """From the best linear guess alone the search ends at 0.431."""
    game = random_game(8, 40, heads=6, classes=1, ratio=50.0)
    assert best_removals(game, 0, sizes=[20], effort=0).highest[0] > 0.49


def test_branches_improve_what_was_found():
    game = random_game(8, 14, heads=3, classes=1)
    sizes, poor = np.array([7]), np.arange(14) >= 7
    with mock.patch.multiple(removal_rankings, **NO_ENUMERATION):
        lowest = LowestOutputs(game, sizes, game.evaluate(poor[None])[:, 0], poor[None])
    before = lowest.found.copy()
    lowest.tighten(lowest.found, effort=50)
    assert lowest.found[0] < before[0]
    assert lowest.bound[0] <= game.evaluate(removal_rankings.all_sets(14, 7)).min() + 1e-12
    assert game.evaluate(lowest.kept)[0, 0] == pytest.approx(lowest.found[0], abs=1e-15)


@pytest.mark.parametrize("what", ["alike", "one dead head", "a feature that changes nothing", "no movement at all"])
def test_degenerate_games_have_limits_too(what):
    game = random_game(4, 6, heads=2, classes=1)
    a, A, b, B = (x.copy() for x in (game.a, game.A, game.b, game.B))
    if what == "alike":
        a[:], A[:], b[:], B[:] = a[:, :1], A[:, :1], b[:, :1], B[:, :1]
    elif what == "one dead head":
        b[0], B[0] = a[0], A[0]
    elif what == "a feature that changes nothing":
        b[:, 2], B[:, 2] = a[:, 2], A[:, 2]
    else:
        b, B = a, A
    game = RatioGame(a, A, b, B, game.c0, game.C0)
    lowest, highest, _ = limits_by_size(tabulated(game, 0))
    unit = 1e-9 * game.largest_output()[0]
    found = searched(game, effort=100)
    assert found.lowest == pytest.approx(lowest, abs=unit)
    assert found.highest == pytest.approx(highest, abs=unit)
    assert (found.lowest_bound <= np.array(lowest) + unit).all()
    assert (found.highest_bound >= np.array(highest) - unit).all()


# ── orders ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 6), heads=st.integers(1, 3))
def test_dynamic_programming_finds_the_best_of_all_orders(seed, d, heads):
    game = random_game(seed, d, heads, classes=1)
    areas = areas_of_all_orders(tabulated(game, 0))
    highest, lowest = limits_by_enumeration(game.evaluate(all_coalitions(d))[:, 0], d)
    assert highest.aopc == pytest.approx(max(areas.values()), abs=1e-12)
    assert lowest.aopc == pytest.approx(min(areas.values()), abs=1e-12)
    for order in (highest, lowest):
        assert areas[tuple(map(int, order.order))] == pytest.approx(order.aopc, abs=1e-12)
        assert order.bound == order.aopc
    assert best_ranking(game, 0).aopc == highest.aopc
    assert best_ranking(game, 0, worst=True).aopc == lowest.aopc


@pytest.mark.parametrize("seed", range(4))
def test_an_order_beyond_enumeration_is_near_the_best_and_never_above_its_bound(seed):
    """Eight features, treated as if they were too many to enumerate."""
    game = random_game(seed, 8, heads=3, classes=1)
    highest, lowest = (one.aopc for one in limits_by_enumeration(game.evaluate(all_coalitions(8))[:, 0], 8))
    with (
        mock.patch("limelight.theory.subsets.MOST_ENUMERATED", 0),
        mock.patch.multiple(removal_rankings, **NO_ENUMERATION),
    ):
        best, worst = best_ranking(game, 0), best_ranking(game, 0, worst=True)
    span = highest - lowest
    assert highest - 0.02 * span <= best.aopc <= highest + 1e-12
    assert lowest - 1e-12 <= worst.aopc <= lowest + 0.02 * span
    assert best.bound >= highest - 1e-12
    assert worst.bound <= lowest + 1e-12
    assert np.sort(best.order).tolist() == list(range(8))
    assert best.outputs == pytest.approx(game.evaluate(sets_of_ranking(best.order))[:, 0])
    assert worst.outputs == pytest.approx(game.evaluate(sets_of_ranking(worst.order))[:, 0])


def test_moving_features_makes_any_order_good():
    game = random_game(3, 9, heads=3, classes=1)
    best = limits_by_enumeration(game.evaluate(all_coalitions(9))[:, 0], 9)[0]
    start = best.order[::-1].copy()
    order, outputs = improved_ranking(game, [start])
    assert removal_rankings.aopc(outputs) >= best.aopc - 0.05 * abs(best.aopc)
    assert outputs == pytest.approx(game.evaluate(sets_of_ranking(order))[:, 0])


def test_a_beam_gives_a_lower_bound_of_the_best_and_asks_nothing_twice():
    game = random_game(6, 9, heads=3, classes=1)
    asked: list[bytes] = []

    def ask(kept):
        asked.extend(row.tobytes() for row in kept)
        return game.evaluate(kept)[:, 0]

    highest, lowest = (one.aopc for one in limits_by_enumeration(game.evaluate(all_coalitions(9))[:, 0], 9))
    narrow = beam_search(ask, 9, width=1)
    assert len(asked) == len(set(asked)) == 1 + 9 * 10 // 2
    asked.clear()
    wide = beam_search(ask, 9, width=10_000)
    assert len(asked) == len(set(asked)) == 2**9
    assert narrow.aopc <= wide.aopc + 1e-12
    assert wide.aopc == pytest.approx(highest, abs=1e-12)
    assert wide.outputs == pytest.approx(game.evaluate(sets_of_ranking(wide.order))[:, 0])
    assert beam_search(ask, 9, width=10_000, worst=True).aopc == pytest.approx(lowest, abs=1e-12)
    assert (wide.bound, beam_search(ask, 9, width=1, worst=True).bound) == (np.inf, -np.inf)


# ── flips ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, max_examples=40)
@given(**GAMES, exhaustive=st.booleans())
def test_the_smallest_flip_is_the_smallest_set_that_flips(seed, d, heads, ratio, exhaustive):
    game = random_game(seed, d, heads, classes=1, ratio=ratio)
    truth = fewest_that_flip(game, 0)
    with mock.patch.object(removal_rankings, "ENUMERATED", 10**6 if exhaustive else 0):
        flip = smallest_flip(game, 0)
    if exhaustive or heads == 1:
        assert flip.is_certified
    assert flip.at_least <= (d + 1 if truth is None else truth)
    if flip.is_certified:
        assert flip.size == truth
    if flip.size is not None:
        assert d - flip.kept.sum() == flip.size
        assert game_value(game, flip.kept.astype(int), 0) * game_value(game, [1] * d, 0) < 0.0


def test_branches_certify_a_flip_that_the_heads_own_optima_leave_open():
    certified = 0
    for seed in range(12):
        game = random_game(seed, 8, heads=3, classes=1, ratio=20.0)
        with mock.patch.multiple(removal_rankings, **NO_ENUMERATION):
            without, flip = smallest_flip(game, 0, effort=0), smallest_flip(game, 0)
        assert without.at_least <= flip.at_least
        certified += flip.is_certified and not without.is_certified
    assert certified >= 2


def test_a_game_that_never_flips_says_so():
    game = random_game(0, 20, heads=2, classes=1)
    above = RatioGame(game.a, game.A + 10 * game.a[..., None], game.b, game.B + 10 * game.b[..., None], game.c0,
                      game.C0 + 10 * game.c0[:, None])  # fmt: skip
    flip = smallest_flip(above, 0)
    assert (flip.size, flip.kept, flip.at_least, flip.is_certified) == (None, None, 21, True)


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bad_input_is_named():
    game = random_game(0, 4)
    with pytest.raises(ParameterError, match="5 features cannot be removed: this game has 4"):
        best_removals(game, 0, sizes=[1, 5])
    with pytest.raises(ParameterError, match="no number of removed features"):
        best_removals(game, 0, sizes=[])
    with pytest.raises(ParameterError, match="at least 0"):
        best_removals(game, 0, effort=-1)
    with pytest.raises(ParameterError, match="class 7 does not exist"):
        smallest_flip(game, 7)
    with pytest.raises(ParameterError, match="up to 12 features"):
        all_coalitions(13)
    with pytest.raises(ParameterError, match=r"so \(4,\)"):
        limits_by_enumeration(np.zeros(3), 2)
    with pytest.raises(NumericalError, match="not finite"):
        limits_by_enumeration(np.array([0.0, np.nan]), 1)
    with pytest.raises(ParameterError, match="one output each"):
        beam_search(lambda kept: np.zeros((len(kept), 2)), 3)


def test_nothing_given_is_changed_and_equal_input_gives_equal_bytes():
    game = random_game(1, 15, heads=3, classes=2)
    before = game.A.copy()
    first, second = best_removals(game, 1), best_removals(game, 1)
    assert first.lowest_bound.tobytes() == second.lowest_bound.tobytes()
    assert (first.lowest_sets == second.lowest_sets).all()
    assert (before == game.A).all()
    start = lowest_found(one_class(game, 1), np.array([7]), np.empty((0, 1, 15), dtype=bool))
    assert start[0][0] >= first.lowest_bound[7]
