"""Measures of agreement against their definitions, written as loops."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch

from limelight.statistics.correlation import (
    comparisons,
    correlation,
    kendall,
    pearson,
    rank_correlation,
    spearman,
    top_overlap,
)
from limelight.statistics.sign_flips import bootstrap_mean, mean_and_spread

ROWS = np.round(np.random.default_rng(4).normal(size=(4, 9)), 1)  # rounded: with ties


def naive_kendall(x: np.ndarray, y: np.ndarray) -> float:
    pairs = list(combinations(range(len(x)), 2))
    agree = sum(float(np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])) for i, j in pairs)
    untied = [sum(one[i] != one[j] for i, j in pairs) for one in (x, y)]
    return agree / math.sqrt(untied[0] * untied[1])


def test_pearson_spearman_and_kendall_are_their_definitions() -> None:
    ranked = np.array([[1 + sum(row < v) + (sum(row == v) - 1) / 2 for v in row] for row in ROWS])
    assert rank_correlation(ROWS[0], ROWS[1]) == pytest.approx(np.corrcoef(ranked)[0, 1])
    rows = torch.from_numpy(ROWS)
    for found in (correlation(ROWS), pearson(rows)):
        np.testing.assert_allclose(found, np.corrcoef(ROWS))
    for found in (correlation(ranked), spearman(comparisons(rows))):
        np.testing.assert_allclose(found, np.corrcoef(ranked))
    expected = [[naive_kendall(x, y) for y in ROWS] for x in ROWS]
    np.testing.assert_allclose(kendall(comparisons(rows)), expected)


def test_a_constant_row_correlates_with_nothing() -> None:
    rows = np.stack([np.full(7, 0.1), np.arange(7.0)])
    assert rows[0].mean() != 0.1  # rounding must not make it look uneven
    both = torch.from_numpy(rows)
    for found in (correlation(rows), pearson(both), spearman(comparisons(both)), kendall(comparisons(both))):
        assert math.isnan(float(found[0, 1]))
        assert float(found[1, 1]) == pytest.approx(1.0)


def test_overlap_counts_the_strongest_words_of_either_sign() -> None:
    rows = torch.tensor([[5.0, -4.0, 3.0, 0.1], [0.0, 9.0, 8.0, -10.0]])
    assert top_overlap(rows, 2)[0, 1] == 0.5  # {0, 1} and {1, 3}; without absolute values {0, 2} and {1, 2}
    assert top_overlap(rows, 1)[0, 1] == 0.0  # 0 and 3
    rows = torch.tensor([[1.0, 2.0, -9.0], [2.0, 1.0, -9.0]])
    assert top_overlap(rows, 1)[0, 1] == 1.0  # the last word of both
    assert top_overlap(rows, 10)[0, 1] == 1.0  # fewer words than that


def test_the_interval_is_that_of_a_mean_over_documents() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, size=(400, 1))
    centre, low, high = bootstrap_mean(np.concatenate([values, np.full((400, 1), 7.0)], axis=1), seed=1)
    assert centre[0] == pytest.approx(values.mean())
    assert (high - low)[0] == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.15)
    assert (low[1], centre[1], high[1]) == (7.0, 7.0, 7.0)


def test_documents_without_a_value_have_no_say() -> None:
    centre, low, high = bootstrap_mean(np.array([[1.0], [np.nan], [3.0], [np.nan]]), seed=0)
    assert centre[0] == 2.0
    assert 1.0 <= low[0] <= 2.0 <= high[0] <= 3.0


def test_mean_and_spread_as_the_paper_reports_them() -> None:
    found = mean_and_spread(np.array([1.0, 2.0, 6.0]))
    assert (found["mean"], found["median"], found["largest"]) == (3.0, 2.0, 6.0)
    assert found["std"] == pytest.approx(math.sqrt(7.0))
