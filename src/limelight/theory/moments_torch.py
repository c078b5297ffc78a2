"""Exact means by coalition size for many documents at once, in torch, on any device that has float64.

Documents, heads and quadrature nodes are one wide batch; the loop runs over features. Documents of one batch are sorted
by their number of features, the longest first, so at step k those that still have a feature k are a *prefix* of the
batch: short documents simply stop. No padded feature ever takes part, which matters because a feature with
a = b = A = B = 0 would still change what "s of d removed" means.

One rule of quadrature serves a whole batch (that of its largest D_max/D_min, valid below it too). All states of a batch
are kept for the adjoint, triangular: 8 (d+1)(d+2) bytes for each document, head and node. A batch is as large as the
memory allows; where a single document is too large, its nodes are taken in blocks, since the result is a sum over them.

Where words are deleted, the loop runs over words and the state is the number of words kept (`deletion_recursion`), so a
word's weight differs with it: its exponentials are computed at each step, once forwards and once backwards. The same
loop with minima and maxima in place of means gives the range of the denominators, which decides the quadrature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from limelight.core.arrays import Floats
from limelight.errors import ParameterError
from limelight.theory.deletion import DeletionGame
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
class Batch:
    """Documents of one batch, longest first. Axes: document n, head K, node L, state, size weights W.

    The state is the number of features removed, or kept (`counts_kept`). `step` gives for feature k of the first n
    documents what it does to Q where it is kept, what it then adds to N, and both where it is removed: factors hold the
    chances p and m, and None adds nothing. `around` gives exp(-λ D) and N of what stands around the features, by state;
    it is None where that is in `start`.
    """

    lengths: list[int]
    share: Tensor  # (L, 1): quadrature weight over the number of heads
    size_weights: Tensor  # (W, n, 1, 1, d + 1), by state, of each document's own length
    start: tuple[Tensor, Tensor]  # Q_0 and T_0: (n, K, L, 1)
    step: Callable[[int, int], tuple[Tensor, Tensor, Tensor, Tensor | None]]
    around: Callable[[slice, int], tuple[Tensor, Tensor]] | None = None
    counts_kept: bool = False

    @property
    def destinations(self) -> tuple[slice, slice]:
        """Where the states of k features go among those of k + 1: with the feature kept, and with it removed."""
        same, next_one = slice(None, -1), slice(1, None)
        return (next_one, same) if self.counts_kept else (same, next_one)


Load = Callable[[list[int], Floats, Floats], Batch]
"""Function from the games of a batch and some nodes with their weights to the batch, on its device."""


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

    def load(members: list[int], nodes: Floats, node_weights: Floats) -> Batch:
        """Arrays in units of each head's smallest denominator."""
        lam, rows = on_device(nodes, device)[:, None], [(games[i], classes[i], sizes[i].lowest) for i in members]
        a = by_feature([game.a / unit[:, None] for game, _, unit in rows], device)
        b = by_feature([game.b / unit[:, None] for game, _, unit in rows], device)
        A = by_feature([game.A[:, :, c] / unit[:, None] for game, c, unit in rows], device)
        B = by_feature([game.B[:, :, c] / unit[:, None] for game, c, unit in rows], device)
        c0 = padded([(game.c0 / unit)[:, None, None] for game, _, unit in rows], device)
        C0 = padded([(game.C0[:, c] / unit)[:, None, None] for game, c, unit in rows], device)
        alpha, beta, start = torch.exp(-a * lam), torch.exp(-b * lam), torch.exp(-c0 * lam)

        def step(k: int, n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
            s = torch.arange(k + 1, dtype=torch.float64, device=lam.device)
            kept, removed = alpha[k, :n] * ((k + 1 - s) / (k + 1)), beta[k, :n] * ((s + 1) / (k + 1))
            return kept, A[k, :n], removed, B[k, :n]

        return Batch(
            lengths=[games[i].n_features for i in members],
            share=on_device(node_weights / len(sizes[members[0]].lowest), device)[:, None],
            size_weights=padded([weights[i] for i in members], device).transpose(0, 1)[:, :, None, None],
            start=(start, C0 * start),
            step=step,
        )

    return moments_in_batches(sizes, load, tolerance, device, memory_bytes)


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


def moments_in_batches(
    games: Sequence[GameSize],
    load: Load,
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
            batch = load(members, rule.nodes[first : first + block], rule.weights[first : first + block])
            states = _forward(batch)
            F_total, G_total = F_total + _by_size(batch, states), G_total + _backward(batch, states)
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


def on_device(array: Floats, device: str) -> Tensor:
    """An array as a tensor on a device."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def padded(arrays: Sequence[Floats], device: str) -> Tensor:
    """Arrays (..., own length) of documents, the longest first, with zeros behind them: (n, ..., longest)."""
    together = np.zeros((len(arrays), *arrays[0].shape))
    for row, own in zip(together, arrays, strict=True):
        row[..., : own.shape[-1]] = own
    return on_device(together, device)


def by_feature(arrays: Sequence[Floats], device: str) -> Tensor:
    """Arrays (K, own length) of documents, feature by feature: (longest, n, K, 1, 1)."""
    return padded(arrays, device).permute(2, 0, 1).contiguous()[..., None, None]


# ── the recursion ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _forward(batch: Batch) -> list[tuple[Tensor, Tensor]]:
    """States (Q_k, T_k), each (documents with at least k features, K, L, k + 1), for k = 0..d."""
    stays, goes = batch.destinations
    Q, T = batch.start
    states = [(Q, T)]
    for k in range(batch.lengths[0]):
        n = active(batch.lengths, k)
        Q, T = Q[:n], T[:n]
        kept, A, removed, B = batch.step(k, n)
        Q_next, T_next = Q.new_zeros((*Q.shape[:-1], k + 2)), Q.new_zeros((*Q.shape[:-1], k + 2))
        torch.mul(kept, Q, out=Q_next[..., stays])
        Q_next[..., goes].addcmul_(removed, Q)
        torch.mul(kept, torch.addcmul(T, A, Q), out=T_next[..., stays])
        T_next[..., goes].addcmul_(removed, T if B is None else torch.addcmul(T, B, Q))
        Q, T = Q_next, T_next
        states.append((Q, T))
    return states


def _by_size(batch: Batch, states: list[tuple[Tensor, Tensor]]) -> Tensor:
    """F_s (n, d + 1): each document is read off at its own last step."""
    lengths = batch.lengths
    result = batch.share.new_zeros((len(lengths), lengths[0] + 1))
    for d in sorted(set(lengths)):
        rows = slice(lengths.index(d), lengths.index(d) + lengths.count(d))  # documents of one length stand together
        Q, T = (state[rows] for state in states[d])
        if batch.around is not None:
            factor, N = batch.around(rows, d + 1)
            T = factor * torch.addcmul(T, N, Q)
        means = (T * batch.share).sum(dim=(1, 2))
        result[rows, : d + 1] = means.flip(-1) if batch.counts_kept else means
    return result


def _backward(batch: Batch, states: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Σ_s w_s G_{s,j}, (W, n, d). Documents join on the way down, each at its own length."""
    stays, goes = batch.destinations
    documents, d_max = len(batch.lengths), batch.lengths[0]
    result = batch.share.new_zeros((len(batch.size_weights), documents, d_max))
    heads, nodes = batch.start[0].shape[1:3]
    for w, size_weights in enumerate(batch.size_weights):
        n = 0
        q_bar = t_bar = batch.share.new_zeros((0, heads, nodes, d_max + 1))
        for k in range(d_max - 1, -1, -1):
            joining = active(batch.lengths, k)
            if joining > n:
                t_new = size_weights[n:joining, ..., : k + 2] * batch.share
                if batch.around is None:
                    t_new = t_new.expand(-1, heads, -1, -1)
                    q_new = torch.zeros_like(t_new)
                else:
                    factor, N = batch.around(slice(n, joining), k + 2)
                    t_new = factor * t_new
                    q_new = t_new * N
                t_bar, q_bar = torch.cat([t_bar, t_new]), torch.cat([q_bar, q_new])
                n = joining
            Q, T = states[k][0][:n], states[k][1][:n]
            kept, A, removed, B = batch.step(k, n)
            t_keep, t_drop, q_drop = t_bar[..., stays], t_bar[..., goes], q_bar[..., goes]
            q_keep = torch.addcmul(q_bar[..., stays], A, t_keep)
            q_drop = q_drop if B is None else torch.addcmul(q_drop, B, t_drop)
            # q̄ Q + t̄ (T + A Q) = (q̄ + A t̄) Q + t̄ T
            result[w, :n, k] = (kept * torch.addcmul(q_keep * Q, t_keep, T)).sum(dim=(1, 2, 3))
            t_bar = (kept * t_keep).addcmul_(removed, t_drop)
            q_bar = (kept * q_keep).addcmul_(removed, q_drop)
    return result


# ── deleted words ─────────────────────────────────────────────────────────────────────────────────────────────────────


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
