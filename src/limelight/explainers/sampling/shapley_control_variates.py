"""What the odd part of a sampled game is guessed to be beside a sum over words, for Shapley values.

As for LIME, a model bends along the line of its linear fit, p, and with the share of kept words, m: columns m³, m²p,
m p² and p³. The strongest words have a part of their own in the bend: p² x_j and m p x_j. All are odd, as only odd
functions have Shapley values, and the values of each are known without sampling (`theory.odd_game`). The line of a pair
of samples is fitted without that pair's fold (see `lime_columns`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.explainers.sampling.lime_control_variates import FOLDS
from limelight.theory.odd_game import OddGame, sign_moments, size_weights

_STRONGEST = 16
_PAIRS_PER_WORD = 8
"""Pairs beyond one for each word that a strong word's columns take: with fewer pairs fewer words are better."""
_RIDGE = 5.0
"""Of the linear fit that says what is strong and along which line the game bends, in pairs of samples."""
_EASILY = 10.0
"""How much more easily the bend is found than single words' part in it: four numbers have many samples each."""


def is_worthwhile(pairs: int, d: int) -> bool:
    """Whether so many pairs can tell a bend from the words."""
    return 2 * pairs >= 3 * d + 20


@dataclass(frozen=True)
class OddColumns:
    """The columns of one output. `c` are directions of the bend, by fold; `top` strong words, `scale` how strong."""

    c: Floats  # (folds, d)
    top: Integers
    scale: Floats

    @classmethod
    def guessed(cls, x: Floats, odd: Floats, weights: Floats) -> OddColumns | None:
        """From signs (n, d), the odd part (n,) and weights (n,); None where the game does not depend on the words."""
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
        strongest = min(_STRONGEST, max(0, len(x) - x.shape[1]) // _PAIRS_PER_WORD)
        top = np.argsort(-np.abs(whole), kind="stable")[:strongest]
        scale = np.sqrt(np.abs(whole[top]) / (np.abs(whole[top]).mean() if strongest else 1.0))
        return cls(np.stack([line / own for line, own in zip(lines, sizes, strict=True)]), top, scale)

    def of(self, x: Floats) -> Floats:
        """All columns of the signs (n, d) that they were guessed from: words, the bend, strong words' part in it."""
        p, m = np.einsum("nj,nj->n", x, self.c[np.arange(len(x)) % FOLDS]), x.mean(axis=1)
        own = x[:, self.top] * self.scale
        bend = _EASILY * np.stack([m**3, m**2 * p, m * p**2, p**3], axis=1)
        return np.concatenate([x, bend, own * (p * p)[:, None], own * (m * p)[:, None]], axis=1)

    @property
    def n_free(self) -> int:
        """The words."""
        return self.c.shape[1]

    def values(self) -> Floats:
        """Shapley values of each column, means over the folds, but for a part that all features share: (columns, d).

        That part is given by the sum of all values, which is known.
        """
        d = self.c.shape[1]
        weights = size_weights(d)
        beside = float(weights @ sign_moments(d)[2])
        words = np.full((d, d), beside) + (1.0 - beside) * np.eye(d)
        guessed = np.mean([self._with_sign(c, weights) for c in self.c], axis=0)
        with_sign = np.concatenate([words, guessed])
        return np.asarray(2.0 * (with_sign - with_sign.mean(axis=1, keepdims=True)) / (1.0 - beside), dtype=np.float64)

    def _with_sign(self, c: Floats, weights: Floats) -> Floats:
        zero, none = np.zeros(len(c)), np.zeros(5)
        games = [OddGame(zero, c, _EASILY * np.eye(5)[k], zero, zero) for k in range(1, 5)]
        units = [np.eye(1, len(c), j)[0] * scale for j, scale in zip(self.top, self.scale, strict=True)]
        games += [OddGame(zero, c, none, unit, zero) for unit in units]
        games += [OddGame(zero, c, none, zero, unit) for unit in units]
        return np.stack([game.means_with_sign(weights) for game in games])


def _line(gram: Floats, moment: Floats) -> Floats:
    H = gram + _RIDGE * np.eye(len(gram))
    return np.asarray(np.linalg.solve(H, moment), dtype=np.float64)
