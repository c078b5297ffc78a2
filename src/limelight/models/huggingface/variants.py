"""The inputs that a window of tokens becomes when features are removed, straight from token numbers.

There is one class for each way to take a word out: `Mask` puts the mask token in its place, `Delete` cuts it out, and
`Hide` leaves it where it is and hides it from attention. Each answers `lengths(kept)`, how long the variants are, and
`batch(kept, lengths, width)`, some of them as one batch. `kept` is what `table` made of coalitions: True where a
feature of the window is kept, and a last column that is True throughout, for tokens that belong to no feature. A token
that belongs to several features is removed with any of them.

`with_inserted` removes nothing, and puts mask tokens between the words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Coalitions, Integers
from limelight.errors import CapabilityError
from limelight.inputs.features import NOBODY, Features
from limelight.models.huggingface.configuration import SpecialTokens
from limelight.models.huggingface.runner import Batches, Inputs, to_device
from limelight.models.huggingface.subwords import TokenWindow
from limelight.models.interface import Removal

_COUNTED_AT_ONCE = 8192


class Variants(ABC):
    """What the three removals share: the tokens of a window on a device, and the features that own them."""

    def __init__(self, window: TokenWindow, features: Features, device: torch.device, special: SpecialTokens) -> None:
        owners = features.owners[window.words]
        owned = owners != NOBODY
        self._device, self.length, self._special = device, len(window.ids), special
        self._positions, self._words = window.positions[owned], window.words[owned]
        self.features, self._column = np.unique(owners[owned], return_inverse=True)
        """The features that own a token here, in the order of the columns of `kept`."""
        self._nobody = len(self.features)
        self._owners = self._columns(slice(None))
        self._ids, self._types = to_device(window.ids, device), to_device(window.types, device)
        self._typed = bool(window.types.any())

    def lengths(self, kept: Tensor) -> Integers:
        """The number of tokens of each variant (n,)."""
        return np.full(len(kept), self.length)

    @abstractmethod
    def batch(self, kept: Tensor, lengths: Integers, width: int) -> Inputs:
        """The variants of some rows, which have these lengths, as wide as `width`."""

    def batches(self, kept: Coalitions) -> Batches:
        """All variants, for a runner: coalitions (n, features of this window)."""
        table = self.table(kept)
        lengths = self.lengths(table)

        def build(rows: Integers, width: int) -> Inputs:
            return self.batch(table[torch.from_numpy(rows).to(self._device)], lengths[rows], width)

        return Batches(lengths, build)

    def table(self, kept: Coalitions) -> Tensor:
        """Coalitions on the device, with the column of tokens that belong to no feature."""
        always = np.ones((len(kept), 1), dtype=bool)
        return to_device(np.concatenate([kept, always], axis=1), self._device)

    def _columns(self, chosen: slice | Integers) -> list[Tensor]:
        """For each token the columns of the features that own it, by the chosen pairs of token and word.

        As several arrays (T,), filled up with the column of nobody. A token seldom has more than one owner, so this is
        one array nearly always.
        """
        per_token: list[list[int]] = [[] for _ in range(self.length)]
        for position, column in zip(self._positions[chosen], self._column[chosen], strict=True):
            if column not in per_token[position]:
                per_token[position].append(int(column))
        depth = max(1, *map(len, per_token))
        padded = [own + [self._nobody] * (depth - len(own)) for own in per_token]
        return [to_device(np.array(columns, dtype=np.int64), self._device) for columns in zip(*padded, strict=True)]

    def _shown(self, kept: Tensor) -> Tensor:
        """Which tokens are as they were (n, T): those of no feature, and those whose features are all kept."""
        shown = kept[:, self._owners[0]]
        for others in self._owners[1:]:
            shown &= kept[:, others]
        return shown

    def _in_place(self, ids: Tensor, width: int, shown: Tensor | None = None) -> Inputs:
        """Token numbers (n, T) where the text has them; padding follows. What is not shown (n, T) is hidden, too."""
        n, more = len(ids), width - self.length
        types = self._types.expand(n, -1) if self._typed else None
        if not more:
            return Inputs(ids, types, None if shown is None else shown.long())
        there = torch.ones_like(ids) if shown is None else shown.long()
        ids = torch.nn.functional.pad(ids, (0, more), value=self._special.filler)
        types = None if types is None else torch.nn.functional.pad(types, (0, more))
        return Inputs(ids, types, torch.nn.functional.pad(there, (0, more)))

    def _moved_up(self, left: Tensor, tokens: Callable[[Tensor], Tensor], lengths: Integers, width: int) -> Inputs:
        """The tokens that are left (n, T) move up; padding follows the shorter variants of a batch and is hidden.

        `tokens` gives the token numbers at source positions (n, at most width).
        """
        if width > self.length:  # the tokens behind the end are never left
            left = torch.nn.functional.pad(left, (0, width - self.length))
        # A stable sort brings the tokens that are left to the front, in their order.
        source = left.logical_not().byte().argsort(dim=1, stable=True)[:, :width]
        if width > self.length:
            source = source.clamp(max=self.length - 1)
        ids = tokens(source)
        types = self._types[source] if self._typed else None
        if (lengths == width).all():
            return Inputs(ids, types)
        there = torch.arange(width, device=self._device) < torch.from_numpy(lengths).to(self._device)[:, None]
        return Inputs(torch.where(there, ids, self._special.filler), types, there.long())

    @property
    def _can_be_empty(self) -> bool:
        """Whether nothing stays without the features: the tokenizer adds no special tokens."""
        return bool((self._owners[0] < self._nobody).all())


class Mask(Variants):
    """A removed word is one mask token, however many tokens it had: as if it had been replaced in the text."""

    def __init__(self, window: TokenWindow, features: Features, device: torch.device, special: SpecialTokens) -> None:
        super().__init__(window, features, device, special)
        if special.mask is None:
            raise CapabilityError("this tokenizer has neither a mask nor an unknown token: use another removal")
        self._mask = special.mask
        _, first = np.unique(self._words, return_index=True)
        self._shortens = len(first) < len(self._words)
        self._first_tokens = self._columns(first)

    def lengths(self, kept: Tensor) -> Integers:
        return _counted(kept, self._left) if self._shortens else super().lengths(kept)

    def batch(self, kept: Tensor, lengths: Integers, width: int) -> Inputs:
        shown = self._shown(kept)
        if not self._shortens:
            return self._in_place(torch.where(shown, self._ids, self._mask), width)

        def tokens(source: Tensor) -> Tensor:
            return torch.where(shown.gather(1, source), self._ids[source], self._mask)

        return self._moved_up(self._left(kept), tokens, lengths, width)

    def _left(self, kept: Tensor) -> Tensor:
        """Which tokens are there (n, T): those that are shown, and the first of each removed word."""
        left = self._shown(kept)
        for columns in self._first_tokens:
            left |= ~kept[:, columns]
        return left


class Delete(Variants):
    """A removed word is cut out, and what follows it moves up.

    Where nothing is left, not even a special token, the model reads the token that its texts begin with.
    """

    def lengths(self, kept: Tensor) -> Integers:
        lengths = _counted(kept, self._shown)
        if self._can_be_empty and not lengths.all():
            if self._special.beginning is None:
                raise CapabilityError(
                    "this tokenizer adds no special tokens, and the model's configuration names no token to begin "
                    "with, so removal='delete' of all words leaves nothing to read: use removal='mask' or leave-one-out"
                )
            lengths = np.maximum(lengths, 1)
        return lengths

    def batch(self, kept: Tensor, lengths: Integers, width: int) -> Inputs:
        shown = self._shown(kept)
        if not self._can_be_empty:
            return self._moved_up(shown, lambda source: self._ids[source], lengths, width)
        empty = ~shown.any(dim=1, keepdim=True)
        beginning = 0 if self._special.beginning is None else self._special.beginning
        # Of an empty row the first token is read, which is replaced; what is behind it is padding.
        return self._moved_up(shown, lambda source: torch.where(empty, beginning, self._ids[source]), lengths, width)


class Hide(Variants):
    """A removed word stays in its place, where no other position can attend to it."""

    def __init__(self, window: TokenWindow, features: Features, device: torch.device, special: SpecialTokens) -> None:
        super().__init__(window, features, device, special)
        if self._can_be_empty:
            raise CapabilityError(
                "this tokenizer adds no special tokens, so removal='attention' of all words would leave nothing to "
                "attend to: use removal='delete'"
            )

    def batch(self, kept: Tensor, lengths: Integers, width: int) -> Inputs:
        shown = self._shown(kept)
        return self._in_place(self._ids.expand(shown.shape), width, shown)


VARIANTS: dict[Removal, type[Variants]] = {"mask": Mask, "delete": Delete, "attention": Hide}


def _counted(kept: Tensor, left: Callable[[Tensor], Tensor]) -> Integers:
    """How many tokens are left of each variant, block by block: (n, T) of all of them would take too much memory."""
    counts = [left(block).sum(dim=1) for block in torch.split(kept, _COUNTED_AT_ONCE)]
    lengths: Integers = torch.cat(counts).cpu().numpy()
    return lengths


def with_inserted(window: TokenWindow, mask: int, counts: Integers) -> TokenWindow:
    """A window with counts[0] masks before its first word and counts[j + 1] behind word j, where the window has it.

    Its logits are all that can be asked for: which token belongs to which word is left out.
    """
    places: list[int] = []
    if counts[0] and len(window.positions):
        places += [int(window.positions.min())] * int(counts[0])
    for word in np.flatnonzero(counts[1:]):
        own = window.positions[window.words == word]
        if len(own):
            places += [int(own.max()) + 1] * int(counts[word + 1])
    before = np.maximum(np.array(places, dtype=np.int64) - 1, 0)  # a mask has the type of the token that it follows
    ids, types = np.insert(window.ids, places, mask), np.insert(window.types, places, window.types[before])
    nowhere = window.positions[:0]
    return replace(window, ids=ids, types=types, positions=nowhere, words=nowhere, token_parts=window.token_parts[:0])
