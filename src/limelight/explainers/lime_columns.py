"""What a sampled game is guessed to do beside adding up words, for LIME: a bend, and products of strong words.

A model saturates: most of what a linear surrogate misses is one bend, a cubic in the linear fit's prediction t together
with the share f of kept words. Products of the strongest words are scaled by how strong these are: what two weak words
do to each other is hardly looked for. LIME's weights of every column are known without sampling
(`theory.polynomial_game`).

The line along which a sample bends is fitted without that sample's fold: a line that has seen a rare answer bends
towards it, which the errors do not tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limelight.arrays import Array, Coalitions, Floats, Integers
from limelight.theory.polynomial_game import PolynomialGames, inclusion_chances
from limelight.theory.values import LimeDesign

FOLDS = 5
_STRONGEST = 20
"""Words whose products are among the columns, at most: with 16 to 32 of them errors differ by a few percent."""
_SAMPLES_PER_PRODUCT = 2
"""Samples beyond one for each word that a product takes: with fewer samples fewer words are better."""
_EASILY = 10.0
"""How much more easily the bend is found than products: four numbers have many samples each."""
_RIDGE = 5.0
"""Of the linear fit that says what is strong and along which line the game bends, in samples."""


def is_worthwhile(n: float, d: int) -> bool:
    """Whether n samples that remove two words or more can tell a bend from the words."""
    return 2 * n >= 3 * d + 20


@dataclass(frozen=True)
class LimeColumns:
    """The columns of one output. `c` are the directions of the bend, by fold; `top` the strongest words."""

    c: Floats  # (folds, d), in standard deviations
    t_0: Floats  # (folds,)
    mean_share: float
    spread: float
    top: Integers
    centre: Floats  # of the strongest words
    scale: Floats  # of the strongest words: a product has that of both

    @classmethod
    def guessed(cls, kept: Coalitions, y: Floats) -> LimeColumns | None:
        """From samples (n, d) and (n,); None where the output does not depend on the words."""
        n, d = kept.shape
        z, one = kept.astype(np.float32), np.ones(max(n, d), dtype=np.float32)
        mean_z, share = (one[:n] @ z).astype(np.float64) / n, z @ one[:d] / np.float32(d)  # whole numbers: exact sums
        x, away = z - mean_z.astype(np.float32), (y - y.mean()).astype(np.float32)
        folds = [x[k::FOLDS] for k in range(FOLDS)]
        grams = [own.T @ own for own in folds]
        moments = [own.T @ away[k::FOLDS] for k, own in enumerate(folds)]
        gram, moment = np.sum(grams, axis=0), np.sum(moments, axis=0)
        whole = _line(gram, moment)
        if float((x @ whole.astype(np.float32)).std()) <= 1e-6 * float(np.abs(y).max(initial=0.0)):
            return None
        lines = np.stack([_line(gram - grams[k], moment - moments[k]) for k in range(FOLDS)])
        spreads = (x @ lines.T.astype(np.float32)).std(axis=0).astype(np.float64)
        c = lines / np.where(spreads > 0.0, spreads, 1.0)[:, None]
        top = np.argsort(-np.abs(whole), kind="stable")[: _strongest(n - d)]
        return cls(
            c=c,
            t_0=-c @ mean_z,
            mean_share=float(share.mean()),
            spread=float(share.std()) or 1.0,
            top=top,
            centre=mean_z[top],
            scale=np.sqrt(np.abs(whole[top]) / np.abs(whole[top]).mean()),
        )

    def of(self, kept: Coalitions) -> Floats:
        """All columns of the samples (n, d) that they were guessed from: a constant, words, the bend, products."""
        columns = self._empty(len(kept))
        self._fill(columns, kept)
        return columns

    def below_document(self, kept: Coalitions) -> Floats:
        """The same below those of the document."""
        columns = self._empty(1 + len(kept))
        columns[:1] = self.of_document()
        self._fill(columns[1:], kept)
        return columns

    def of_document(self) -> Floats:
        """Those of the document, which is in no fold: (1, columns)."""
        columns, whole = self._empty(1), np.ones((1, self.c.shape[1]), dtype=bool)
        self._fill(columns, whole)
        columns[:, self._bends] = self._bend(self.t_0 + self.c.sum(axis=1), np.ones(FOLDS)).mean(axis=0)
        return columns

    @property
    def _words(self) -> slice:
        return slice(1, 1 + self.c.shape[1])

    @property
    def _bends(self) -> slice:
        return slice(self.n_free, self.n_free + 4)

    @property
    def _pairs(self) -> tuple[Integers, Integers]:
        """Which of the strongest words each product is of."""
        return np.triu_indices(len(self.top), 1)

    def _empty(self, n: int) -> Floats:
        """Samples lie side by side: everything below is done column by column."""
        k = len(self.top)
        return np.empty((n, self._bends.stop + k * (k - 1) // 2), order="F")

    def _fill(self, columns: Floats, kept: Coalitions) -> None:
        columns[:, 0] = 1.0
        z = columns[:, self._words]
        z.T[:] = np.ascontiguousarray(kept.T)  # turned while it is small
        each = np.arange(len(z))
        t = (self.t_0[:, None] + self.c @ z.T)[each % FOLDS, each]
        columns[:, self._bends] = self._bend(t, z.mean(axis=1))
        x = ((z.T[self.top] - self.centre[:, None]) * self.scale[:, None]).T
        start = self._bends.stop
        for i in range(len(self.top) - 1):
            stop = start + len(self.top) - 1 - i
            np.multiply(x[:, i, None], x[:, i + 1 :], out=columns[:, start:stop])
            start = stop

    def _bend(self, t: Floats, share: Floats) -> Floats:
        f = (share - self.mean_share) / self.spread
        return _EASILY * np.stack([t**2, t**3, f**2, f * t], axis=1)

    @property
    def n_free(self) -> int:
        """A constant, and the words."""
        return 1 + self.c.shape[1]

    def weights(self, design: LimeDesign) -> Callable[[Array], Array]:
        """From coefficients (columns,) or (columns, k) to LIME's weights of these sums of columns: (d,) or (d, k).

        A word's column has one weight at that word and another at all others, a product of two words the same. Those of
        the bend are means over the folds.
        """
        d, v, q = self.c.shape[1], design.size_weights, inclusion_chances(self.c.shape[1], 3)
        m1, m2, m3 = (float(v @ q[k]) for k in (1, 2, 3))
        with_word, with_both = np.full(d, m2), np.full(d, m3)
        with_word[:1], with_both[:2] = m1, m2
        word, both = design.weights_of(q[1:3], np.stack([with_word, with_both]))
        own, own_of_both = word[0] - word[-1], both[0] - both[-1]
        bend = self._weights_of_bend(design)
        # (z_i - m_i) (z_j - m_j) is z_i z_j - m_j z_i - m_i z_j and a constant.
        (i, j), rows = self._pairs, np.arange(len(self._pairs[0]))
        scale = self.scale[i] * self.scale[j]
        at_top = np.zeros((len(self.top), len(rows)))
        at_top[i, rows] = scale * (own_of_both - own * self.centre[j])
        at_top[j, rows] = scale * (own_of_both - own * self.centre[i])
        of_products = scale * (both[-1] - word[-1] * (self.centre[i] + self.centre[j]))
        everywhere = np.concatenate([np.full(d, word[-1]), np.zeros(len(bend)), of_products])
        spread_out = np.concatenate([bend, np.ones((1, d))]).T

        def known(u: Array) -> Array:
            like = u.dtype
            rest = np.concatenate([u[self._bends], (everywhere.astype(like) @ u[1:])[None]])
            weights = spread_out.astype(like) @ rest
            weights += like.type(own) * u[self._words]
            weights[self.top] += at_top.astype(like) @ u[self._bends.stop :]
            return weights

        return known

    def _weights_of_bend(self, design: LimeDesign) -> Floats:
        """Those of its four columns: (4, d). Weights are linear in a game, so the mean over folds is taken before."""
        d = self.c.shape[1]
        share = ((d - np.arange(d + 1.0)) / d - self.mean_share) / self.spread
        one, none = np.ones(d + 1), np.zeros(d + 1)
        shapes = np.array(
            [
                (none, none, one, none),
                (none, none, none, one),
                (share**2, none, none, none),
                (none, share, none, none),
            ]
        )
        games = PolynomialGames(shapes, self.t_0, self.c)
        by_size, with_feature = games.means_by_size(), games.means_with_feature(design.size_weights)
        return _EASILY * design.weights_of(by_size.mean(axis=0), with_feature.mean(axis=0))


def _strongest(more: int) -> int:
    """How many words have k (k - 1) / 2 products that so many samples more than words can tell apart."""
    products = max(more, 0) // _SAMPLES_PER_PRODUCT
    return min(_STRONGEST, (1 + math.isqrt(1 + 8 * products)) // 2)


def _line(gram: Floats, moment: Floats) -> Floats:
    H = gram.astype(np.float64)
    H[np.diag_indices_from(H)] += _RIDGE
    return np.asarray(np.linalg.solve(H, moment.astype(np.float64)), dtype=np.float64)
