"""Exact values for deleted words against enumeration, one after the other and many at once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import limelight
from conftest import small_model
from limelight.errors import ParameterError
from limelight.inputs.features import features_of
from limelight.theory import values as theory
from limelight.theory.deletion import (
    DeletionGame,
    deletion_moments,
)
from limelight.theory.folding import FoldedDocument
from limelight.theory.moments import MOST_REPEATED
from limelight.theory.moments_torch import deletion_moments_of_many, sizes_of_games

PROMISED = 1e-9
CLASSES = 3


def random_document(
    seed: int, words: int, heads: int, spread: float, padding: int = 2, lift: float = 0.0
) -> FoldedDocument:
    """Scores of standard deviation `spread`; those of words are `lift` above those of [CLS] and [UNK]."""
    rng = np.random.default_rng(seed)

    def scores(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) * spread

    T = 1 + words + padding
    return FoldedDocument(
        word_scores=scores(words, heads) + lift,
        word_values=rng.normal(size=(words, heads, CLASSES)),
        cls_score=scores(heads),
        cls_value=rng.normal(size=(heads, CLASSES)),
        unknown_score=scores(heads),
        unknown_value=rng.normal(size=(heads, CLASSES)),
        position_scores=0.3 * scores(T, heads),
        position_values=0.3 * rng.normal(size=(T, heads, CLASSES)),
    )


def logit_by_hand(folded: FoldedDocument, left: list[int], target: int) -> float:
    """The document of these words alone: each token at its new position, [UNK] behind."""
    total = 0.0
    heads = folded.word_scores.shape[1]
    for k in range(heads):
        tokens = [(folded.cls_score[k], folded.cls_value[k, target])]
        tokens += [(folded.word_scores[i, k], folded.word_values[i, k, target]) for i in left]
        rest = len(folded.position_scores) - len(tokens)
        tokens += [(folded.unknown_score[k], folded.unknown_value[k, target])] * rest
        s = np.array([score + folded.position_scores[t, k] for t, (score, _) in enumerate(tokens)])
        w = np.array([value + folded.position_values[t, k, target] for t, (_, value) in enumerate(tokens)])
        g = np.exp(s - s.max())
        total += float(g @ w / g.sum())
    return total / heads


def enumerated(folded: FoldedDocument, owned: list[list[int]], target: int) -> tuple[np.ndarray, np.ndarray]:
    """Every coalition of features, and the logit of each."""
    kept = np.array(list(itertools.product([False, True], repeat=len(owned))))
    everything = range(len(folded.word_scores))
    outputs = []
    for z in kept:
        gone = {i for own, stays in zip(owned, z, strict=True) if not stays for i in own}
        outputs.append(logit_by_hand(folded, [i for i in everything if i not in gone], target))
    return kept, np.array(outputs)


def expected_moments(kept: np.ndarray, f: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = kept.shape[1]
    s = d - kept.sum(axis=1)
    F = np.array([f[s == size].mean() for size in range(d + 1)])
    G = np.zeros((len(weights), d))
    for j in range(d):
        by_size = np.array([(f * kept[:, j])[s == size].mean() for size in range(d + 1)])
        G[:, j] = weights @ by_size
    return F, G


def check_moments(folded: FoldedDocument, owned: list[list[int]], target: int, seed: int) -> None:
    d = len(owned)
    weights = np.stack([theory.shapley_weights(d), np.random.default_rng(seed).random(d + 1)])
    kept, f = enumerated(folded, owned, target)
    F, G = expected_moments(kept, f, weights)
    moments = deletion_moments(folded, target, owned, weights)
    unit = moments.largest_output[0]
    assert unit >= np.abs(f).max() * (1 - 1e-12)
    assert np.abs(moments.F[0] - F).max() <= (moments.error + moments.rounding) * unit
    assert np.abs(moments.G[0] - G).max() <= (moments.error + moments.rounding) * unit * weights.sum(axis=1).max()
    assert moments.error < 2e-11


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    words=st.integers(1, 8),
    heads=st.integers(2, 6),
    spread=st.sampled_from([0.3, 2.0, 5.0]),
    padding=st.integers(0, 3),
)
def test_means_of_occurrences_are_those_of_enumeration(
    seed: int, words: int, heads: int, spread: float, padding: int
) -> None:
    folded = random_document(seed, words, heads, spread, padding)
    check_moments(folded, [[i] for i in range(words)], seed % CLASSES, seed)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31), data=st.data())
def test_features_of_several_words_are_conditioned_on(seed: int, data: st.DataObject) -> None:
    """Words that no feature owns always stay."""
    words = data.draw(st.integers(1, 8))
    owner = data.draw(st.lists(st.integers(0, 4), min_size=words, max_size=words))
    owned = [[i for i in range(words) if owner[i] == j] for j in sorted(set(owner)) if j != 4]
    if not owned:
        owned = [list(range(words))]
    check_moments(random_document(seed, words, 2, 1.5), owned, 1, seed)


@pytest.mark.parametrize(("seed", "heads"), [(1, 2), (2, 6)])
def test_twelve_words_with_denominators_nine_decades_apart(seed: int, heads: int) -> None:
    folded = random_document(seed, 12, heads, 3.0, padding=0, lift=18.0)
    (ranged,) = sizes_of_games([DeletionGame.of(folded, 2)], "cpu")
    assert ranged.ratio > 1e8
    kept, f = enumerated(folded, [[i] for i in range(12)], 2)
    d = 12
    values = theory.shapley_from(deletion_moments(folded, 2, [[i] for i in range(d)], theory.shapley_weights(d)))
    value = {tuple(z): y for z, y in zip(kept.tolist(), f, strict=True)}
    assert values.values.sum() == pytest.approx(value[(True,) * d] - value[(False,) * d], abs=PROMISED)
    assert values.error < PROMISED


def test_banzhaf_values_are_their_definition() -> None:
    folded = random_document(5, 6, 3, 1.0)
    owned = [[0], [1, 4], [2], [3], [5]]
    kept, f = enumerated(folded, owned, 0)
    expected = [f[kept[:, j]].mean() - f[~kept[:, j]].mean() for j in range(5)]
    values = theory.banzhaf_from(deletion_moments(folded, 0, owned, theory.banzhaf_weights(5)))
    assert np.abs(values.values - expected).max() <= values.error < PROMISED


def test_lime_is_the_regression_on_the_expected_design() -> None:
    from reference.lime import kernel

    folded, d, n, nu, ridge = random_document(6, 7, 3, 1.5), 7, 300.0, 0.4, 0.5
    kept, f = enumerated(folded, [[i] for i in range(d)], 1)
    removed = d - kept.sum(axis=1)
    chance = np.array([0.0 if s == 0 else 1 / d / (removed == s).sum() for s in removed])
    weights = chance * (n - 1) * kernel(kept, nu)
    weights[removed == 0] = 1.0
    design = np.column_stack([np.ones(len(kept)), kept])
    penalty = np.diag([0.0] + [ridge] * d)
    expected = np.linalg.solve(design.T @ (weights[:, None] * design) + penalty, design.T @ (weights * f))
    lime = theory.LimeDesign.of(d, n, nu, ridge)
    values = lime.solve(deletion_moments(folded, 1, [[i] for i in range(d)], lime.size_weights))
    assert np.abs(values.values - expected[1:]).max() < PROMISED
    assert values.intercept == pytest.approx(expected[0], abs=PROMISED)


def test_many_documents_at_once_are_the_documents_one_by_one() -> None:
    documents = [random_document(i, words, 3, 2.0) for i, words in enumerate([1, 5, 3, 12, 5])]
    games = [DeletionGame.of(folded, 1) for folded in documents]
    weights = [np.stack([theory.shapley_weights(g.n_features), np.ones(g.n_features + 1)]) for g in games]
    for memory in (None, 20_000):  # also with nodes in blocks
        together = deletion_moments_of_many(games, weights, memory_bytes=memory)
        for folded, own, moments in zip(documents, weights, together, strict=True):
            d = len(folded.word_scores)
            alone = deletion_moments(folded, 1, [[i] for i in range(d)], own)
            allowed = (alone.error + moments.error) * moments.largest_output[0]
            assert np.abs(moments.F - alone.F).max() <= allowed
            assert np.abs(moments.G - alone.G).max() <= allowed * own.sum(axis=1).max()


def test_denominators_of_many_documents_run_from_the_smallest_to_the_largest_of_all_coalitions() -> None:
    documents = [random_document(i, words, 3, 2.0) for i, words in enumerate([4, 1, 7])]
    games = [DeletionGame.of(folded, 1) for folded in documents]
    for game, found in zip(games, sizes_of_games(games, "cpu"), strict=True):
        T = game.n_features
        denominators = []
        for z in itertools.product([False, True], repeat=T):
            left = [i for i in range(T) if z[i]]
            denominators.append(
                game.tail[:, len(left)] + sum(game.g_word[:, i] * game.g_place[:, p] for p, i in enumerate(left))
            )
        np.testing.assert_allclose(found.lowest, np.min(denominators, axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.highest, np.max(denominators, axis=0), rtol=1e-12)


def test_exponentials_are_right_to_the_last_bits() -> None:
    from limelight.theory.deletion_recursion import exponentials

    rng = np.random.default_rng(0)
    g = np.concatenate([[0.0, 1e-300, 1e-9, 699.9], rng.random(2000), 10.0 ** rng.uniform(-6, 2.8, 2000)])
    rounded, part, result = (np.empty(len(g)) for _ in range(3))
    for lam in (1.0, 0.37):
        exponentials(g, lam, rounded, rounded.view(np.int64), part, part.view(np.int64), result.view(np.int64))
        np.testing.assert_allclose(result, np.exp(-lam * g), rtol=5e-16, atol=0.0)
    exponentials(g + 1e5, 1e9, rounded, rounded.view(np.int64), part, part.view(np.int64), result.view(np.int64))
    assert ((result > 0.0) & (result < 1e-300)).all()


def test_the_game_is_that_of_the_view() -> None:
    """Positions, padding and [CLS] as in the forward of a model."""
    model = small_model(3)
    view = model.view("the film was great but too long and bad , not good")
    features = features_of(view.document, "occurrences")
    d = len(features)
    moments = deletion_moments(view.folded(), 2, features.owned, np.eye(d + 1)[:1])
    ends = view.game(features, "delete")(np.array([[True] * d, [False] * d]))[:, 2]
    assert moments.F[0, [0, -1]] == pytest.approx(ends, abs=PROMISED)


def test_too_many_repeated_words_are_refused_with_what_to_do() -> None:
    model = limelight.load()
    text = " ".join(word for word in "a b c d e f g h".split() for _ in range(2))
    features = features_of(model.read(text), "words")
    assert len(features) > MOST_REPEATED
    with pytest.raises(ParameterError, match=r"8 features stand in several places.*occurrences"):
        deletion_moments(model.view(text).folded(), 0, features.owned, np.ones(9))
