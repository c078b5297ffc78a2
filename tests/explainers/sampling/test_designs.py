"""Sequences of coalitions: the same rows however they are cut, and balanced beginnings."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from limelight.explainers.sampling.designs import Sequence
from limelight.theory.lime_kernel import kernel_by_size


def lime_draws(d: int, seed: int = 0) -> Sequence:
    weights = kernel_by_size(d, 0.25)
    weights[0] = 0.0
    return Sequence(weights, seed)


@pytest.mark.parametrize("d", [1, 2, 7, 150])
def test_the_same_rows_come_however_a_run_is_cut(d: int) -> None:
    draws = lime_draws(d)
    whole = draws.rows(0, 3000)
    cuts = [0, 1, 5, 1023, 1024, 1025, 2999, 3000]
    parts = [lime_draws(d).rows(start, stop) for start, stop in pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(draws.rows(700, 2100), whole[700:2100])
    assert (whole.sum(axis=1) == d - draws.sizes(0, 3000)).all()
    if d > 2:
        assert (lime_draws(d, seed=1).rows(0, 50) != whole[:50]).any()


@pytest.mark.parametrize("n", [50, 500, 1024, 2500])
def test_every_beginning_has_the_sizes_that_are_due(n: int) -> None:
    weights = kernel_by_size(40, 0.25)
    weights[0] = 0.0
    due = n * np.cumsum(weights) / weights.sum()
    for seed in range(5):
        counts = np.bincount(Sequence(weights, seed).sizes(0, n), minlength=41)
        assert np.abs(np.cumsum(counts) - due).max() < 6.0  # drawn by chance it would be about 0.5 sqrt(n)


def test_subsets_of_a_size_are_equally_likely() -> None:
    weights = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    kept = Sequence(weights, 3).rows(0, 12_000)
    _, counts = np.unique(kept, axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000)
