"""LIME's surrogate (Eq. 16): a weighted ridge regression of outputs on kept features, its intercept not penalised.

With x = z - mean(z), the weighted mean, and H = Σ w x xᵀ + ridge·I, the coefficients are H⁻¹ Σ w x (y - mean(y)).

Arrays are NumPy's, or torch's tensors on any device. Several outputs of the same coalitions (m columns of y) share
all of the matrix; axes before those that are named stay as they are, such as one for several runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.errors import NumericalError, ParameterError
from limelight.explainers.sampling.designs import blocks
from limelight.explainers.sampling.nondeterminism import AnswerNoise
from limelight.explainers.sampling.standard_errors import (
    ALL_DETERMINED,
    DECIDES,
    effective_samples,
    stderr_of_sums,
    with_stderr,
)
from limelight.theory.lime_kernel import distances

if TYPE_CHECKING:
    from torch import Tensor


LEAST_WEIGHT = 1e-8
"""Least weight of all samples together beside the document's of 1: with less, half of float64's digits are lost in
the fit, and what is left of the model's answers is one sample."""


NO_RIDGE = 1e-6
"""Up to here a penalty changes no digit of a fit that is shown."""


def tells_errors(n: int, d: int, ridge: float) -> bool:
    """Whether residuals of n samples tell how far d coefficients are off.

    With fewer samples than twice the words, intervals cover less than they say (benchmarks/stress_settings.py);
    without a penalty it takes some more.
    """
    return n >= (2 if ridge > NO_RIDGE else 3) * d + 2


def too_narrow(weights: Floats, others: float, d: int, kernel_width: float) -> ParameterError:
    """Error for a fit that one sample decides; `others` is the weight of all samples that remove something.

    (Σw)² / Σw², the effective number of samples, is 1 where the document alone has weight: any line through it fits.
    """
    with_document = weights if float(weights.max()) == 1.0 else np.append(weights, 1.0)
    effective = float(with_document.sum()) ** 2 / float((with_document**2).sum())
    carrying = int((weights >= LEAST_WEIGHT).sum())
    return ParameterError(
        f"kernel_width={kernel_width!r} is too narrow for {d} {'feature' if d == 1 else 'features'}: all samples with "
        f"words removed weigh {others:.2g} together, where the document weighs 1; {carrying} of {len(weights)} samples "
        f"carry weight (effective number: {effective:.4g}), from which nothing can be fitted; "
        f"use a larger one, {float(distances(d)[1]) / 4.0:.2g} or more (LIME's own is 0.25)"
    )


@dataclass(frozen=True)
class Equations:
    """The normal equations H β = moment; `total` is Σ w."""

    H: Any  # (..., d, d)
    moment: Any  # (..., d, m)
    mean_z: Any  # (..., d)
    mean_y: Any  # (..., m)
    total: Any  # (...)
    ridge: float = 0.0


def normal_equations(kept: Any, y: Any, weights: Any, ridge: float) -> Equations:
    """Normal equations of coalitions (..., n, d), outputs (..., n, m) and weights (..., n), in float64."""
    d = kept.shape[-1]
    total = weights.sum(-1)
    mean_y = (weights[..., None] * y).sum(-2) / total[..., None]
    root, away = weights**0.5, y - mean_y[..., None, :]
    gram: Any = 0.0
    moment: Any = 0.0
    sum_z: Any = 0.0
    for rows in _pieces(kept):
        scale = root[..., rows, None]
        z = kept[..., rows, :] * scale
        gram = gram + z.mT @ z
        moment = moment + z.mT @ (away[..., rows, :] * scale)
        sum_z = sum_z + (z.mT @ scale)[..., 0]
    mean_z = sum_z / total[..., None]
    H = gram - sum_z[..., :, None] * mean_z[..., None, :]
    if isinstance(H, np.ndarray):
        H[..., np.arange(d), np.arange(d)] += ridge
    else:
        H.diagonal(dim1=-2, dim2=-1).add_(ridge)
    return Equations(H, moment, mean_z, mean_y, total, ridge)


_CLEAR_RIDGE = 1e-6
"""Fraction of H's largest diagonal element above which the penalty keeps H away from singular by ten digits."""
_ROUNDED_AWAY = 8.0 * float(np.finfo(np.float64).eps)
"""An eigenvalue of Σ w x xᵀ below it, times d and the largest one, is 0 that was rounded."""


def inverse_of(H: Any, ridge: float) -> Any:
    """H⁻¹. A feature that is always kept or always removed, or fewer samples than features, leave Σ w x xᵀ singular.

    No sample says anything of such directions, and the coefficients along them are 0 for every penalty. So they are
    left out where the penalty is 0, or too small to be seen beside the rounding of H.
    """
    xp = _namespace(H)
    if ridge == 0:
        return xp.linalg.pinv(H, hermitian=True)
    if _is_clear(H, ridge):
        return np.linalg.inv(H) if isinstance(H, np.ndarray) else xp.cholesky_inverse(xp.linalg.cholesky(H))
    values, vectors = xp.linalg.eigh(H)
    # 1 / eigenvalue, which ascend; 0 along what no sample tells anything of.
    seen = values > ridge + _ROUNDED_AWAY * values.shape[-1] * values[..., -1:]
    reciprocals = xp.where(seen, 1.0 / xp.where(seen, values, xp.ones_like(values)), xp.zeros_like(values))
    return (vectors * reciprocals[..., None, :]) @ vectors.mT


def solution(equations: Equations) -> Floats:
    """H⁻¹ moment alone, for arrays."""
    H, moment = equations.H, equations.moment
    found = np.linalg.solve(H, moment) if _is_clear(H, equations.ridge) else inverse_of(H, equations.ridge) @ moment
    return np.asarray(found, dtype=np.float64)


def inverses_of_tensors(matrices: Sequence[Tensor], ridge: float) -> list[Tensor]:
    """H⁻¹ of the matrices (..., d, d) of many documents in one call: a GPU takes as long for one as for sixty.

    A shorter document is padded by the identity.
    """
    import torch

    widest, like = max(H.shape[-1] for H in matrices), matrices[0]
    padded = torch.eye(widest, dtype=like.dtype, device=like.device).repeat(len(matrices), *like.shape[:-2], 1, 1)
    for i, H in enumerate(matrices):
        padded[i, ..., : H.shape[-1], : H.shape[-1]] = H
    inverse = inverse_of(padded, ridge)
    return [inverse[i, ..., : H.shape[-1], : H.shape[-1]] for i, H in enumerate(matrices)]


def _is_clear(H: Any, ridge: float) -> bool:
    """Whether the penalty alone makes H regular in float64."""
    diagonal = np.diagonal(H, axis1=-2, axis2=-1) if isinstance(H, np.ndarray) else H.diagonal(dim1=-2, dim2=-1)
    return ridge >= _CLEAR_RIDGE * float(diagonal.max())


@dataclass(frozen=True)
class Surrogate:
    """Weighted linear fits of m outputs: the standard errors are those of repeated sampling."""

    coefficients: Any  # (..., d, m)
    stderr: Any  # (..., d, m)
    intercept: Any  # (..., m)
    r2: Any  # (..., m)
    group_stderr: Any = None  # (..., groups, m): of the sums of coefficients over groups of features
    scatter: Any = None  # (..., m): the weighted standard deviation of the outputs
    largest: Any = None  # (..., m): of the outputs' absolute values
    gain: Any = None  # (...): how far outputs that are off by at most 1 may move a coefficient
    effective: Any = None  # (..., d, m): from how many samples each standard error is

    @property
    def prediction(self) -> Any:
        """Prediction of the surrogate for the document itself, (..., m)."""
        return self.intercept + self.coefficients.sum(-2)


def fit_surrogate(
    kept: Coalitions,
    y: Floats,
    weights: Floats,
    ridge: float,
    groups: Floats | None = None,
    noise: AnswerNoise | None = None,
) -> Surrogate:
    """The fit of outputs (n, m) on coalitions (n, d). `groups` (d, g) of zeros and ones: sums that need errors too.

    `noise`: that of answers, as far as residuals do not hold it. A standard error is NaN where none can be had.
    """
    if not np.isfinite(y).all():
        raise NumericalError(
            f"the model gave {int((~np.isfinite(y)).sum())} outputs that are not finite: check its weights"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # asked for below
        equations = normal_equations(kept, y, weights, ridge)
        if not all(np.isfinite(array).all() for array in (equations.H, equations.moment, equations.mean_y)):
            raise _overflow(y, ridge)
        fit = surrogate_of(equations, inverse_of(equations.H, ridge), kept, y, weights, groups, noise)
    found = (fit.coefficients, np.nan_to_num(fit.stderr, nan=0.0, posinf=np.inf), fit.intercept, fit.r2)
    if not all(np.isfinite(array).all() for array in found):
        raise _overflow(y, ridge)
    return fit


def _overflow(y: Floats, ridge: float) -> NumericalError:
    return NumericalError(
        f"LIME's regression overflows: outputs are as large as {np.abs(y).max():.3g} with ridge={ridge:g}; "
        "scale the model's outputs down"
    )


def surrogate_of(
    equations: Equations,
    inverse: Any,
    kept: Any,
    y: Any,
    weights: Any,
    groups: Any = None,
    noise: AnswerNoise | None = None,
) -> Surrogate:
    """The solution and its heteroscedasticity-robust standard errors.

    The error of the coefficients is H⁻¹ Σ w x ε. A residual ε counts as leaving its sample out would find it, divided
    by 1 - h, where h = w (1/Σw + xᵀH⁻¹x) is the sample's leverage; `standard_errors` says what is made of it. Nothing
    is assumed of the residuals: a linear surrogate of a model that is not linear has residuals that depend on z. Errors
    are summed in float32, in units of H⁻¹, of the heaviest sample and of the outputs: seven digits are plenty, at half
    the cost, and fourth powers stay in its range.
    """
    xp = _namespace(kept)
    mean_y, mean_z, total = equations.mean_y, equations.mean_z, equations.total
    coefficients = inverse @ equations.moment
    intercept = mean_y - (mean_z[..., None, :] @ coefficients)[..., 0, :]
    unit, heaviest = float(abs(inverse).max()) or 1.0, float(weights.max())
    away = xp.amax(abs(y - mean_y[..., None, :]), -2)
    away = xp.where(away > 0.0, away, xp.ones_like(away))
    # z - mean is (1 - mean) - (1 - z): where the document outweighs all else, a mean of 1 - 1e-8 is 1 in float32.
    H_inverse, without = _single(inverse / unit), _single(1.0 - mean_z)
    of_document = without[..., None, :] @ H_inverse
    of_samples: tuple[Any, Any] = (0.0, 0.0)
    of_groups: tuple[Any, Any] = (0.0, 0.0)
    unexplained: Any = 0.0
    gain: Any = 0.0
    scale: Any = 0.0
    for rows in _pieces(kept):
        z, w = kept[..., rows, :], weights[..., rows]
        residuals = y[..., rows, :] - intercept[..., None, :] - _double(z) @ coefficients
        unexplained = unexplained + (w[..., None] * residuals**2).sum(-2)
        removed = 1.0 - _single(z)
        influence = of_document - removed @ H_inverse
        spread = (influence @ without[..., :, None])[..., 0] - xp.einsum("...j,...j->...", influence, removed)
        left = 1.0 - w * (1.0 / total[..., None] + unit * _double(spread))
        squares = (residuals / away[..., None, :] / left.clip(DECIDES)[..., None]) ** 2
        scale = scale + (w[..., None] * squares).sum(-2)
        w2 = ((w / heaviest) ** 2)[..., None]
        of_noise = () if noise is None else (w2 * noise.variance[..., rows, :],)
        columns = _single(xp.concatenate([w2 * squares, w2, w2 * (left < DECIDES)[..., None], *of_noise], -1))
        gain = gain + (_single(w)[..., None, :] @ abs(influence))[..., 0, :]
        if groups is not None:
            of_groups = _added(of_groups, influence @ _single(groups), columns, y.shape[-1])
        of_samples = _added(of_samples, influence, columns, y.shape[-1])
    spread = (weights[..., None] * (y - mean_y[..., None, :]) ** 2).sum(-2)
    constant = xp.amax(y, -2) == xp.amin(y, -2)
    r2 = xp.where(constant, xp.ones_like(spread), 1.0 - unexplained / xp.where(constant, xp.ones_like(spread), spread))
    scale = scale / total[..., None]
    stderr, effective = _stderr(of_samples, unit * heaviest, away, scale, noise)
    known = xp.einsum("...ij,...ji->...i", inverse, equations.H) - equations.ridge * xp.einsum("...ii->...i", inverse)
    stderr = _with_shrinkage(stderr, known, coefficients, equations.ridge)
    stderr = xp.where(constant[..., None, :], xp.zeros_like(stderr), stderr)
    return Surrogate(
        coefficients,
        stderr,
        intercept,
        r2,
        None if groups is None else _stderr(of_groups, unit * heaviest, away, scale, noise)[0],
        scatter=(spread / total[..., None]) ** 0.5,
        largest=xp.amax(abs(y), -2),
        gain=unit * xp.amax(_double(gain), -1),
        effective=effective,
    )


def _added(so_far: tuple[Any, Any], influence: Any, columns: Any, outputs: int) -> tuple[Any, Any]:
    """Sums over samples with a block more: of squares of `influence` (..., n, d) times columns, and of fourth powers.

    `influence` is squared in place; `columns`: squares of each output, then what else is summed.
    """
    influence *= influence
    sums = so_far[0] + _double(influence.mT @ columns)
    influence *= influence
    return sums, so_far[1] + _double(influence.mT @ columns[..., :outputs] ** 2)


def _stderr(
    of_samples: tuple[Any, Any], unit: float, away: Any, scale: Any, noise: AnswerNoise | None
) -> tuple[Any, Any]:
    """Standard errors (..., d, m), and from how many samples each is."""
    m = away.shape[-1]
    sums, effective = of_samples[0] * unit**2, effective_samples(of_samples[0][..., :m], of_samples[1])
    squares, reach, decided = sums[..., :m], sums[..., m : m + 1], sums[..., m + 1 : m + 2]
    stderr = stderr_of_sums(squares, effective, reach, scale[..., None, :], decided) * away[..., None, :]
    if noise is not None:
        stderr = (stderr**2 + noise.widened**2 * sums[..., m + 2 :]) ** 0.5
    return stderr, effective


def _with_shrinkage(stderr: Any, known: Any, coefficients: Any, ridge: float) -> Any:
    """Standard errors (..., d, m) with what the penalty hides: samples decide a fraction `known` (..., d) of each.

    The rest is the penalty's, which says 0. A coefficient of which samples decide less than of others is short of them
    by as much as coefficients typically are, in proportion; without a penalty it has no interval.
    """
    xp = _namespace(stderr)
    if ridge == 0:
        return xp.where((known < ALL_DETERMINED)[..., None], xp.full_like(stderr, xp.nan), stderr)
    mean = known.mean(-1)[..., None]
    short = ((mean - known) / xp.where(mean > 0.0, mean, xp.ones_like(mean))).clip(0.0)[..., None]
    typical = (coefficients**2).mean(-2)[..., None, :]
    return (stderr**2 + short**2 * typical) ** 0.5


def covariance_of(kept: Coalitions, y: Floats, weights: Floats, ridge: float, stderr: Floats) -> Floats:
    """Covariance (d, d) of the coefficients of one output (n,), with the standard errors that were found."""
    equations = normal_equations(kept, y[:, None], weights, ridge)
    inverse, x = inverse_of(equations.H, ridge), kept - equations.mean_z
    influence = x @ inverse
    leverage = weights * (1.0 / equations.total + np.einsum("nj,nj->n", influence, x))
    residuals = y - equations.mean_y[0] - x @ (inverse @ equations.moment)[:, 0]
    moved = influence * (weights * residuals / (1.0 - leverage).clip(DECIDES))[:, None]
    return with_stderr(np.asarray(moved.T @ moved, dtype=np.float64), stderr)


def per_output(kept: Coalitions, weights: Floats, ridge: float) -> Floats:
    """How far each output moves each coefficient: (n, d)."""
    equations = normal_equations(kept, np.zeros((len(kept), 1)), weights, ridge)
    moved: Floats = (weights[:, None] * (kept - equations.mean_z)) @ inverse_of(equations.H, ridge)
    return moved


# ── what NumPy and torch call by different names ──────────────────────────────────────────────────────────────────────


def _namespace(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def _pieces(kept: Any) -> list[slice]:
    """NumPy's arrays in blocks that stay in the cache, a tensor whole."""
    return blocks(kept.shape[-2]) if isinstance(kept, np.ndarray) else [slice(None)]


def _single(array: Any) -> Any:
    return array.astype(np.float32) if isinstance(array, np.ndarray) else array.float()


def _double(array: Any) -> Any:
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double()
