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

from limelight.arrays import Floats
from limelight.explainers.standard_errors import Moves

_PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Of guessed columns, in units of their mean square."""
_STEPS = 8
"""Of refinement, at most: each finds some two digits where columns nearly coincide, and six where they do not."""
_FOUND = 1e-12
"""A step that moves coefficients by less, of the largest, is the last one."""
_PRIOR = 2.0
"""Of `standard_errors`: with as many columns as samples leverages alone make errors wide (coverage 96–98 %)."""
_FREE = 1e-6
"""The same for columns that are not penalised: it only keeps those apart that coincide."""


@dataclass(frozen=True)
class AugmentedFit:
    """Weights (d,), and how each sample moves them, which their errors are known from."""

    values: Floats  # (d,)
    moves: Moves

    @property
    def stderr(self) -> Floats:
        return self.moves.stderr()

    @property
    def gain(self) -> float:
        """How far outputs that are off by at most 1 may move a weight."""
        return float(np.abs(self.moves.per_unit).sum(axis=0, dtype=np.float64).max())


def augmented_fit(
    columns: Floats,
    y: Floats,
    weights: Floats,
    known: Floats,
    free: int,
    fixed: int = 0,
    noise: Floats | None = None,
    noise_freedom: int = 1,
) -> AugmentedFit:
    """The regression of y (n,) on columns (n, p), the first `free` of which are not penalised.

    `known` (p, d): the weights of each column. The first `fixed` samples are not drawn: they have no part in errors.
    `noise` (n,): variances of answers that residuals do not hold, known from `noise_freedom` repetitions.
    """
    root = np.sqrt(weights)
    exact, target = columns * root[:, None], y * root
    B = exact.astype(np.float32)
    gram = (B.T @ B).astype(np.float64)
    inverse, ridge = _best_inverse(gram, exact.T @ target, float(target @ target), len(y), free)
    u = np.zeros(len(gram))
    for _ in range(_STEPS):  # products were rounded to float32, and free columns held apart: residuals tell the rest
        step = inverse @ (exact.T @ (target - exact @ u) - ridge * u)
        u = u + step
        if np.abs(step).max() <= _FOUND * np.abs(u).max():
            break
    residuals = target - exact @ u
    leverage = np.einsum("np,np->n", B @ inverse.astype(np.float32), B)
    off = residuals / np.maximum(1.0 - leverage, 1e-3)
    off[:fixed] = 0.0
    # The samples decide the matrix too, which is a bias of the order of 1/n: the jackknife knows it.
    unbiased = u + inverse @ (exact.T @ off)
    per_unit = (B @ (inverse @ known).astype(np.float32)) * root[:, None].astype(np.float32)
    off = np.divide(off, root, out=off, where=root > 0.0)
    return AugmentedFit(known.T @ unbiased, Moves(per_unit, off, None, noise, noise_freedom, _PRIOR))


def _best_inverse(gram: Floats, moment: Floats, square: float, n: int, free: int) -> tuple[Floats, Floats]:
    """(B'B + ridge)⁻¹ and the ridge, with the penalty on guessed columns that generalised cross-validation finds best.

    Without what free columns explain of them, guessed columns have the matrix S. In its own directions every penalty is
    a division, so that one decomposition serves all of them.
    """
    diagonal = np.diag(gram)
    own, beside, rest = gram[:free, :free].copy(), gram[:free, free:], gram[free:, free:]
    own[np.diag_indices_from(own)] += _FREE * np.maximum(diagonal[:free], 1e-300)
    own_inverse = np.linalg.inv(own)
    explained = own_inverse @ beside
    size, directions = np.linalg.eigh(rest - beside.T @ explained)
    size = np.maximum(size, 0.0)
    along = directions.T @ (moment[free:] - explained.T @ moment[:free])
    unexplained = square - float(moment[:free] @ own_inverse @ moment[:free])
    unit = (float(diagonal[free:].mean()) if len(size) else 0.0) or 1.0

    def error(penalty: float) -> float:
        divided = along / (size + penalty)
        left = unexplained - 2.0 * float(along @ divided) + float(size @ divided**2)
        freedom = free + float((size / (size + penalty)).sum())
        return left / max(1.0 - freedom / n, 1e-3) ** 2

    best = min((level * unit for level in _PENALTIES), key=error)
    corner = (directions / (size + best)) @ directions.T
    mixed = -explained @ corner
    inverse = np.block([[own_inverse - mixed @ explained.T, mixed], [mixed.T, corner]])
    return inverse, np.concatenate([np.zeros(free), np.full(len(size), best)])
