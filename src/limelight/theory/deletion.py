"""Deleting words: what is left moves up, so each word meets every position before its own.

In folded form a word i at position p has weight exp(s_i + s_p) and value w_i + w_p. All pairs (i, p) fit into one
table; a perturbed document is then a sum of its rows, one per word kept, plus the [UNK] padding behind the last.

Exact means by coalition size follow as for masking, and so do exact LIME and Shapley values. With word i as the p-th
word that is left of weight g_{i,p} = exp(s_i + s_p), and behind the last word padding whose sums depend on p alone,

    f(z) = (1/K) Σ_heads N(z)/D(z),     D(z) = [CLS] + Σ_{i kept} g_{i,p(i)} + padding(number kept)

and 1/D is a sum of exponentials (`quadrature`), whose means over the subsets of one size come from a recursion over
words with the number kept as its state (`deletion_recursion`): O(K L d²), as for masking.

Features that own one word each (occurrences, or words that stand once) are free in that recursion. A feature that owns
several words couples distant places: it is conditioned on. Each of the 2^R states of R such features leaves a recursion
over the free words, in which the words of a kept one always stay and those of a removed one are not there; the means
are put together with the exact chance of each state. With few of them that is exact; with many it is not offered.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.errors import ParameterError
from limelight.theory.folding import FoldedDocument
from limelight.theory.moments import (
    DEFAULT_TOLERANCE,
    MOST_REPEATED,
    Moments,
    checked_weights,
    recursion_rounding,
    tolerance_of_rule,
)
from limelight.theory.quadrature import ExponentialSum, exponential_sum
from limelight.theory.ratio_game import mean_of_quotients

ROWS_AT_ONCE = 4096
"""Perturbed documents summed in one call: bounds the index arrays to a few megabytes for any number of samples."""


class DeletionTables:
    """The table of one document on one device; sums are taken in `dtype`, quotients in float64."""

    def __init__(self, folded: FoldedDocument, dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        self.words, self.heads, _ = folded.word_values.shape
        self._pairs = _pair_table(folded, dtype, device)
        self._tail = torch.from_numpy(tail_table(folded)).to(device)
        self._first_row = torch.arange(self.words, dtype=torch.int32, device=device) * self.words - 1

    def logits(self, words: Tensor) -> Tensor:
        """Logits (n, C) of the document with the words (n, T) that are True, in one go."""
        position = words.cumsum(dim=1, dtype=torch.int32)
        length = position[:, -1].clone()
        position += self._first_row  # of word i; its row for position p is p further on
        return self._quotients(position[words], length)

    def logits_of_arrays(self, words: Coalitions) -> Floats:
        """Logits of an array of words, block by block; NumPy is the faster of the two at making indices on a CPU."""
        first_row = self._first_row.numpy()
        blocks = []
        for start in range(0, max(len(words), 1), ROWS_AT_ONCE):
            there = words[start : start + ROWS_AT_ONCE]
            position = there.cumsum(axis=1, dtype=np.int32)
            length = position[:, -1].copy()
            position += first_row
            blocks.append(self._quotients(torch.from_numpy(position[there]), torch.from_numpy(length)).numpy())
        return np.concatenate(blocks)

    def _quotients(self, rows: Tensor, length: Tensor) -> Tensor:
        offsets = length.cumsum(0, dtype=torch.int32) - length
        total = torch.nn.functional.embedding_bag(rows, self._pairs, offsets, mode="sum")
        return mean_of_quotients(total.double() + self._tail[length.long()], self.heads)


def weights_and_products(scores: Floats, values: Floats) -> Floats:
    """g and g·w side by side: (n, K) and (n, K, C) become (n, K + K·C)."""
    g = np.exp(scores)
    return np.concatenate([g, (g[:, :, None] * values).reshape(len(g), -1)], axis=1)


def _pair_table(folded: FoldedDocument, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """Word i at position p = 1..words, flattened: row i · words + (p - 1).

    Both g and g·w of a pair are sums of products of what the word and what the position bring: no exp() per pair.
    """
    n_words, K, C = folded.word_values.shape
    top_word, top_position = tops(folded)
    words = weights_and_products(folded.word_scores - top_word, folded.word_values)
    at = slice(1, 1 + n_words)
    positions = weights_and_products(folded.position_scores[at] - top_position, folded.position_values[at])
    word, position = (torch.from_numpy(x).to(device, dtype) for x in (words, positions))
    g_word, g_position = word[:, None, :K], position[None, :, :K]
    pairs = torch.empty((n_words, n_words, K + K * C), dtype=dtype, device=device)
    torch.mul(g_word, g_position, out=pairs[:, :, :K])
    products = pairs[:, :, K:].view(n_words, n_words, K, C)
    torch.mul(word[:, None, K:].view(n_words, 1, K, C), g_position[..., None], out=products)
    products += g_word[..., None] * position[None, :, K:].view(1, n_words, K, C)
    return pairs.view(n_words * n_words, -1)


def tail_table(folded: FoldedDocument) -> Floats:
    """Sums over what is never deleted, by number of words left: [CLS] and the [UNK] at all positions behind them."""
    shift = sum(tops(folded))
    padding = weights_and_products(folded.removed_scores - shift, folded.removed_values)
    cls = weights_and_products(
        (folded.cls_score + folded.position_scores[0] - shift)[None],
        (folded.cls_value + folded.position_values[0])[None],
    )
    behind = np.concatenate([padding[::-1].cumsum(axis=0)[::-1], np.zeros((1, padding.shape[1]))])
    return behind[1:] + cls


def tops(folded: FoldedDocument) -> tuple[Floats, Floats]:
    """Two constants per head that cancel in the quotient and keep exp() in range, whatever is deleted."""
    tokens = np.concatenate([folded.word_scores, folded.cls_score[None], folded.unknown_score[None]])
    return tokens.max(axis=0), folded.position_scores.max(axis=0)


def present_words(kept: Coalitions, owners: Integers) -> Coalitions:
    """Which words are there (n, T) when features (n, d) are kept; words of no feature always are."""
    there = kept[:, owners]
    if (owners < 0).any():
        there[:, owners < 0] = True
    return there


# ── exact means by size ───────────────────────────────────────────────────────────────────────────────────────────────


_IN_THREADS = 64
"""Free words from which a thread for each head pays."""


@dataclass(frozen=True)
class DeletionGame:
    """One class of a document whose words are deleted. Scaling one head's numbers by a common factor changes nothing.

    Word i at position p has weight g_word_i · g_place_p and value w_word_i + w_place_p.
    """

    g_word: Floats  # (K, T)
    w_word: Floats  # (K, T)
    g_place: Floats  # (K, T): positions 1..T
    w_place: Floats  # (K, T)
    tail: Floats  # (K, T + 1): [CLS] and the padding behind p words
    tail_N: Floats  # (K, T + 1): the same times their values

    @classmethod
    def of(cls, folded: FoldedDocument, target: int) -> DeletionGame:
        """The game of a folded document for one class."""
        folded = folded.of_class(target)
        n_words, K, _ = folded.word_values.shape
        top_word, top_place = tops(folded)
        at = slice(1, 1 + n_words)
        tail = tail_table(folded)[: n_words + 1]
        return cls(
            g_word=np.exp(folded.word_scores - top_word).T,
            w_word=folded.word_values[:, :, 0].T,
            g_place=np.exp(folded.position_scores[at] - top_place).T,
            w_place=folded.position_values[at, :, 0].T,
            tail=tail[:, :K].T,
            tail_N=tail[:, K:].T,
        )

    @property
    def n_heads(self) -> int:
        return len(self.g_word)

    @property
    def n_features(self) -> int:
        """Words, where each is a feature of its own."""
        return self.g_word.shape[1]

    def largest_output(self) -> float:
        """A bound on (1/K) Σ_heads |N/D| over all coalitions: N/D is a mean of the parts' own values."""
        ends = [self.w_word.max(axis=1) + self.w_place.max(axis=1), self.w_word.min(axis=1) + self.w_place.min(axis=1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            around = np.where(self.tail_N == 0.0, 0.0, np.abs(self.tail_N) / self.tail).max(axis=1)
        return float(np.maximum(around, np.abs(ends).max(axis=0)).mean())


def deletion_moments(
    folded: FoldedDocument,
    target: int,
    owned: Sequence[Sequence[int]],
    size_weights: Floats,
    tolerance: float = DEFAULT_TOLERANCE,
) -> Moments:
    """F_s and Σ_s w_s G_{s,j} for each row w of `size_weights` (W, d + 1), features j owning the words `owned[j]`.

    Words that no feature owns always stay. Equal input gives equal bytes.
    """
    d, game = len(owned), DeletionGame.of(folded, target)
    weights = checked_weights(size_weights, d)
    repeated = [j for j, own in enumerate(owned) if len(own) > 1]
    if len(repeated) > MOST_REPEATED:
        raise ParameterError(
            f"{len(repeated)} features stand in several places, and exact values for deleted words take at most "
            f"{MOST_REPEATED} of these: use features='occurrences', removal='mask', or a sampled method"
        )
    single = [j for j in range(d) if j not in repeated]
    single.sort(key=lambda j: owned[j][0])
    F, G, n = np.zeros(d + 1), np.zeros((len(weights), d)), len(single)
    error, nodes = 0.0, 0
    for states in itertools.product((True, False), repeat=len(repeated)):
        gone = [j for j, stays in zip(repeated, states, strict=True) if not stays]
        words, free = _left(game.n_features, owned, single, gone)
        # The chance that s removed features are these of the repeated ones, and the rest single ones.
        rows = np.arange(len(gone), len(gone) + n + 1)
        chance = np.ones(d + 1)
        if repeated:
            chance = np.array([math.comb(n, s - len(gone)) / math.comb(d, s) for s in rows.tolist()])
        inner = weights[:, rows] * chance
        means, kept, rules = _moments_of_words(game, words, free, inner, tolerance)
        F[rows] += chance * means
        G[:, single] += kept
        for j, stays in zip(repeated, states, strict=True):
            if stays:
                G[:, j] += inner @ means
        error, nodes = max(error, *(rule.error for rule in rules)), nodes + sum(map(len, rules))
    return Moments(
        F=F[None],
        G=G[None],
        error=error + recursion_rounding(len(folded.word_scores) + 2),
        largest_output=np.array([game.largest_output()]),
        nodes=nodes,
    )


def _left(n: int, owned: Sequence[Sequence[int]], single: list[int], gone: list[int]) -> tuple[Integers, Coalitions]:
    """The words of n that are left without the features `gone`, in their order (m,), and which of them are free (m,).

    The others always stay.
    """
    free, absent = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    free[[owned[j][0] for j in single]] = True
    for j in gone:
        absent[list(owned[j])] = True
    return np.flatnonzero(~absent), free[~absent]


def _moments_of_words(
    game: DeletionGame, words: Integers, free: Coalitions, size_weights: Floats, tolerance: float
) -> tuple[Floats, Floats, list[ExponentialSum]]:
    """Means by number removed (n + 1,), and Σ_s w_s G_{s,j} (W, n) of the n free words."""
    from limelight.theory.deletion_recursion import accumulate, denominator_range  # numba takes half a second to import

    stays, n, allowed = ~free, int(free.sum()), tolerance_of_rule(tolerance, len(words) + 2)
    # Word i stands at place first_i + p, counted from 0, with p of the free words up to it kept: one that stays comes
    # behind p free ones and those that stay before it; a free one is the p-th itself.
    first: Integers = np.cumsum(stays) - stays - free
    left, heads = len(free) - n + np.arange(n + 1), range(game.n_heads)
    by_kept = np.ascontiguousarray(size_weights[:, ::-1])
    g_word, g_place, tail = game.g_word[:, words], np.ascontiguousarray(game.g_place), game.tail[:, left]
    ranges = [denominator_range(g_word[head], g_place[head], first, free, tail[head]) for head in heads]
    rules = [exponential_sum(float(highest / lowest), allowed) for lowest, highest in ranges]

    def of_head(head: int) -> tuple[Floats, Floats]:
        F, kept = np.zeros(n + 1), np.zeros((len(size_weights), n, n + 1))
        (lowest, _), rule = ranges[head], rules[head]
        # In units of the smallest denominator, λD runs from nearly 0 to about 30 and exp() stays in range.
        accumulate(
            rule.nodes,
            rule.weights / game.n_heads,
            g_word[head] / lowest,
            game.w_word[head, words],
            g_place[head],
            game.w_place[head].copy(),
            first,
            free,
            tail[head] / lowest,
            game.tail_N[head, left] / lowest,
            by_kept,
            F,
            kept,
        )
        return F, kept.sum(axis=-1)

    workers = min(game.n_heads, os.cpu_count() or 1) if n >= _IN_THREADS else 1
    if workers > 1:  # compiled code does not hold the interpreter; sums are in the order of the heads all the same
        longest_first = sorted(heads, key=lambda head: -len(rules[head]))
        with ThreadPoolExecutor(workers) as pool:
            waiting = {head: pool.submit(of_head, head) for head in longest_first}
            answers = [waiting[head].result() for head in heads]
    else:
        answers = [of_head(head) for head in heads]
    means = np.sum([own[0] for own in answers], axis=0)
    return means[::-1], np.sum([own[1] for own in answers], axis=0), rules
