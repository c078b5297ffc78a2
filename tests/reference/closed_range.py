"""Which methods differ, by definition: every sign of every text, every set of methods."""

from __future__ import annotations

from itertools import chain, combinations, product
from math import isclose

import numpy as np


def every_sign(texts: int) -> np.ndarray:
    """All ways to give each text a sign: (2^texts, texts)."""
    return np.array(list(product([1, -1], repeat=texts)))


def chance_of_range(values: np.ndarray, members: tuple[int, ...], signs: np.ndarray) -> float:
    """The share of signs under which the sums of the members (texts, methods) are as far apart as they were seen."""
    own = values[:, members]
    seen = np.ptp(own.sum(axis=0))
    size = np.abs(own).sum()
    reached = 0
    for sign in signs:
        spread = np.ptp((sign[:, None] * own).sum(axis=0))
        reached += spread >= seen or isclose(spread, seen, abs_tol=1e-9 * size)
    return reached / len(signs)


def adjusted(tables: list[np.ndarray], signs: np.ndarray) -> list[np.ndarray]:
    """For each table of (texts, methods) the p-values of its pairs: the largest over all sets that hold both."""
    total = sum(values.shape[1] for values in tables)
    found = []
    for values in tables:
        methods = values.shape[1]
        p = np.zeros((methods, methods))
        for members in chain.from_iterable(combinations(range(methods), size) for size in range(2, methods + 1)):
            share = 1.0 if len(members) >= total - 1 else total / len(members)
            chance = min(1.0, share * chance_of_range(values, members, signs))
            for a, b in combinations(members, 2):
                p[a, b] = p[b, a] = max(p[a, b], chance)
        np.fill_diagonal(p, 1.0)
        found.append(p)
    return found


def every_subset_ratio(numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
    """The ratio of sums over each set of documents but the empty one, sorted."""
    chosen = [np.array(one, dtype=bool) for one in product([False, True], repeat=len(numerators)) if any(one)]
    return np.sort([numerators[own].sum() / denominators[own].sum() for own in chosen])
