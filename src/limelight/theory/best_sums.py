"""One over D as the shortest sums of exponentials, from a table.

For each number of terms m there is a best sum: its relative error on 1 <= D <= R swings 2m + 1 times between the same
two bounds, and no other sum of m exponentials stays within them (Braess and Hackbusch, 2005). best_sums.json holds, for
m = 3 to 48, the largest R for which `ERROR` can be had, and the sum that has it; `benchmarks/best_sums.py` makes it.
Each term more multiplies R by 1.4. The trapezoid rule of `quadrature` takes six to eight terms more for any R: in the
middle it is as good, but a geometric progression is not the best of ends.

The errors are not believed but bounded, in the tests for every sum of the table.
"""

from __future__ import annotations

import json
from functools import cache
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
