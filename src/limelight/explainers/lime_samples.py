"""LIME's weights from samples that are drawn where its kernel weighs.

Official LIME draws the number of removed words evenly and weighs a sample by its kernel, so that most samples count for
little. Here sizes are drawn in proportion to the kernel and all samples weigh alike: the kernel's mean, beside the
document's 1. The expected regression is the same, so both estimate one number, `lime-limit` with the same number of
samples, kernel width and ridge. Where enough samples are there, the regression has more columns than the words
(`augmented`, `lime_columns`). When all coalitions of a short text are fewer than the samples, each is asked once, with
the weight that it is expected to have, and nothing is left to chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from limelight.arrays import Coalitions, Floats
from limelight.explainers import lime_columns
from limelight.explainers.augmented import AugmentedFit, augmented_fit
from limelight.explainers.draws import Draws
from limelight.explainers.estimate import Estimate
from limelight.explainers.lime_columns import LimeColumns
from limelight.explainers.shapley_pairs import Asked, all_coalitions
from limelight.explainers.surrogate import LEAST_WEIGHT, Surrogate, covariance_of, fit_surrogate, too_narrow
from limelight.theory.lime_kernel import kernel_by_size
from limelight.theory.values import LimeDesign
from limelight.threads import one_thread


def check_kernel(d: int, n: int, kernel_width: float) -> None:
    """Refuse a kernel that leaves nothing to fit, before a model is asked."""
    mean = float(kernel_by_size(d, kernel_width)[1:].mean())
    if (n - 1) * mean < LEAST_WEIGHT:
        raise too_narrow(np.full(n - 1, mean), (n - 1) * mean, d, kernel_width)


@dataclass(frozen=True)
class LimeEstimate(Estimate):
    """`surrogate` holds the same weights and errors, and how well they describe the outputs that were asked for."""

    surrogate: Surrogate = field(kw_only=True)


class LimeSamples:
    """LIME's weights of m outputs from a growing number of samples, the first of which is the document."""

    def __init__(self, ask: Asked, d: int, seed: int, kernel_width: float, ridge: float) -> None:
        self._ask, self._d, self._kernel_width, self._ridge = ask, d, kernel_width, ridge
        self._kernel = kernel_by_size(d, kernel_width)
        self._draws = Draws(np.concatenate([[0.0], self._kernel[1:]]), seed)
        self.of_document = ask(np.ones((1, d), dtype=bool))[0]
        self._kept = np.zeros((0, d), dtype=bool)
        self._outputs = np.zeros((0, len(self.of_document)))
        self._all_of = 0

    @property
    def n(self) -> int:
        return self._all_of or 1 + len(self._kept)

    @property
    def is_complete(self) -> bool:
        """Whether every coalition was asked: more samples would move the estimand, not the error."""
        return self._all_of > 0

    def extend(self, n: int) -> None:
        """Samples until there are n in all."""
        if self._d < 60 and 2**self._d <= n:
            if not self.is_complete:
                self._kept = all_coalitions(self._d)[:-1]
                self._outputs = self._ask(self._kept)
            self._all_of = n
            return
        kept = self._draws.rows(len(self._kept), max(n - 1, len(self._kept)))
        if len(kept):
            self._kept = np.concatenate([self._kept, kept])
            self._outputs = np.concatenate([self._outputs, self._ask(kept)])

    def estimate(self, groups: Floats | None = None) -> LimeEstimate:
        """The regression of what was asked so far; `groups` (d, g) of zeros and ones: sums that need errors too."""
        rows = np.concatenate([np.ones((1, self._d), dtype=bool), self._kept])
        y = np.concatenate([self.of_document[None], self._outputs])
        with one_thread():
            return self._complete(rows, y, groups) if self.is_complete else self._sampled(rows, y, groups)

    def _complete(self, rows: Coalitions, y: Floats, groups: Floats | None) -> LimeEstimate:
        removed = self._d - rows.sum(axis=1)
        chance = np.array([1.0, *(self._kernel[s] / self._d / math.comb(self._d, s) for s in range(1, self._d + 1))])
        weights = np.where(removed == 0, 1.0, (self.n - 1) * chance[removed])
        fit = fit_surrogate(rows, y, weights, self._ridge, groups)
        of_groups = None if groups is None else np.zeros_like(fit.group_stderr)
        surrogate = replace(fit, stderr=np.zeros_like(fit.stderr), group_stderr=of_groups)
        zero = np.zeros((self._d, self._d))
        return LimeEstimate(
            self.n, fit.coefficients, surrogate.stderr, lambda i: zero, complete=True, surrogate=surrogate
        )

    def _sampled(self, rows: Coalitions, y: Floats, groups: Floats | None) -> LimeEstimate:
        weights = np.full(len(rows), float(self._kernel[1:].mean()))
        weights[0] = 1.0
        fit = fit_surrogate(rows, y, weights, self._ridge, groups)
        values, stderr, of_groups = fit.coefficients.copy(), fit.stderr.copy(), fit.group_stderr
        fits: dict[int, AugmentedFit] = {}
        if lime_columns.is_worthwhile(len(rows), self._d):
            design = LimeDesign.of(self._d, self.n, self._kernel_width, self._ridge)
            for i in range(y.shape[1]):
                columns = LimeColumns.guessed(self._kept, y[1:, i])
                if columns is not None:
                    all_columns = np.concatenate([columns.of_document(), columns.of(self._kept)])
                    fits[i] = augmented_fit(
                        all_columns, y[:, i], weights, columns.weights(design), columns.n_free, fixed=1
                    )
                    values[:, i], stderr[:, i] = fits[i].values, fits[i].stderr
                    if groups is not None:
                        of_groups[:, i] = fits[i].stderr_of_sums(groups)

        def covariance(i: int) -> Floats:
            return fits[i].covariance() if i in fits else covariance_of(rows, y[:, i], weights, self._ridge)

        surrogate = replace(described(fit, values, rows, y, weights), stderr=stderr, group_stderr=of_groups)
        return LimeEstimate(self.n, values, stderr, covariance, surrogate=surrogate)


def described(fit: Surrogate, values: Floats, rows: Coalitions, y: Floats, weights: Floats) -> Surrogate:
    """The surrogate with other coefficients: its best intercept, and the share of the outputs' variance it explains."""
    share = weights / weights.sum()
    mean_y, mean_z = share @ y, share @ rows
    intercept = mean_y - mean_z @ values
    left, spread = share @ (y - intercept - rows @ values) ** 2, share @ (y - mean_y) ** 2
    r2 = np.where(spread > 0.0, 1.0 - left / np.where(spread > 0.0, spread, 1.0), 1.0)
    return replace(fit, coefficients=values, intercept=intercept, r2=r2)
