"""Columns that a sampled game is guessed to have beside sums over words, for LIME and for Shapley values.

A model saturates: most of what a linear surrogate misses is one bend along the line of its linear fit, together with
the fraction of kept words. Products of the strongest words, or their own part in the bend, are scaled by how strong
these are: what two weak words do to each other is hardly looked for. The weights of every column are known without
sampling (`theory.control_games`).

A guess for one fold of the samples must not have seen that fold, and the line along which a sample bends must not have
seen that sample: a line that has bends towards it. For LIME with fold k left out, a sample of fold j bends along the
line of all folds but j and k, and fold k itself along all of those lines, on average. Two folds have one such line
between them, whichever of them is left out. All other columns are the same for all folds, each of which uses some.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.theory.control_games import (
    PolynomialGames,
    inclusion_chances,
    means_with_sign,
    sign_moments,
    size_weights,
)
from limelight.theory.values import LimeDesign

FOLDS = 5
STRONGEST = 18
"""Words whose products are among LIME's columns, at most: with 16 to 32 of them errors differ by a few percent."""
_SAMPLES_PER_PRODUCT = 2
"""Samples beyond one for each word that a product takes: with fewer samples fewer words are better."""
_STRONGEST_ODD = 16
_PAIRS_PER_WORD = 8
"""Pairs beyond one for each word that a strong word's odd columns take: with fewer pairs fewer words are better."""
EASILY = 10.0
"""Factor by which the bend is penalised less than products of words: four numbers have many samples each."""
LINE_RIDGE = 5.0
"""Ridge of the linear fit that says what is strong and along which line the game bends, in samples or pairs."""
_NOTHING = 1e-9
"""Fraction of the outputs below which a line's prediction is rounding."""
PAIRS: tuple[tuple[int, int], ...] = tuple(combinations(range(FOLDS), 2))
"""Two folds that a line is fitted without."""
ALONG = 3
"""Columns along a line: t², t³, f t."""


def tells_bend(n: float, d: int) -> bool:
    """Whether n samples or pairs, and four fifths of them too, can tell a bend from d words."""
    return 2 * n >= 3 * d + 20


def line_between(j: int, k: int) -> int:
    """The place of the line that folds j and k have no part in."""
    return PAIRS.index((min(j, k), max(j, k)))


@dataclass(frozen=True)
class Kernel:
    """Means and covariances of kept words under the kernel, known without samples."""

    mean: float  # the chance that a word is kept
    apart: float  # the covariance is apart · I + together · 11'
    together: float
    d: int

    @classmethod
    def of(cls, design: LimeDesign) -> Kernel:
        d = len(design.size_weights) - 1
        _, one, two = (float(design.size_weights @ own) for own in inclusion_chances(d, 2))
        return cls(one, one - two, two - one**2, d)

    def spread(self, lines: Floats) -> Floats:
        """Standard deviations of lines (…, d)."""
        variance = self.apart * (lines**2).sum(axis=-1) + self.together * lines.sum(axis=-1) ** 2
        return np.sqrt(np.maximum(variance, 0.0))

    @property
    def spread_of_fraction(self) -> float:
        return math.sqrt(max(self.apart / self.d + self.together, 0.0)) or 1.0


@dataclass(frozen=True)
class LimeColumns:
    """Columns of one output of LIME: a cubic along lines and with the fraction of kept words, products of words.

    `lines` (pairs of folds, d) are directions of the bend, in standard deviations.

    `strengths` (folds, words): how strong each of the words `strong` is for a fold; 0 where it is not among that fold's
    strongest. `products`: places in `strong` of both words of each product.
    """

    kernel: Kernel
    lines: Floats
    strong: Integers
    strengths: Floats
    products: tuple[Integers, Integers]

    @classmethod
    def guessed(cls, folds: list[Floats], outputs: list[Floats], kernel: Kernel) -> LimeColumns:
        """Columns guessed from the samples of each fold, centred and side by side (d, n), and their outputs (n,)."""
        d, counts = kernel.d, np.array([own.shape[1] for own in folds], dtype=np.float64)
        grams = np.stack([own @ own.T for own in folds])
        moments = np.stack([own @ y for own, y in zip(folds, outputs, strict=True)])
        sums, totals = np.stack([own.sum(axis=1) for own in folds]), np.array([y.sum() for y in outputs])
        left_out = np.zeros((len(PAIRS) + FOLDS, FOLDS))
        for row, own in enumerate([*PAIRS, *((k,) for k in range(FOLDS))]):
            left_out[row, list(own)] = 1.0
        there = 1.0 - left_out
        n, s, y = there @ counts, there @ sums, there @ totals
        H = np.einsum("lf,fij->lij", there, grams) - s[:, :, None] * s[:, None, :] / n[:, None, None]
        H[:, np.arange(d), np.arange(d)] += LINE_RIDGE
        found = np.linalg.solve(H, (there @ moments - s * (y / n)[:, None])[..., None])[..., 0]
        lines, whole = found[: len(PAIRS)], found[len(PAIRS) :]
        least = _NOTHING * max(float(np.abs(own).max()) for own in outputs)
        spreads = kernel.spread(lines)
        lines = np.where((spreads > least)[:, None], lines / np.where(spreads > least, spreads, 1.0)[:, None], 0.0)
        strengths, size = np.zeros((FOLDS, d)), np.where((kernel.spread(whole) > least)[:, None], np.abs(whole), 0.0)
        for k in range(FOLDS):
            top = np.argsort(-size[k], kind="stable")[: strongest(int(n[len(PAIRS) + k]) - d)]
            strengths[k, top] = np.sqrt(size[k, top] / (float(size[k, top].mean()) or 1.0))
        strong = np.flatnonzero(strengths.any(axis=0))
        used = strengths[:, strong]
        i, j = np.triu_indices(len(strong), 1)
        some = (used[:, i] * used[:, j]).any(axis=0)
        return cls(kernel, lines, strong, used, (i[some], j[some]))

    # ── values of columns, samples side by side ───────────────────────────────────────────────────────────────────────

    @property
    def n_common(self) -> int:
        """Number of common columns: a constant, the words, f², the products."""
        return 2 + self.kernel.d + len(self.products[0])

    def common(self, x: Floats) -> Floats:
        """Values of the columns that all folds share, of centred samples (d, n)."""
        d, (i, j) = self.kernel.d, self.products
        columns = np.empty((self.n_common, x.shape[1]))
        columns[0], columns[1 : 1 + d] = 1.0, x
        columns[1 + d] = EASILY * self.kept_fraction(x) ** 2
        strong, start = x[self.strong], 2 + d
        for word in range(len(strong)):  # products lie ordered by their first word
            others = j[i == word]
            np.multiply(strong[word], strong[others], out=columns[start : start + len(others)])
            start += len(others)
        return columns

    def kept_fraction(self, x: Floats) -> Floats:
        """Fraction of kept words, in standard deviations."""
        return np.asarray(x.mean(axis=0) / self.kernel.spread_of_fraction, dtype=np.float64)

    def along(self, x: Floats, which: list[int]) -> Floats:
        """Values of the columns along some of the lines: (lines, 3, n)."""
        t = self.lines[which] @ x
        squares = t * t
        return EASILY * np.stack([squares, squares * t, t * self.kept_fraction(x)], axis=1)

    def of_document(self) -> tuple[Floats, Floats]:
        """Values of the document: common columns (p,), and those along every line (lines, 3)."""
        x = np.full((self.kernel.d, 1), 1.0 - self.kernel.mean)
        return self.common(x)[:, 0], self.along(x, list(range(len(PAIRS))))[..., 0]

    def scales(self, k: int) -> Floats:
        """Strength of each product for a fold: 0 for those that it does not use."""
        own = self.strengths[k]
        return np.asarray(own[self.products[0]] * own[self.products[1]], dtype=np.float64)

    # ── their LIME weights ────────────────────────────────────────────────────────────────────────────────────────────

    def weights(self, common: Floats, along: Floats, design: LimeDesign) -> Floats:
        """LIME's weights (d,) of the sum of all columns with coefficients (n_common,) and (lines, 3)."""
        d, v, q, m = self.kernel.d, design.size_weights, inclusion_chances(self.kernel.d, 3), self.kernel.mean
        m1, m2, m3 = (float(v @ q[k]) for k in (1, 2, 3))
        with_word, with_both = np.full(d, m2), np.full(d, m3)
        with_word[:1], with_both[:2] = m1, m2
        # A word's column has one weight at that word and another at all others, a product of two words the same.
        word, both = design.weights_of(q[1:3], np.stack([with_word, with_both]))
        own, own_of_both = word[0] - word[-1], both[0] - both[-1]
        of_words, of_products = common[1 : 1 + d], common[2 + d :]
        # (z_i - m) (z_j - m) is z_i z_j - m (z_i + z_j) and a constant.
        everywhere = word[-1] * of_words.sum() + (both[-1] - 2.0 * m * word[-1]) * of_products.sum()
        weights = own * of_words + everywhere
        each = (own_of_both - m * own) * of_products
        for places in self.products:
            np.add.at(weights, self.strong[places], each)
        return np.asarray(weights + self._weights_of_bend(common[1 + d], along, design), dtype=np.float64)

    def _weights_of_bend(self, of_square: float, along: Floats, design: LimeDesign) -> Floats:
        d = self.kernel.d
        fraction = ((d - np.arange(d + 1.0)) / d - self.kernel.mean) / self.kernel.spread_of_fraction
        one, none = np.ones(d + 1), np.zeros(d + 1)
        shapes = np.array([(none, none, one, none), (none, none, none, one), (none, fraction, none, none)])
        games = PolynomialGames(shapes, -self.kernel.mean * self.lines.sum(axis=1), self.lines)
        F, G = games.means_by_size(), games.means_with_feature(design.size_weights)
        F, G = np.einsum("lc,lcs->s", along, F), np.einsum("lc,lcj->j", along, G)
        kept = (d - np.arange(d + 1.0)) / d
        F = F + of_square * fraction**2
        G = G + of_square * float(design.size_weights @ (fraction**2 * kept))
        return EASILY * design.weights_of(F[None], G[None])[0]


def strongest(more: int) -> int:
    """Number of words whose k (k - 1) / 2 products so many samples more than words can tell apart."""
    products = max(more, 0) // _SAMPLES_PER_PRODUCT
    return min(STRONGEST, (1 + math.isqrt(1 + 8 * products)) // 2)


@dataclass(frozen=True)
class OddColumns:
    """Columns of one output for Shapley values, which see odd functions of signs alone.

    With p the linear fit and m the mean of the signs: m³, m²p, m p² and p³, and for strong words p² x_j and m p x_j.
    `c` are directions of the bend, by fold; `top` strong words, `scale` how strong.
    """

    c: Floats  # (folds, d)
    top: Integers
    scale: Floats

    @classmethod
    def guessed(cls, x: Floats, odd: Floats, weights: Floats) -> OddColumns | None:
        """Columns guessed from signs (n, d), odd part (n,) and weights (n,); None where words do not matter."""
        folds = [slice(k, None, FOLDS) for k in range(FOLDS)]
        grams = [(x[own] * weights[own, None]).T @ x[own] for own in folds]
        moments = [x[own].T @ (weights[own] * odd[own]) for own in folds]
        whole = _line(np.sum(grams, axis=0), np.sum(moments, axis=0))
        size = float(np.sqrt((weights * (x @ whole) ** 2).mean()))
        if size <= 1e-9 * float(np.abs(odd).max(initial=0.0)) or size == 0.0:
            return None
        lines = [
            _line(np.sum(grams, axis=0) - gram, np.sum(moments, axis=0) - moment)
            for gram, moment in zip(grams, moments, strict=True)
        ]
        sizes = [float(np.sqrt((weights * (x @ line) ** 2).mean())) or 1.0 for line in lines]
        strongest = min(_STRONGEST_ODD, max(0, len(x) - x.shape[1]) // _PAIRS_PER_WORD)
        top = np.argsort(-np.abs(whole), kind="stable")[:strongest]
        scale = np.sqrt(np.abs(whole[top]) / (np.abs(whole[top]).mean() if strongest else 1.0))
        return cls(np.stack([line / own for line, own in zip(lines, sizes, strict=True)]), top, scale)

    def of(self, x: Floats) -> Floats:
        """Values of all columns for the signs (n, d) they were guessed from: words, bend, the strong words' part."""
        p, m = np.einsum("nj,nj->n", x, self.c[np.arange(len(x)) % FOLDS]), x.mean(axis=1)
        own = x[:, self.top] * self.scale
        bend = EASILY * np.stack([m**3, m**2 * p, m * p**2, p**3], axis=1)
        return np.concatenate([x, bend, own * (p * p)[:, None], own * (m * p)[:, None]], axis=1)

    def values(self) -> Floats:
        """Shapley values of each column, means over the folds, but for a part that all features share: (columns, d).

        That part is given by the sum of all values, which is known.
        """
        d = self.c.shape[1]
        weights = size_weights(d)
        beside = float(weights @ sign_moments(d)[2])
        words = np.full((d, d), beside) + (1.0 - beside) * np.eye(d)
        scale = np.concatenate([np.ones(4), self.scale, self.scale])[:, None]
        guessed = np.mean([scale * means_with_sign(c, self.top, weights, EASILY) for c in self.c], axis=0)
        with_sign = np.concatenate([words, guessed])
        return np.asarray(2.0 * (with_sign - with_sign.mean(axis=1, keepdims=True)) / (1.0 - beside), dtype=np.float64)


def _line(gram: Floats, moment: Floats) -> Floats:
    return np.asarray(np.linalg.solve(gram + LINE_RIDGE * np.eye(len(gram)), moment), dtype=np.float64)
