"""How alike the explanations of one document are: all pairs of methods at once, on any device."""

from __future__ import annotations

import torch
from torch import Tensor


def pearson(rows: Tensor) -> Tensor:
    """Pearson's correlation of all pairs of rows (m, d): (m, m), NaN where a row is constant."""
    centred = rows - rows.mean(dim=1, keepdim=True)
    constant = (rows == rows[:, :1]).all(dim=1, keepdim=True)
    unit = (centred / centred.norm(dim=1, keepdim=True)).masked_fill(constant, torch.nan)
    return (unit @ unit.T).clamp(-1.0, 1.0)


def orders(rows: Tensor) -> Tensor:
    """For each pair of words whether the first has the larger weight (1), the smaller (-1) or the same: (m, d, d)."""
    return (rows[:, :, None] - rows[:, None, :]).sign()


def spearman(order: Tensor) -> Tensor:
    """Pearson's correlation of ranks; ties share the mean of theirs."""
    # The words that a word surpasses, less those that surpass it: twice its rank, up to a constant.
    return pearson(order.sum(dim=2))


def kendall(order: Tensor) -> Tensor:
    """Kendall's τ_b: concordant less discordant pairs of words, ties accounted for."""
    signs = order.flatten(1).float()  # sums of up to 2^24 signs are exact
    product = (signs @ signs.T).double()
    untied = product.diagonal().sqrt()
    return product / (untied[:, None] * untied)


def top_overlap(rows: Tensor, k: int) -> Tensor:
    """Share of the k words of largest absolute weight that two methods have in common."""
    k = min(k, rows.shape[1])
    top = rows.abs().argsort(dim=1, descending=True, stable=True)[:, :k]
    chosen = torch.zeros_like(rows).scatter_(1, top, 1.0)
    return chosen @ chosen.T / k
