"""A regression with columns beside the linear ones, whose own weights are known without sampling.

Weights such as LIME's and Shapley's are those of a projection on linear functions. They stay the same if the game is
projected on more columns first, and what comes out on linear ones. So the columns may hold whatever a model is guessed
to do (how it bends, what strong words do to each other), and samples only have to tell the rest. Where each of the
columns has known weights T, and u are their fitted coefficients, the weights of the game are T u.

Guessed columns are penalised by as much as generalised cross-validation finds best. Linear ones are not, so residuals
are orthogonal to them whatever the penalty, and in the long run the weights are those of the game.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.arrays import Array, Floats

_PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Of guessed columns, in units of their mean square."""
_STEPS = 8
"""Of refinement: each finds some two digits where columns nearly coincide, and six where they do not."""
_FREE = 1e-6
"""The same for columns that are not penalised: it only keeps those apart that coincide."""


@dataclass(frozen=True)
class AugmentedFit:
    """Weights (d,), and how each sample moves them: their errors assume nothing of the residuals.

    The influence of a sample, its residual scaled by 1 / (1 - leverage), is what leaving it out would move the weights
    by (the jackknife, "HC3").
    """

    values: Floats  # (d,)
    moved: Array  # (n, d), float32: by each sample

    @property
    def stderr(self) -> Floats:
        return np.sqrt((self.moved.astype(np.float64) ** 2).sum(axis=0))

    def stderr_of_sums(self, groups: Floats) -> Floats:
        """Of sums of weights: groups (d, g) of zeros and ones."""
        return np.sqrt(((self.moved.astype(np.float64) @ groups) ** 2).sum(axis=0))

    def covariance(self) -> Floats:
        return np.asarray((self.moved.T @ self.moved), dtype=np.float64)


def augmented_fit(
    columns: Floats, y: Floats, weights: Floats, known: Floats, free: int, fixed: int = 0
) -> AugmentedFit:
    """The regression of y (n,) on columns (n, p), the first `free` of which are not penalised.

    `known` (p, d): the weights of each column. The first `fixed` samples are not drawn: they have no part in errors.
    """
    root = np.sqrt(weights)
    exact, target = columns * root[:, None], y * root
    B = exact.astype(np.float32)
    gram = (B.T @ B).astype(np.float64)
    moment = exact.T @ target
    square = np.diag(gram)
    unit = float(square[free:].mean()) if len(square) > free else 0.0
    penalty = np.concatenate([_FREE * np.maximum(square[:free], 1e-300), np.full(len(square) - free, unit or 1.0)])
    best, chosen, inverse = np.inf, 1.0, np.zeros_like(gram)
    for level in _PENALTIES:
        ridge = penalty.copy()
        ridge[free:] *= level
        candidate = np.asarray(np.linalg.inv(gram + np.diag(ridge)), dtype=np.float64)
        u = candidate @ moment
        freedom = float(np.einsum("ij,ji->", candidate, gram))
        left = float(target @ target) - 2.0 * float(moment @ u) + float(u @ gram @ u)
        error = left / max(1.0 - freedom / len(y), 1e-3) ** 2
        if error < best:
            best, chosen, inverse = error, level, candidate
    ridge = np.where(np.arange(len(penalty)) < free, 0.0, chosen * penalty)
    u = inverse @ moment
    for _ in range(
        _STEPS
    ):  # products were rounded to float32, and free columns held apart: residuals tell what that cost
        u = u + inverse @ (exact.T @ (target - exact @ u) - ridge * u)
    residuals = target - exact @ u
    leverage = np.einsum("np,np->n", B @ inverse.astype(np.float32), B)
    scale = residuals / np.maximum(1.0 - leverage, 1e-3)
    scale[:fixed] = 0.0
    moved = (B @ (inverse @ known).astype(np.float32)) * scale[:, None].astype(np.float32)
    # The samples decide the matrix too, which is a bias of the order of 1/n: the jackknife knows it.
    unbiased = u + inverse @ (exact.T @ scale)
    return AugmentedFit(known.T @ unbiased, moved)
