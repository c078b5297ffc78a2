"""Signs for texts: the one kind of chance that tests and intervals of an evaluation rest on.

If a difference is nothing but chance, each text might as well have said the opposite. So every text gets a sign, the
same for all methods, and what was seen is held against what is seen under other signs. All 2^N signs are taken for few
texts, and 10,000 drawn ones otherwise, with what was seen among them, so that a share of them is never 0.

The same signs give an interval. "The ratio Σu / Σd is c" says that u - c d is 0 in the mean, and the flipped sum of
u - c d reaches the one that was seen exactly where c is at least the ratio over the texts whose sign is turned. The
values of c that are not rejected therefore lie between two order statistics of ratios over sets of texts (Hartigan
1969). Fewer than six texts hold no value off with 95 %, so they give no interval.

Means of many numbers at once have such intervals too: for description, not for decisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from limelight.core.arrays import Floats, Integers, whole_number

FLIPS = 10_000
"""Signs that are drawn: a p-value of 5 % is then known to ± 0.4 points."""
ALL_UP_TO = 13
"""Texts for which every sign is taken: 2^13 are fewer than would be drawn."""
_NUMBERS_AT_ONCE = 2_000_000


def flipped_sums(values: Floats, seed: int = 0, flips: int = FLIPS, *, halves: bool = False) -> Floats:
    """Sums over texts of each column (texts, m) under each sign: (flips, m). The first row is what was seen.

    `halves`: of a sign and its opposite only one, for what is the same under both.
    """
    total = values.sum(axis=0)
    return np.concatenate([total - 2.0 * (turned @ values) for turned in _turned(len(values), seed, flips, halves)])


def turned_sums(values: Floats, seed: int = 0, flips: int = FLIPS) -> Floats:
    """Sums of each column over the texts whose sign is turned: (flips, m). The first row is of no text, and 0."""
    return np.concatenate([turned @ values for turned in _turned(len(values), seed, flips, False)])


def _turned(texts: int, seed: int, flips: int, halves: bool) -> Iterator[Floats]:
    """Blocks of rows: 1 for a text whose sign is turned, 0 for the others. The first row turns none."""
    whole_number("seed", seed, 0)
    whole_number("flips", flips, 100)
    if texts <= ALL_UP_TO:
        free = max(texts - halves, 0)
        turned = np.zeros((2**free, texts))
        turned[:, texts - free :] = np.arange(2**free)[:, None] >> np.arange(free)[None] & 1
        yield turned
        return
    rng = np.random.default_rng([seed, texts])
    at_once = max(1, _NUMBERS_AT_ONCE // texts)
    for start in range(0, flips, at_once):
        rows = min(at_once, flips - start)
        turned = np.unpackbits(rng.integers(0, 256, (rows, -(-texts // 8)), dtype=np.uint8), axis=1, count=texts)
        if not start:
            turned[0] = 0
        yield turned.astype(np.float64)


def ends(
    numerators: Floats, denominators: Floats, level: float, seed: int = 0, flips: int = FLIPS
) -> tuple[Floats, Floats]:
    """The interval of Σ numerators / Σ denominators for each column (texts, m); NaN where too few texts give none.

    A text that a column has no value of has a denominator of 0 there.
    """
    columns = numerators.shape[1]
    low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    sums = turned_sums(np.concatenate([numerators, denominators], axis=1), seed, flips)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.sort(np.where(sums[:, columns:] > 0.0, sums[:, :columns] / sums[:, columns:], np.nan), axis=0)
    known, texts = np.isfinite(ratios).sum(axis=0), (denominators > 0.0).sum(axis=0)
    for j in range(columns):
        place = _place(len(ratios), int(known[j]), int(texts[j]), level)
        if place:  # sets of no text have no ratio, and are sorted to the end
            low[j], high[j] = ratios[place - 1, j], ratios[known[j] - place, j]
    return low, high


def _place(flips: int, known: int, texts: int, level: float) -> int:
    """Which of the known ratios, counted from either side, is an end; 0 for none.

    A value is rejected where the sets whose ratio lies beyond it, with those of no text, are at most so many.
    """
    beyond = (1.0 - level) / 2.0
    if not texts or 0.5**texts > beyond:
        return 0
    return max(math.floor(flips * beyond + 1e-9) - (flips - known) + 1, 0)


# ── means of many numbers ─────────────────────────────────────────────────────────────────────────────────────────────


LEVEL = 0.95
_FEWER_FLIPS = 2000
"""Fewer than decisions rest on: these means are descriptive."""
_COLUMNS_AT_ONCE = 256
_RESAMPLES = 1000
_RESAMPLES_AT_ONCE = 50


def many_means(values: Floats, same: Integers | None = None) -> tuple[Floats, Floats, Floats]:
    """Mean, low and high end of each column (N, m), from flipped signs; documents without a value (NaN) are left out.

    The ends are NaN where fewer than six documents have a value. `same` (N,): equal for copies of one document, which
    count as one of several values.
    """
    known = np.isfinite(values)
    sums, counts = (summed_copies(own, same) for own in (np.where(known, values, 0.0), known.astype(np.float64)))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums.sum(axis=0) / counts.sum(axis=0)
    low, high = np.full(len(mean), np.nan), np.full(len(mean), np.nan)
    if len(values):
        for i in range(0, values.shape[1], _COLUMNS_AT_ONCE):
            own = slice(i, i + _COLUMNS_AT_ONCE)
            low[own], high[own] = ends(sums[:, own], counts[:, own], LEVEL, flips=_FEWER_FLIPS)
    return mean, low, high


def summed_copies(values: Floats, same: Integers | None) -> Floats:
    """Sums over the copies of each document, in the order in which documents first come: (documents, ...)."""
    if same is None:
        return values
    first, place = np.unique(same, return_inverse=True)
    sums = np.zeros((len(first), *values.shape[1:]))
    np.add.at(sums, place, values)
    return sums


def bootstrap_mean(values: Floats, seed: int) -> tuple[Floats, Floats, Floats]:
    """Mean over documents of each column (n, m), and its interval from resampled documents; NaNs are left out."""
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    rng, n = np.random.default_rng(seed), len(values)
    means = []
    for start in range(0, _RESAMPLES, _RESAMPLES_AT_ONCE):
        size = min(_RESAMPLES_AT_ONCE, _RESAMPLES - start)
        counts = rng.multinomial(n, np.full(n, 1.0 / n), size=size).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            means.append((counts @ filled) / (counts @ known))
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = filled.sum(axis=0) / known.sum(axis=0)
    edge = (1.0 - LEVEL) / 2.0
    low, high = np.nanquantile(np.concatenate(means), [edge, 1.0 - edge], axis=0)
    return centre, low, high


def mean_and_spread(values: Floats) -> dict[str, float]:
    """As the paper reports: mean and standard deviation over documents; and quartiles."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return {
        "mean": float(values.mean()),
        "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        "quartile_1": float(low),
        "median": float(middle),
        "quartile_3": float(high),
        "largest": float(values.max()),
    }
