"""Which methods differ: the fast way against the definition, and what it must never claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import ParameterError
from limelight.evaluation.inference import CHANCE, LEAST, Contest, contest, holm, least_texts
from limelight.statistics.closed_range import MOST_ENUMERATED, adjusted_pairs, factor
from limelight.statistics.sign_flips import ALL_UP_TO, ends, flipped_sums, turned_sums
from reference.closed_range import adjusted, every_sign, every_subset_ratio

ROUNDING = 1e-12
"""Of a share of at most 256 flips times a whole number over another."""


def gains(rng: np.random.Generator, texts: int, methods: int, spread: float) -> np.ndarray:
    return rng.normal(size=(texts, methods)) + spread * rng.normal(size=methods)


# ── by definition ─────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    texts=st.integers(1, 7),
    methods=st.lists(st.integers(2, 5), min_size=1, max_size=2),
    spread=st.sampled_from([0.0, 1.0, 5.0]),
    digits=st.sampled_from([0, 3]),
)
def test_every_set_and_every_sign(seed, texts, methods, spread, digits):
    """Rounded to whole numbers there are ties between methods, and between flips."""
    rng = np.random.default_rng(seed)
    tables = [np.round(gains(rng, texts, own, spread), digits) for own in methods]
    for ours, theirs in zip(adjusted_pairs(tables), adjusted(tables, every_sign(texts)), strict=True):
        assert np.abs(ours - theirs).max() < ROUNDING


@pytest.mark.parametrize("spread", [0.0, 0.5, 2.0])
def test_drawn_signs_are_the_same_for_every_set(spread):
    values = gains(np.random.default_rng(4), 30, 5, spread)
    signs = np.stack([flipped_sums(np.eye(30), 3, 200)])[0]
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert (signs[0] == 1.0).all()
    assert abs(signs[1:].mean()) < 4.0 / np.sqrt(signs[1:].size)
    (ours,) = adjusted_pairs([values], seed=3, flips=200)
    (theirs,) = adjusted([values], signs)
    assert np.abs(ours - theirs).max() < ROUNDING


def test_what_is_not_asked_for_exactly_is_above():
    values = gains(np.random.default_rng(1), 12, 8, 0.6)
    (exact,), (quick,) = adjusted_pairs([values]), adjusted_pairs([values], exact_up_to=0.05)
    assert ((exact <= 0.05) == (quick <= 0.05)).all()
    assert (quick <= exact + ROUNDING).all()
    assert (exact <= 0.05).any()
    assert (quick < exact - 0.01).any()


def test_more_methods_than_are_enumerated_keep_the_level_by_a_bound():
    values = gains(np.random.default_rng(2), 30, 7, 0.5)
    (exact,), (bound,) = adjusted_pairs([values], flips=500), adjusted_pairs([values], flips=500, most=3)
    assert (bound >= exact - ROUNDING).all()
    assert (bound > exact + 0.01).any()
    many = gains(np.random.default_rng(3), 40, MOST_ENUMERATED + 5, 2.0)
    (p,) = adjusted_pairs([many], flips=2000)
    best, worst = int(many.sum(axis=0).argmax()), int(many.sum(axis=0).argmin())
    assert p[best, worst] < 0.05


def test_copies_are_never_told_apart():
    one = np.random.default_rng(0).normal(1.0, 0.1, size=40)
    (p,) = adjusted_pairs([np.stack([one, one, one * (1.0 + 1e-15), one - 5.0], axis=1)])
    assert (p[:3, :3] == 1.0).all()
    assert (p[:3, 3] < 0.05).all()


def contested(tables) -> Contest:
    """Methods named by their table and number, with as much to gain on every text."""
    named = [{f"{i}.{k}": own for k, own in enumerate(values.T)} for i, values in enumerate(tables)]
    return contest(named, np.ones(len(tables[0])))


def test_scores_that_are_all_zero_claim_nothing():
    own = contested([np.zeros((20, 3))])
    assert {one.decision.verdict for pair, one in own.found.items() if CHANCE not in pair} == {"equal"}
    assert not any(one.decision.told_apart for one in own.found.values())


def test_the_same_bytes_for_a_seed_and_any_order_of_methods():
    values = gains(np.random.default_rng(5), 40, 6, 0.4)
    (first,), (second,), (other) = (adjusted_pairs([values], seed) for seed in (1, 1, 2))
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != other[0].tobytes()
    order = np.array([3, 1, 5, 0, 2, 4])
    (mixed,) = adjusted_pairs([values[:, order]], 1)
    assert np.abs(mixed - first[np.ix_(order, order)]).max() < ROUNDING


# ── levels ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tables", "texts"), [([2], 6), ([1], 6), ([5], 7), ([3, 2], 8), ([11], 8), ([24], 9), ([13, 4], 9)]
)
def test_the_smallest_number_of_texts(tables, texts):
    """With all texts of one mind: at that number a pair is told apart, with one fewer it is not."""
    assert least_texts(tables) == texts
    clear = np.arange(1.0, tables[0] + 1.0)
    for n, told in ((texts, True), (texts - 1, False)):
        columns = [np.tile(clear, (n, 1)), *(np.ones((n, own)) for own in tables[1:])]
        own = contested(columns)
        assert own.least == texts
        decisions = [one.decision.told_apart for (name, _), one in own.found.items() if name.startswith("0")]
        assert all(decisions) if told else not all(decisions)
        assert told or n >= LEAST or not any(decisions)


def test_fewer_than_six_texts_claim_nothing_at_all():
    for n in range(1, LEAST):
        own = contested([np.tile([0.5, 0.5, 0.001], (n, 1))])
        decisions = [one.decision for one in own.found.values()]
        assert {one.verdict for one in decisions} == {"undecided"}
        assert not any(one.told_apart for one in decisions)
        assert all(np.isnan(one.comparison.interval.low) for one in own.found.values())


FALSE = 0.06
"""Claims at 5 %, all together; 200 evaluations may show up to three standard errors more."""


@pytest.mark.parametrize(("methods", "texts"), [(2, 6), (4, 12), (7, 20)])
def test_equals_and_chance_are_seldom_told_apart(methods, texts):
    """A quick look at what benchmarks/evaluation_claims.py measures: half are at chance, half are good."""
    repeats, false = 200, 0
    truth = np.where(np.arange(methods) % 2, 0.5, 0.0)
    same = np.equal.outer(np.append(truth, 0.0), np.append(truth, 0.0)) & ~np.eye(methods + 1, dtype=bool)
    for i in range(repeats):
        rng = np.random.default_rng([methods, texts, i])
        own = truth + 0.2 * rng.standard_t(4, size=(texts, methods)) + 0.2 * rng.normal(size=(texts, 1))
        own = np.concatenate([own - 0.2 * rng.normal(size=(texts, 1)), np.zeros((texts, 1))], axis=1)
        (p,) = adjusted_pairs([own], seed=i, flips=1000, exact_up_to=0.05)
        false += bool((p <= 0.05)[same].any())
    assert false / repeats < FALSE + 3.0 * np.sqrt(FALSE * (1.0 - FALSE) / repeats)


def test_chance_pays_like_a_method():
    """Ten methods at chance: by themselves one of them reaches 5 % in a third of evaluations."""
    alone = together = 0
    for i in range(200):
        own = np.random.default_rng(i).normal(size=(20, 10))
        by_flips = np.abs(flipped_sums(own, i, 1000))
        alone += bool(((by_flips >= by_flips[0]).mean(axis=0) <= 0.05).any())
        (p,) = adjusted_pairs([np.concatenate([own, np.zeros((20, 1))], axis=1)], i, 1000, exact_up_to=0.05)
        together += bool((p[:-1, -1] <= 0.05).any())
    assert alone > 60
    assert together < 22


def test_factors_add_up_to_one_over_any_division_into_classes():
    """What the proof needs: α |C| / K over disjoint classes of at least two, and all of α where there is one alone."""
    for total in range(2, 12):
        for size in range(2, total + 1):
            share = 1.0 / factor(size, total)
            others = total - size
            assert share + (others / total if others >= 2 else 0.0) <= 1.0 + ROUNDING


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("texts", [6, 7, 10])
def test_ends_are_order_statistics_of_every_set_of_texts(texts):
    rng = np.random.default_rng(texts)
    numerators, room = rng.normal(0.3, 1.0, size=(texts, 3)), rng.lognormal(size=(texts, 3))
    low, high = ends(numerators, room, 0.95)
    for j in range(3):
        ratios = every_subset_ratio(numerators[:, j], room[:, j])
        place = int(0.025 * 2**texts)
        assert low[j] == pytest.approx(ratios[place - 1], abs=ROUNDING)
        assert high[j] == pytest.approx(ratios[-place], abs=ROUNDING)


def test_five_texts_have_no_interval_and_six_have():
    values = np.random.default_rng(0).normal(size=(6, 1))
    low, _ = ends(values[:5], np.ones((5, 1)), 0.95)
    assert np.isnan(low[0])
    low, high = ends(values, np.ones((6, 1)), 0.95)
    assert (low[0], high[0]) == (values.min(), values.max())
    low, _ = ends(values, np.ones((6, 1)), 0.99)
    assert np.isnan(low[0])


def test_a_column_that_lacks_texts_has_the_interval_of_the_others():
    """Of 200 texts a column has ten: many drawn sets hold none of them, and count on both sides."""
    rng = np.random.default_rng(1)
    own = rng.normal(size=10)
    values, room = np.zeros((200, 1)), np.zeros((200, 1))
    values[:10, 0], room[:10, 0] = own, 1.0
    low, high = ends(values, room, 0.95, flips=40_000)
    exact_low, exact_high = ends(own[:, None], np.ones((10, 1)), 0.95)
    assert low[0] == pytest.approx(exact_low[0], abs=0.1 * (exact_high[0] - exact_low[0]))
    assert high[0] == pytest.approx(exact_high[0], abs=0.1 * (exact_high[0] - exact_low[0]))
    values[5:, 0], room[5:, 0] = 0.0, 0.0
    assert np.isnan(ends(values, room, 0.95)[0][0])


def test_turned_and_flipped_sums_belong_together():
    values = np.random.default_rng(0).normal(size=(ALL_UP_TO + 2, 2))
    flipped, turned = flipped_sums(values, 1, 300), turned_sums(values, 1, 300)
    assert flipped == pytest.approx(values.sum(axis=0) - 2.0 * turned)
    assert (turned[0] == 0.0).all()
    halves = flipped_sums(values[:4], halves=True)
    both = np.concatenate([halves, -halves])
    assert np.sort(both, axis=0) == pytest.approx(np.sort(flipped_sums(values[:4]), axis=0))


# ── Holm ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_holm_by_hand():
    # 0.01 · 4, 0.02 · 3, then 0.03 · 2, which 0.06 may not fall below, then 0.5.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]).tolist() == []
    with_none = holm([0.01, np.nan, 0.04])
    assert with_none[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(with_none[1])
    with pytest.raises(ParameterError, match="p-values lie between 0 and 1"):
        holm([0.1, 1.2])


def test_equality_of_all_pairs_is_corrected_together():
    """Ten methods, 45 pairs and ten claims about chance: nine texts of one mind are too few, ten are enough."""
    for n, said in ((10, {"undecided"}), (11, {"equal"})):
        own = contested([np.full((n, 10), 0.5)])
        assert {one.decision.verdict for pair, one in own.found.items() if CHANCE not in pair} == said


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="seed"):
        adjusted_pairs([np.ones((4, 2))], seed=-1)
    with pytest.raises(ParameterError, match="flips"):
        adjusted_pairs([np.ones((4, 2))], flips=3)
