"""F_s and G_{s,j}: the compiled recursion and the batched one against all subsets, and the game itself."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.errors import NumericalError, ParameterError
from limelight.theory.moments import size_moments
from limelight.theory.moments_torch import size_moments_of_many
from limelight.theory.ratio_game import RatioGame
from reference.enumeration import (
    all_coalitions,
    document_value,
    game_value,
    kept_mean_by_size,
    mean_by_size,
    random_document,
    random_game,
    tabulated,
)

# What the package promises, relative to the largest output of the game (F_s itself may be zero by cancellation).
PROMISED = 1e-9
# Two implementations of one rule in float64, a few hundred positive terms summed in another order.
SAME_RULE = 1e-12
# Two rules of one tolerance (1e-11 each).
SAME_TOLERANCE = 1e-10


def assert_moments_match(game, targets):
    d = game.n_features
    moments = size_moments(game, targets, np.eye(d + 1))
    for row, target in enumerate(targets):
        table = tabulated(game, target)
        unit = moments.largest_output[row]
        assert max(abs(f) for f in table.values()) <= unit
        assert moments.error <= 1e-2 * PROMISED
        for computed, exact in ((moments.F[row], mean_by_size(table)), (moments.G[row], kept_mean_by_size(table))):
            assert np.abs(computed - exact).max() <= (moments.error + 1e-15) * unit


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 7),
    heads=st.integers(2, 6),
    ratio=st.sampled_from([1.5, 1e2, 1e5, 1e9, 1e13]),
)
def test_moments_are_those_of_all_subsets(seed, d, heads, ratio):
    assert_moments_match(random_game(seed, d, heads, ratio=ratio), [0, 1, 2])


@pytest.mark.parametrize(("seed", "heads", "ratio"), [(1, 2, 1e4), (2, 6, 1e9)])
def test_moments_are_those_of_all_subsets_with_twelve_features(seed, heads, ratio):
    assert_moments_match(random_game(seed, 12, heads, ratio=ratio), [2])


def test_each_kept_feature_is_counted_once():
    game = random_game(3, 60, 4, ratio=1e7)
    moments = size_moments(game, 0, np.eye(61))
    expected = (60 - np.arange(61)) * moments.F[0]
    assert np.abs(moments.G[0].sum(axis=1) - expected).max() <= 60 * SAME_RULE * moments.largest_output[0]


def test_the_ends_are_plain_evaluations_even_with_four_hundred_features():
    game = random_game(4, 400, 3, ratio=1e9)
    moments = size_moments(game, [0, 1, 2], np.ones(401))
    ends = game.evaluate(np.array([np.ones(400, dtype=bool), np.zeros(400, dtype=bool)]))
    assert np.abs(moments.F[:, [0, -1]] - ends.T).max() <= moments.error * moments.largest_output.max()


def test_rows_and_classes_asked_for_together_are_those_asked_for_alone_byte_for_byte():
    game = random_game(5, 9, 3)
    weights = np.random.default_rng(5).normal(size=(3, 10))
    together = size_moments(game, [2, 0], weights)
    for row, target in enumerate((2, 0)):
        for w in range(3):
            alone = size_moments(game, target, weights[w])
            assert alone.G[0, 0].tobytes() == together.G[row, w].tobytes()
            assert alone.F[0].tobytes() == together.F[row].tobytes()
    assert size_moments(game, [2, 0], weights).G.tobytes() == together.G.tobytes()


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_order_of_features_and_units_of_a_head_do_not_matter(seed, data):
    game = random_game(seed, 6, 2, ratio=1e6)
    order = data.draw(st.permutations(range(6)))
    factor = np.array([1e-40, 1e30])
    moved = RatioGame(
        a=game.a[:, order] * factor[:, None],
        A=game.A[:, order] * factor[:, None, None],
        b=game.b[:, order] * factor[:, None],
        B=game.B[:, order] * factor[:, None, None],
        c0=game.c0 * factor,
        C0=game.C0 * factor[:, None],
    )
    weights = np.arange(7.0)
    first, second = size_moments(game, 1, weights), size_moments(moved, 1, weights)
    assert np.abs(first.G[0, 0, order] - second.G[0, 0]).max() <= 21 * SAME_RULE * first.largest_output[0]


@pytest.mark.parametrize("memory", [None, 200_000, 2_000])
def test_the_batched_moments_are_the_compiled_ones(memory):
    """With little memory the documents come in several batches, and then the nodes of one document in blocks."""
    lengths = [1, 7, 2, 30, 7, 1, 15, 3]
    games = [random_game(i, d, 3, ratio=[2.0, 1e4, 1e9][i % 3]) for i, d in enumerate(lengths)]
    targets = [i % 3 for i in range(len(games))]
    weights = [np.random.default_rng(i).normal(size=(2, d + 1)) for i, d in enumerate(lengths)]
    batched = size_moments_of_many(games, targets, weights, memory_bytes=memory)
    for game, target, w, many in zip(games, targets, weights, batched, strict=True):
        one = size_moments(game, target, w)
        unit = one.largest_output[0]
        assert many.F.shape == one.F.shape
        assert many.G.shape == one.G.shape
        assert np.abs(many.F - one.F).max() <= SAME_TOLERANCE * unit
        assert np.abs(many.G - one.G).max() <= SAME_TOLERANCE * unit * np.abs(w).sum(axis=1).max()


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_game_of_a_document_is_the_model_on_perturbed_documents(seed):
    document = random_document(seed, 8, [[1, 4], [2], [6, 3, 5]])
    game = RatioGame.from_positions(*document)
    coalitions = all_coalitions(3)
    expected = [[document_value(*document, z, target) for target in range(3)] for z in coalitions]
    assert np.abs(game.evaluate(np.array(coalitions, dtype=bool)) - expected).max() < 1e-13


def test_evaluation_does_not_cancel_where_denominators_differ_by_1e9():
    game = random_game(7, 10, 3, ratio=1e9)
    coalitions = all_coalitions(10)[::7]
    exact = [game_value(game, z, 1) for z in coalitions]
    assert np.abs(game.evaluate(np.array(coalitions, dtype=bool))[:, 1] - exact).max() < 1e-14


def test_any_quotient_of_affine_functions_is_a_ratio_game():
    rng = np.random.default_rng(8)
    N, D = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5))
    N0, D0 = rng.normal(size=(2, 3)), np.array([8.0, 9.0])
    game = RatioGame.from_affine(N, D, N0, D0)
    for z in itertools.product((0, 1), repeat=5):
        expected = np.mean([(N0[k] + z @ N[k]) / (D0[k] + z @ D[k]) for k in range(2)], axis=0)
        assert game.evaluate(np.array([z], dtype=bool))[0] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(NumericalError, match="not a ratio game"):
        RatioGame.from_affine(N, D, N0, np.array([8.0, 0.1]))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_weights_that_are_not_finite_are_refused(bad):
    with pytest.raises(ParameterError, match="must be finite"):
        size_moments(random_game(0, 2), 0, np.array([1.0, bad, 1.0]))


def test_wrong_calls_are_refused():
    game = random_game(0, 4)
    with pytest.raises(ParameterError, match=r"0 to 4.*\(\.\.\., 5\)"):
        size_moments(game, 0, np.ones(4))
    with pytest.raises(ParameterError, match="classes 0 to 2"):
        size_moments(game, 3, np.ones(5))
    with pytest.raises(NumericalError, match="cannot be reached"):
        size_moments(game, 0, np.ones(5), tolerance=1e-16)
    with pytest.raises(NumericalError, match="with 4 features"):
        size_moments(game, 0, np.ones(5), tolerance=5e-15)
    with pytest.raises(ParameterError, match="2 targets"):
        size_moments_of_many([game], [0, 1], [np.ones(5)])
    with pytest.raises(NumericalError, match="with 4 features"):
        size_moments_of_many([game], [0], [np.ones(5)], tolerance=5e-16)
    with pytest.raises(ParameterError, match="owns no position"):
        RatioGame.from_positions(*random_document(0, 3, [[0], []]))


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has what the test says is missing")
def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ParameterError, match="no CUDA here"):
        size_moments_of_many([random_game(0, 4)], [0], [np.ones(5)], device="cuda")
