"""How alike two explanations of one text by one method are."""

from __future__ import annotations

import numpy as np

from limelight.core.arrays import Floats


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's ρ; NaN where one of them is constant."""
    from limelight.statistics.correlation import correlation, ranks

    if len(one) < 2:
        return float("nan")
    return float(correlation(ranks(np.stack([one, other])))[0, 1])


def shared_top(one: Floats, other: Floats, k: int = 10) -> float:
    """The part of the k strongest words that both have."""
    k = min(k, len(one))
    tops = [set(np.argsort(-np.abs(w), kind="stable")[:k].tolist()) for w in (one, other)]
    return len(tops[0] & tops[1]) / k
