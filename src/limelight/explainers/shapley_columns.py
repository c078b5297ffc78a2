"""What the odd part of a sampled game is guessed to be beside a sum over words, for Shapley values.

As for LIME, a model bends along the line of its linear fit, p, and with the share of kept words, m: columns m³, m²p,
m p² and p³. The strongest words have a part of their own in the bend: p² x_j and m p x_j. All are odd, as only odd
functions have Shapley values, and the values of each are known without sampling (`theory.odd_game`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.arrays import Floats, Integers
from limelight.theory.odd_game import OddGame, sign_moments, size_weights

_STRONGEST = 16
_RIDGE = 5.0
"""Of the linear fit that says what is strong and along which line the game bends, in pairs of samples."""
_EASILY = 10.0
"""How much more easily the bend is found than single words' part in it: four numbers have many samples each."""


def is_worthwhile(pairs: int, d: int) -> bool:
    """Whether so many pairs can tell the columns apart."""
    return 2 * pairs >= 3 * d + 100


@dataclass(frozen=True)
class OddColumns:
    """The columns of one output. `c` is the direction of the bend, `top` the strongest words, `scale` how strong."""

    c: Floats  # (d,)
    top: Integers
    scale: Floats

    @classmethod
    def guessed(cls, x: Floats, odd: Floats, weights: Floats) -> OddColumns | None:
        """From signs (n, d), the odd part (n,) and weights (n,); None where the game does not depend on the words."""
        H = (x * weights[:, None]).T @ x
        H[np.diag_indices_from(H)] += _RIDGE
        c = np.linalg.solve(H, x.T @ (weights * odd))
        size = float(np.sqrt((weights * (x @ c) ** 2).mean()))
        if size <= 1e-9 * float(np.abs(odd).max(initial=0.0)) or size == 0.0:
            return None
        top = np.argsort(-np.abs(c), kind="stable")[:_STRONGEST]
        scale = np.sqrt(np.abs(c[top]) / np.abs(c[top]).mean())
        return cls(np.asarray(c / size, dtype=np.float64), top, scale)

    def of(self, x: Floats) -> Floats:
        """All columns of signs (n, d): the words, the bend, the strongest words' part in it."""
        p, m = x @ self.c, x.mean(axis=1)
        own = x[:, self.top] * self.scale
        bend = _EASILY * np.stack([m**3, m**2 * p, m * p**2, p**3], axis=1)
        return np.concatenate([x, bend, own * (p * p)[:, None], own * (m * p)[:, None]], axis=1)

    @property
    def n_free(self) -> int:
        """The words."""
        return len(self.c)

    def values(self) -> Floats:
        """Shapley values of each column, but for a part that is the same for all features: (columns, d).

        That part is given by the sum of all values, which is known.
        """
        d = len(self.c)
        weights, zero = size_weights(d), np.zeros(d)
        beside = float(weights @ sign_moments(d)[2])
        games = [OddGame(zero, self.c, _EASILY * np.eye(5)[k], zero, zero) for k in range(1, 5)]
        units = [np.eye(1, d, j)[0] * scale for j, scale in zip(self.top, self.scale, strict=True)]
        games += [OddGame(zero, self.c, np.zeros(5), unit, zero) for unit in units]
        games += [OddGame(zero, self.c, np.zeros(5), zero, unit) for unit in units]
        words = np.full((d, d), beside) + (1.0 - beside) * np.eye(d)
        with_sign = np.concatenate([words, np.stack([game.means_with_sign(weights) for game in games])])
        return 2.0 * (with_sign - with_sign.mean(axis=1, keepdims=True)) / (1.0 - beside)
