"""Shapley values by regression on pairs of complementary coalitions, with a control variate.

Half the difference of a model's outputs on a coalition and on its complement, o(x), is a sample of the game's odd part,
which is all that Shapley values see. They minimise Σ w_s (o(x) - φ·x/2)² over all coalitions, w_s = 1 / (s (d - s)),
among all φ that add up to f(text) - f(nothing): a weighted regression on signs. A coalition of size s tells values
apart in proportion to s (d - s), so sizes drawn in proportion to the root of w_s, with that root as their weight in the
regression, have the smallest variance where residuals are alike. Where enough pairs are there, the regression is that
of o - g (`shapley_control`). Up to a dozen features all coalitions are asked, and nothing is left to chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.core.threads import one_thread
from limelight.explainers.sampling import shapley_control_variates
from limelight.explainers.sampling.estimate import Estimate
from limelight.explainers.sampling.nondeterminism import (
    AnswerNoise,
    Unheard,
    of_answers,
    shared_beyond_own,
    signless,
    silent,
)
from limelight.explainers.sampling.regression import augmented_fit
from limelight.explainers.sampling.sequence import Draws
from limelight.explainers.sampling.shapley_control_variates import OddColumns
from limelight.explainers.sampling.standard_errors import DECIDES, Moves, few, with_stderr
from limelight.theory.odd_game import size_weights

_PER_WORD = 5
"""Samples per word from which residuals of pairs tell how far values are off (benchmarks/stress_settings.py)."""
_ALL_TOLD = 1.0 - 1e-6
"""The share of a value that pairs tell, but for rounding."""
Asked = Callable[[Coalitions], Floats]
"""From coalitions (n, d) to outputs (n, m)."""


class PairedShapley:
    """Shapley values of m outputs from a growing number of samples. Two of them are the text and nothing of it."""

    def __init__(self, ask: Asked, d: int, seed: int, noise: Unheard = silent) -> None:
        """`noise` says how far answers to the same differ, as far as is known by now."""
        self._ask, self._d, self._noise = ask, d, noise
        self._draws = Draws(np.concatenate([[0.0], np.sqrt(size_weights(d)), [0.0]]), seed) if d > 1 else None
        self.nothing, self.everything = ask(np.stack([np.zeros(d, dtype=bool), np.ones(d, dtype=bool)]))
        self._kept = np.zeros((0, d), dtype=bool)
        self._odd = np.zeros((0, len(self.nothing)))
        self._every: Floats | None = None

    @property
    def n(self) -> int:
        return 2**self._d if self._every is not None else 2 + 2 * len(self._kept)

    @property
    def coalitions(self) -> int:
        return 2**self._d

    @property
    def is_complete(self) -> bool:
        return self._every is not None or self._d == 1

    def extend(self, n: int) -> None:
        """Pairs until there are n samples in all; every coalition once n reaches their number."""
        if self.is_complete:
            return
        if self.coalitions <= n:
            self._every = self._ask(all_coalitions(self._d)[1:-1])
            return
        assert self._draws is not None
        kept = self._draws.rows(len(self._kept), max((n - 2) // 2, len(self._kept)))
        if len(kept):
            outputs = self._ask(np.stack([kept, ~kept], axis=1).reshape(2 * len(kept), self._d))
            self._kept = np.concatenate([self._kept, kept])
            self._odd = np.concatenate([self._odd, (outputs[0::2] - outputs[1::2]) / 2.0])

    def estimate(self) -> Estimate:
        d, m, noise = self._d, len(self.nothing), self._noise()
        if self.is_complete:
            per_answer = shapley_shares(d)
            stderr = of_answers(per_answer, noise, m)
            return Estimate(
                self.n,
                per_answer.T @ self._all_answers(),
                stderr,
                lambda i: with_stderr(per_answer.T @ per_answer, stderr[:, i]),
                complete=noise is None,
                freedom=None if noise is None else noise.freedom,
            )
        with one_thread():
            regression = SignRegression(self._kept)
            columns = [self._output(regression, i, noise) for i in range(m)]
        values, stderr = (np.stack(arrays, axis=1) for arrays in zip(*(own[:2] for own in columns), strict=True))
        moves = [own[2] for own in columns]
        freedom = min((own for own in (few(move.effective) for move in moves) if own is not None), default=None)
        return Estimate(
            self.n, values, stderr, lambda i: with_stderr(moves[i].covariance(), stderr[:, i]), freedom=freedom
        )

    def _output(self, regression: SignRegression, i: int, noise: AnswerNoise | None) -> tuple[Floats, Floats, Moves]:
        """Values, their standard errors, and how each pair moves them."""
        odd, total = self._odd[:, i], float(self.everything[i] - self.nothing[i])
        doubt, freedom = None, 1
        if noise is not None:  # an odd part is half a difference of two answers
            doubt, freedom = shared_beyond_own(signless(self._kept)) * float(noise.variance[i]) / 2.0, noise.freedom
        columns = None
        if shapley_control_variates.is_worthwhile(len(odd), self._d):
            columns = OddColumns.guessed(regression.x, odd, regression.weights)
        if columns is not None:
            values_of = columns.values().T
            fit = augmented_fit(
                columns.of(regression.x),
                odd,
                regression.weights,
                lambda u: values_of.astype(u.dtype) @ u,
                columns.n_free,
                0,
                doubt,
                freedom,
            )
            values, moves, of_total = fit.values + total / self._d, fit.moves, np.full(self._d, 1.0 / self._d)
        else:
            values, moves = regression.fitted(odd, total, doubt, freedom)
            of_total = regression.of_total
        stderr = moves.stderr()
        if noise is not None:
            stderr = np.hypot(stderr, noise.stderr(2.0 * of_total**2)[:, i])
        return values, self._where_told(stderr, odd, total, regression), moves

    def _where_told(self, stderr: Floats, odd: Floats, total: float, regression: SignRegression) -> Floats:
        """No interval where pairs do not tell values apart, unless there is nothing to tell."""
        nothing_varied = odd.size > 0 and not odd.any() and total == 0.0
        told = regression.told & (2 * len(odd) >= _PER_WORD * self._d)
        return stderr if nothing_varied else np.where(told, stderr, np.nan)

    def _all_answers(self) -> Floats:
        between = np.zeros((0, len(self.nothing))) if self._every is None else self._every
        return np.concatenate([self.nothing[None], between, self.everything[None]])


def shapley_shares(d: int) -> Floats:
    """By the definition: how far the answer on each of all coalitions moves each value, (2^d, d).

    What j adds to a coalition of k others has the weight 1 / (d C(d-1, k)).
    """
    kept = all_coalitions(d)
    size = kept.sum(axis=1)
    share = np.array([1.0 / (d * math.comb(d - 1, k)) for k in range(d)])
    with_j, without_j = share[np.maximum(size - 1, 0)], share[np.minimum(size, d - 1)]
    return np.where(kept, with_j[:, None], -without_j[:, None])


class SignRegression:
    """Regressions of odd parts on the same signs: φ·x/2 with a given sum of φ, and errors that nothing is assumed of.

    What is left of a row x of signs without its mean is all that tells values apart, once their sum is given.
    """

    def __init__(self, kept: Coalitions) -> None:
        d = kept.shape[1]
        self.x: Floats = np.where(kept, 1.0, -1.0)
        weights = np.sqrt(size_weights(d))[d - kept.sum(axis=1) - 1]
        self.weights = weights / (weights.mean() if len(weights) else 1.0)
        self._mean = self.x.mean(axis=1)
        apart = (self.x - self._mean[:, None]) / 2.0
        H = (apart * self.weights[:, None]).T @ apart
        # Along (1, …, 1) there is nothing to find; directions that no pair tells anything of are left at 0.
        whole = H + float(np.trace(H)) / d / d
        self._inverse = np.linalg.pinv(whole, hermitian=True)
        self.told = np.einsum("ij,ji->i", self._inverse, whole) > _ALL_TOLD
        self._influence = apart @ self._inverse
        self._left = 1.0 - self.weights * np.einsum("nj,nj->n", self._influence, apart)
        self._apart = apart

    @property
    def of_total(self) -> Floats:
        """How far the sum of all values moves each of them: (d,)."""
        d = self.x.shape[1]
        moved: Floats = self._influence.T @ (self.weights * self._mean) / 2.0
        return 1.0 / d - (moved - moved.mean())

    def fitted(self, odd: Floats, total: float, noise: Floats | None = None, freedom: int = 1) -> tuple[Floats, Moves]:
        """φ (d,), which adds up to `total`, and how each pair moves it; `noise`: see `Moves`."""
        d = self.x.shape[1]
        y = odd - total / d * (d * self._mean) / 2.0
        psi = self._inverse @ (self._apart.T @ (self.weights * y))
        psi -= psi.mean()
        off = (y - self._apart @ psi) / np.maximum(self._left, DECIDES)
        per_unit = (self._influence * self.weights[:, None]).astype(np.float32)
        return psi + total / d, Moves(per_unit, off, self._left < DECIDES, noise, freedom)


def all_coalitions(d: int) -> Coalitions:
    """Nothing first, everything last."""
    return np.array(list(product([False, True], repeat=d)), dtype=bool).reshape(2**d, d)
