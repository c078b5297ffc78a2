"""Slow twins of sampled Shapley values, integrated gradients and rollout: their definitions, one term at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np


def shapley_of_game(value: Callable[[np.ndarray], float], d: int) -> np.ndarray:
    """Σ over S without j of |S|! (d-|S|-1)! / d! · (f(S ∪ j) - f(S))."""
    phi = np.zeros(d)
    for bits in itertools.product((False, True), repeat=d):
        without = np.array(bits)
        for j in np.flatnonzero(~without):
            size = int(without.sum())
            share = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            with_j = without.copy()
            with_j[j] = True
            phi[j] += share * (value(with_j) - value(without))
    return phi


def rollout_matrices(attention: np.ndarray) -> np.ndarray:
    """Ā_L … Ā_1 as products of whole matrices, each row normalised (Abnar & Zuidema, 2020, Section 3)."""
    rolled = np.eye(attention.shape[-1])
    for layer in attention:
        with_residual = layer.mean(axis=0) + np.eye(len(rolled))
        rolled = (with_residual / with_residual.sum(axis=1, keepdims=True)) @ rolled
    return rolled
