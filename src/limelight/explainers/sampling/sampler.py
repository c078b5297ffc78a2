"""Samplers: what each has in common, and what it knows at any moment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from limelight.core.arrays import Coalitions, Floats
from limelight.explainers.sampling.nondeterminism import AnswerNoise, HowNoisy, of_answers
from limelight.explainers.sampling.standard_errors import with_stderr

Ask = Callable[[Coalitions], Floats]
"""Function from coalitions (n, d) to outputs (n, m)."""


@dataclass(frozen=True)
class Estimate:
    """Weights of d features for m outputs, from `n` samples, with their standard errors.

    `covariance(i)` (d, d) is that of the weights of output i under repeated sampling. `complete`: every coalition was
    seen, so nothing is left to chance and the standard errors are 0; `noise_alone`: every one was seen, and standard
    errors are those of a function's noise. `freedom`: from how many samples, or repeated answers, the standard errors
    are, where they are few. They are NaN where no interval can be had. `group_stderr` (g, m) belongs to the sums of
    weights over groups of features.
    """

    n: int
    values: Floats  # (d, m)
    stderr: Floats  # (d, m)
    covariance: Callable[[int], Floats]
    complete: bool = False
    freedom: int | None = None
    noise_alone: bool = False
    group_stderr: Floats | None = None

    @classmethod
    def of_all_answers(cls, n: int, values: Floats, per_answer: Floats, noise: AnswerNoise | None, **more: Any) -> Self:
        """Estimate from the answers on all coalitions, which move weights by `per_answer` (2^d, d)."""
        stderr = of_answers(per_answer, noise, values.shape[1])
        return cls(
            n,
            values,
            stderr,
            lambda i: with_stderr(per_answer.T @ per_answer, stderr[:, i]),
            complete=noise is None,
            freedom=None if noise is None else noise.freedom,
            noise_alone=noise is not None,
            **more,
        )


class Sampler(ABC):
    """Estimator of the weights of m outputs from a growing number of samples: it draws, asks, and estimates.

    The same total gives the same bytes however a run was cut. `noise` says how far answers to the same coalition
    differ, as far as is known by now.
    """

    def __init__(self, ask: Ask, d: int, noise: HowNoisy = lambda: None) -> None:
        self._ask, self._d, self._noise = ask, d, noise

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of samples that it holds."""

    @property
    @abstractmethod
    def is_complete(self) -> bool:
        """Whether there is nothing left to draw."""

    @property
    def coalitions(self) -> int:
        """Number of samples that leave nothing to chance."""
        return 2**self._d

    @abstractmethod
    def extend(self, n: int) -> None:
        """Draw and ask until there are n samples in all."""

    @abstractmethod
    def estimate(self, groups: Floats | None = None) -> Estimate:
        """Estimate from the samples so far. `groups` (d, g) of zeros and ones: sums that need standard errors too."""
