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

from limelight.arrays import Coalitions, Floats
from limelight.explainers import shapley_columns
from limelight.explainers.augmented import augmented_fit
from limelight.explainers.draws import Draws
from limelight.explainers.estimate import Estimate
from limelight.explainers.shapley_columns import OddColumns
from limelight.theory.odd_game import size_weights
from limelight.threads import one_thread

Asked = Callable[[Coalitions], Floats]
"""From coalitions (n, d) to outputs (n, m)."""


class PairedShapley:
    """Shapley values of m outputs from a growing number of samples. Two of them are the text and nothing of it."""

    def __init__(self, ask: Asked, d: int, seed: int) -> None:
        self._ask, self._d = ask, d
        self._draws = Draws(np.concatenate([[0.0], np.sqrt(size_weights(d)), [0.0]]), seed) if d > 1 else None
        self.nothing, self.everything = ask(np.stack([np.zeros(d, dtype=bool), np.ones(d, dtype=bool)]))
        self._kept = np.zeros((0, d), dtype=bool)
        self._odd = np.zeros((0, len(self.nothing)))
        self._every: Floats | None = None

    @property
    def n(self) -> int:
        return 2**self._d if self._every is not None else 2 + 2 * len(self._kept)

    @property
    def is_complete(self) -> bool:
        return self._every is not None or self._d == 1

    def extend(self, n: int) -> None:
        """Pairs until there are n samples in all; every coalition once n reaches their number."""
        if self.is_complete:
            return
        if self._d < 60 and 2**self._d <= n:
            self._every = self._ask(all_coalitions(self._d)[1:-1])
            return
        assert self._draws is not None
        kept = self._draws.rows(len(self._kept), max((n - 2) // 2, len(self._kept)))
        if len(kept):
            outputs = self._ask(np.stack([kept, ~kept], axis=1).reshape(2 * len(kept), self._d))
            self._kept = np.concatenate([self._kept, kept])
            self._odd = np.concatenate([self._odd, (outputs[0::2] - outputs[1::2]) / 2.0])

    def estimate(self) -> Estimate:
        d, m = self._d, len(self.nothing)
        if d == 1 or self._every is not None:
            values = (self.everything - self.nothing)[None] if d == 1 else self._of_all()
            return Estimate(self.n, values, np.zeros((d, m)), lambda i: np.zeros((d, d)), complete=True)
        with one_thread():
            regression = SignRegression(self._kept)
            columns = [self._output(regression, i) for i in range(m)]
        values, stderr = (np.stack(arrays, axis=1) for arrays in zip(*(own[:2] for own in columns), strict=True))
        return Estimate(self.n, values, stderr, lambda i: columns[i][2]())

    def _output(self, regression: SignRegression, i: int) -> tuple[Floats, Floats, Callable[[], Floats]]:
        """Values, standard errors, and their covariance on request."""
        odd, total = self._odd[:, i], float(self.everything[i] - self.nothing[i])
        if shapley_columns.is_worthwhile(len(odd), self._d):
            columns = OddColumns.guessed(regression.x, odd, regression.weights)
            if columns is not None:
                fit = augmented_fit(columns.of(regression.x), odd, regression.weights, columns.values(), columns.n_free)
                return fit.values + total / self._d, fit.stderr, fit.covariance
        values, scales = regression.values(odd, total)
        return values, regression.stderr(scales), lambda: regression.covariance(scales)

    def _of_all(self) -> Floats:
        """By the definition, over all coalitions."""
        assert self._every is not None
        kept, d = all_coalitions(self._d), self._d
        outputs = np.concatenate([self.nothing[None], self._every, self.everything[None]])
        size = kept.sum(axis=1)
        share = np.array([1.0 / (d * math.comb(d - 1, k)) for k in range(d)])
        # What j adds to a coalition of k others has the weight 1 / (d C(d-1, k)).
        with_j, without_j = share[np.maximum(size - 1, 0)], share[np.minimum(size, d - 1)]
        signed = np.where(kept, with_j[:, None], -without_j[:, None])
        return np.asarray(signed.T @ outputs, dtype=np.float64)


class SignRegression:
    """Regressions of odd parts on the same signs: φ·x/2 with a given sum of φ, and errors that nothing is assumed of.

    What is left of a row x of signs without its mean is all that tells values apart, once their sum is given.
    """

    def __init__(self, kept: Coalitions) -> None:
        d = kept.shape[1]
        self.x: Floats = np.where(kept, 1.0, -1.0)
        weights = np.sqrt(size_weights(d))[d - kept.sum(axis=1) - 1]
        self.weights = weights / weights.mean()
        self._mean = self.x.mean(axis=1)
        apart = (self.x - self._mean[:, None]) / 2.0
        H = (apart * self.weights[:, None]).T @ apart
        # Along (1, …, 1) there is nothing to find; directions that no pair tells anything of are left at 0.
        self._inverse = np.linalg.pinv(H + float(np.trace(H)) / d / d, hermitian=True)
        self._influence = apart @ self._inverse
        self._leverage = self.weights * np.einsum("nj,nj->n", self._influence, apart)
        self._apart = apart

    def values(self, odd: Floats, total: float) -> tuple[Floats, Floats]:
        """φ (d,), which adds up to `total`; and the residual of each pair, scaled as leaving it out would find it."""
        d = self.x.shape[1]
        y = odd - total / d * (d * self._mean) / 2.0
        psi = self._inverse @ (self._apart.T @ (self.weights * y))
        psi -= psi.mean()
        residuals = y - self._apart @ psi
        scales = self.weights * residuals / np.maximum(1.0 - self._leverage, 1e-6)
        return psi + total / d, scales

    def stderr(self, scales: Floats) -> Floats:
        return np.sqrt((scales**2) @ (self._influence**2))

    def covariance(self, scales: Floats) -> Floats:
        moved = self._influence * scales[:, None]
        return np.asarray(moved.T @ moved, dtype=np.float64)


def all_coalitions(d: int) -> Coalitions:
    """Nothing first, everything last."""
    return np.array(list(product([False, True], repeat=d)), dtype=bool).reshape(2**d, d)
