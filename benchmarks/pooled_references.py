"""What sampled weights should have been: plain regressions on many other samples of the same recorded game.

A guess g of the game, fitted on one run that is used for nothing else, is taken off the outputs, and its own weights,
which are known, are added in the end: that changes no expectation, and leaves less to chance. LIME's weights depend on
the number of samples n by the weight of the document and by the ridge, so a reference for n weighs its N samples as if
they were n: the document and the ridge count as they do there.

Where too few samples were recorded for that, the mean of our own estimates of other runs stands for the truth, and its
stated error is what it is off by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight.explainers.sampling.control_variates import FOLDS, PAIRS, Kernel, LimeColumns, OddColumns
from limelight.explainers.sampling.cross_fitting import Guesses
from limelight.explainers.sampling.shapley_samplers import SignRegression
from limelight.theory.lime_kernel import kernel_by_size
from limelight.theory.values import LimeDesign
from recorded_games import KERNEL_WIDTH, Recorded, Review, Run

_PENALTY = 0.1
"""Of guessed columns, in units of their mean square: any will do."""


def guessed_part(columns: Any, y: Any, weights: Any, free: int) -> Any:
    """The coefficients of all columns but the first `free`."""
    gram, moment = (columns * weights[:, None]).T @ columns, columns.T @ (weights * y)
    square = np.diag(gram).copy()
    penalty = np.where(np.arange(len(square)) < free, 1e-9 * square, _PENALTY * square[free:].mean())
    return np.linalg.solve(gram + np.diag(penalty), moment)[free:]


class Pooled:
    """Regressions on all runs but one. Rows of a run weigh `total` together with those of all others that are there."""

    def __init__(self, rows: Sequence[Any], y: Sequence[Any], total: float, gram: Any, moment: Any) -> None:
        self._sizes, self._total, self._fixed = [len(own) for own in y], total, (gram, moment)
        self._grams = [own.T @ own for own in rows]
        self._moments = [own.T @ answers for own, answers in zip(rows, y, strict=True)]
        inverse, solution, scale = self._solved(None)
        self._squares = [
            (((own @ inverse) * (scale * (answers - own @ solution))[:, None]) ** 2).sum(axis=0)
            for own, answers in zip(rows, y, strict=True)
        ]

    def _solved(self, without: int | None) -> tuple[Any, Any, float]:
        there = [i for i in range(len(self._sizes)) if i != without]
        scale = self._total / sum(self._sizes[i] for i in there)
        gram, moment = self._fixed
        inverse = np.linalg.inv(scale * sum(self._grams[i] for i in there) + gram)
        return inverse, inverse @ (scale * sum(self._moments[i] for i in there) + moment), scale

    def without(self, run: int | None) -> tuple[Any, Any]:
        """The solution, and its standard errors."""
        there = [i for i in range(len(self._sizes)) if i != run]
        more = sum(self._sizes) / sum(self._sizes[i] for i in there)
        return self._solved(run)[1], more * np.sqrt(sum(self._squares[i] for i in there))


@dataclass(frozen=True)
class Guess:
    """What samples that are kept apart say of the game, on average over folds: any other samples have not seen it."""

    columns: LimeColumns
    common: Any
    along: Any

    @classmethod
    def of(cls, kept: Any, outputs: Any, design: LimeDesign) -> Guess:
        kernel = Kernel.of(design)
        folds, y = [kept[k::FOLDS].T - kernel.mean for k in range(FOLDS)], [outputs[k::FOLDS] for k in range(FOLDS)]
        columns = LimeColumns.guessed(folds, y, kernel)
        guesses = Guesses.of(columns, folds, y, float(outputs.mean()), LimeDesign.of(kernel.d, np.inf))
        return cls(columns, guesses.common.mean(axis=0), guesses.along.mean(axis=0))

    def __call__(self, kept: Any) -> Any:
        x = np.asarray(kept, dtype=float).T - self.columns.kernel.mean
        along = self.columns.along(x, list(range(len(PAIRS))))
        return self.common @ self.columns.common(x) + np.einsum("lc,lcn->n", self.along, along)

    def weights(self, design: LimeDesign) -> Any:
        return self.columns.weights(self.common, self.along, design)


class LimeReference:
    """LIME's weights for n samples and a ridge."""

    def __init__(self, review: Review, runs: Sequence[Run], apart: Run, n: int, ridge: float) -> None:
        d, kernel = review.d, float(kernel_by_size(review.d, KERNEL_WIDTH)[1:].mean())
        kept, outputs = review.samples(apart)
        kept, outputs = kept[1:], outputs[1:]  # the first is the document
        design = LimeDesign.of(d, n, KERNEL_WIDTH, ridge)
        guess = Guess.of(kept, outputs, design)
        self._guessed = guess.weights(design)
        rows, y = [], []
        for run in runs:
            kept, outputs = review.samples(run)
            rows.append(np.concatenate([np.ones((len(kept) - 1, 1)), kept[1:]], axis=1))
            y.append(outputs[1:] - guess(kept[1:]))
            document = outputs[0] - float(guess(np.ones((1, d)))[0])
        one, penalty = np.ones(d + 1), ridge * np.eye(d + 1)
        penalty[0, 0] = 0.0
        self._pooled = Pooled(rows, y, (n - 1) * kernel, np.outer(one, one) + penalty, document * one)

    def without(self, run: int | None) -> tuple[Any, Any]:
        values, stderr = self._pooled.without(run)
        return values[1:] + self._guessed, stderr[1:]


class ShapleyReference:
    """Shapley values from runs of complementary pairs."""

    def __init__(self, review: Review, runs: Sequence[Run], apart: Run) -> None:
        d = review.d
        kept, odd, total = _pairs(review, apart)
        regression = SignRegression(kept)
        columns = OddColumns.guessed(regression.x, odd, regression.weights)
        assert columns is not None
        u = guessed_part(columns.of(regression.x), odd, regression.weights, d)
        self._known = columns.values()[d:].T @ u + total / d
        rows, y = [], []
        for run in runs:
            kept, odd, _ = _pairs(review, run)
            regression = SignRegression(kept)
            x, root = regression.x, np.sqrt(regression.weights)
            mean = x.mean(axis=1)
            rows.append((x - mean[:, None]) / 2.0 * root[:, None])
            y.append((odd - columns.of(x)[:, d:] @ u - total * mean / 2.0) * root)
        # Along (1, …, 1) there is nothing to find: any weight makes the matrix regular.
        self._pooled = Pooled(rows, y, 1.0, np.full((d, d), 1.0 / d), np.zeros(d))

    def without(self, run: int | None) -> tuple[Any, Any]:
        values, stderr = self._pooled.without(run)
        return values - values.mean() + self._known, stderr


def mean_of_runs(review: Review, runs: Sequence[Run], **options: Any) -> tuple[Any, Any]:
    """Our own estimates of several runs, each weighing by what it says of its errors; and the errors of their mean."""
    found = [Recorded(review, run).explain(run.n, **options) for run in runs]
    precisions = np.array([1.0 / float((own.stderr**2).sum()) for own in found])
    parts = precisions / precisions.sum()
    values = sum(part * own.weights for part, own in zip(parts, found, strict=True))
    return values, np.sqrt(sum((part * own.stderr) ** 2 for part, own in zip(parts, found, strict=True)))


def _pairs(review: Review, run: Run) -> tuple[Any, Any, float]:
    """One coalition of each pair, the odd part there, and f(text) - f(nothing)."""
    kept, outputs = review.samples(run)
    return kept[2::2], (outputs[2::2] - outputs[3::2]) / 2.0, float(outputs[1] - outputs[0])
