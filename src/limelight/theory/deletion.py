"""Deleting words: what is left moves up, so each word meets every position before its own.

In folded form a word i at position p has weight exp(s_i + s_p) and value w_i + w_p. All pairs (i, p) fit into one
table; a perturbed document is then a sum of its rows, one per word kept, plus the [UNK] padding behind the last.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.theory.folding import FoldedDocument
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
