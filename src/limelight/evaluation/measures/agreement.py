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
from limelight.evaluation.measure import Measure, Score, score
from limelight.statistics.correlation import comparisons, kendall, top_overlap

TAU, TOP = "τ", "top 10"
_TOP = 10


def of_pairs(case: Case) -> Iterator[Score]:
    if case.d < 2 or len(case.entries) < 2:
        return
    import torch

    weights = torch.from_numpy(np.stack([one.weights for one in case.entries]))
    by_weight, by_size = kendall(comparisons(weights)), kendall(comparisons(weights.abs()))
    shared = top_overlap(weights, _TOP)
    for (i, one), (j, other) in combinations(enumerate(case.entries), 2):
        place = {"method": one.name, "other": other.name}
        tau = float((by_weight if one.signed and other.signed else by_size)[i, j])
        if math.isfinite(tau):
            yield score(TAU, tau, **place)
        yield score(TOP, float(shared[i, j]), **place)


agreement = Measure(
    "agreement",
    label="Agreement",
    summary="Kendall's τ and the shared part of the ten strongest words, for each pair of methods: likeness, not truth",
    pairs=TAU,
    scores=(of_pairs,),
)
