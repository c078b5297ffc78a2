"""How far methods disagree about a text, beyond what sampling explains.

Each method hands out its weights: divided by the sum of their absolute values they are shares a_j, with the signs of
the weights. Two methods disagree by half of Σ |a_j - b_j|: 0 where they are proportional, 1 where they name different
words, or the same with opposite signs. Where one of them gives no signs, those of the other do not count.

Errors of the weights make two methods look apart. A vector w with errors e has shares that are off by no more than
2 Σ |e_j| / Σ |w_j| together, so the methods disagree by at least what was seen less Σ |e_j| / Σ |w_j| of each; for
normal errors Σ |e_j| is below sqrt(2/π) Σ s_j + 1.96 sqrt((1 - 2/π) Σ s_j²) in 97.5 % of cases where they are
independent, and bounds are added as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from limelight.core.arrays import Floats
from limelight.corpus.analysis.means import FOLDED_NORMAL, Sums, Values
from limelight.corpus.store.flat_rows import Flat
from limelight.explanation.significance import INTERVAL

_SPREAD = math.sqrt(1.0 - 2.0 / math.pi)
"""The standard deviation of the absolute value of a normal error, in standard errors."""


@dataclass(frozen=True)
class Disagreement:
    """Of two methods about one text: what was seen, and the least that is left when errors are allowed for."""

    methods: tuple[str, str]
    seen: float
    at_least: float


@dataclass(frozen=True)
class PairOfMethods:
    """Two methods over all texts: their mean disagreement from `low` to `high`, the mean of `at_least`, and the texts
    in which a word is told from zero by both with opposite signs; None where one of them gives no signs."""

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


def noise_of(weights: Floats, stderr: Floats, off: Floats) -> float:
    """The errors of the weights together, as a share of all that the weights hand out."""
    handed_out = float(np.abs(weights).sum())
    errors = FOLDED_NORMAL * float(stderr.sum()) + INTERVAL * _SPREAD * float(np.sqrt((stderr**2).sum()))
    total = errors + float(off.sum())
    return total / handed_out if handed_out > 0.0 else math.inf


class Disagreements:
    """Of all pairs of methods over a corpus, document by document."""

    def __init__(self, signed: dict[str, bool]) -> None:
        self._signed = signed
        self._pairs: dict[tuple[str, str], int] = {}
        self._seen, self._least = Sums(), Sums()
        self._contradicted: dict[tuple[str, str], int] = {}

    def add(self, flat: Flat) -> list[Disagreement | None]:
        """For each document of a shard the largest disagreement, by what is certain of it; None where no two methods
        can be compared."""
        largest: list[Disagreement | None] = []
        every: list[tuple[int, int, Disagreement]] = []
        for document in flat.documents():
            found = list(self._of(flat, document))
            row = flat.heads[document[0]].row
            every += [(self._pairs.setdefault(own.methods, len(self._pairs)), row, own) for own in found]
            largest.append(max(found, key=lambda own: (own.at_least, own.seen)) if found else None)
        ids, rows = (np.array([own[k] for own in every], dtype=np.int64) for k in (0, 1))
        nothing, untold = np.zeros(len(every)), np.zeros(len(every), dtype=np.int64)
        for sums, numbers in (
            (self._seen, [own.seen for _, _, own in every]),
            (self._least, [own.at_least for _, _, own in every]),
        ):
            sums.add(Values(ids, rows, np.array(numbers), nothing, nothing, untold))
        return largest

    def _of(self, flat: Flat, document: range) -> Iterator[Disagreement]:
        for i, j in combinations(document, 2):
            one, other = flat.heads[i].question, flat.heads[j].question
            if one is None or other is None or one.method == other.method or one[1:] != other[1:]:
                continue
            here, there = flat.members(i), flat.members(j)
            if not np.array_equal(flat.codes[here], flat.codes[there]):
                continue
            signed = self._signed.get(one.method, True) and self._signed.get(other.method, True)
            methods = (one.method, other.method)
            noise = sum(noise_of(flat.weights[own], flat.stderr[own], flat.off[own]) for own in (here, there))
            seen, least = disagreement(flat.weights[here], flat.weights[there], noise, signed=signed)
            if math.isnan(seen):
                continue
            if signed:
                opposite = bool((flat.told[here] * flat.told[there] < 0).any())
                self._contradicted[methods] = self._contradicted.get(methods, 0) + opposite
            yield Disagreement(methods, seen, least)

    def number(self, methods: tuple[str, str]) -> int:
        return self._pairs[methods]

    @property
    def names(self) -> list[tuple[str, str]]:
        return list(self._pairs)

    def pairs(self) -> list[PairOfMethods]:
        """All pairs of methods, those that disagree most first."""
        if not self._pairs:
            return []
        ids = np.arange(len(self._pairs))
        seen, least = self._seen.means(ids), self._least["mean"][ids]
        lines = [
            PairOfMethods(
                methods,
                int(seen.texts[k]),
                float(seen.mean[k]),
                max(float(seen.low[k]), 0.0),
                min(float(seen.high[k]), 1.0),
                float(least[k]),
                self._contradicted.get(methods),
            )
            for methods, k in self._pairs.items()
        ]
        return sorted(lines, key=lambda line: -line.mean)
