"""What a sampled game is guessed to do beside adding up words, for LIME: a bend, and products of strong words.

A model saturates: most of what a linear surrogate misses is one bend, a cubic in the linear fit's prediction t together
with the share f of kept words. Products of the strongest words are scaled by how strong these are: what two weak words
do to each other is hardly looked for. LIME's weights of every column are known without sampling
(`theory.polynomial_game`).

The line along which a sample bends is fitted without that sample's fold: a line that has seen a rare answer bends
towards it, which the errors do not tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.arrays import Coalitions, Floats, Integers
from limelight.theory.polynomial_game import PolynomialGame, inclusion_chances
from limelight.theory.values import LimeDesign

FOLDS = 5
_STRONGEST = 20
"""Words whose products are among the columns: with 16 to 32 of them errors differ by a few percent."""
_EASILY = 10.0
"""How much more easily the bend is found than products: four numbers have many samples each."""
_RIDGE = 5.0
"""Of the linear fit that says what is strong and along which line the game bends, in samples."""


def is_worthwhile(n: float, d: int) -> bool:
    """Whether n samples that remove two words or more can tell columns apart, half as many again as the words."""
    return 2 * n >= 3 * d + 100


@dataclass(frozen=True)
class LimeColumns:
    """The columns of one output. `c` are the directions of the bend, by fold; `top` the strongest words."""

    c: Floats  # (folds, d), in standard deviations
    t_0: Floats  # (folds,)
    mean_share: float
    spread: float
    top: Integers
    centre: Floats  # of the strongest words
    scale: Floats  # of each product
    pairs: tuple[Integers, Integers]  # which of the strongest words

    @classmethod
    def guessed(cls, kept: Coalitions, y: Floats) -> LimeColumns | None:
        """From samples (n, d) and (n,); None where the output does not depend on the words."""
        z = kept.astype(np.float32)
        mean_z = z.mean(axis=0, dtype=np.float64)
        x, away = z - mean_z.astype(np.float32), (y - y.mean()).astype(np.float32)
        folds = [slice(k, None, FOLDS) for k in range(FOLDS)]
        grams, moments = [x[own].T @ x[own] for own in folds], [x[own].T @ away[own] for own in folds]
        whole = _line(np.sum(grams, axis=0), np.sum(moments, axis=0))
        if float((x @ whole.astype(np.float32)).std()) <= 1e-6 * float(np.abs(y).max(initial=0.0)):
            return None
        lines = [
            _line(np.sum(grams, axis=0) - gram, np.sum(moments, axis=0) - moment)
            for gram, moment in zip(grams, moments, strict=True)
        ]
        spreads = [float((x @ line.astype(np.float32)).std()) or 1.0 for line in lines]
        c = np.stack([line / spread for line, spread in zip(lines, spreads, strict=True)])
        top = np.argsort(-np.abs(whole), kind="stable")[:_STRONGEST]
        strength = np.abs(whole[top]) / np.abs(whole[top]).mean()
        pairs, share = np.triu_indices(len(top), 1), z.mean(axis=1)
        return cls(
            c=c,
            t_0=-c @ mean_z,
            mean_share=float(share.mean()),
            spread=float(share.std()) or 1.0,
            top=top,
            centre=mean_z[top],
            scale=np.sqrt(strength[pairs[0]] * strength[pairs[1]]),
            pairs=pairs,
        )

    def of(self, kept: Coalitions) -> Floats:
        """All columns of the samples (n, d) that they were guessed from: a constant, words, the bend, products."""
        z = kept.astype(np.float64)
        fold = np.arange(len(z)) % FOLDS
        t = self.t_0[fold] + np.einsum("nj,nj->n", z, self.c[fold])
        return self._with_bend(z, self._bend(t, z))

    def of_document(self) -> Floats:
        """Those of the document, which is in no fold: (1, columns)."""
        z = np.ones((1, self.c.shape[1]))
        bends = [self._bend(self.t_0[[k]] + z @ self.c[k], z) for k in range(FOLDS)]
        return self._with_bend(z, np.mean(bends, axis=0))

    def _bend(self, t: Floats, z: Floats) -> Floats:
        f = (z.mean(axis=1) - self.mean_share) / self.spread
        return _EASILY * np.stack([t**2, t**3, f**2, f * t], axis=1)

    def _with_bend(self, z: Floats, bend: Floats) -> Floats:
        x = z[:, self.top] - self.centre
        products = x[:, self.pairs[0]] * x[:, self.pairs[1]] * self.scale
        return np.concatenate([np.ones((len(z), 1)), z, bend, products], axis=1)

    @property
    def n_free(self) -> int:
        """A constant, and the words."""
        return 1 + self.c.shape[1]

    def weights(self, design: LimeDesign) -> Floats:
        """LIME's weights of each column: (columns, d); those of the bend are means over the folds."""
        d, v = self.c.shape[1], design.size_weights
        q = inclusion_chances(d, 3)
        m1, m2, m3 = (float(v @ q[k]) for k in (1, 2, 3))
        words = design.weights_of(np.broadcast_to(q[1], (d, d + 1)), np.full((d, d), m2) + (m1 - m2) * np.eye(d))
        bend = np.mean([self._weights_of_bend(design, k) for k in range(FOLDS)], axis=0)
        i, j = (self.top[own] for own in self.pairs)
        both = np.full((len(i), d), m3)
        rows = np.arange(len(i))
        both[rows, i] = both[rows, j] = m2
        products = design.weights_of(np.broadcast_to(q[2], (len(i), d + 1)), both)
        first, second = (self.centre[own][:, None] for own in self.pairs)
        centred = self.scale[:, None] * (products - second * words[i] - first * words[j])
        return np.concatenate([np.zeros((1, d)), words, bend, centred])

    def _weights_of_bend(self, design: LimeDesign, fold: int) -> Floats:
        d = self.c.shape[1]
        share = ((d - np.arange(d + 1.0)) / d - self.mean_share) / self.spread
        one, none = np.ones(d + 1), np.zeros(d + 1)
        shapes = [
            (none, none, one, none),
            (none, none, none, one),
            (share**2, none, none, none),
            (none, share, none, none),
        ]
        games = [
            PolynomialGame(np.stack(a), float(self.t_0[fold]), self.c[fold], np.zeros((d, d)), np.zeros(d), 0.0)
            for a in shapes
        ]
        means = np.stack([game.means_by_size() for game in games])
        return _EASILY * design.weights_of(means, np.stack([g.means_with_feature(design.size_weights) for g in games]))


def _line(gram: Floats, moment: Floats) -> Floats:
    H = gram.astype(np.float64)
    H[np.diag_indices_from(H)] += _RIDGE
    return np.asarray(np.linalg.solve(H, moment.astype(np.float64)), dtype=np.float64)
