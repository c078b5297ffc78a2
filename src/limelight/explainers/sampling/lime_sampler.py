"""LIME's weights from samples that are drawn where its kernel weighs.

Official LIME draws the number of removed words evenly and weighs a sample by its kernel, so that most samples count for
little. Here sizes are drawn in proportion to the kernel and all samples weigh alike. What is estimated does not depend
on how many there are: it is the expected regression of 5,000 official samples, or of `ridge_samples`, whose document
and ridge weigh what they weigh there (`lime-limit` is the same without sampling). Where enough samples are there, more
than sums of words is guessed of the game (`cross_fitting`, `control_variates`). When all coalitions of a short text are
fewer than the samples, each is asked once, with the weight that it is expected to have, and nothing is left to chance.

A model that is saturated at the text answers most samples alike, and few samples may all be such: they tell nothing of
what a rare one does. The text without any words tells it. It is asked for too, beside the samples and without a part in
the fit: see `_unseen`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.core.threads import one_thread
from limelight.explainers.sampling.cross_fitting import cross_fitted, is_worthwhile
from limelight.explainers.sampling.designs import Sequence, all_coalitions
from limelight.explainers.sampling.nondeterminism import (
    AnswerNoise,
    HowNoisy,
    of_answers,
    shared_beyond_own,
)
from limelight.explainers.sampling.sampler import Ask, Estimate, Sampler
from limelight.explainers.sampling.standard_errors import Fit, few, with_stderr
from limelight.explainers.surrogate import (
    LEAST_WEIGHT,
    NO_RIDGE,
    Surrogate,
    covariance_of,
    fit_surrogate,
    per_output,
    tells_errors,
    too_narrow,
)
from limelight.models.counting_game import first_rows
from limelight.theory.lime_kernel import kernel_by_size
from limelight.theory.values import LimeDesign

RIDGE_SAMPLES = 5000
"""Samples that official LIME draws by default: the regression of so many is estimated."""
_LEAST = 30
"""Samples from which errors are known: fewer may all fit a sum of words by chance."""
_COUNTED = 1e6
"""Samples beyond which a narrow kernel is judged as with so many."""


def check_kernel(d: int, of_samples: float, kernel_width: float) -> None:
    """Refuse a kernel that leaves nothing to fit beside the document, before a model is asked."""
    mean, n = float(kernel_by_size(d, kernel_width)[1:].mean()), min(of_samples, _COUNTED)
    if (n - 1.0) * mean < LEAST_WEIGHT:
        raise too_narrow(np.full(int(n) - 1, mean), (n - 1.0) * mean, d, kernel_width)


@dataclass(frozen=True)
class LimeEstimate(Estimate):
    """Estimate with the surrogate that it is: how well the weights describe the outputs that were asked for."""

    surrogate: Surrogate = field(kw_only=True)


class LimeSampler(Sampler):
    """LIME's weights of m outputs from a growing number of samples, the first of which is the document.

    `ridge_samples`: the number of samples whose regression is estimated, however many are drawn.
    """

    def __init__(
        self,
        ask: Ask,
        d: int,
        seed: int,
        kernel_width: float,
        ridge: float,
        noise: HowNoisy = lambda: None,
        ridge_samples: float = RIDGE_SAMPLES,
    ) -> None:
        super().__init__(ask, d, noise)
        self._ridge, self._design = ridge, LimeDesign.of(d, ridge_samples, kernel_width, ridge)
        self._penalty = self._design.document * ridge  # beside samples that weigh 1 together
        self._kernel = kernel_by_size(d, kernel_width)
        self._draws = Sequence(np.concatenate([[0.0], self._kernel[1:]]), seed)
        self.of_document, self._of_nothing = ask(np.stack([np.ones(d, dtype=bool), np.zeros(d, dtype=bool)]))
        self._kept = np.zeros((0, d), dtype=bool)
        self._outputs = np.zeros((0, len(self.of_document)))
        self._all_of = 0

    @property
    def n(self) -> int:
        return self._all_of or 1 + len(self._kept)

    @property
    def _removes_two(self) -> float:
        """The chance that a sample removes two words or more: one word alone says nothing of how words act together."""
        return float(self._kernel[2:].sum() / self._kernel[1:].sum())

    @property
    def _tells_errors(self) -> bool:
        """Whether residuals tell how far weights are off: without a penalty as many coalitions as words fit exactly."""
        if self.n < _LEAST or not tells_errors(self.n, self._d, self._ridge):
            return False
        return self._ridge > NO_RIDGE or self.n > 20 * self._d or len(first_rows(self._kept)[0]) > self._d + 1

    @property
    def is_complete(self) -> bool:
        """Whether every coalition was asked: more samples would move the estimand, not the error."""
        return self._all_of > 0

    def extend(self, n: int) -> None:
        """Draw samples until there are n in all; ask for every coalition once n reaches their number."""
        if self.coalitions <= n:
            if not self.is_complete:
                kept = all_coalitions(self._d)[:-1]
                others = self._ask(kept[1:]) if len(kept) > 1 else self._outputs[:0]
                self._kept, self._outputs = kept, np.concatenate([self._of_nothing[None], others])
            self._all_of = n
            return
        kept = self._draws.rows(len(self._kept), max(n - 1, len(self._kept)))
        if len(kept):
            outputs = self._ask(kept)  # before anything changes: it may be interrupted
            self._kept = np.concatenate([self._kept, kept])
            self._outputs = np.concatenate([self._outputs, outputs])

    def estimate(self, groups: Floats | None = None) -> LimeEstimate:
        """Fit the regression of what was asked so far."""
        rows = np.concatenate([np.ones((1, self._d), dtype=bool), self._kept])
        y = np.concatenate([self.of_document[None], self._outputs])
        with one_thread():
            return self._complete(rows, y, groups) if self.is_complete else self._sampled(rows, y, groups)

    def _complete(self, rows: Coalitions, y: Floats, groups: Floats | None) -> LimeEstimate:
        removed = self._d - rows.sum(axis=1)
        chance = [self._design.size_weights[s] / math.comb(self._d, s) for s in range(1, self._d + 1)]
        weights = np.array([self._design.document, *chance])[removed]
        fit = fit_surrogate(rows, y, weights, self._penalty, groups)
        noise, per_answer = self._noise(), per_output(rows, weights, self._penalty)
        of_groups = None if groups is None else of_answers(per_answer @ groups, noise, y.shape[1])
        return LimeEstimate.of_all_answers(
            self.n, fit.coefficients, per_answer, noise, group_stderr=of_groups, surrogate=fit
        )

    def _sampled(self, rows: Coalitions, y: Floats, groups: Floats | None) -> LimeEstimate:
        weights = np.full(len(rows), 1.0 / len(self._kept))
        weights[0] = self._design.document
        noise = self._noise()
        shared = None if noise is None else noise.over_rows(np.concatenate([[0.0], shared_beyond_own(self._kept)]))
        fits = self._cross_fitted(rows, y, shared, noise)
        m, sums = y.shape[1], np.zeros((self._d, 0)) if groups is None else groups
        values, stderr, effective = (np.empty((self._d, m)) for _ in range(3))
        of_groups, gain, plain = np.empty((sums.shape[1], m)), 0.0, [i for i in range(m) if i not in fits]
        if plain:
            rest = None if shared is None else replace(shared, variance=shared.variance[:, plain])
            fit = fit_surrogate(rows, y[:, plain], weights, self._penalty, groups, rest)
            values[:, plain], stderr[:, plain], effective[:, plain] = fit.coefficients, fit.stderr, fit.effective
            gain = float(fit.gain)
            if groups is not None:
                of_groups[:, plain] = fit.group_stderr
        for i, own in fits.items():
            values[:, i], stderr[:, i], effective[:, i] = own.values, own.moves.stderr(), own.moves.effective
            gain, of_groups[:, i] = max(gain, own.moves.gain), own.moves.stderr(sums)
        surrogate = described(values, rows, y, weights)
        unseen = self._unseen(y, surrogate.intercept)
        of_plain = per_output(rows, weights, self._penalty) if unseen[plain].any() else np.zeros(rows.shape)
        for i in map(int, np.flatnonzero(unseen)):
            moved = (fits[i].moves.per_unit if i in fits else of_plain)[1:]  # the document is not drawn
            for errors, of_sums in ((stderr, moved), (of_groups, moved @ sums)):
                errors[:, i] = np.hypot(errors[:, i], unseen[i] * np.abs(of_sums).max(axis=0, initial=0.0))
        if not self._tells_errors:
            varies = (np.ptp(y, axis=0) > 0.0) | (unseen > 0.0)
            stderr[:, varies] = of_groups[:, varies] = np.nan

        def covariance(i: int) -> Floats:
            if i in fits:
                return with_stderr(fits[i].moves.covariance(), stderr[:, i])
            return covariance_of(rows, y[:, i], weights, self._penalty, stderr[:, i])

        return LimeEstimate(
            self.n,
            values,
            stderr,
            covariance,
            freedom=few(effective),
            group_stderr=None if groups is None else of_groups,
            surrogate=replace(surrogate, stderr=stderr, gain=gain, effective=effective),
        )

    def _unseen(self, y: Floats, intercept: Floats) -> Floats:
        """How far f(no words) (m,) lies outside the range that samples showed (n, m) and the surrogate foresees.

        A sample may show as much, and did not by chance: each weight counts one such sample more, where it would move
        the weight most.
        """
        beyond = np.maximum(self._of_nothing - y.max(axis=0), y.min(axis=0) - self._of_nothing).clip(0.0)
        return np.minimum(beyond, np.abs(self._of_nothing - intercept))

    def _cross_fitted(
        self, rows: Coalitions, y: Floats, shared: AnswerNoise | None, noise: AnswerNoise | None
    ) -> dict[int, Fit]:
        """The fits that guess more than sums of words, by output, where samples can tell these apart."""
        if not is_worthwhile((self.n - 1) * self._removes_two, self._d) or self._kept.all(axis=0).any():
            return {}
        fits: dict[int, Fit] = {}
        for i in np.flatnonzero(np.ptp(y, axis=0) > 0.0).tolist():
            doubt = None
            if shared is not None and noise is not None:
                # A guess may have seen the very answer of a held-out sample of the same coalition.
                variances = shared.variance[:, i] + noise.variance[i] * (shared.variance[:, i] > 0.0)
                variances[0] = noise.variance[i]  # the document has no part in residuals
                doubt = AnswerNoise(variances, noise.freedom)
            fits[i] = cross_fitted(self._kept, y[1:, i], float(y[0, i]), self._design, doubt)
        return fits


def described(values: Floats, rows: Coalitions, y: Floats, weights: Floats) -> Surrogate:
    """Surrogate with given coefficients: its best intercept, and the fraction of the outputs' variance it explains."""
    parts = weights / weights.sum()
    mean_y, mean_z = parts @ y, parts @ rows
    intercept = mean_y - mean_z @ values
    left, spread = parts @ (y - intercept - rows @ values) ** 2, parts @ (y - mean_y) ** 2
    r2 = np.where(spread > 0.0, 1.0 - left / np.where(spread > 0.0, spread, 1.0), 1.0)
    return Surrogate(
        values, np.zeros_like(values), intercept, r2, scatter=np.sqrt(spread), largest=np.abs(y).max(axis=0)
    )
