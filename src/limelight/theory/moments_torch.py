"""Exact means by coalition size for many documents at once, in torch, on any device that has float64.

Documents, heads and quadrature nodes are one wide batch; the loop runs over features. Documents of one batch are sorted
by their number of features, the longest first, so at step k those that still have a feature k are a *prefix* of the
batch: short documents simply stop. No padded feature ever takes part, which matters because a feature with
a = b = A = B = 0 would still change what "s of d removed" means.

One rule of quadrature serves a whole batch (that of its largest D_max/D_min, valid below it too). All states of a batch
are kept for the adjoint, triangular: 8 (d+1)(d+2) bytes for each document, head and node. A batch is as large as the
memory allows; where a single document is too large, its nodes are taken in blocks, since the result is a sum over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from limelight.core.arrays import Floats
from limelight.errors import ParameterError
from limelight.theory.moments import (
    DEFAULT_TOLERANCE,
    Moments,
    checked_targets,
    checked_weights,
    recursion_rounding,
    tolerance_of_rule,
)
from limelight.theory.quadrature import ExponentialSum, exponential_sum
from limelight.theory.ratio_game import RatioGame

Tensor = torch.Tensor
CPU_BYTES = 2**30
# Of what a GPU has free; the rest is for temporaries, about a dozen states wide.
GPU_SHARE = 0.5
# Documents are grouped by denominators first: mixing 1e2 with 1e9 would double the nodes of the former.
DECADES_PER_GROUP = 2.0


@dataclass(frozen=True)
class _Batch:
    """Documents of one batch, longest first. Axes: document n, head K, node L, feature d, size weights W."""

    lengths: list[int]
    alpha: Tensor  # (d, n, K, L, 1)
    beta: Tensor  # (d, n, K, L, 1)
    start: Tensor  # (n, K, L, 1)
    A: Tensor  # (d, n, K, 1, 1)
    B: Tensor  # (d, n, K, 1, 1)
    C0: Tensor  # (n, K, 1, 1)
    share: Tensor  # (L, 1): quadrature weight over the number of heads
    size_weights: Tensor  # (W, n, d + 1)


def size_moments_of_many(
    games: Sequence[RatioGame],
    targets: Sequence[int],
    size_weights: Sequence[Floats],
    tolerance: float = DEFAULT_TOLERANCE,
    *,
    device: str = "cpu",
    memory_bytes: int | None = None,
) -> list[Moments]:
    """`size_moments` of each game for its target class and its size weights (W, d + 1), W the same for all."""
    if not len(games) == len(targets) == len(size_weights):
        raise ParameterError(
            f"each game needs one target and one array of size weights: "
            f"got {len(games)} games, {len(targets)} targets and {len(size_weights)} arrays"
        )
    weights = [checked_weights(w, game.n_features) for w, game in zip(size_weights, games, strict=True)]
    if len({(len(w), game.n_heads) for w, game in zip(weights, games, strict=True)}) > 1:
        raise ParameterError("games of one call share the number of heads and of size weights: split them by these")
    classes = [checked_targets(game, target)[0] for game, target in zip(games, targets, strict=True)]
    sizes = [
        GameSize(game.n_features, game.n_heads, *game.denominator_range(), float(game.largest_output()[c]))
        for game, c in zip(games, classes, strict=True)
    ]

    def of_nodes(members: list[int], nodes: Floats, node_weights: Floats) -> tuple[Tensor, Tensor]:
        batch = _load(games, classes, weights, members, nodes, node_weights, device)
        states = _forward(batch)
        return _sizes_summed(batch, states), _backward(batch, states)

    return moments_in_batches(sizes, of_nodes, tolerance, device, memory_bytes)


# ── batches: documents of like denominators, as many as the memory holds ──────────────────────────────────────────────


@dataclass(frozen=True)
class GameSize:
    """Size of a game of one class, before it is loaded: its denominators decide the quadrature, the rest its memory.

    `fixed_steps` is the number of steps of the recursion beyond one per feature.
    """

    n_features: int
    n_heads: int
    lowest: Floats  # (K,): the smallest D over all coalitions
    highest: Floats  # (K,)
    largest_output: float
    fixed_steps: int = 0

    @property
    def ratio(self) -> float:
        return float((self.highest / self.lowest).max())

    @property
    def state_bytes(self) -> int:
        """Bytes of Q and T of all steps, for one node of all heads."""
        return 8 * (self.n_features + 1) * (self.n_features + 2) * self.n_heads


MomentsOfNodes = Callable[[list[int], Floats, Floats], tuple[Tensor, Tensor]]
"""Function from the games of a batch and some nodes with their weights to F (n, d + 1) and G (W, n, d), padded."""


def moments_in_batches(
    games: Sequence[GameSize],
    of_nodes: MomentsOfNodes,
    tolerance: float,
    device: str,
    memory_bytes: int | None = None,
) -> list[Moments]:
    """Moments of each game: batches fit the memory, and where one document does not, its nodes are taken in blocks."""
    results: dict[int, Moments] = {}
    budget = _free_bytes(device) if memory_bytes is None else memory_bytes
    for members, rule in _batches_of_like_games(games, tolerance, budget):
        block = max(1, min(len(rule), budget // (games[members[0]].state_bytes * len(members))))
        F_total: Any = 0.0
        G_total: Any = 0.0
        for first in range(0, len(rule), block):
            F, G = of_nodes(members, rule.nodes[first : first + block], rule.weights[first : first + block])
            F_total, G_total = F_total + F, G_total + G
        F_total, G_total = F_total.cpu().numpy(), G_total.permute(1, 0, 2).contiguous().cpu().numpy()
        for i, member in enumerate(members):
            game, d = games[member], games[member].n_features
            results[member] = Moments(
                F=F_total[i, None, : d + 1],
                G=G_total[i, None, :, :d],
                error=rule.error + recursion_rounding(d + game.fixed_steps),
                largest_output=np.array([game.largest_output]),
                nodes=len(rule) * game.n_heads,
            )
    return [results[i] for i in range(len(games))]


def _free_bytes(device: str) -> int:
    """Bytes that the states of a batch may take on a device."""
    if torch.device(device).type == "cuda":
        if not torch.cuda.is_available():
            raise ParameterError(f"device {device!r} was asked for, but torch finds no CUDA here: use device='cpu'")
        return int(GPU_SHARE * torch.cuda.mem_get_info(torch.device(device))[0])
    return CPU_BYTES


def _batches_of_like_games(
    games: Sequence[GameSize], tolerance: float, budget: int
) -> Iterator[tuple[list[int], ExponentialSum]]:
    """Groups of like denominators, cut into batches that fit the memory, longest documents first."""
    ratios = [game.ratio for game in games]
    groups: dict[int, list[int]] = {}
    for index, ratio in enumerate(ratios):
        groups.setdefault(int(np.log10(ratio) / DECADES_PER_GROUP), []).append(index)
    for key in sorted(groups):
        members = sorted(groups[key], key=lambda i: (-games[i].n_features, i))
        longest = games[members[0]].n_features
        rule = exponential_sum(max(ratios[i] for i in members), tolerance_of_rule(tolerance, longest))
        while members:
            fit = max(1, budget // (games[members[0]].state_bytes * len(rule)))
            yield members[:fit], rule
            members = members[fit:]


def active(lengths: Sequence[int], k: int) -> int:
    """How many documents, the longest first, have a feature k."""
    return sum(length > k for length in lengths)


def rows_by_length(lengths: list[int]) -> list[tuple[int, slice]]:
    """Documents of one length, which stand together: (length, rows)."""
    return [(d, slice(lengths.index(d), lengths.index(d) + lengths.count(d))) for d in sorted(set(lengths))]


def on_device(array: Floats, device: str) -> Tensor:
    """An array as a tensor on a device."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


# ── the recursion ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _load(
    games: Sequence[RatioGame],
    classes: list[int],
    weights: list[Floats],
    members: list[int],
    nodes: Floats,
    node_weights: Floats,
    device: str,
) -> _Batch:
    """Arrays in units of each head's smallest denominator, on the device."""
    lengths = [games[i].n_features for i in members]
    n, d, K = len(members), lengths[0], games[members[0]].n_heads
    a, b, A, B = (np.zeros((d, n, K)) for _ in range(4))
    c0, C0 = np.zeros((n, K)), np.zeros((n, K))
    sizes = np.zeros((len(weights[0]), n, d + 1))
    for i, member in enumerate(members):
        game, c, own = games[member], classes[member], lengths[i]
        unit = game.denominator_range()[0]
        a[:own, i], b[:own, i] = (game.a / unit[:, None]).T, (game.b / unit[:, None]).T
        A[:own, i], B[:own, i] = (game.A[:, :, c] / unit[:, None]).T, (game.B[:, :, c] / unit[:, None]).T
        c0[i], C0[i] = game.c0 / unit, game.C0[:, c] / unit
        sizes[:, i, : own + 1] = weights[member]

    lam = on_device(nodes, device)[:, None]
    a_, b_, A_, B_ = (on_device(array, device)[..., None, None] for array in (a, b, A, B))
    c0_, C0_ = (on_device(array, device)[..., None, None] for array in (c0, C0))
    return _Batch(
        lengths=lengths,
        alpha=torch.exp(-a_ * lam),
        beta=torch.exp(-b_ * lam),
        start=torch.exp(-c0_ * lam),
        A=A_,
        B=B_,
        C0=C0_,
        share=on_device(node_weights / K, device)[:, None],
        size_weights=on_device(sizes, device),
    )


def _fractions(k: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """p(s) = (k+1-s)/(k+1) and m(s+1) = (s+1)/(k+1) for s = 0..k."""
    s = torch.arange(k + 1, dtype=torch.float64, device=like.device)
    return (k + 1 - s) / (k + 1), (s + 1) / (k + 1)


def _forward(batch: _Batch) -> list[tuple[Tensor, Tensor]]:
    """States (Q_k, T_k), each (documents with at least k features, K, L, k + 1), for k = 0..d."""
    Q, T = batch.start, batch.C0 * batch.start
    states = [(Q, T)]
    for k in range(batch.lengths[0]):
        n = active(batch.lengths, k)
        Q, T = Q[:n], T[:n]
        p, m = _fractions(k, Q)
        kept, removed = batch.alpha[k, :n] * p, batch.beta[k, :n] * m
        Q_next, T_next = Q.new_zeros((*Q.shape[:-1], k + 2)), Q.new_zeros((*Q.shape[:-1], k + 2))
        torch.mul(kept, Q, out=Q_next[..., :-1])
        Q_next[..., 1:].addcmul_(removed, Q)
        torch.mul(kept, torch.addcmul(T, batch.A[k, :n], Q), out=T_next[..., :-1])
        T_next[..., 1:].addcmul_(removed, torch.addcmul(T, batch.B[k, :n], Q))
        Q, T = Q_next, T_next
        states.append((Q, T))
    return states


def _sizes_summed(batch: _Batch, states: list[tuple[Tensor, Tensor]]) -> Tensor:
    """F_s (n, d + 1): each document is read off at its own last step."""
    result = batch.share.new_zeros((len(batch.lengths), batch.lengths[0] + 1))
    for d, rows in rows_by_length(batch.lengths):
        result[rows, : d + 1] = (states[d][1][rows] * batch.share).sum(dim=(1, 2))
    return result


def _backward(batch: _Batch, states: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Σ_s w_s G_{s,j}, (W, n, d). Documents join on the way down, each at its own length."""
    documents, d_max = len(batch.lengths), batch.lengths[0]
    result = batch.share.new_zeros((len(batch.size_weights), documents, d_max))
    for w, size_weights in enumerate(batch.size_weights):
        n = 0
        q_bar = t_bar = states[0][0].new_zeros((0, *states[0][0].shape[1:3], d_max + 1))
        for k in range(d_max - 1, -1, -1):
            joining = active(batch.lengths, k)
            if joining > n:
                t_new = (size_weights[n:joining, None, None, : k + 2] * batch.share).expand(-1, q_bar.shape[1], -1, -1)
                t_bar = torch.cat([t_bar, t_new])
                q_bar = torch.cat([q_bar, torch.zeros_like(t_new)])
                n = joining
            Q, T = states[k][0][:n], states[k][1][:n]
            p, m = _fractions(k, Q)
            kept, removed = batch.alpha[k, :n] * p, batch.beta[k, :n] * m
            A, B = batch.A[k, :n], batch.B[k, :n]
            t_keep, t_drop = t_bar[..., :-1], t_bar[..., 1:]
            q_keep, q_drop = torch.addcmul(q_bar[..., :-1], A, t_keep), torch.addcmul(q_bar[..., 1:], B, t_drop)
            # q̄ Q + t̄ (T + A Q) = (q̄ + A t̄) Q + t̄ T
            result[w, :n, k] = (kept * torch.addcmul(q_keep * Q, t_keep, T)).sum(dim=(1, 2, 3))
            t_bar = (kept * t_keep).addcmul_(removed, t_drop)
            q_bar = (kept * q_keep).addcmul_(removed, q_drop)
    return result
