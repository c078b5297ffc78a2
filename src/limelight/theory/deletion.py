"""Deleting words: what is left moves up, so each word meets every position before its own.

In folded form a word i at position p has weight exp(s_i + s_p) and value w_i + w_p. All pairs (i, p) fit into one
table; a perturbed document is then a sum of its rows, one per word kept, plus the [UNK] padding behind the last.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from limelight.document import Features, owners_of_words
from limelight.theory.folding import FoldedDocument
from limelight.theory.ratio_game import Coalitions
from limelight.view import Game

Floats = npt.NDArray[np.float64]

_ROWS_AT_ONCE = 4096
"""Perturbed documents summed in one call: bounds the index arrays to a few megabytes for any number of samples."""


def deletion_game(folded: FoldedDocument, features: Features, dtype: torch.dtype) -> Game:
    """Logits of the document with features deleted, from folded tables alone: no string is rebuilt.

    The sums are taken in `dtype`, the precision of the model's own forward.
    """
    n_words, K, C = folded.word_values.shape
    pairs, tail = _pair_table(folded, dtype), _tail_table(folded)
    owner = np.asarray(owners_of_words(features, n_words))
    first_row = np.arange(n_words, dtype=np.int32) * n_words - 1  # of word i; its row for position p is p further on

    def logits(kept: Coalitions) -> Floats:
        sums = np.concatenate([block(kept[i : i + _ROWS_AT_ONCE]) for i in range(0, max(len(kept), 1), _ROWS_AT_ONCE)])
        denominator, numerator = sums[:, :K], sums[:, K:].reshape(len(sums), K, C)
        return (numerator / denominator[:, :, None]).mean(axis=1)

    def block(kept: Coalitions) -> Floats:
        words = np.asarray(kept, dtype=bool)[:, owner]
        position = words.cumsum(axis=1, dtype=np.int32)
        length = position[:, -1].copy()
        offsets = length.cumsum(dtype=np.int32) - length
        position += first_row
        total = torch.nn.functional.embedding_bag(
            torch.from_numpy(position[words]), pairs, torch.from_numpy(offsets), mode="sum"
        )
        return total.double().numpy() + tail[length]

    return logits


def _weights_and_products(scores: Floats, values: Floats) -> Floats:
    """g and g·w side by side: (n, K) and (n, K, C) become (n, K + K·C)."""
    g = np.exp(scores)
    return np.concatenate([g, (g[:, :, None] * values).reshape(len(g), -1)], axis=1)


def _pair_table(folded: FoldedDocument, dtype: torch.dtype) -> torch.Tensor:
    """Word i at position p = 1..words, flattened: row i · words + (p - 1).

    Both g and g·w of a pair are sums of products of what the word and what the position bring: no exp() per pair.
    """
    n_words, K, C = folded.word_values.shape
    top_word, top_position = _tops(folded)
    words = _weights_and_products(folded.word_scores - top_word, folded.word_values)
    at = slice(1, 1 + n_words)
    positions = _weights_and_products(folded.position_scores[at] - top_position, folded.position_values[at])
    word, position = (torch.from_numpy(x).to(dtype) for x in (words, positions))
    g_word, g_position = word[:, None, :K], position[None, :, :K]
    pairs = torch.empty((n_words, n_words, K + K * C), dtype=dtype)
    torch.mul(g_word, g_position, out=pairs[:, :, :K])
    products = pairs[:, :, K:].view(n_words, n_words, K, C)
    torch.mul(word[:, None, K:].view(n_words, 1, K, C), g_position[..., None], out=products)
    products += g_word[..., None] * position[None, :, K:].view(1, n_words, K, C)
    return pairs.view(n_words * n_words, -1)


def _tail_table(folded: FoldedDocument) -> Floats:
    """What never is deleted, by number of words left: [CLS] and the [UNK] at all positions behind them."""
    shift = sum(_tops(folded))
    padding = _weights_and_products(folded.removed_scores - shift, folded.removed_values)
    cls = _weights_and_products(
        (folded.cls_score + folded.position_scores[0] - shift)[None],
        (folded.cls_value + folded.position_values[0])[None],
    )
    behind = np.concatenate([padding[::-1].cumsum(axis=0)[::-1], np.zeros((1, padding.shape[1]))])
    return behind[1:] + cls


def _tops(folded: FoldedDocument) -> tuple[Floats, Floats]:
    """Two constants per head that cancel in the quotient and keep exp() in range, whatever is deleted."""
    tokens = np.concatenate([folded.word_scores, folded.cls_score[None], folded.unknown_score[None]])
    return tokens.max(axis=0), folded.position_scores.max(axis=0)
