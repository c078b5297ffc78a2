"""One over D as the shortest sums of exponentials, from a table.

For each number of terms m there is a best sum: its relative error on 1 <= D <= R swings 2m + 1 times between the same
two bounds, and no other sum of m exponentials stays within them (Braess and Hackbusch, 2005). best_sums.json holds, for
m = 3 to 48, the largest R for which `ERROR` can be had, and the sum that has it; `benchmarks/best_sums.py` makes it.
Each term more multiplies R by 1.4. The trapezoid rule of `quadrature` takes six to eight terms more for any R: in the
middle it is as good, but a geometric progression is not the best of ends.

The errors are not believed but bounded (`certified_error`), in the tests for every sum of the table.
"""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from limelight.core.arrays import Floats

ERROR = 4.0e-12
"""Relative, of every sum here: enough for the default precision, beside the rounding of 5,000 words."""


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


_DEGREE, _POINTS, _LENGTH, _RHO = 20, 200, 0.5, 6.4


def certified_error(nodes: Floats, weights: Floats, ratio: float) -> float:
    """A bound on |D Σ w exp(-λD) - 1| for 1 <= D <= ratio, up to the rounding of its own evaluation.

    In x = log D the error e is analytic. On a piece of length 1/2, Bernstein's ellipse with ρ = 6.4 reaches 0.79 = π/4
    into the complex plane and 0.57 to either side: there Re D >= 0.4 and |D Σ w exp(-λD)| <= √2 Re D Σ w exp(-λ Re D),
    which bounds e by some B. So a polynomial of degree n = 20 is within δ = 4 B ρ^-n / (ρ - 1) of e, and a polynomial
    is nowhere larger than 1 / cos(πn / 2N) times the largest of its values at N Chebyshev points (Ehlich and Zeller).
    """

    def error(D: Floats) -> Floats:
        values: Floats = D * (np.exp(-np.multiply.outer(D, nodes)) @ weights) - 1.0
        return values

    pieces = max(1, math.ceil(math.log(ratio) / _LENGTH))
    ends = np.linspace(0.0, math.log(ratio), pieces + 1).tolist()
    chebyshev = 0.5 - 0.5 * np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)
    largest = max(
        float(np.abs(error(np.exp(start + (end - start) * chebyshev))).max()) for start, end in pairwise(ends)
    )
    # Re D Σ w exp(-λ Re D) is at most Σ w exp(-0.4 λ) below D = 1, and e^0.57 (1 + largest) from there on.
    B = 1.0 + math.sqrt(2.0) * max(float(np.exp(-0.4 * nodes) @ weights), math.exp(0.57) * (1.0 + largest))
    delta = 4.0 * B * _RHO**-_DEGREE / (_RHO - 1.0)
    return (largest + delta) / math.cos(math.pi * _DEGREE / (2 * _POINTS)) + delta
