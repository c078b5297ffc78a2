"""Token windows with mask tokens put in where nothing is removed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from limelight.core.arrays import Integers
from limelight.models.huggingface.subwords import TokenWindow

_NO_PLACES = np.zeros(0, dtype=np.int64)


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
    # A mask has the type of the token that it follows, or of the first word.
    ids, types = np.insert(window.ids, places, mask), np.insert(window.types, places, window.types[_types_of(places)])
    return replace(
        window, ids=ids, types=types, positions=_NO_PLACES, words=_NO_PLACES, token_parts=np.zeros(0, dtype=np.float64)
    )


def _types_of(places: list[int]) -> Integers:
    return np.maximum(np.array(places, dtype=np.int64) - 1, 0)
