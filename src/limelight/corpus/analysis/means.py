"""Means over texts of many words at once: running sums, and intervals that hold for the words that are picked out.

A weight w_i of a word in text i is that text's own effect and a sampling error of known standard error s_i. Texts are
taken as drawn from texts like these, each with samples of its own, so the variance of the weights holds both, and

    mean ± t_{n-1} · sqrt(max(variance of w, mean of s²) / n)

covers the mean over texts like these. The maximum only matters for few texts, whose weights may be alike by chance.
The error beside sampling (proven bounds, rounding) is added as it is, since it may be the same in all texts.

Of m words with an interval each those that exclude 0 are read. The rule of Benjamini and Hochberg (1995) picks R words
with at most 5 % false discoveries expected; intervals at the level 1 - 0.05 R / m then have the false coverage of 5 %
among those picked (Benjamini and Yekutieli, 2005), and a word is picked exactly where its interval excludes 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Array, Floats, Integers
from limelight.explanation.significance import FALSE_DISCOVERIES, INTERVAL, discovered

FOLDED_NORMAL = math.sqrt(2.0 / math.pi)
"""The mean of the absolute value of a normal error, in standard errors."""
_NORMAL = NormalDist()
_ROOM = 1024


class Columns:
    """Named arrays of one length that grow together, such as the sums of all words."""

    def __init__(self, fills: dict[str, float | int]) -> None:
        self._fills = fills
        self._arrays: dict[str, Array] = {name: np.full(_ROOM, fill) for name, fill in fills.items()}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def grow(self, size: int) -> None:
        """Make room for so many."""
        have = len(next(iter(self._arrays.values())))
        if size > have:
            self._append(max(size - have, have))

    def keep(self, chosen: Integers) -> None:
        """Only these, in this order."""
        self.grow(int(chosen.max(initial=0)) + 1)
        self._arrays = {name: array[chosen] for name, array in self._arrays.items()}
        self._append(_ROOM)

    def _append(self, more: int) -> None:
        for name, fill in self._fills.items():
            self._arrays[name] = np.concatenate([self._arrays[name], np.full(more, fill)])


@dataclass(frozen=True)
class Values:
    """One value per text and word: `ids` of the words, `rows` of the texts, weights with their errors.

    `stderr` is 0 where nothing was sampled, `bound` the error beside sampling, `signs` the sign of a weight that is
    significant and 0 of all others.
    """

    ids: Integers
    rows: Integers
    weights: Floats
    stderr: Floats
    bound: Floats
    signs: Integers

    def __getitem__(self, chosen: Array) -> Values:
        return Values(*(own[chosen] for own in vars(self).values()))

    def times(self, sign: Floats) -> Values:
        """These values in the other direction, where the sign is -1."""
        return replace(self, weights=self.weights * sign, signs=(self.signs * sign).astype(np.int64))


class Sums(Columns):
    """Running sums of the weights of words over texts, all that means and intervals need; nothing grows with texts."""

    def __init__(self) -> None:
        numbers = ("mean", "squares", "absolute", "absolute_squares", "variance", "stderr", "bound")
        counts = ("n", "speaks_for", "speaks_against", "largest_row", "smallest_row")
        super().__init__(
            {**dict.fromkeys(numbers, 0.0), **dict.fromkeys(counts, 0), "largest": -math.inf, "smallest": math.inf}
        )

    def add(self, values: Values) -> None:
        """Some more texts. Deviations are summed about running means (Chan, Golub and LeVeque, 1979)."""
        if not len(values.ids):
            return
        ids, own = np.unique(values.ids, return_inverse=True)
        self.grow(int(ids[-1]) + 1)
        count, before = np.bincount(own), self["n"][ids]
        for mean, squares, weights in (
            ("mean", "squares", values.weights),
            ("absolute", "absolute_squares", np.abs(values.weights)),
        ):
            here = np.bincount(own, weights) / count
            apart = here - self[mean][ids]
            spread = np.bincount(own, (weights - here[own]) ** 2)
            self[squares][ids] += spread + apart**2 * (before * count / (before + count))
            self[mean][ids] += apart * count / (before + count)
        self["n"][ids] += count
        for name, numbers in (
            ("variance", values.stderr**2),
            ("stderr", values.stderr),
            ("bound", values.bound),
            ("speaks_for", values.signs > 0),
            ("speaks_against", values.signs < 0),
        ):
            self[name][ids] += np.bincount(own, numbers).astype(self[name].dtype)
        order, ends = np.lexsort((values.weights, own)), np.cumsum(count)
        for name, at, beyond in (
            ("largest", order[ends - 1], np.greater),
            ("smallest", order[ends - count], np.less),
        ):
            changes = beyond(values.weights[at], self[name][ids])
            self[name][ids[changes]] = values.weights[at[changes]]
            self[f"{name}_row"][ids[changes]] = values.rows[at[changes]]

    def errors(self, ids: Integers) -> tuple[Floats, Floats, Floats]:
        """For the mean of each word: its standard error, the error beside sampling, and degrees of freedom."""
        n = self["n"][ids].astype(np.float64)
        variance, sampled = _divided(self["squares"][ids], n - 1.0), _divided(self["variance"][ids], n)
        return np.sqrt(np.fmax(variance, sampled) / n), _divided(self["bound"][ids], n), n - 1.0

    def means(self, ids: Integers) -> tuple[float, dict[str, Array]]:
        """The level of the intervals of these words, as one family, and for each word: texts, mean with the ends of its
        interval, and those of absolute values.

        `sampling` is half of the 95 % interval for the mean over these very texts: sampling alone. `told` says which
        means are distinguishable from zero.
        """
        n, mean, absolute = self["n"][ids].astype(np.float64), self["mean"][ids], self["absolute"][ids]
        error, bound, freedom = self.errors(ids)
        chosen = Picked.of(mean, error, bound, freedom)
        half = chosen.half_width(error, bound, freedom)
        spread = chosen.half_width(np.sqrt(_divided(self["absolute_squares"][ids], freedom) / n), bound, freedom)
        # Noise makes absolute values larger, by no more than its own absolute value: the low end allows for it.
        raised = FOLDED_NORMAL * _divided(self["stderr"][ids], n)
        return chosen.level, {
            "texts": n.astype(np.int64),
            "mean": mean,
            "low": mean - half,
            "high": mean + half,
            "sampling": INTERVAL * np.sqrt(_divided(self["variance"][ids], n) / n) + bound,
            "told": chosen.significant,
            "absolute": absolute,
            "absolute_low": np.maximum(absolute - spread - raised, 0.0),
            "absolute_high": absolute + spread,
        }


@dataclass(frozen=True)
class Picked:
    """Which of many means are significant, and the level of intervals that are right for those picked."""

    significant: npt.NDArray[np.bool_]
    level: float

    @classmethod
    def of(cls, mean: Floats, error: Floats, bound: Floats, freedom: Floats) -> Picked:
        """`freedom` are degrees of freedom: a mean of fewer than one is never picked."""
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = np.maximum(np.abs(mean) - bound, 0.0)
            z = as_normal(np.where(beyond == 0.0, 0.0, beyond / error), freedom)
        family = freedom >= 1.0
        significant = np.zeros(len(z), dtype=bool)
        significant[family] = discovered(z[family], FALSE_DISCOVERIES)
        return cls(significant, 1.0 - FALSE_DISCOVERIES * max(int(significant.sum()), 1) / max(int(family.sum()), 1))

    def half_width(self, error: Floats, bound: Floats, freedom: Floats) -> Floats:
        """Half of each interval; infinite where there is one text alone."""
        z = -_NORMAL.inv_cdf((1.0 - self.level) / 2.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.where(freedom >= 1.0, as_student(z, freedom) * error, np.inf) + bound


def as_normal(t: Floats, freedom: Floats) -> Floats:
    """Student's t as normal numbers of the same rarity, by Wallace's transformation (1959).

    Limits are too narrow by 0.01 % at most; far out they are too wide, by 7 % with five degrees of freedom.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.sqrt(freedom * np.log1p(t**2 / freedom)) / _scale(freedom)


def as_student(z: float, freedom: Floats) -> Floats:
    """The limit of Student's t that is as rare as z: the inverse of `as_normal`."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.sqrt(freedom * np.expm1((z * _scale(freedom)) ** 2 / freedom))


def _scale(freedom: Floats) -> Floats:
    return (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0)


def _divided(total: Array, count: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0.0, total / np.maximum(count, 1e-300), np.nan)


def fraction(part: npt.ArrayLike, whole: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    """A fraction of texts and the ends of its 95 % interval, by Wilson's formula (1927); NaN of no texts."""
    n = np.asarray(whole, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(part, dtype=np.float64) / n
        middle = (p + INTERVAL**2 / (2.0 * n)) / (1.0 + INTERVAL**2 / n)
        half = INTERVAL * np.sqrt(p * (1.0 - p) / n + INTERVAL**2 / (4.0 * n**2)) / (1.0 + INTERVAL**2 / n)
    return p, np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
