"""Agreement: how alike two methods are, which is no measure of either being right (Neely et al. 2021).

Kendall's τ_b of their weights, and the part of the ten strongest words that they share. Where one of the two has no
signs, both are taken by their sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from limelight.evaluation.case import Case
from limelight.evaluation.measure import Score, measure

TAU, TOP = "τ", "top 10"
_TOP = 10

agreement = measure(
    "agreement",
    label="Agreement",
    summary="Kendall's τ and the shared part of the ten strongest words, for each pair of methods: likeness, not truth",
)


@agreement.scores
def of_pairs(case: Case) -> Iterator[Score]:
    if case.d < 2 or len(case.judged) < 2:
        return
    import torch

    from limelight.evaluation.agreement import kendall, orders, top_overlap

    judged = list(case.judged.values())
    weights = torch.from_numpy(np.stack([one.weights for one in judged]))
    by_weight, by_size = kendall(orders(weights)), kendall(orders(weights.abs()))
    shared = top_overlap(weights, _TOP)
    for i, j in combinations(range(len(judged)), 2):
        place = {"method": judged[i].name, "other": judged[j].name}
        tau = float((by_weight if judged[i].signed and judged[j].signed else by_size)[i, j])
        if math.isfinite(tau):
            yield Score(case.key("agreement", TAU, **place), tau)
        yield Score(case.key("agreement", TOP, **place), float(shared[i, j]))
