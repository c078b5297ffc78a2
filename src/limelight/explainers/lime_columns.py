"""What a sampled game is guessed to do beside adding up words, for LIME: a bend, and products of strong words.

A model saturates: most of what a linear surrogate misses is one bend, a cubic in the linear fit's prediction t together
with the share f of kept words. Products of the strongest words are scaled by how strong these are: what two weak words
do to each other is hardly looked for. LIME's weights of every column are known without sampling
(`theory.polynomial_game`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.arrays import Coalitions, Floats, Integers
from limelight.theory.polynomial_game import PolynomialGame, inclusion_chances
from limelight.theory.values import LimeDesign

_STRONGEST = 20
"""Words whose products are among the columns: with 16 to 32 of them errors differ by a few percent."""
_EASILY = 10.0
"""How much more easily the bend is found than products: four numbers have many samples each."""
_RIDGE = 5.0
"""Of the linear fit that says what is strong and along which line the game bends, in samples."""


def is_worthwhile(n: int, d: int) -> bool:
    """Whether n samples can tell columns apart that are half as many again as the words."""
    return 2 * n >= 3 * d + 100


@dataclass(frozen=True)
class LimeColumns:
    """The columns of one output. `c` is the direction of the bend in standard deviations, `top` the strongest words."""

    c: Floats  # (d,)
    t_0: float
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
        x = z - mean_z.astype(np.float32)
        H = (x.T @ x).astype(np.float64)
        H[np.diag_indices_from(H)] += _RIDGE
        c = np.linalg.solve(H, (x.T @ (y - y.mean()).astype(np.float32)).astype(np.float64))
        spread_of_t = float((x @ c.astype(np.float32)).std())
        if spread_of_t <= 1e-6 * float(np.abs(y).max(initial=0.0)):
            return None
        share = z.mean(axis=1)
        top = np.argsort(-np.abs(c), kind="stable")[:_STRONGEST]
        strength = np.abs(c[top]) / np.abs(c[top]).mean()
        pairs = np.triu_indices(len(top), 1)
        return cls(
            c=np.asarray(c / spread_of_t, dtype=np.float64),
            t_0=-float(mean_z @ c) / spread_of_t,
            mean_share=float(share.mean()),
            spread=float(share.std()) or 1.0,
            top=top,
            centre=mean_z[top],
            scale=np.sqrt(strength[pairs[0]] * strength[pairs[1]]),
            pairs=pairs,
        )

    def of(self, kept: Coalitions) -> Floats:
        """All columns of coalitions (n, d): a constant, the words, the bend, the products."""
        z = kept.astype(np.float64)
        t, f = self.t_0 + z @ self.c, (z.mean(axis=1) - self.mean_share) / self.spread
        x = z[:, self.top] - self.centre
        products = x[:, self.pairs[0]] * x[:, self.pairs[1]] * self.scale
        bend = _EASILY * np.stack([t**2, t**3, f**2, f * t], axis=1)
        return np.concatenate([np.ones((len(z), 1)), z, bend, products], axis=1)

    @property
    def n_free(self) -> int:
        """A constant, and the words."""
        return 1 + len(self.c)

    def weights(self, design: LimeDesign) -> Floats:
        """LIME's weights of each column: (columns, d)."""
        d, v = len(self.c), design.size_weights
        q = inclusion_chances(d, 3)
        m1, m2, m3 = (float(v @ q[k]) for k in (1, 2, 3))
        words = design.weights_of(np.broadcast_to(q[1], (d, d + 1)), np.full((d, d), m2) + (m1 - m2) * np.eye(d))
        share = ((d - np.arange(d + 1.0)) / d - self.mean_share) / self.spread
        one, none = np.ones(d + 1), np.zeros(d + 1)
        bends = [
            (none, none, one, none),
            (none, none, none, one),
            (share**2, none, none, none),
            (none, share, none, none),
        ]
        games = [PolynomialGame(np.stack(a), self.t_0, self.c, np.zeros((d, d)), np.zeros(d), 0.0) for a in bends]
        bend = design.weights_of(
            np.stack([game.means_by_size() for game in games]), np.stack([game.means_with_feature(v) for game in games])
        )
        i, j = (self.top[own] for own in self.pairs)
        both = np.full((len(i), d), m3)
        rows = np.arange(len(i))
        both[rows, i] = both[rows, j] = m2
        products = design.weights_of(np.broadcast_to(q[2], (len(i), d + 1)), both)
        first, second = (self.centre[own][:, None] for own in self.pairs)
        centred = self.scale[:, None] * (products - second * words[i] - first * words[j])
        return np.concatenate([np.zeros((1, d)), words, _EASILY * bend, centred])
