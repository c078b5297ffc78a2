"""Shapley values from random orders of the features, each followed forwards and backwards.

A feature's Shapley value is what it adds when features arrive one by one in random order, on average over all orders.
What is nearly additive cancels between an order and its reverse (antithetic sampling). Within an order the parts add up
to f(text) - f(nothing), so the values do too, exactly and whatever was drawn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.explainers.sampling.designs import arrivals
from limelight.explainers.sampling.estimate import Estimate
from limelight.explainers.sampling.nondeterminism import SharedArrivals, Unheard, of_answers, silent
from limelight.explainers.sampling.shapley_pairs import shapley_shares
from limelight.inputs.features import Features

_ROWS_AT_ONCE = 8192
"""Coalitions asked for at once: bounds the memory for any number of orders."""
_NEVER = 2**62
"""Samples that nobody asks for: orders are drawn again and again, and never all of them."""
_INSIDE = 0.95
"""What an interval of ±1.96 standard errors is to cover."""


class PermutedShapley:
    """Shapley values of m outputs from a growing number of pairs of orders; with groups of features, Owen values.

    `ask` answers coalitions (n, d) with outputs (n, m). `with_covariance`: what weights vary together is kept too.
    `noise` says how far answers to the same differ, as far as is known by now.
    """

    def __init__(
        self,
        ask: Callable[[Coalitions], Floats],
        features: Features,
        seed: int,
        with_covariance: bool = False,
        noise: Unheard = silent,
    ) -> None:
        self._ask, self._d, self._rng, self._noise = ask, len(features), np.random.default_rng(seed), noise
        self._owners = None if features.groups is None else features.groups.owners(len(features))
        self._shared, self._differ = SharedArrivals(len(features)), False
        self._first: Integers | None = None
        self._orders = _orders_of(features)
        d = self._d
        self.nothing, self.everything = ask(np.stack([np.zeros(d, dtype=bool), np.ones(d, dtype=bool)]))
        self._groups = np.zeros((d, 0)) if features.membership is None else features.membership
        rows, m = d + self._groups.shape[1], len(self.nothing)
        self._mean, self._squares = np.zeros((rows, m)), np.zeros((rows, m))
        self._products = np.zeros((m, d, d)) if with_covariance else None
        self.pairs = 0

    @property
    def per_pair(self) -> int:
        """Coalitions that a pair of orders asks for."""
        return 2 * max(self._d - 1, 1)

    @property
    def n(self) -> int:
        return 2 + self.pairs * self.per_pair

    @property
    def coalitions(self) -> int:
        return 2 + self.per_pair if self._d <= 2 else _NEVER

    @property
    def is_complete(self) -> bool:
        """A pair holds all orders of two features."""
        return self._d <= 2 and self.pairs > 0

    def extend(self, n: int) -> None:
        """Pairs until there are n samples in all; a pair is asked whole."""
        self.extend_to(max(0, (n - 2) // self.per_pair))

    def extend_to(self, pairs: int) -> None:
        at_once = max(1, _ROWS_AT_ONCE // self.per_pair)
        while self.pairs < pairs:
            for values in self._drawn(min(at_once, pairs - self.pairs)):
                self._add(values)

    def _drawn(self, count: int) -> Floats:
        """What each feature adds, mean over an order and its reverse: (count, d, m)."""
        d, m = self._d, len(self.nothing)
        orders = self._orders(self._rng, count)
        both = np.stack([orders, orders[:, ::-1]], axis=1).reshape(2 * count, d)
        outputs = np.empty((2 * count, d + 1, m))
        outputs[:, 0], outputs[:, d] = self.nothing, self.everything
        if d > 1:
            outputs[:, 1:d] = self._ask(arrivals(both)).reshape(2 * count, d - 1, m)
        self._note(orders, both)
        added = np.empty((2 * count, d, m))
        np.put_along_axis(added, both[:, :, None], np.diff(outputs, axis=1), axis=1)
        return added.reshape(count, 2, d, m).mean(axis=1)

    def _note(self, orders: Integers, both: Integers) -> None:
        """Whether orders differ, but for their direction; and which answers they share, where these are noisy."""
        forwards = np.where((orders[:, 0] < orders[:, -1])[:, None], orders, orders[:, ::-1])
        self._first = forwards[0] if self._first is None else self._first
        self._differ = self._differ or bool((forwards != self._first).any())
        if self._noise() is not None:
            self._shared.add(both)

    def _add(self, values: Floats) -> None:
        """Welford's recursion: no sum of squares that cancels."""
        value = np.concatenate([values, self._groups.T @ values])
        self.pairs += 1
        step = value - self._mean
        self._mean += step / self.pairs
        rest = value - self._mean
        self._squares += step * rest
        if self._products is not None:
            self._products += np.einsum("im,jm->mij", step[: self._d], rest[: self._d])

    def estimate(self) -> Estimate:
        d = self._d
        stderr = self._with_noise(
            np.stack([self._stderr(squares) for squares in self._squares[:d].T], axis=1), np.arange(d)
        )
        return Estimate(self.n, self._mean[:d].copy(), stderr, lambda i: self._covariance(i, stderr[:, i]))

    def group_stderr(self) -> Floats | None:
        """Of the sums over the groups (g, m), where there are groups."""
        if not self._groups.shape[1]:
            return None
        of_groups = np.stack([self._stderr(squares) for squares in self._squares[self._d :].T], axis=1)
        return of_groups if self._owners is None else self._with_noise(of_groups, self._owners)

    def _stderr(self, squares: Floats) -> Floats:
        """A pair holds all orders of two words; of more words, one and the same order tells nothing of its error."""
        if self._d <= 2:
            return np.zeros(len(squares))
        varied = self._differ or not (self.everything - self.nothing).any()
        return stderr_of_pairs(squares, self.pairs) if varied else np.full(len(squares), np.nan)

    def _with_noise(self, stderr: Floats, owners: Integers) -> Floats:
        """Noise of answers that orders share; that of all others makes the values of orders differ."""
        noise = self._noise()
        if noise is None or not self.pairs:
            return stderr
        if self._d <= 2:  # all coalitions, each asked for once
            per_answer = shapley_shares(self._d)
            if len(stderr) != self._d:
                per_answer = per_answer @ np.eye(len(stderr))[owners]
            return of_answers(per_answer, noise, stderr.shape[1])
        return np.hypot(stderr, noise.stderr(self._shared.beyond_own(owners)))

    def _covariance(self, i: int, stderr: Floats) -> Floats:
        """Correlated as the pairs are, with the standard errors that are stated."""
        if self._products is None:
            raise ValueError("covariances are kept where with_covariance=True asks for them")
        spread = np.sqrt(np.diagonal(self._products[i]))
        scale = np.divide(stderr, spread, out=np.zeros_like(stderr), where=spread > 0.0)
        return self._products[i] * scale[:, None] * scale


def stderr_of_pairs(squares: Floats, pairs: int) -> Floats:
    """From the sums of squared deviations of each word over the pairs, so that ±1.96 of it covers 95 %.

    Few pairs know their own spread badly: most may miss the one order in which a word matters. Each word's variance
    therefore counts the typical deviation of all words as one observation more, and is widened by Student's factor.
    Typical is the mean of standard deviations: the mean of variances belongs to a few strong words and makes the
    intervals of all others too wide (98 % covered with four pairs), the median too narrow where one word rules (91 %).
    """
    typical = np.sqrt(squares / (pairs - 1)).mean() ** 2
    variance = (squares + typical) / pairs
    return np.sqrt(variance / pairs) * student_factor(pairs)


def student_factor(freedom: int) -> float:
    """How much wider Student's 95 % interval is than the normal one."""
    from scipy.special import ndtri, stdtrit  # only sampling needs it, and it takes a tenth of a second to import

    upper = (1.0 + _INSIDE) / 2.0
    return float(stdtrit(freedom, upper) / ndtri(upper))


_Orders = Callable[[np.random.Generator, int], Integers]
"""Draws so many orders of the features: (n, d). One after the other, so that it does not matter how a run is cut."""


def _orders_of(features: Features) -> _Orders:
    """All orders alike; or, with groups, the groups in any order and the features of a group in any order within it.

    The mean over such orders is the Owen value: the values of a group's features add up to the group's own.
    """
    d, groups = len(features), features.groups
    if groups is None:
        return lambda rng, n: rng.permuted(np.broadcast_to(np.arange(d), (n, d)), axis=1)
    owners, count = groups.owners(d), len(groups.members)

    def nested(rng: np.random.Generator, n: int) -> Integers:
        return np.stack([np.argsort(rng.permutation(count)[owners] + rng.random(d)) for _ in range(n)])

    return nested
