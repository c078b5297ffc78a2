"""From texts to the batches of token numbers that training reads."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Array, Integers
from limelight.core.progress import Progress
from limelight.errors import DataError
from limelight.inputs.document import word_forms
from limelight.models.words.classifier import Vocabulary
from limelight.training.presets import Preset

_TOLD_AT_ONCE = 500
"""Texts between two steps of the progress: a tenth of a second or so."""


@dataclass(frozen=True)
class TokenTexts:
    """Texts as numbers: text i is tokens[starts[i]:starts[i + 1]], and token t is the word forms[t]."""

    forms: Sequence[str]
    tokens: Array  # int32: half the memory of int64
    starts: Integers

    @classmethod
    def read(cls, texts: Sequence[str], progress: Progress) -> TokenTexts:
        """Read every text once; words are numbered as they appear, before there is a vocabulary."""
        numbers: dict[str, int] = {}
        tokens, starts, wordless = array("i"), [0], []
        try:
            progress.begin("reading", len(texts))
            for i, text in enumerate(texts, start=1):
                tokens.extend([numbers.setdefault(form, len(numbers)) for form in word_forms(text)])
                if len(tokens) == starts[-1]:
                    wordless.append(i)
                starts.append(len(tokens))
                if i % _TOLD_AT_ONCE == 0:
                    progress.advance(_TOLD_AT_ONCE)
        finally:
            progress.end()
        if wordless:
            rows = ", ".join(map(str, wordless[:5]))
            raise DataError(f"{len(wordless)} texts have no words (row {rows}): remove these rows")
        return cls(list(numbers), np.array(tokens, dtype=np.int32), np.array(starts, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def counts(self, rows: Integers) -> Counter[str]:
        """Number of times that each word stands in these texts."""
        chosen = np.concatenate([self.tokens[self.starts[i] : self.starts[i + 1]] for i in rows])
        totals = np.bincount(chosen, minlength=len(self.forms))
        return Counter({form: int(n) for form, n in zip(self.forms, totals, strict=True) if n})

    def numbered(self, vocabulary: Vocabulary) -> TokenTexts:
        """These texts in the numbers of a vocabulary."""
        table = np.array(vocabulary.ids(self.forms), dtype=np.int32)
        return TokenTexts(vocabulary.words, table[self.tokens], self.starts)

    def pad(
        self, rows: Integers, T_max: int, first: Integers | None = None, length: Integers | None = None
    ) -> Integers:
        """Token numbers (n, T_max) of some texts, or of the pieces of `length` words from word `first` on."""
        ids = np.full((len(rows), T_max), Vocabulary.unknown_id, dtype=np.int64)
        ids[:, 0] = Vocabulary.cls_id
        begin, end = self.starts[rows], self.starts[rows + 1]
        if first is not None and length is not None:
            begin = begin + first
            end = begin + length
        end = np.minimum(end, begin + T_max - 1)
        for i, (b, e) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
            ids[i, 1 : 1 + e - b] = self.tokens[b:e]
        return ids


def split_rows(n: int, n_validation: int, seed: int) -> tuple[Integers, Integers]:
    """Rows to train on and rows to validate on, drawn at random."""
    order = np.random.default_rng([seed, 0]).permutation(n)
    return np.sort(order[n_validation:]), np.sort(order[:n_validation])


def epoch_batches(
    texts: TokenTexts, rows: Integers, preset: Preset, seed: int, epoch: int
) -> Iterator[tuple[Integers, Integers]]:
    """(rows, token numbers) of one epoch, in an order and with noise that follow from the seed and the epoch alone."""
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(rows)
    for start in range(0, len(order), preset.batch_size):
        batch = order[start : start + preset.batch_size]
        first, length = _pieces(texts, batch, preset, rng) if preset.crop_probability else (None, None)
        ids = texts.pad(batch, preset.sizes.T_max, first, length)
        if preset.word_dropout:
            dropped = rng.random(ids.shape, dtype=np.float32) < preset.word_dropout
            dropped[:, 0] = False
            ids[dropped] = Vocabulary.unknown_id
        yield batch, ids


def _pieces(texts: TokenTexts, rows: Integers, preset: Preset, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """For each text all of it, or a piece of log-uniform length: short ones are as common as long ones."""
    size = texts.starts[rows + 1] - texts.starts[rows]
    longest = np.minimum(size, preset.sizes.T_max - 1)
    shortest = np.minimum(preset.crop_min, longest)
    cut = rng.random(len(rows)) < preset.crop_probability
    drawn = shortest * (longest / shortest) ** rng.random(len(rows))
    length = np.where(cut, np.rint(drawn).astype(np.int64), longest)
    first = np.where(cut, np.floor(rng.random(len(rows)) * (size - length + 1)).astype(np.int64), 0)
    return first, length
