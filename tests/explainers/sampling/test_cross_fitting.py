"""Cross-fitting: as the slow twin computes it, without bias whatever is guessed, with errors that say how far off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from limelight.explainers.sampling.control_variates import FOLDS, PAIRS, Kernel, LimeColumns
from limelight.explainers.sampling.cross_fitting import WORD_PENALTIES, Guesses, cross_fitted, penalised
from limelight.explainers.sampling.designs import Sequence
from limelight.explainers.sampling.lime_sampler import LimeSampler
from limelight.theory.values import LimeDesign
from reference import cross_fitting as twin

CLOSE = 1e-8
"""Both solve systems of some fifty unknowns in float64 whose penalties leave condition numbers below 1e7."""
SINGLE = 1e-6
"""Moves are kept in float32."""
DESIGN = (5000, 0.25, 1.0)


def few_matter(rule: Callable[[Any], Any], k: int) -> Callable[[Any], Any]:
    """An output of 1 or -1 by a rule of the first k words' number."""
    return lambda kept: np.where(rule(np.asarray(kept)[:, :k].sum(axis=1)), 1.0, -1.0)


def bent(d: int) -> Callable[[Any], Any]:
    c = np.random.default_rng(0).normal(size=d)
    return lambda kept: np.tanh(np.asarray(kept) @ c - 0.3)


def drawn(d: int, n: int, seed: int) -> Any:
    return Sequence(LimeDesign.of(d, *DESIGN).size_weights, seed).rows(0, n)


GAMES = {
    "AND": (few_matter(lambda count: count == 2, 2), 8, 61),
    "any of six": (few_matter(lambda count: count > 0, 6), 9, 203),
    "majority, few samples": (few_matter(lambda count: count > 2, 5), 9, 47),
    "bent": (bent(8), 8, 150),
    "never varies in four folds": (lambda kept: np.where(np.asarray(kept).sum(axis=1) < 2, -1.0, 1.0), 9, 60),
}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_fast_one_is_the_slow_one(name: str, seed: int) -> None:
    game, d, n = GAMES[name]
    kept, design = drawn(d, n, seed), LimeDesign.of(d, *DESIGN)
    y, of_document = game(kept), float(game(np.ones((1, d)))[0])
    few = n - n // FOLDS < 10 * d  # words have a penalty of their own where samples are few for them
    slow = twin.cross_fitted(
        kept, y, of_document, design, word_penalties=twin.WORD_PENALTIES if few else twin.WORD_PENALTIES[:1]
    )
    fast = cross_fitted(kept, y, of_document, design)
    np.testing.assert_allclose(fast.values, slow[0], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(fast.moves.per_unit[1:], slow[1], rtol=0, atol=SINGLE)
    np.testing.assert_allclose(fast.moves.off[1:], slow[2], rtol=0, atol=CLOSE)
    assert fast.moves.off[0] == 0.0, "the document is not drawn"


def test_the_penalties_are_those_of_the_slow_one() -> None:
    assert WORD_PENALTIES == twin.WORD_PENALTIES
    rng = np.random.default_rng(0)
    B = np.concatenate([np.ones((80, 1)), rng.normal(size=(80, 14))], axis=1)
    y, w = B[:, 1] - 0.3 * B[:, 9] + rng.normal(size=80), np.full(80, 1 / 80)
    found = penalised((B * w[:, None]).T @ B, B.T @ (w * y), float(w @ y**2), 80, 7, WORD_PENALTIES)
    np.testing.assert_allclose(found, twin.fitted(B, y, w, 6), rtol=0, atol=CLOSE)


def test_columns_have_the_weights_of_enumeration() -> None:
    """Those of every column that all folds share, and of those along every line, by enumeration."""
    d, n = 8, 200
    kept, design = drawn(d, n, 0), LimeDesign.of(d, *DESIGN)
    y, kernel = bent(d)(kept), Kernel.of(LimeDesign.of(d, *DESIGN))
    folds = [kept[k::FOLDS].T - kernel.mean for k in range(FOLDS)]
    columns = LimeColumns.guessed(folds, [y[k::FOLDS] for k in range(FOLDS)], kernel)
    every = np.array([[row >> j & 1 for j in range(d)] for row in range(2**d)], dtype=bool)
    x = every.T - kernel.mean
    common, along = columns.common(x), columns.along(x, list(range(len(PAIRS))))
    assert len(common) == columns.n_common > 2 + d
    for k in range(0, len(common), 3):
        known = columns.weights(np.eye(len(common))[k], np.zeros((len(PAIRS), 3)), design)
        np.testing.assert_allclose(known, twin.lime_of_all(every, common[k], design), rtol=0, atol=CLOSE)
    for line, column in ((0, 0), (3, 1), (7, 2), (9, 1)):
        one = np.zeros((len(PAIRS), 3))
        one[line, column] = 1.0
        known = columns.weights(np.zeros(len(common)), one, design)
        np.testing.assert_allclose(known, twin.lime_of_all(every, along[line, column], design), rtol=0, atol=CLOSE)


def guessed(kept: Any, y: Any) -> Any:
    """What each fold's guess says of all samples: (folds, n)."""
    design = LimeDesign.of(kept.shape[1], *DESIGN)
    kernel, centre = Kernel.of(design), float(y.mean())
    folds = [kept[k::FOLDS].T - kernel.mean for k in range(FOLDS)]
    outputs = [y[k::FOLDS] - centre for k in range(FOLDS)]
    columns = LimeColumns.guessed(folds, outputs, kernel)
    guesses = Guesses.of(columns, folds, outputs, 0.5 - centre, design)
    return centre + np.concatenate([guesses.said(folds[k], k) for k in range(FOLDS)], axis=1)


def test_what_is_guessed_for_a_fold_has_not_seen_it() -> None:
    """Other answers in a fold change no guess for it: not its lines, its strong words, its penalties, nothing."""
    kept = drawn(12, 150, 0)
    y = bent(12)(kept)
    before = guessed(kept, y)
    for k in range(FOLDS):
        other = y.copy()
        other[k::FOLDS] = np.random.default_rng(k).normal(size=len(y[k::FOLDS])) * 5.0
        after = guessed(kept, other)
        changed = np.abs(after - before).max(axis=1)
        assert changed[k] < CLOSE
        assert np.delete(changed, k).min() > 0.1


@pytest.mark.parametrize(
    ("k", "rule", "n"), [(2, lambda c: c == 2, 1500), (2, lambda c: c > 0, 500), (5, lambda c: c > 2, 300)]
)
def test_intervals_hold_where_a_game_is_not_what_was_guessed(k: int, rule: Any, n: int) -> None:
    """An AND of two words in 30 was covered 5 % of the time: its bias and its stated error shrank together."""
    d, runs = 30, 30
    game = few_matter(rule, k)
    truth = exact_of_few(game, d, k)
    off, stated, inside = [], [], []
    for seed in range(runs):
        samples = LimeSampler(lambda kept: game(kept)[:, None], d, seed, 0.25, 1.0)
        samples.extend(n)
        estimate = samples.estimate()
        off.append(estimate.values[:k, 0] - truth)
        stated.append(estimate.stderr[:k, 0])
        inside.append(float(np.mean(np.abs(off[-1]) <= 1.96 * stated[-1])))
    bias = np.abs(np.mean(off, axis=0)).max()
    assert bias < 0.5 * np.sqrt(np.mean(np.square(stated)))
    assert np.mean(inside) > 0.9
    assert np.sqrt(np.mean(np.square(stated))) < 1.8 * np.sqrt(np.mean(np.square(off)))


def exact_of_few(game: Any, d: int, k: int) -> float:
    """LIME's weight of each of k words that alone matter, all alike: hypergeometric chances of how many are kept."""
    from math import comb

    design = LimeDesign.of(d, *DESIGN)
    f = game(np.tril(np.ones((k + 1, k)), -1))
    F, of_few, of_others = np.zeros(d + 1), 0.0, 0.0
    for s in range(d + 1):
        for count in range(k + 1):
            rest = d - s - count
            chance = comb(k, count) * comb(d - k, rest) / comb(d, s) if 0 <= rest <= d - k else 0.0
            F[s] += chance * f[count]
            of_few += design.size_weights[s] * chance * f[count] * count / k
            of_others += design.size_weights[s] * chance * f[count] * rest / (d - k)
    G = np.concatenate([np.full(k, of_few), np.full(d - k, of_others)])
    return float(design.weights_of(F[None], G[None])[0, 0])


def test_noise_of_answers_is_in_the_errors() -> None:
    """Independent noise in every answer: residuals hold it, and guesses that saw it are told from each other by it."""
    d, n = 20, 400
    c, inside = np.random.default_rng(1).normal(size=d), []
    for seed in range(25):
        rng = np.random.default_rng([seed, 9])
        samples = LimeSampler(
            lambda kept, rng=rng: (kept @ c + rng.normal(size=len(kept)))[:, None], d, seed, 0.25, 1e-9
        )
        samples.extend(n)
        estimate = samples.estimate()
        inside.append(np.mean(np.abs(estimate.values[:, 0] - c) <= 1.96 * estimate.stderr[:, 0]))
    assert 0.92 < np.mean(inside) < 0.995


def test_heavy_tails_of_noise_do_not_make_intervals_too_narrow() -> None:
    """Pareto's noise of infinite variance, all on one side: few samples decide an error, and Student's factor knows."""
    d, n = 20, 400
    c, inside = np.random.default_rng(1).normal(size=d), []
    for seed in range(25):
        rng = np.random.default_rng([seed, 9])
        samples = LimeSampler(
            lambda kept, rng=rng: (kept @ c + rng.pareto(1.5, len(kept)))[:, None], d, seed, 0.25, 1e-9
        )
        samples.extend(n)
        estimate = samples.estimate()
        inside.append(np.mean(np.abs(estimate.values[:, 0] - c) <= 1.96 * estimate.stderr[:, 0]))
    assert np.mean(inside) > 0.93


def test_several_outputs_and_sums_over_groups_carry_over() -> None:
    """Each output as if it were alone; a group of one word has that word's error, and sums lie in their intervals."""
    d, n = 16, 300
    first, second = bent(d), few_matter(lambda count: count > 1, 4)
    groups = np.zeros((d, 3))
    groups[0, 0], groups[:4, 1], groups[4:, 2] = 1.0, 1.0, 1.0

    def run(games: list[Any], seed: int) -> Any:
        samples = LimeSampler(lambda kept: np.stack([game(kept) for game in games], axis=1), d, seed, 0.25, 1.0)
        samples.extend(n)
        return samples.estimate(groups)

    both, alone = run([first, second], 0), run([second], 0)
    np.testing.assert_array_equal(both.values[:, 1], alone.values[:, 0])
    np.testing.assert_array_equal(both.stderr[:, 1], alone.stderr[:, 0])
    np.testing.assert_allclose(both.group_stderr[0], both.stderr[0], rtol=1e-5)
    truth, inside = exact_of_few(second, d, 4), []
    for seed in range(30):
        estimate = run([second], seed)
        off = abs(float(estimate.values[:4, 0].sum()) - 4.0 * truth)
        inside.append(off <= 1.96 * estimate.group_stderr[1, 0])
    assert np.mean(inside) > 0.8
