"""LIME from its definition, one sample at a time, in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import stdtrit


def sample_one_by_one(d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    kept = np.ones((n, d), dtype=bool)
    for i in range(1, n):
        size = rng.integers(1, d + 1)
        kept[i, rng.choice(d, size=size, replace=False)] = False
    return kept


def kernel(kept: np.ndarray, nu: float) -> np.ndarray:
    """Eq. 15 with the cosine distance to the vector of ones written out."""
    weights = []
    for z in kept.astype(float):
        length = np.linalg.norm(z) * np.sqrt(len(z))
        distance = 1.0 - (z.sum() / length if length > 0 else 0.0)
        weights.append(np.exp(-(distance**2) / (2 * nu**2)))
    return np.array(weights)


def weighted_ridge(kept: np.ndarray, y: np.ndarray, weights: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """The minimiser of Σ w (y - b0 - βᵀz)² + ridge |β|², from the normal equations of (b0, β) together."""
    design = np.column_stack([np.ones(len(kept)), kept.astype(float)])
    penalty = np.diag([0.0] + [ridge] * kept.shape[1])
    solution = np.linalg.solve(design.T @ (weights[:, None] * design) + penalty, design.T @ (weights * y))
    return solution[1:], float(solution[0])


def jackknife_stderr(
    kept: np.ndarray, y: np.ndarray, weights: np.ndarray, ridge: float, fit: Callable[..., tuple[np.ndarray, float]]
) -> np.ndarray:
    """Leave each sample out in turn and fit again: Σ_i (β_(-i) - β)² is the jackknife's estimate of the variance.

    Six samples more are counted whose residual is typical, those that decide the variance are counted for Student's
    factor, and a coefficient that samples tell less of than of others is short by as much of a typical one.
    """
    n, d = kept.shape
    everything, _ = fit(kept, y, weights, ridge)
    moved, per_unit = np.empty((n, d)), np.empty((n, d))
    for i in range(n):
        rest = np.arange(n) != i
        moved[i] = everything - fit(kept[rest], y[rest], weights[rest], ridge)[0]
        per_unit[i] = fit(kept, y + ~rest, weights, ridge)[0] - everything
    off = (moved * per_unit).sum(axis=1) / (per_unit**2).sum(axis=1)
    variance = (moved**2).sum(axis=0)
    effective = 3.0 * variance**2 / (moved**4).sum(axis=0)
    typical = (per_unit**2).sum(axis=0) * np.average(off**2, weights=weights)
    widened = stdtrit(effective, 0.975) / stdtrit(1e9, 0.975)
    told = np.array([fit(kept, kept[:, j].astype(float), weights, ridge)[0][j] for j in range(d)])
    short = np.maximum(1.0 - told / told.mean(), 0.0)
    return np.sqrt((variance + 6.0 * typical / effective) * widened**2 + short**2 * (everything**2).mean())
