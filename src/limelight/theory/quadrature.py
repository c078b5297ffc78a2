"""One over D as a short sum of exponentials, with a proven relative error.

    1/D = ∫_0^∞ exp(-λD) dλ = ∫ exp(x - D e^x) dx        (λ = e^x)

The trapezoid rule in x with step h, scaled by D, is a Riemann sum of φ(y) = exp(y - e^y) at y = x + log D. For
1 <= D <= R its relative error has three parts, and each of them is bounded in closed form:

* step: Poisson's formula gives exactly Σ_{k≠0} Γ(1 - 2πik/h) e^{...}, so at most 2 Σ_{k>=1} |Γ(1 + 2πik/h)|;
* large λ: φ falls for y > 0, so the nodes beyond λ_max add less than ∫ φ = exp(-λ_max D) <= exp(-λ_max);
* small λ: φ falls only like e^y there, and cutting at λ_min would need λ_min = error / R, dozens of nodes. The
  geometric tail of nodes is a positive measure on [0, λ_1] and exp(-λD) is smooth on it, so an m-point Gauss rule
  replaces all of it with error (λ_1 D)^{2m+1} ‖p_m‖² / (2m)!, p_m its monic orthogonal polynomial.

For R = 1e9 and 1e-12 the rule has 78 nodes instead of 160, all weights positive.

Where its tolerance is about that of the default precision, the best sum there is is taken instead, from a table: six to
eight nodes fewer, which is half of them where denominators differ by a factor of three. For each number of terms m
there is a best sum: its relative error on 1 <= D <= R swings 2m + 1 times between the same two bounds, and no other sum
of m exponentials stays within them (Braess and Hackbusch, 2005). best_sums.json holds, for m = 3 to 48, the largest R
for which `ERROR` can be had, and the sum that has it; `benchmarks/best_sums.py` makes it. Each term more multiplies R
by 1.4. The errors of the table are not believed but bounded, in the tests for every sum.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import NumericalError, ParameterError

UNIT = float(np.finfo(np.float64).eps)
# The step costs nodes in proportion to log(1/tolerance); the two ends cost a node or two. So the step gets most of it.
STEP_SHARE, END_SHARE = 0.8, 0.1
MOST_GAUSS_NODES = 10
ERROR = 4.0e-12
"""Relative, of every sum of the table: enough for the default precision, beside the rounding of 5,000 words."""
BEST_UP_TO = 1e-9
"""Tolerances from the error of the best sums up to here are theirs; a coarser rule has fewer nodes still."""


@dataclass(frozen=True)
class ExponentialSum:
    """1/D ≈ Σ_i weights_i exp(-nodes_i D) for 1 <= D <= ratio, with relative error at most `error`."""

    nodes: Floats  # (L,), increasing
    weights: Floats  # (L,), positive
    ratio: float
    error: float

    def __len__(self) -> int:
        return len(self.nodes)


def exponential_sum(ratio: float, tolerance: float) -> ExponentialSum:
    """The rule for D in [1, ratio] whose proven relative error is at most `tolerance`."""
    if not (math.isfinite(ratio) and ratio >= 1.0):
        raise NumericalError(
            f"the largest denominator over the smallest is {ratio}: it must be a finite number of at least 1; "
            "check the model's attention scores"
        )
    if not (math.isfinite(tolerance) and 0.0 < tolerance < 1.0):
        raise ParameterError(f"a relative tolerance lies between 0 and 1: got {tolerance}")
    rounding = rounding_error(ratio)
    if tolerance < 2.0 * rounding:
        raise NumericalError(
            f"a relative tolerance of {tolerance:g} cannot be reached in float64 where denominators differ by a factor "
            f"of {ratio:.3g}: ask for {2.0 * rounding:.2g} or more"
        )
    tolerance -= rounding
    best = best_sum(ratio) if ERROR <= tolerance <= BEST_UP_TO else None
    if best is not None:
        return ExponentialSum(*best, ratio, ERROR + rounding)
    return _trapezoid(ratio, tolerance, rounding)


def best_sum(ratio: float) -> tuple[Floats, Floats] | None:
    """Nodes, increasing, and weights for 1 <= D <= ratio, as few as reach `ERROR`; None beyond the table."""
    for largest, nodes, weights in table():
        if ratio <= largest:
            return nodes, weights
    return None


@cache
def table() -> list[tuple[float, Floats, Floats]]:
    """By number of terms: the largest R, nodes and weights."""
    text = Path(__file__).with_name("best_sums.json").read_text("utf-8")
    return [(one["ratio"], np.array(one["nodes"]), np.array(one["weights"])) for one in json.loads(text)]


def _trapezoid(ratio: float, tolerance: float, rounding: float) -> ExponentialSum:
    """Trapezoid rule of the head of this file, within the tolerance beside that for rounding."""
    h = _step(STEP_SHARE * tolerance)
    x_max = math.log(math.log(1.0 / (END_SHARE * tolerance)))
    tail_nodes, tail_weights, count = min(
        (_with_gauss_tail(m, h, x_max, ratio, tolerance) for m in range(1, MOST_GAUSS_NODES + 1)),
        key=lambda candidate: len(candidate[0]) + candidate[2],
    )
    x = x_max - h * np.arange(count)[::-1]
    return ExponentialSum(
        nodes=np.concatenate([tail_nodes, np.exp(x)]),
        weights=np.concatenate([tail_weights, h * np.exp(x)]),
        ratio=ratio,
        error=step_error(h)
        + math.exp(-math.exp(x_max))
        + _tail_error(len(tail_nodes), h, x_max - h * count, ratio)
        + rounding,
    )


def rounding_error(ratio: float) -> float:
    """Error that float64 adds: exp(x) of the smallest node loses |x| units, the sum of positive terms a few more."""
    return UNIT * (16.0 + math.log(ratio))


def step_error(h: float) -> float:
    """2 Σ_{k>=1} |Γ(1 + 2πik/h)|, with |Γ(1 + iy)|² = πy / sinh(πy)."""
    total = 0.0
    for k in range(1, 200):
        z = 2.0 * math.pi**2 * k / h
        # sinh overflows for large z, where it is e^z / 2 to machine precision.
        term = math.sqrt(2.0 * z) * math.exp(-z / 2.0) / math.sqrt(-math.expm1(-2.0 * z))
        total += 2.0 * term
        if term < 1e-17 * total:
            break
    return total


@lru_cache(maxsize=64)
def _step(tolerance: float) -> float:
    """The largest step whose error is within the tolerance, by bisection (the error grows with h)."""
    low, high = 0.05, 20.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if step_error(middle) <= tolerance else (low, middle)
    return low


@lru_cache(maxsize=256)
def _gauss_tail(m: int, h: float) -> tuple[Floats, Floats, float]:
    """The m-point Gauss rule of the measure Σ_{i>=0} h q^i δ(q^i), q = e^{-h}, and its ‖p_m‖².

    Recurrence coefficients by Stieltjes' procedure, nodes and weights by Golub and Welsch.
    """
    x = np.exp(-h * np.arange(int(46.0 / h) + 2))  # down to 1e-20: what is left out is below rounding
    mass = h * x
    below, polynomial = np.zeros_like(x), np.ones_like(x)
    norms, diagonal = [float(mass.sum())], []
    for k in range(m):
        diagonal.append(float((mass * x * polynomial**2).sum()) / norms[-1])
        beta = norms[-1] / norms[-2] if k else 0.0
        below, polynomial = polynomial, (x - diagonal[-1]) * polynomial - beta * below
        norms.append(float((mass * polynomial**2).sum()))
    off = np.sqrt(np.array(norms[1:m]) / np.array(norms[: m - 1]))
    nodes, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return nodes, norms[0] * vectors[0] ** 2, norms[m]


def _tail_error(m: int, h: float, x_1: float, ratio: float) -> float:
    """The Gauss rule's relative error at D = ratio, where it is largest, when e^{x_1} is the largest λ of the tail."""
    return float(math.exp((2 * m + 1) * (x_1 + math.log(ratio)) - math.lgamma(2 * m + 1)) * _gauss_tail(m, h)[2])


def _with_gauss_tail(m: int, h: float, x_max: float, ratio: float, tolerance: float) -> tuple[Floats, Floats, int]:
    """Nodes and weights of the tail for m Gauss points, and how many trapezoid nodes stay above it."""
    nodes, weights, norm = _gauss_tail(m, h)
    highest = (math.log(END_SHARE * tolerance / norm) + math.lgamma(2 * m + 1)) / (2 * m + 1) - math.log(ratio)
    count = max(1, math.ceil((x_max - highest) / h))
    scale = math.exp(x_max - h * count)
    return nodes * scale, weights * scale, count
