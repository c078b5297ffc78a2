"""How far methods disagree about a text, beyond what sampling explains.

The weights of a method divided by the sum of their absolute values are fractions a_j, with the signs of the weights.
Two methods disagree by half of Σ |a_j - b_j|: 0 where they are proportional, 1 where they name different words, or the
same with opposite signs. Where one of them gives no signs, those of the other do not count.

Errors of the weights make two methods look apart. A vector w with errors e has fractions that are off by no more than
2 Σ |e_j| / Σ |w_j| together, so the methods disagree by at least what was seen less Σ |e_j| / Σ |w_j| of each; for
normal errors Σ |e_j| is below sqrt(2/π) Σ s_j + 1.96 sqrt((1 - 2/π) Σ s_j²) in 97.5 % of cases where they are
independent, and bounds are added as they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from limelight.core.arrays import Floats
from limelight.corpus.analysis.flat_rows import Flat, Plain, lines_of
from limelight.corpus.analysis.means import FOLDED_NORMAL, Sums, Values
from limelight.corpus.store.schema import Layout
from limelight.explanation.significance import INTERVAL

_SPREAD = math.sqrt(1.0 - 2.0 / math.pi)
"""The standard deviation of the absolute value of a normal error, in standard errors."""
Disagreement = tuple[float, float, int]
"""Of two methods about one text: what was seen, the least that is left when errors are allowed for, and the number of
the pair."""
NOT_COMPARED: Disagreement = (math.nan, math.nan, -1)


@dataclass(frozen=True)
class PairOfMethods(Plain):
    """Two methods over all texts: their mean disagreement from `low` to `high`, the mean of `at_least`, and the texts
    in which a word is significant for both with opposite signs; None where one of them gives no signs."""

    methods: tuple[str, str]
    texts: int
    mean: float
    low: float
    high: float
    at_least: float
    contradicted: int | None


def disagreement(one: Floats, other: Floats, noise: float, *, signed: bool) -> tuple[float, float]:
    """What is seen between two vectors of weights, and at least; NaN where one of them is 0 everywhere."""
    if not signed:
        one, other = np.abs(one), np.abs(other)
    sums = float(np.abs(one).sum()), float(np.abs(other).sum())
    if not min(sums) > 0.0 or not math.isfinite(sum(sums)):
        return math.nan, math.nan
    seen = 0.5 * float(np.abs(one / sums[0] - other / sums[1]).sum())
    return seen, max(seen - noise, 0.0)


def noise_of(weights: Floats, stderr: Floats, bound: Floats) -> float:
    """The errors of the weights together, as a fraction of the sum of absolute weights."""
    size = float(np.abs(weights).sum())
    errors = FOLDED_NORMAL * float(stderr.sum()) + INTERVAL * _SPREAD * float(np.sqrt((stderr**2).sum()))
    return (errors + float(bound.sum())) / size if size > 0.0 else math.inf


class Disagreements:
    """Disagreements of all pairs of methods over a corpus, document by document."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._pairs: dict[tuple[str, str], int] = {}
        self._seen, self._least = Sums(), Sums()
        self._contradicted: Counter[tuple[str, str]] = Counter()

    def add(self, flat: Flat) -> list[Disagreement]:
        """Add a shard; returns the largest disagreement about each document, by what is certain of it; NOT_COMPARED
        where no two methods can be compared."""
        every = [list(self._of(flat, document)) for _, document in flat.documents()]
        found = np.array([own for document in every for own in document], dtype=np.float64).reshape(-1, 3)
        ids = found[:, 2].astype(np.int64)
        zeros, none = np.zeros(len(ids)), np.zeros_like(ids)
        for sums, numbers in ((self._seen, found[:, 0]), (self._least, found[:, 1])):
            sums.add(Values(ids, none, numbers, zeros, zeros, none))
        return [max(own, key=lambda one: (one[1], one[0]), default=NOT_COMPARED) for own in every]

    def _of(self, flat: Flat, document: list[int]) -> Iterator[Disagreement]:
        for i, j in combinations(document, 2):
            one, other = flat.heads[i].question, flat.heads[j].question
            if one is None or other is None or one.method == other.method or one[1:] != other[1:]:
                continue
            here, there = flat.members(i), flat.members(j)
            if not np.array_equal(flat.codes[here], flat.codes[there]):
                continue
            methods = (one.method, other.method)
            signed = all(map(self._layout.is_signed, methods))
            noise = sum(noise_of(flat.weights[own], flat.stderr[own], flat.bound[own]) for own in (here, there))
            seen, least = disagreement(flat.weights[here], flat.weights[there], noise, signed=signed)
            if math.isnan(seen):
                continue
            self._contradicted[methods] += bool((flat.signs[here] * flat.signs[there] < 0).any())
            yield seen, least, self._pairs.setdefault(methods, len(self._pairs))

    @property
    def names(self) -> list[tuple[str, str]]:
        """All pairs of methods, by their numbers."""
        return list(self._pairs)

    def pairs(self) -> list[PairOfMethods]:
        """All pairs of methods, those that disagree most first."""
        ids = np.arange(len(self._pairs))
        _, seen = self._seen.means(ids)
        columns = {
            "methods": self.names,
            "texts": seen["texts"],
            "mean": seen["mean"],
            "low": np.maximum(seen["low"], 0.0),
            "high": np.minimum(seen["high"], 1.0),
            "at_least": self._least["mean"][ids],
            "contradicted": [
                self._contradicted[own] if all(map(self._layout.is_signed, own)) else None for own in self._pairs
            ],
        }
        return sorted(lines_of(PairOfMethods, columns, range(len(ids))), key=lambda line: -line.mean)
