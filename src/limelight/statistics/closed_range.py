"""Which methods differ: one test for all pairs, by the range of sums over sets of methods, under flipped signs.

x_ki is what method k gains on text i. For a set S of methods the statistic is the range of Σ_i x_ki over S, and p_S the
share of signs (`limelight.statistics.sign_flips`) under which it reaches the one that was seen. With K methods in all,
the adjusted p-value of a pair is the largest of

    p_S · K / |S|     (p_S where |S| >= K - 1)

over all sets S that hold both. A claim about two equally good methods, both in a class C of equals, then needs
p_C <= α |C| / K. Classes share no method, so the chance of any such claim is at most α Σ |C| / K <= α (a class that
leaves no two others gets all of α). It needs a text's differences to be as likely as their opposites, within each
class: real texts are not quite like that, and `benchmarks/evaluation_claims.py` measures what it costs.

A range is that of a pair, so a set is reached under a sign unless all of it fits between two values that are closer
than the range that was seen. Methods in the order of their sums under that sign, from each one as far as fits, are
such windows. A set lies in c windows that follow each other and in c - 1 of the parts they share. So adding 1 for each
window, taking 1 off for each shared part, and summing over all that hold a set, counts the signs that do not reach it:
for all sets at once, and exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limelight.core.arrays import Array, Floats
from limelight.statistics.sign_flips import FLIPS, flipped_sums

MOST_ENUMERATED = 20
"""Methods up to which all sets are looked at. For more, those of a longer stretch get the bound of its ends,
p_stretch · K / 2, which no set between them exceeds: the level holds, and fewer pairs are told apart."""
TIE = 1e-9
"""As a part of all that the methods gain and lose: rounding."""


def adjusted_pairs(
    tables: Sequence[Floats],
    seed: int = 0,
    flips: int = FLIPS,
    *,
    most: int = MOST_ENUMERATED,
    exact_up_to: float = 1.0,
) -> list[Floats]:
    """Adjusted p-values (K, K) of all pairs of each table (texts, K) of methods, right together with one α.

    Pairs of different tables are not compared. Two methods that gain the same on every text have 1. A p-value above
    `exact_up_to` may be larger than what is given: whoever asks for claims at 5 % need not wait for it.
    """
    total = sum(values.shape[1] for values in tables)
    sums = flipped_sums(np.concatenate(tables, axis=1), seed, flips, halves=True)
    tie = TIE * max((float(np.abs(values).sum(axis=0).max(initial=0.0)) for values in tables), default=0.0)
    found, start = [], 0
    for values in tables:
        own = sums[:, start : start + values.shape[1]]
        start += values.shape[1]
        found.append(_of_table(own, total, tie, most, exact_up_to))
    return found


def factor(size: int, total: int) -> float:
    """What a set of so many methods pays for there being others."""
    return 1.0 if size >= total - 1 else total / size


def _of_table(sums: Floats, total: int, tie: float, most: int, exact_up_to: float) -> Floats:
    """From the sums of each method under each sign (flips, K), the first row as seen."""
    methods = sums.shape[1]
    order = np.argsort(-sums[0], kind="stable")
    ranked = np.ascontiguousarray(sums[:, order].T)
    stretches = _stretches(ranked, tie)
    p = np.eye(methods)
    for length in range(methods, 1, -1):  # the widest first: what they say may leave nothing to say to the others
        for u in range(methods - length + 1):
            own = slice(u, u + length)
            known, share = p[own, own], stretches[u, u + length - 1]
            np.maximum(known, share * factor(length, total), out=known)
            least = float(known.min())
            if length == 2 or least > exact_up_to or least >= min(1.0, share * factor(2, total)):
                continue
            if length > most:
                np.maximum(known, share * factor(2, total), out=known)
            else:
                np.maximum(known, _of_sets(ranked[own].T, total, tie), out=known)
    back = np.empty_like(p)
    back[np.ix_(order, order)] = np.minimum(p, 1.0)
    return back


def _stretches(ranked: Floats, tie: float) -> Floats:
    """p_S of the methods u to v in the order of what they gained, for each u < v."""
    methods = len(ranked)
    found = np.ones((methods, methods))
    for u in range(methods):
        low, high = ranked[u].copy(), ranked[u].copy()
        for v in range(u + 1, methods):
            np.minimum(low, ranked[v], out=low)
            np.maximum(high, ranked[v], out=high)
            found[u, v] = (high - low >= ranked[u, 0] - ranked[v, 0] - tie).mean()
    return found


def _of_sets(sums: Floats, total: int, tie: float) -> Floats:
    """The largest adjusted p over sets with the first and the last of these methods, for each pair that they hold."""
    methods = sums.shape[1]
    seen = sums[0, 0] - sums[0, -1] - tie  # a range that reaches what was seen, less rounding, is as wide
    reached = sums.max(axis=1) - sums.min(axis=1) >= seen
    by_ends = np.abs(sums[:, 0] - sums[:, -1]) >= seen
    between, fits = 2 ** (methods - 2), np.zeros(2 ** (methods - 2))
    rows = np.ascontiguousarray(sums[reached & ~by_ends])
    if len(rows):
        masks, weights = _windows(rows, seen)
        fits = _over_supersets(np.bincount(masks, weights, minlength=between).astype(np.float64), methods - 2)
    chances = (by_ends.sum() + len(rows) - fits) / len(sums)
    sizes = 2 + np.array([m.bit_count() for m in range(between)])
    factors = np.array([factor(max(size, 1), total) for size in range(methods + 1)])
    return _largest_with(chances * factors[sizes], methods)


def _windows(rows: Floats, seen: float) -> tuple[Array, Array]:
    """Sets of the methods between the ends, as bits, that stay within the range together with both ends."""
    methods = rows.shape[1]
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    bits = np.int64(1) << order.astype(np.int64)
    until = np.concatenate([np.zeros((len(rows), 1), dtype=np.int64), np.cumsum(bits, axis=1)], axis=1)
    # How many methods lie below each one's value + seen: the window from method i holds places i .. last - 1.
    last = (ordered[:, None, :] < ordered[:, :, None] + seen).sum(axis=2)
    end = np.take_along_axis(until, last, axis=1)
    window, shared = end - until[:, :-1], end[:, :-1] - until[:, 1:-1]
    masks = np.concatenate([window.ravel(), shared.ravel()])
    weights = np.concatenate([np.ones(window.size), -np.ones(shared.size)])
    ends = 1 | 1 << (methods - 1)
    holds = masks & ends == ends
    return masks[holds] >> 1 & (2 ** (methods - 2) - 1), weights[holds]


def _over_supersets(counts: Floats, bits: int) -> Floats:
    """For each set the sum over all sets that hold it."""
    sums = counts.copy()
    for bit in range(bits):
        halves = sums.reshape(-1, 2, 2**bit)
        halves[:, 0] += halves[:, 1]
    return sums


def _largest_with(values: Floats, methods: int) -> Floats:
    """For each pair of a stretch the largest value of a set that holds both, with the stretch's two ends in all."""
    bits = methods - 2
    largest = np.full((methods, methods), float(values.max()))
    shaped = values.reshape((2,) * bits)  # the last axis is the first bit
    for a in range(bits):
        with_a = np.take(shaped, 1, axis=bits - 1 - a)
        place = a + 1
        for end in (0, methods - 1):
            largest[place, end] = largest[end, place] = with_a.max()
        for b in range(a):
            both = with_a.take(1, axis=bits - 2 - b)
            largest[place, b + 1] = largest[b + 1, place] = both.max()
    return largest
