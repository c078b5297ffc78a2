"""Noise of answers: a function that answers differently when it is asked the same again.

Its variance is estimated from inputs that were asked for more than once. Residuals of a regression on samples hold the
noise of each answer once. What they do not hold is added: an answer that several samples share moves the weights by all
of them at once; the answer on the document, and all answers where every coalition was asked, are in no residual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.models.counting_game import first_rows
from limelight.statistics.student import widening


@dataclass(frozen=True)
class AnswerNoise:
    """Variances of single answers, known from `freedom` repetitions: by output (m,), sample (n,), or both (n, m)."""

    variance: Floats
    freedom: int

    @property
    def widened(self) -> float:
        """Student's factor: ±1.96 standard errors times it cover 95 %."""
        return float(widening(self.freedom))

    def stderr(self, squares: Floats) -> Floats:
        """Of weights (d,) whose Σ a² over independent answers are `squares`: (d, m)."""
        return np.sqrt(squares[:, None] * self.variance) * self.widened

    def over_rows(self, times: Floats) -> AnswerNoise:
        """`times` (n,) the variance of an answer, for each of n samples: (n, m)."""
        return AnswerNoise(times[:, None] * self.variance, self.freedom)


HowNoisy = Callable[[], AnswerNoise | None]
"""Says how far answers to the same differ; None where they do not."""


def of_answers(per_answer: Floats, noise: AnswerNoise | None, outputs: int) -> Floats:
    """Standard errors (d, outputs) of weights that independent answers move by `per_answer` (n, d), by noise alone."""
    if noise is None:
        return np.zeros((per_answer.shape[1], outputs))
    return noise.stderr((per_answer**2).sum(axis=0))


REPETITIONS = 16
"""Answers that are asked for again once a function was seen to be noisy: Student's factor for them is 1.08."""
_REMEMBERED = 256


class Repeated:
    """Inputs of a run and their answers, some of which are asked for again."""

    def __init__(self) -> None:
        self._kept: list[Coalitions] = []
        self._outputs: list[Floats] = []
        self._noise: AnswerNoise | None = None

    def remember(self, kept: Coalitions, outputs: Floats) -> None:
        """A few different coalitions of these, spread evenly."""
        if sum(map(len, self._kept)) >= _REMEMBERED:
            return
        rows = _evenly(first_rows(kept)[0], REPETITIONS)
        self._kept.append(kept[rows])
        self._outputs.append(outputs[rows])

    def noise(self, again: Callable[[Coalitions, int], Floats]) -> AnswerNoise:
        """The variance of an answer; `again` asks for coalitions once more, for the first, second, … time.

        Inputs that were asked for once give no variance alone: each is asked again, until there are enough.
        """
        if self._noise is None:
            kept, outputs = np.concatenate(self._kept), np.concatenate(self._outputs)
            rows = _evenly(np.sort(first_rows(kept)[0]), REPETITIONS)
            times = -(-REPETITIONS // len(rows))
            answers = np.stack([outputs[rows], *(again(kept[rows], time + 1) for time in range(times))])
            squares = ((answers - answers.mean(axis=0)) ** 2).sum(axis=(0, 1))
            freedom = len(rows) * times
            self._noise = AnswerNoise(squares / freedom, freedom)
        return self._noise


def _evenly(rows: Integers, most: int) -> Integers:
    """At most so many of them."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]


class SharedArrivals:
    """Which answers orders of features share: that on a coalition stands before and after an arrival in each of them.

    In all orders together the answer on a coalition c moves the value of j by as much as there are orders in which j
    arrives at c last (or next, then with the other sign), over the number of orders.
    """

    def __init__(self, d: int) -> None:
        self._d, self._orders = d, list[Integers]()

    def add(self, orders: Integers) -> None:
        """Orders (n, d) that were followed."""
        self._orders.append(orders)

    def beyond_own(self, owners: Integers) -> Floats:
        """Σ a² over answers beyond that of as many independent ones, for each owner of features (d,): (owners,)."""
        orders, d = np.concatenate(self._orders), self._d
        arrives = np.argsort(orders, axis=1)
        there = (arrives[:, None, :] < np.arange(d + 1)[:, None]).reshape(-1, d)
        coalition = first_rows(there)[1].reshape(len(orders), d + 1)
        owned = owners[orders]
        # After k arrivals the last owner gained what the answer says, and the next one starts from it.
        gains = np.concatenate([coalition[:, 1:].ravel(), coalition[:, :-1].ravel()])
        whose, signs = np.tile(owned.ravel(), 2), np.repeat([1.0, -1.0], owned.size)
        inner = owned[:, 1:] == owned[:, :-1]  # within an owner an answer is gained and given at once
        counts = np.ones(2 * owned.size, dtype=bool)
        counts[: owned.size] = ~np.pad(inner, ((0, 0), (0, 1))).ravel()
        counts[owned.size :] = ~np.pad(inner, ((0, 0), (1, 0))).ravel()
        size = int(owners.max()) + 1
        keys, place = np.unique(gains[counts] * size + whose[counts], return_inverse=True)
        net = np.bincount(place, weights=signs[counts], minlength=len(keys))
        squares = np.bincount(keys % size, weights=net**2, minlength=size)
        own = np.bincount(whose[counts], minlength=size)
        return np.maximum(squares - own, 0.0) / len(orders) ** 2


def shared_beyond_own(kept: Coalitions) -> Floats:
    """For each sample (n, d), with how many others it shares its answer: 0 where it is the only one of its coalition.

    With n samples of one coalition, each moving a weight by a, the answer moves it by n a: (n a)² is n a² of the
    residuals, and n (n - 1) a² beside.
    """
    which: Integers = first_rows(kept)[1]
    return (np.bincount(which)[which] - 1).astype(np.float64)


def signless(kept: Coalitions) -> Coalitions:
    """Of each coalition and its complement the one that keeps the first feature: both are the same pair."""
    return np.where(kept[:, :1], kept, ~kept)
