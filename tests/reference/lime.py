"""LIME from its definition, one sample at a time, in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


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
    """Leave each sample out in turn and fit again: Σ_i (β_(-i) - β)² is the jackknife's estimate of the variance."""
    everything, _ = fit(kept, y, weights, ridge)
    without = []
    for i in range(len(kept)):
        rest = np.arange(len(kept)) != i
        without.append(fit(kept[rest], y[rest], weights[rest], ridge)[0])
    return np.sqrt(((np.stack(without) - everything) ** 2).sum(axis=0))
