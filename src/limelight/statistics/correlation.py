"""How alike rows of numbers are: correlations, rank correlations and overlap of all pairs at once, on any device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from limelight.core.arrays import Floats

if TYPE_CHECKING:
    from torch import Tensor


def pearson(rows: Tensor) -> Tensor:
    """Pearson's correlation of all pairs of rows (m, d): (m, m), NaN where a row is constant."""
    centred = rows - rows.mean(dim=1, keepdim=True)
    constant = (rows == rows[:, :1]).all(dim=1, keepdim=True)
    unit = (centred / centred.norm(dim=1, keepdim=True)).masked_fill(constant, math.nan)
    return (unit @ unit.T).clamp(-1.0, 1.0)


def comparisons(rows: Tensor) -> Tensor:
    """For each pair of words whether the first has the larger weight (1), the smaller (-1) or the same: (m, d, d)."""
    return (rows[:, :, None] - rows[:, None, :]).sign()


def spearman(compared: Tensor) -> Tensor:
    """Pearson's correlation of ranks, from `comparisons`; ties share the mean of theirs."""
    # The words that a word surpasses, less those that surpass it: twice its rank, up to a constant.
    return pearson(compared.sum(dim=2))


def kendall(compared: Tensor) -> Tensor:
    """Kendall's τ_b, from `comparisons`: concordant less discordant pairs of words, ties accounted for."""
    signs = compared.flatten(1).float()  # sums of up to 2^24 signs are exact
    product = (signs @ signs.T).double()
    untied = product.diagonal().sqrt()
    return product / (untied[:, None] * untied)


def top_overlap(rows: Tensor, k: int) -> Tensor:
    """Fraction of the k words of largest absolute weight that two rows have in common: (m, m)."""
    k = min(k, rows.shape[1])
    top = rows.abs().argsort(dim=1, descending=True, stable=True)[:, :k]
    chosen = rows.new_zeros(rows.shape).scatter_(1, top, 1.0)
    return chosen @ chosen.T / k


def correlation(rows: Floats) -> Floats:
    """Pearson's correlation of arrays instead of tensors."""
    import torch

    correlations: Floats = pearson(torch.from_numpy(rows)).numpy()
    return correlations


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's ρ of two rows of any length; NaN where one of them is constant."""
    if len(one) < 2:
        return math.nan
    return float(correlation(np.stack([_ranks(one), _ranks(other)]))[0, 1])


def _ranks(row: Floats) -> Floats:
    """Ranks from 1; ties share the mean of theirs. The paper is reproduced without SciPy, whose ranks are the same."""
    _, inverse, counts = np.unique(row, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def shared_top(one: Floats, other: Floats, k: int) -> float:
    """Fraction of the k words of largest absolute weight that two rows have in common."""
    import torch

    return float(top_overlap(torch.from_numpy(np.stack([one, other])), k)[0, 1])
