"""Exact means for deleted words of many documents at once, in torch, on any device that has float64.

Documents, heads and quadrature nodes are one wide batch, longest documents first, the loop runs
over words, and short documents stop on the way. The state is the number of words kept (`deletion_recursion`), so a
word's weight differs with it: its exponentials are computed at each step, once forwards and once backwards. The same
loop with minima and maxima in place of means gives the range of the denominators, which decides the quadrature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from limelight.core.arrays import Floats
from limelight.theory.deletion_values import DeletionGame
from limelight.theory.moments import DEFAULT_TOLERANCE, Moments, checked_weights
from limelight.theory.moments_torch import GameSize, active, moments_in_batches, on_device, rows_by_length

Tensor = torch.Tensor
_RANGED_AT_ONCE = 1000
"""Documents whose range of denominators is computed at once: about a hundred megabytes."""


@dataclass(frozen=True)
class _Batch:
    """Documents of one batch, longest first. Axes: document n, head K, node L, number kept p, size weights W."""

    lengths: list[int]
    lam: Tensor  # (L, 1)
    share: Tensor  # (L, 1): quadrature weight over the number of heads
    g_word: Tensor  # (T, n, K, 1, 1), in units of each head's smallest D
    w_word: Tensor  # (T, n, K, 1, 1)
    g_place: Tensor  # (n, K, 1, T): p = 1..T
    w_place: Tensor  # (n, K, 1, T)
    tail: Tensor  # (n, K, 1, T + 1)
    tail_N: Tensor  # (n, K, 1, T + 1)
    by_kept: Tensor  # (W, n, 1, 1, T + 1): size weights by p, of each document's own length

    def step(self, k: int, n: int) -> tuple[Tensor, Tensor, Tensor]:
        """Factors of word k as the p-th kept, p = 1..k+1: p/(k+1) α and A; for p = 0..k the chance of going."""
        g = self.g_word[k, :n] * self.g_place[:n, ..., : k + 1]
        A = g * (self.w_word[k, :n] + self.w_place[:n, ..., : k + 1])
        p = torch.arange(k + 2, dtype=torch.float64, device=g.device)
        stays = torch.exp(-self.lam * g) * (p[1:] / (k + 1))
        return stays, A, (k + 1 - p[:-1]) / (k + 1)


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

    def of_nodes(members: list[int], nodes: Floats, node_weights: Floats) -> tuple[Tensor, Tensor]:
        batch = _load(games, sizes, weights, members, nodes, node_weights, device)
        states = _forward(batch)
        return _read_off(batch, states), _backward(batch, states)

    return moments_in_batches(sizes, of_nodes, tolerance, device, memory_bytes)


def sizes_of_games(games: Sequence[DeletionGame], device: str) -> list[GameSize]:
    """The range of each game's denominators over all coalitions, and the rest of its size: one loop over words."""
    order = sorted(range(len(games)), key=lambda i: (-games[i].n_features, i))
    lengths = [games[i].n_features for i in order]
    T, K = lengths[0], games[0].n_heads
    words, places, around = np.zeros((T, len(games), K)), np.zeros((len(games), K, T)), np.zeros((len(games), K, T + 1))
    for row, i in enumerate(order):
        own = lengths[row]
        words[:own, row] = games[i].g_word.T
        places[row, :, :own], around[row, :, : own + 1] = games[i].g_place, games[i].tail
    g_word, g_place, tail = (torch.from_numpy(array).to(device) for array in (words, places, around))
    low, high = torch.full_like(tail, torch.inf), torch.full_like(tail, -torch.inf)
    low[..., 0] = high[..., 0] = 0.0
    for k in range(T):
        n = active(lengths, k)
        g = g_word[k, :n, :, None] * g_place[:n]
        torch.minimum(low[:n, :, 1:], low[:n, :, :-1] + g, out=low[:n, :, 1:])
        torch.maximum(high[:n, :, 1:], high[:n, :, :-1] + g, out=high[:n, :, 1:])
    lowest, highest = (low + tail).amin(dim=2).cpu().numpy(), (high + tail).amax(dim=2).cpu().numpy()
    rows = {i: row for row, i in enumerate(order)}
    return [
        GameSize(game.n_features, game.n_heads, lowest[rows[i]], highest[rows[i]], game.largest_output(), fixed_steps=2)
        for i, game in enumerate(games)
    ]


def _load(
    games: Sequence[DeletionGame],
    sizes: Sequence[GameSize],
    weights: list[Floats],
    members: list[int],
    nodes: Floats,
    node_weights: Floats,
    device: str,
) -> _Batch:
    lengths = [games[i].n_features for i in members]
    n, T, K = len(members), lengths[0], games[members[0]].n_heads
    words, places, around = np.zeros((2, T, n, K)), np.zeros((2, n, K, T)), np.zeros((2, n, K, T + 1))
    by_kept = np.zeros((len(weights[0]), n, T + 1))
    for i, member in enumerate(members):
        game, own, unit = games[member], lengths[i], sizes[member].lowest[:, None]
        words[0, :own, i], words[1, :own, i] = (game.g_word / unit).T, game.w_word.T
        places[0, i, :, :own], places[1, i, :, :own] = game.g_place, game.w_place
        around[0, i, :, : own + 1], around[1, i, :, : own + 1] = game.tail / unit, game.tail_N / unit
        by_kept[:, i, : own + 1] = weights[member][:, ::-1]

    g_word, w_word = (on_device(array, device)[..., None, None] for array in words)
    g_place, w_place, tail, tail_N = (on_device(array, device)[:, :, None] for array in (*places, *around))
    return _Batch(
        lengths=lengths,
        lam=on_device(nodes, device)[:, None],
        share=on_device(node_weights / K, device)[:, None],
        g_word=g_word,
        w_word=w_word,
        g_place=g_place,
        w_place=w_place,
        tail=tail,
        tail_N=tail_N,
        by_kept=on_device(by_kept, device)[:, :, None, None],
    )


def _forward(batch: _Batch) -> list[tuple[Tensor, Tensor]]:
    """States (Q_k, T_k), each (documents with at least k words, K, L, k + 1) by p, for k = 0..d."""
    n, K = len(batch.lengths), batch.g_word.shape[2]
    Q = batch.lam.new_ones((n, K, len(batch.lam), 1))
    T = torch.zeros_like(Q)
    states = [(Q, T)]
    for k in range(batch.lengths[0]):
        n = active(batch.lengths, k)
        Q, T = Q[:n], T[:n]
        stays, A, goes = batch.step(k, n)
        Q_next, T_next = Q.new_zeros((*Q.shape[:-1], k + 2)), Q.new_zeros((*Q.shape[:-1], k + 2))
        torch.mul(stays, Q, out=Q_next[..., 1:])
        torch.mul(stays, torch.addcmul(T, A, Q), out=T_next[..., 1:])
        Q_next[..., :-1].addcmul_(goes, Q)
        T_next[..., :-1].addcmul_(goes, T)
        Q, T = Q_next, T_next
        states.append((Q, T))
    return states


def _read_off(batch: _Batch, states: list[tuple[Tensor, Tensor]]) -> Tensor:
    """F (n, d + 1) by number removed: each document is read off at its own last step."""
    result = batch.share.new_zeros((len(batch.lengths), batch.lengths[0] + 1))
    for d, rows in rows_by_length(batch.lengths):
        Q, T = (state[rows] for state in states[d])
        tail, tail_N = batch.tail[rows, ..., : d + 1], batch.tail_N[rows, ..., : d + 1]
        whole = torch.exp(-batch.lam * tail) * torch.addcmul(T, tail_N, Q) * batch.share
        result[rows, : d + 1] = whole.sum(dim=(1, 2)).flip(-1)
    return result


def _backward(batch: _Batch, states: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Σ_s w_s G_{s,j}, (W, n, d). Documents join on the way down, each at its own length."""
    documents, longest = len(batch.lengths), batch.lengths[0]
    result = batch.share.new_zeros((len(batch.by_kept), documents, longest))
    K, L = batch.g_word.shape[2], len(batch.lam)
    for w, by_kept in enumerate(batch.by_kept):
        n = 0
        q_bar = t_bar = batch.share.new_zeros((0, K, L, longest + 1))
        for k in range(longest - 1, -1, -1):
            joining = active(batch.lengths, k)
            if joining > n:
                rows = slice(n, joining)
                tail, tail_N = batch.tail[rows, ..., : k + 2], batch.tail_N[rows, ..., : k + 2]
                t_new = torch.exp(-batch.lam * tail) * (by_kept[rows, ..., : k + 2] * batch.share)
                t_bar, q_bar = torch.cat([t_bar, t_new]), torch.cat([q_bar, t_new * tail_N])
                n = joining
            Q, T = states[k][0][:n], states[k][1][:n]
            stays, A, goes = batch.step(k, n)
            t_keep, t_drop = t_bar[..., 1:], t_bar[..., :-1]
            q_keep = torch.addcmul(q_bar[..., 1:], A, t_keep)
            # q̄ Q + t̄ (T + A Q) = (q̄ + A t̄) Q + t̄ T
            result[w, :n, k] = (stays * torch.addcmul(q_keep * Q, t_keep, T)).sum(dim=(1, 2, 3))
            q_bar = (stays * q_keep).addcmul_(goes, q_bar[..., :-1])
            t_bar = (stays * t_keep).addcmul_(goes, t_drop)
    return result
