"""The error of a sum of exponentials, measured: what `ExponentialSum.error` bounds."""

from __future__ import annotations

import math

import numpy as np

from limelight.theory.quadrature import ExponentialSum


def measured_error(rule: ExponentialSum, points_per_step: int = 8) -> float:
    """The largest relative error of 1/D seen on a grid of D over [1, ratio]."""
    # The step's error is periodic in log D with the period of the step, about a third: the grid follows it.
    points = 2 + int(points_per_step * math.log(rule.ratio) / 0.2)
    D = np.exp(np.linspace(0.0, math.log(rule.ratio), points))
    return float(np.abs(D * (np.exp(-np.multiply.outer(D, rule.nodes)) @ rule.weights) - 1.0).max())
