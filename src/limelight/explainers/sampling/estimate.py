"""What a sampler knows at any moment: weights, their errors, and how the errors lean on each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from limelight.core.arrays import Floats


@dataclass(frozen=True)
class Estimate:
    """Of d features and m outputs, from `n` samples.

    `covariance(i)` (d, d) is that of the weights of output i under repeated sampling. `complete`: every coalition was
    seen, so nothing is left to chance and the standard errors are 0. `freedom`: from how many samples, or repeated
    answers, the standard errors are, where they are few. They are NaN where no interval can be had.
    """

    n: int
    values: Floats  # (d, m)
    stderr: Floats  # (d, m)
    covariance: Callable[[int], Floats]
    complete: bool = False
    freedom: int | None = None


class Sampler(Protocol):
    """Draws, asks, adds and estimates, as often as wanted; the same total gives the same bytes however it was cut."""

    @property
    def n(self) -> int:
        """How many samples it holds."""

    @property
    def coalitions(self) -> int:
        """How many samples leave nothing to chance."""

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing left to draw."""

    def extend(self, n: int) -> None:
        """Ask for samples until there are n in all."""

    def estimate(self) -> Estimate: ...
