"""Comprehensiveness and sufficiency as ERASER defines them (DeYoung et al. 2020), word by word and input by input.

comprehensiveness = m(x)_j - m(x \\ r)_j and sufficiency = m(x)_j - m(r)_j, where r are the top k_q of the words; the
aggregate is the mean over bins q. The classifier is a function from a list of kept words to a probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

BINS = (0.05, 0.1, 0.2, 0.5)
Predict = Callable[[list[bool]], float]


def top(weights: Sequence[float], k: int) -> set[int]:
    return set(sorted(range(len(weights)), key=lambda j: -weights[j])[:k])


def comprehensiveness(predict: Predict, weights: Sequence[float], k: int) -> float:
    d, rationale = len(weights), top(weights, k)
    return predict([True] * d) - predict([j not in rationale for j in range(d)])


def sufficiency(predict: Predict, weights: Sequence[float], k: int) -> float:
    d, rationale = len(weights), top(weights, k)
    return predict([True] * d) - predict([j in rationale for j in range(d)])


def size(part: float, d: int) -> int:
    """The words of a bin: at least one."""
    return max(1, math.ceil(part * d - 1e-9))
