"""Exact means for deleted words of many documents at once, in torch, on any device that has float64.

Documents, heads and quadrature nodes are one wide batch, longest documents first, the loop runs
over words, and short documents stop on the way. The state is the number of words kept (`deletion_recursion`), so a
word's weight differs with it: its exponentials are computed at each step, once forwards and once backwards. The same
loop with minima and maxima in place of means gives the range of the denominators, which decides the quadrature.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from limelight.core.arrays import Floats
from limelight.theory.deletion_values import DeletionGame
from limelight.theory.moments import DEFAULT_TOLERANCE, Moments, checked_weights
from limelight.theory.moments_torch import Batch, GameSize, active, by_feature, moments_in_batches, on_device, padded

Tensor = torch.Tensor
_RANGED_AT_ONCE = 1000
"""Documents whose range of denominators is computed at once: about a hundred megabytes."""


def deletion_moments_of_many(
    games: Sequence[DeletionGame],
    size_weights: Sequence[Floats],
    tolerance: float = DEFAULT_TOLERANCE,
    *,
    device: str = "cpu",
    memory_bytes: int | None = None,
) -> list[Moments]:
    """`deletion_moments` of documents whose words are features of their own, for size weights (W, d + 1) of each."""
    weights = [checked_weights(w, game.n_features) for w, game in zip(size_weights, games, strict=True)]
    sizes = [
        own
        for start in range(0, len(games), _RANGED_AT_ONCE)
        for own in sizes_of_games(games[start : start + _RANGED_AT_ONCE], device)
    ]

    def load(members: list[int], nodes: Floats, node_weights: Floats) -> Batch:
        """Arrays in units of each head's smallest denominator."""
        lam, rows = on_device(nodes, device)[:, None], [(games[i], sizes[i].lowest[:, None]) for i in members]
        g_word = by_feature([game.g_word / unit for game, unit in rows], device)
        w_word = by_feature([game.w_word for game, _ in rows], device)
        g_place = padded([game.g_place for game, _ in rows], device)[:, :, None]
        w_place = padded([game.w_place for game, _ in rows], device)[:, :, None]
        tail = padded([game.tail / unit for game, unit in rows], device)[:, :, None]
        tail_N = padded([game.tail_N / unit for game, unit in rows], device)[:, :, None]

        def step(k: int, n: int) -> tuple[Tensor, Tensor, Tensor, None]:
            """Word k as the p-th kept, p = 1..k+1: p/(k+1) α and A; for p = 0..k the chance of going."""
            g = g_word[k, :n] * g_place[:n, ..., : k + 1]
            p = torch.arange(k + 2, dtype=torch.float64, device=g.device)
            stays = torch.exp(-lam * g) * (p[1:] / (k + 1))
            return stays, g * (w_word[k, :n] + w_place[:n, ..., : k + 1]), (k + 1 - p[:-1]) / (k + 1), None

        def around(chosen: slice, count: int) -> tuple[Tensor, Tensor]:
            return torch.exp(-lam * tail[chosen, ..., :count]), tail_N[chosen, ..., :count]

        heads = g_word.shape[2]
        nothing = lam.new_ones((len(members), heads, len(lam), 1))
        return Batch(
            lengths=[game.n_features for game, _ in rows],
            share=on_device(node_weights / heads, device)[:, None],
            size_weights=padded([weights[i][:, ::-1] for i in members], device).transpose(0, 1)[:, :, None, None],
            start=(nothing, torch.zeros_like(nothing)),
            step=step,
            around=around,
            counts_kept=True,
        )

    return moments_in_batches(sizes, load, tolerance, device, memory_bytes)


def sizes_of_games(games: Sequence[DeletionGame], device: str) -> list[GameSize]:
    """The range of each game's denominators over all coalitions, and the rest of its size: one loop over words."""
    order = sorted(range(len(games)), key=lambda i: (-games[i].n_features, i))
    longest_first = [games[i] for i in order]
    lengths = [game.n_features for game in longest_first]
    g_word = by_feature([game.g_word for game in longest_first], device)[..., 0]
    g_place = padded([game.g_place for game in longest_first], device)
    tail = padded([game.tail for game in longest_first], device)
    low, high = torch.full_like(tail, torch.inf), torch.full_like(tail, -torch.inf)
    low[..., 0] = high[..., 0] = 0.0
    for k in range(lengths[0]):
        n = active(lengths, k)
        g = g_word[k, :n] * g_place[:n]
        torch.minimum(low[:n, :, 1:], low[:n, :, :-1] + g, out=low[:n, :, 1:])
        torch.maximum(high[:n, :, 1:], high[:n, :, :-1] + g, out=high[:n, :, 1:])
    lowest, highest = (low + tail).amin(dim=2).cpu().numpy(), (high + tail).amax(dim=2).cpu().numpy()
    rows = {i: row for row, i in enumerate(order)}
    return [
        GameSize(game.n_features, game.n_heads, lowest[rows[i]], highest[rows[i]], game.largest_output(), fixed_steps=2)
        for i, game in enumerate(games)
    ]
