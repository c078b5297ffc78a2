"""Shapley values from samples: a regression on pairs of complementary coalitions, or random permutations.

**Pairs.** Half the difference of a model's outputs on a coalition and on its complement, o(x), is a sample of the
game's odd part, which is all that Shapley values see. They minimise Σ w_s (o(x) - φ·x/2)² over all coalitions,
w_s = 1 / (s (d - s)), among all φ that add up to f(text) - f(nothing): a weighted regression on signs. A coalition of
size s tells values apart in proportion to s (d - s), so sizes drawn in proportion to the root of w_s, with that root as
their weight in the regression, have the smallest variance where residuals are alike. Where enough pairs are there, the
regression has columns for more than sums of words (`control_variates`). Up to a dozen features all coalitions are
asked, and nothing is left to chance.

**Permutations.** A feature's Shapley value is what it adds when features arrive one by one in random order, on average
over all permutations. What is nearly additive cancels between a permutation and its reverse (antithetic sampling).
Within a permutation the parts add up to f(text) - f(nothing), so the values do too, exactly and whatever was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.core.threads import one_thread
from limelight.explainers.sampling.control_variates import OddColumns, tells_bend
from limelight.explainers.sampling.designs import Sequence, all_coalitions, arrivals
from limelight.explainers.sampling.nondeterminism import (
    AnswerNoise,
    HowNoisy,
    SharedArrivals,
    of_answers,
    shared_beyond_own,
    signless,
)
from limelight.explainers.sampling.regression import augmented_fit
from limelight.explainers.sampling.sampler import Ask, Estimate, Sampler
from limelight.explainers.sampling.standard_errors import ALL_DETERMINED, DECIDES, Moves, few, with_stderr
from limelight.inputs.features import Features
from limelight.theory.control_games import size_weights

_PER_WORD = 5
"""Samples per word from which residuals of pairs tell how far values are off (benchmarks/stress_settings.py)."""
_ROWS_AT_ONCE = 8192
"""Coalitions asked for at once: bounds the memory for any number of permutations."""
_NEVER = 2**62
"""Samples that nobody asks for: permutations are drawn again and again, and never all of them."""
_INSIDE = 0.95
"""Coverage of an interval of ±1.96 standard errors."""


class ShapleySampler(Sampler):
    """Sampler of Shapley values; two of its samples are the text and nothing of it."""

    def __init__(self, ask: Ask, d: int, noise: HowNoisy = lambda: None) -> None:
        super().__init__(ask, d, noise)
        self.nothing, self.everything = ask(np.stack([np.zeros(d, dtype=bool), np.ones(d, dtype=bool)]))


class PairedShapley(ShapleySampler):
    """Shapley values of m outputs from pairs of complementary coalitions."""

    def __init__(self, ask: Ask, d: int, seed: int, noise: HowNoisy = lambda: None) -> None:
        super().__init__(ask, d, noise)
        self._draws = Sequence(np.concatenate([[0.0], np.sqrt(size_weights(d)), [0.0]]), seed) if d > 1 else None
        self._kept = np.zeros((0, d), dtype=bool)
        self._odd = np.zeros((0, len(self.nothing)))
        self._between: Floats | None = None

    @property
    def n(self) -> int:
        return self.coalitions if self._between is not None else 2 + 2 * len(self._kept)

    @property
    def is_complete(self) -> bool:
        return self._between is not None or self._d == 1

    def extend(self, n: int) -> None:
        """Draw pairs until there are n samples in all; ask for every coalition once n reaches their number."""
        if self.is_complete:
            return
        if self.coalitions <= n:
            self._between = self._ask(all_coalitions(self._d)[1:-1])
            return
        assert self._draws is not None
        kept = self._draws.rows(len(self._kept), max((n - 2) // 2, len(self._kept)))
        if len(kept):
            outputs = self._ask(np.stack([kept, ~kept], axis=1).reshape(2 * len(kept), self._d))
            self._kept = np.concatenate([self._kept, kept])
            self._odd = np.concatenate([self._odd, (outputs[0::2] - outputs[1::2]) / 2.0])

    def estimate(self, groups: Floats | None = None) -> Estimate:
        m, noise = len(self.nothing), self._noise()
        if self.is_complete:
            per_answer = per_answer_of_shapley(self._d)
            between = np.zeros((0, m)) if self._between is None else self._between
            answers = np.concatenate([self.nothing[None], between, self.everything[None]])
            return Estimate.of_all_answers(self.n, per_answer.T @ answers, per_answer, noise)
        with one_thread():
            regression = SignRegression(self._kept)
            values, stderr, moves = zip(*(self._output(regression, i, noise) for i in range(m)), strict=True)
        of_all = np.stack(stderr, axis=1)
        return Estimate(
            self.n,
            np.stack(values, axis=1),
            of_all,
            lambda i: with_stderr(moves[i].covariance(), of_all[:, i]),
            freedom=few(np.stack([move.effective for move in moves], axis=1)),
        )

    def _output(self, regression: SignRegression, i: int, noise: AnswerNoise | None) -> tuple[Floats, Floats, Moves]:
        """Values of an output, their standard errors, and how each pair moves them."""
        odd, total = self._odd[:, i], float(self.everything[i] - self.nothing[i])
        doubt = None
        if noise is not None:  # an odd part is half a difference of two answers
            variances = shared_beyond_own(signless(self._kept)) * float(noise.variance[i]) / 2.0
            doubt = AnswerNoise(variances, noise.freedom)
        columns = None
        if tells_bend(len(odd), self._d):
            columns = OddColumns.guessed(regression.x, odd, regression.weights)
        if columns is not None:
            values_of, x = columns.values().T, columns.of(regression.x)
            fit = augmented_fit(x, odd, regression.weights, lambda u: values_of.astype(u.dtype) @ u, self._d, doubt)
            values, moves, of_total = fit.values + total / self._d, fit.moves, np.full(self._d, 1.0 / self._d)
        else:
            values, moves = regression.fitted(odd, total, doubt)
            of_total = regression.of_total
        stderr = moves.stderr()
        if noise is not None:
            stderr = np.hypot(stderr, noise.stderr(2.0 * of_total**2)[:, i])
        if not odd.size or odd.any() or total != 0.0:  # no interval where pairs do not determine a value
            known = regression.determined & (2 * len(odd) >= _PER_WORD * self._d)
            stderr = np.where(known, stderr, np.nan)
        return values, stderr, moves


def per_answer_of_shapley(d: int) -> Floats:
    """How far the answer on each of all coalitions moves each Shapley value, by the definition: (2^d, d).

    What j adds to a coalition of k others has the weight 1 / (d C(d-1, k)).
    """
    kept = all_coalitions(d)
    size = kept.sum(axis=1)
    weight = np.array([1.0 / (d * math.comb(d - 1, k)) for k in range(d)])
    with_j, without_j = weight[np.maximum(size - 1, 0)], weight[np.minimum(size, d - 1)]
    return np.where(kept, with_j[:, None], -without_j[:, None])


class SignRegression:
    """Regressions of odd parts on the same signs: φ·x/2 with a given sum of φ, and errors that assume nothing.

    A row x of signs without its mean is all that tells values apart, once their sum is given.
    """

    def __init__(self, kept: Coalitions) -> None:
        d = kept.shape[1]
        self.x: Floats = np.where(kept, 1.0, -1.0)
        weights = np.sqrt(size_weights(d))[d - kept.sum(axis=1) - 1]
        self.weights = weights / (weights.mean() if len(weights) else 1.0)
        self._mean = self.x.mean(axis=1)
        self._apart = (self.x - self._mean[:, None]) / 2.0
        H = (self._apart * self.weights[:, None]).T @ self._apart
        # Along (1, …, 1) there is nothing to find; directions that no pair tells anything of are left at 0.
        whole = H + float(np.trace(H)) / d / d
        self._inverse = np.linalg.pinv(whole, hermitian=True)
        self.determined = np.einsum("ij,ji->i", self._inverse, whole) > ALL_DETERMINED
        self._influence = self._apart @ self._inverse
        self._left = 1.0 - self.weights * np.einsum("nj,nj->n", self._influence, self._apart)

    @property
    def of_total(self) -> Floats:
        """How far the sum of all values moves each of them: (d,)."""
        moved: Floats = self._influence.T @ (self.weights * self._mean) / 2.0
        return 1.0 / len(moved) - (moved - moved.mean())

    def fitted(self, odd: Floats, total: float, noise: AnswerNoise | None = None) -> tuple[Floats, Moves]:
        """φ (d,), which adds up to `total`, and how each pair moves it; `noise`: see `Moves`."""
        d = self.x.shape[1]
        y = odd - total / d * (d * self._mean) / 2.0
        psi = self._inverse @ (self._apart.T @ (self.weights * y))
        psi -= psi.mean()
        off = (y - self._apart @ psi) / np.maximum(self._left, DECIDES)
        per_unit = (self._influence * self.weights[:, None]).astype(np.float32)
        return psi + total / d, Moves(per_unit, off, self._left < DECIDES, noise)


class PermutedShapley(ShapleySampler):
    """Shapley values of m outputs from pairs of permutations; with groups of features, Owen values.

    `with_covariance`: how weights vary together is kept too.
    """

    def __init__(
        self, ask: Ask, features: Features, seed: int, with_covariance: bool = False, noise: HowNoisy = lambda: None
    ) -> None:
        d = len(features)
        super().__init__(ask, d, noise)
        self._rng = np.random.default_rng(seed)
        self._owners = None if features.groups is None else features.groups.owners(d)
        self._shared, self._differ = SharedArrivals(d), False
        self._first: Integers | None = None
        self._permutations = permutations_of(features)
        self._groups = np.zeros((d, 0)) if features.membership is None else features.membership
        rows, m = d + self._groups.shape[1], len(self.nothing)
        self._mean, self._squares = np.zeros((rows, m)), np.zeros((rows, m))
        self._products = np.zeros((m, d, d)) if with_covariance else None
        self.pairs = 0

    @property
    def per_pair(self) -> int:
        """Coalitions that a pair of permutations asks for."""
        return 2 * max(self._d - 1, 1)

    @property
    def n(self) -> int:
        return 2 + self.pairs * self.per_pair

    @property
    def coalitions(self) -> int:
        return 2 + self.per_pair if self._d <= 2 else _NEVER

    @property
    def is_complete(self) -> bool:
        """Whether a pair was drawn that holds all permutations, those of two features."""
        return self._d <= 2 and self.pairs > 0

    def extend(self, n: int) -> None:
        """Draw pairs until there are n samples in all; a pair is asked whole."""
        pairs, at_once = max(0, (n - 2) // self.per_pair), max(1, _ROWS_AT_ONCE // self.per_pair)
        while self.pairs < pairs:
            for values in self._drawn(min(at_once, pairs - self.pairs)):
                self._add(values)

    def _drawn(self, count: int) -> Floats:
        """Values of pairs: what each feature adds, mean over a permutation and its reverse, (count, d, m)."""
        d, m = self._d, len(self.nothing)
        forwards = self._permutations(self._rng, count)
        both = np.stack([forwards, forwards[:, ::-1]], axis=1).reshape(2 * count, d)
        outputs = np.empty((2 * count, d + 1, m))
        outputs[:, 0], outputs[:, d] = self.nothing, self.everything
        if d > 1:
            outputs[:, 1:d] = self._ask(arrivals(both)).reshape(2 * count, d - 1, m)
        # Whether permutations differ, but for their direction; and which answers they share, where these are noisy.
        directed = np.where((forwards[:, 0] < forwards[:, -1])[:, None], forwards, forwards[:, ::-1])
        self._first = directed[0] if self._first is None else self._first
        self._differ = self._differ or bool((directed != self._first).any())
        if self._noise() is not None:
            self._shared.add(both)
        added = np.empty((2 * count, d, m))
        np.put_along_axis(added, both[:, :, None], np.diff(outputs, axis=1), axis=1)
        return added.reshape(count, 2, d, m).mean(axis=1)

    def _add(self, values: Floats) -> None:
        """Add a pair by Welford's recursion: no sum of squares that cancels."""
        value = np.concatenate([values, self._groups.T @ values])
        self.pairs += 1
        step = value - self._mean
        self._mean += step / self.pairs
        rest = value - self._mean
        self._squares += step * rest
        if self._products is not None:
            self._products += np.einsum("im,jm->mij", step[: self._d], rest[: self._d])

    def estimate(self, groups: Floats | None = None) -> Estimate:
        """Estimate from the pairs so far; its groups are those of the features."""
        d = self._d
        stderr = self._stderr(self._squares[:d], np.arange(d))
        return Estimate(
            self.n,
            self._mean[:d].copy(),
            stderr,
            lambda i: self._covariance(i, stderr[:, i]),
            freedom=self.pairs,
            group_stderr=None if self._owners is None else self._stderr(self._squares[d:], self._owners),
        )

    def _stderr(self, squares: Floats, owners: Integers) -> Floats:
        """Standard errors (r, m) of sums over the features of each owner, from squared deviations (r, m).

        A pair holds all permutations of two words; of more words, a single permutation tells nothing of its error.
        Noise of answers that permutations share is added; that of all others makes the values of permutations differ.
        """
        noise, m = self._noise(), squares.shape[1]
        if self._d <= 2:  # all coalitions, each asked for once
            if noise is None or not self.pairs:
                return np.zeros(squares.shape)
            per_answer = per_answer_of_shapley(self._d)
            if len(squares) != self._d:
                per_answer = per_answer @ np.eye(len(squares))[owners]
            return of_answers(per_answer, noise, m)
        varied = self._differ or not (self.everything - self.nothing).any()
        stderr = np.full(squares.shape, np.nan)
        if varied:
            stderr = np.stack([stderr_of_pairs(own, self.pairs) for own in squares.T], axis=1)
        if noise is None or not self.pairs:
            return stderr
        return np.hypot(stderr, noise.stderr(self._shared.beyond_own(owners)))

    def _covariance(self, i: int, stderr: Floats) -> Floats:
        """Covariance (d, d) with the correlations of the pairs and the standard errors that are stated."""
        if self._products is None:
            raise ValueError("covariances are kept where with_covariance=True asks for them")
        spread = np.sqrt(np.diagonal(self._products[i]))
        scale = np.divide(stderr, spread, out=np.zeros_like(stderr), where=spread > 0.0)
        return self._products[i] * scale[:, None] * scale


def stderr_of_pairs(squares: Floats, pairs: int) -> Floats:
    """Standard errors from each word's sum of squared deviations over the pairs, so that ±1.96 of them covers 95 %.

    Few pairs know their own spread badly: most may miss the one permutation in which a word matters. Each word's
    variance therefore counts the typical deviation of all words as one observation more, and is widened by Student's
    factor. Typical is the mean of standard deviations: the mean of variances belongs to a few strong words and makes
    the intervals of all others too wide (98 % covered with four pairs), the median too narrow where one word rules
    (91 %).
    """
    typical = np.sqrt(squares / (pairs - 1)).mean() ** 2
    variance = (squares + typical) / pairs
    return np.sqrt(variance / pairs) * student_factor(pairs)


def student_factor(freedom: int) -> float:
    """How much wider Student's 95 % interval is than the normal one."""
    from scipy.special import ndtri, stdtrit  # only sampling needs it, and it takes a tenth of a second to import

    upper = (1.0 + _INSIDE) / 2.0
    return float(stdtrit(freedom, upper) / ndtri(upper))


def permutations_of(features: Features) -> Callable[[np.random.Generator, int], Integers]:
    """Function that draws n permutations of the features, (n, d), one after the other however a run is cut.

    All permutations are alike; with groups, the groups come in any order and the features of a group in any order
    within it. The mean over these is the Owen value: the values of a group's features add up to the group's own.
    """
    d, groups = len(features), features.groups
    if groups is None:
        return lambda rng, n: rng.permuted(np.broadcast_to(np.arange(d), (n, d)), axis=1)
    owners, count = groups.owners(d), len(groups.members)

    def nested(rng: np.random.Generator, n: int) -> Integers:
        return np.stack([np.argsort(rng.permutation(count)[owners] + rng.random(d)) for _ in range(n)])

    return nested
