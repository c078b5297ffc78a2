"""Shapley values by sampling, for models of which nothing is known: paired permutations.

A word's value is what it adds when words arrive one by one in random order, on average over all orders. Each order is
followed forwards and backwards: what is nearly additive cancels between the two (antithetic sampling). Within an order
the parts add up to f(text) - f(nothing), so the values do too, exactly and whatever was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from limelight.errors import NumericalError, ParameterError
from limelight.explainers.method import Floats, Outcome, Request, method
from limelight.theory.ratio_game import Coalitions

Integers = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 8192
"""Coalitions asked for at once: bounds the memory for any number of permutations."""
_LEAST_PAIRS = 4
_TWO_SIGMA = 1.959963984540054


@method(
    "shapley",
    label="Shapley",
    summary="Shapley values from pairs of random orders: they sum to f(text) - f(everything removed)",
    needs=("perturbation",),
    exact=False,
    uses=("removal", "output", "seed"),
    otherwise=True,
)
def sampled_shapley(request: Request, *, n_samples: int = 5000, n_permutations: int | None = None) -> Outcome:
    """`n_samples`: texts that the model is asked about, about; `n_permutations`, where given, decides instead."""
    d = len(request.features)
    pairs = _pairs(d, n_samples, n_permutations)
    game, rng = request.game(), np.random.default_rng(request.seed)
    nothing, everything = game(np.stack([np.zeros(d, dtype=bool), np.ones(d, dtype=bool)]))
    mean, squares, done = np.zeros(d), np.zeros(d), 0
    for block in paired_values(game, d, pairs, rng, float(nothing), float(everything)):
        for value in block:  # Welford's recursion: no sum of squares that cancels
            done += 1
            step = value - mean
            mean += step / done
            squares += step * (value - mean)
    if not np.isfinite(mean).all():
        raise NumericalError("the model gave outputs that are not finite: check its weights")
    return Outcome(
        mean,
        np.zeros(d) if d <= 2 else _stderr(squares, pairs),  # a pair holds all orders of two words
        {
            "estimator": "paired permutations",
            "permutations": 2 * pairs,
            "intercept": float(nothing),
            "model_prediction": float(everything),
        },
    )


def _stderr(squares: Floats, pairs: int) -> Floats:
    """From the sums of squared deviations of each word over the pairs, so that ±1.96 of it covers 95 %.

    Few pairs know their own spread badly: most may miss the one order in which a word matters. Each word's variance
    therefore counts the typical deviation of all words as one observation more, and is widened by Student's factor.
    Typical is the mean of standard deviations: the mean of variances belongs to a few strong words and makes the
    intervals of all others too wide (98 % covered with four pairs), the median too narrow where one word rules (91 %).
    """
    typical = np.sqrt(squares / (pairs - 1)).mean() ** 2
    variance = (squares + typical) / pairs
    return np.sqrt(variance / pairs) * student_factor(pairs)


def _pairs(d: int, n_samples: int, n_permutations: int | None) -> int:
    for name, value, least in (("n_samples", n_samples, 2), ("n_permutations", n_permutations, 2)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least):
            raise ParameterError(f"{name} must be a whole number of at least {least}: got {value!r}")
    if n_permutations is not None:
        return max(2, math.ceil(n_permutations / 2))
    return max(_LEAST_PAIRS, round(n_samples / (2 * max(d - 1, 1))))


def paired_values(
    game: Callable[[Coalitions], Floats],
    d: int,
    pairs: int,
    rng: np.random.Generator,
    nothing: float,
    everything: float,
) -> Iterator[Floats]:
    """What each feature adds, mean over an order and its reverse: (pairs of a block, d), block by block."""
    per_pair = 2 * max(d - 1, 1)
    at_once = max(1, _ROWS_AT_ONCE // per_pair)
    for start in range(0, pairs, at_once):
        count = min(at_once, pairs - start)
        orders = rng.permuted(np.broadcast_to(np.arange(d), (count, d)), axis=1)
        both = np.stack([orders, orders[:, ::-1]], axis=1).reshape(2 * count, d)
        outputs = np.empty((2 * count, d + 1))
        outputs[:, 0], outputs[:, d] = nothing, everything
        if d > 1:
            outputs[:, 1:d] = game(arrivals(both)).reshape(2 * count, d - 1)
        added = np.empty((2 * count, d))
        np.put_along_axis(added, both, np.diff(outputs, axis=1), axis=1)
        yield added.reshape(count, 2, d).mean(axis=1)


def arrivals(orders: Integers) -> Coalitions:
    """For each order, what is there after 1, …, d - 1 arrivals: (orders · (d - 1), d)."""
    n, d = orders.shape
    arrives = np.empty((n, d), dtype=np.int64)
    np.put_along_axis(arrives, orders, np.broadcast_to(np.arange(d), (n, d)), axis=1)
    there: Coalitions = arrives[:, None, :] < np.arange(1, d)[None, :, None]
    return there.reshape(n * (d - 1), d)


def student_factor(freedom: int) -> float:
    """How much wider Student's 95 % interval is than the normal one."""
    if freedom > 1000:
        return 1.0
    low, high = 0.0, 1e3
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_inside(middle, freedom) < 0.95 else (low, middle)
    return high / _TWO_SIGMA


def _student_inside(t: float, freedom: int) -> float:
    """P(|T| < t) for Student's T (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
    theta = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2 == 1
    term = total = cosine if odd else 1.0
    if freedom == 1:
        total = 0.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (theta + sine * total) if odd else sine * total
