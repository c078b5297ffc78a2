"""A regression with columns beside the linear ones, whose own weights are known without sampling.

Shapley values are those of a projection on linear functions. They stay the same if the game is
projected on more columns first, and what comes out on linear ones. So the columns may hold whatever a model is guessed
to do (how it bends, what strong words do to each other), and samples only have to tell the rest. Where each of the
columns has known weights T, and u are their fitted coefficients, the weights of the game are T u.

Guessed columns are penalised by as much as generalised cross-validation finds best. Linear ones are not, so residuals
are orthogonal to them whatever the penalty, and in the long run the weights are those of the game.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limelight.core.arrays import Array, Floats
from limelight.explainers.sampling.designs import blocks
from limelight.explainers.sampling.nondeterminism import AnswerNoise
from limelight.explainers.sampling.standard_errors import Fit, Moves

_PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Penalties of guessed columns, in units of their mean square."""
_STEPS = 8
"""Steps of refinement, at most: each finds some two digits where columns nearly coincide, and six where they do not."""
_FOUND = 1e-12
"""A step that moves coefficients by less, of the largest, is the last one."""
_PRIOR = 2.0
"""Samples that `standard_errors` counts more: with as many columns as samples, leverages alone make errors wide
(coverage 96–98 %)."""
_FREE = 1e-6
"""Penalty of the other columns: it only keeps those apart that coincide."""


def augmented_fit(
    columns: Floats,
    y: Floats,
    weights: Floats,
    known: Callable[[Array], Array],
    free: int,
    noise: AnswerNoise | None = None,
) -> Fit:
    """Fit the regression of y (n,) on columns (n, p), the first `free` of which are not penalised.

    `known`: from coefficients (p,) or (p, k) to the weights of these sums of columns, (d,) or (d, k). `noise` (n,):
    that of answers, as far as residuals do not hold it.
    """
    root = np.sqrt(weights)
    gram = np.zeros((columns.shape[1],) * 2)
    for rows in blocks(len(y)):
        B = _weighed(columns[rows], root[rows])
        gram += B @ B.T
    moment = columns.T @ (weights * y)
    inverse, ridge = _best_inverse(gram, moment, float(weights @ y**2), len(y), free)
    u = inverse @ moment
    off = y - columns @ u
    for _ in range(_STEPS):  # products were rounded to float32, and free columns held apart: residuals tell the rest
        step = inverse @ (columns.T @ (weights * off) - ridge * u)
        u = u + step
        off = y - columns @ u
        if np.abs(step).max() <= _FOUND * np.abs(u).max():
            break
    per_unit, single = [], inverse.astype(np.float32)
    for rows in blocks(len(y)):
        B = _weighed(columns[rows], root[rows])
        moved = single @ B
        off[rows] /= np.maximum(1.0 - np.einsum("pn,pn->n", moved, B), 1e-3)  # by leverages
        per_unit.append(known(moved) * root[rows].astype(np.float32))
    # The samples decide the matrix too, which is a bias of the order of 1/n: the jackknife knows it.
    unbiased = u + inverse @ (columns.T @ (weights * off))
    moves = Moves(np.concatenate(per_unit, axis=1).T, off, None, noise, _PRIOR)
    return Fit(known(unbiased), moves)


def _weighed(columns: Floats, root: Floats) -> Array:
    """Columns (n, p) times roots of weights (n,), in float32, samples side by side: (p, n)."""
    B = columns.T.astype(np.float32, order="C")
    B *= root.astype(np.float32)
    return B


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
