"""LIME for text (paper, Section 5.1), with the semantics of the official implementation and an error for each weight.

Sampling: s uniform in 1..d features are removed, uniformly among the subsets of that size; the first sample is the
document itself. Weights: π = exp(-(1 - cos)² / 2ν²), where the cosine similarity of a sample with s removed features to
the document is sqrt(1 - s/d) (Eq. 15). Surrogate: weighted ridge regression with an unpenalised intercept (Eq. 16).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from limelight.errors import NumericalError, ParameterError
from limelight.explainers.method import Floats, Outcome, Request, method
from limelight.theory.ratio_game import Coalitions
from limelight.theory.sample_size import samples_for_stable_top
from limelight.threads import one_thread

_ROWS_AT_ONCE = 1024
"""Samples turned into floating-point numbers at once: they stay in the cache, and memory is bounded for any number."""


@method(
    "lime",
    label="LIME",
    summary="Local linear surrogate, fitted on samples with words removed (Eq. 16)",
    needs=("perturbation",),
    exact=False,
    uses=("removal", "output", "seed"),
)
def lime(
    request: Request,
    *,
    n_samples: int = 5000,
    kernel_width: float = 0.25,
    ridge: float = 1.0,
    original_first: bool = True,
) -> Outcome:
    check_options(n_samples, kernel_width, ridge)
    d, game = len(request.features), request.game()
    kept = sample_coalitions(d, n_samples, np.random.default_rng(request.seed), original_first)
    outputs = game(kept)
    with one_thread():
        fit = fit_surrogate(kept, outputs, kernel_weights(kept, kernel_width), ridge)
    return Outcome(
        fit.coefficients,
        fit.stderr,
        {
            "intercept": fit.intercept,
            "r2": fit.r2,
            "surrogate_prediction": fit.intercept + float(fit.coefficients.sum()),
            "model_prediction": float(outputs[0] if original_first else game(np.ones((1, d), dtype=bool))[0]),
            "stable_top": _stable_top(fit, n_samples),
        },
    )


def _stable_top(fit: Surrogate, n_samples: int, k: int = 5, level: float = 0.95) -> dict[str, float | int | None]:
    """How many samples would give the same k strongest words in 95 % of runs; None where two weights are tied."""
    needed = samples_for_stable_top(fit.coefficients, fit.stderr, n_samples, k, level)
    return {"k": k, "level": level, "n_samples": int(needed) if math.isfinite(needed) else None}


def check_options(n_samples: int, kernel_width: float, ridge: float) -> None:
    """Say what is wrong before any work is done."""
    if not isinstance(n_samples, int | np.integer) or n_samples < 2:
        raise ParameterError(f"n_samples must be a whole number of at least 2: got {n_samples!r}")
    if not kernel_width > 0:
        raise ParameterError(f"kernel_width must be above 0 (the paper's ν, 0.25 by default): got {kernel_width!r}")
    if not 0 <= ridge < math.inf:
        raise ParameterError(f"ridge must be 0 or more, and finite: got {ridge!r}")


def sample_coalitions(d: int, n: int, rng: np.random.Generator, original_first: bool = True) -> Coalitions:
    """n rows of kept (True) and removed (False) features.

    A uniform subset of size s holds the features with the s smallest of d random keys. Sorting the keys of all rows at
    once is far cheaper than drawing each subset by itself.
    """
    sizes = rng.integers(1, d + 1, size=n)
    kept = np.empty((n, d), dtype=bool)
    for rows in _blocks(n):
        s = sizes[rows, None]
        keys = rng.integers(0, 2**32, size=(len(s), d), dtype=np.uint32)
        # The column number in the lowest bits makes the keys of a row distinct, so that exactly s are removed.
        keys &= np.uint32(2**32 - (1 << max(d - 1, 1).bit_length()))
        keys |= np.arange(d, dtype=np.uint32)
        last_removed = np.take_along_axis(np.sort(keys, axis=1), s - 1, axis=1)
        np.greater(keys, last_removed, out=kept[rows])
    if original_first:
        kept[0] = True
    return kept


def kernel_weights(kept: Coalitions, kernel_width: float) -> Floats:
    """π of Eq. 15; the distance of a sample depends only on how many features it keeps."""
    similarity = np.sqrt(kept.mean(axis=1))
    return np.exp(-((1.0 - similarity) ** 2) / (2.0 * kernel_width**2))


@dataclass(frozen=True)
class Surrogate:
    """A weighted linear fit: the standard errors are those of repeated sampling."""

    coefficients: Floats
    stderr: Floats
    intercept: float
    r2: float


def fit_surrogate(kept: Coalitions, y: Floats, weights: Floats, ridge: float) -> Surrogate:
    """Weighted ridge regression of y on z, intercept unpenalised, with heteroscedasticity-robust standard errors.

    With x = z - mean(z) and H = Σ w x xᵀ + ridge·I, the error of the coefficients is H⁻¹ Σ w x ε: its variance is
    estimated by Σ (w ε / (1 - h))² (H⁻¹x)², where h = w (1/Σw + xᵀH⁻¹x) is a sample's leverage: what leaving out one
    sample after the other gives (the jackknife, "HC3"). Nothing is assumed of the residuals ε: a linear surrogate of a
    model that is not linear has residuals that depend on z.
    """
    if not np.isfinite(y).all():
        raise NumericalError(
            f"the model gave {int((~np.isfinite(y)).sum())} outputs that are not finite: check its weights"
        )
    total = weights.sum()
    mean_y = float(weights @ y) / total
    gram, moment, sum_z = np.zeros((kept.shape[1],) * 2), np.zeros(kept.shape[1]), np.zeros(kept.shape[1])
    root = np.sqrt(weights)
    for rows in _blocks(len(kept)):
        z = kept[rows] * root[rows, None]
        gram += z.T @ z
        moment += ((y[rows] - mean_y) * root[rows]) @ z
        sum_z += root[rows] @ z
    mean_z = sum_z / total
    penalised = gram - np.outer(sum_z, mean_z) + ridge * np.eye(len(gram))
    inverse = _inverse(penalised, singular=ridge == 0)
    coefficients = inverse @ moment
    intercept = mean_y - float(mean_z @ coefficients)
    residuals = y - intercept - np.concatenate([kept[rows] @ coefficients for rows in _blocks(len(kept))])
    spread = float(weights @ (y - mean_y) ** 2)
    return Surrogate(
        coefficients=coefficients,
        stderr=np.sqrt(_variance(kept, weights, residuals, mean_z, inverse)),
        intercept=intercept,
        r2=1.0 - float(weights @ residuals**2) / spread if spread > 0 else 1.0,
    )


def _inverse(H: Floats, singular: bool) -> Floats:
    """Without ridge a feature that is always kept or always removed leaves H singular: it then gets weight 0."""
    inverse = np.linalg.pinv(H, hermitian=True) if singular else np.linalg.inv(H)
    return np.asarray(inverse, dtype=np.float64)


def _variance(kept: Coalitions, weights: Floats, residuals: Floats, mean_z: Floats, inverse: Floats) -> Floats:
    """The robust variance of each coefficient. Float32: seven digits are plenty for an error, at half the cost."""
    H_inverse, mean = inverse.astype(np.float32), mean_z.astype(np.float32)
    at_mean, total = mean @ H_inverse, weights.sum()
    variance = np.zeros(len(mean))
    for rows in _blocks(len(kept)):
        z = kept[rows].astype(np.float32)
        influence = z @ H_inverse - at_mean
        leverage = weights[rows] * (1.0 / total + np.einsum("ij,ij->i", influence, z) - influence @ mean)
        # A sample that decides its own fit (leverage 1) has residual 0: the bound only avoids 0/0.
        scale = weights[rows] * residuals[rows] / np.maximum(1.0 - leverage, 1e-6)
        influence *= influence
        variance += (scale * scale).astype(np.float32) @ influence
    return variance


def _blocks(n: int) -> list[slice]:
    return [slice(start, start + _ROWS_AT_ONCE) for start in range(0, n, _ROWS_AT_ONCE)]
