"""A function that its module and name find: caches of version 0.2 know it by these."""

from __future__ import annotations

import numpy as np


def opinion(texts: list[str]) -> np.ndarray:
    p = [(1 + sum(map(ord, text)) % 97) / 100 for text in texts]
    return np.array([[1 - own, own] for own in p])
