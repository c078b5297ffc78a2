"""Small edits of a text that say the same: a good explanation hardly moves.

>>> EDITS["white space"]("A great film.")
'A  great  film.'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_END = ".!?"


def other_case(text: str) -> str:
    """All lower case; a text that is so already in capitals at the beginning of its words."""
    return text.lower() if text != text.lower() else text.title()


def more_space(text: str) -> str:
    return re.sub(r"(?<=\S) (?=\S)", "  ", text)


def other_end(text: str) -> str:
    """Without the punctuation at its end; with a full stop where there is none."""
    bare = text.rstrip()
    if not bare:
        return text
    stripped = bare.rstrip(_END)
    return stripped if stripped != bare and stripped.strip() else bare + "."


EDITS: Mapping[str, Callable[[str], str]] = {"case": other_case, "white space": more_space, "punctuation": other_end}


def same_features(
    names: Sequence[str],
    others: Sequence[str],
    sides: Sequence[int] | None = None,
    other_sides: Sequence[int] | None = None,
) -> tuple[list[int], list[int]]:
    """The numbers of the features that both texts have: by name, and by how often it came before.

    `sides`: of pairs, in which of the two texts each stands.
    """
    place = {key: j for j, key in enumerate(_counted(others, other_sides))}
    pairs = [(j, place[key]) for j, key in enumerate(_counted(names, sides)) if key in place]
    return [j for j, _ in pairs], [k for _, k in pairs]


def _counted(names: Sequence[str], sides: Sequence[int] | None) -> list[tuple[str, int, int]]:
    seen: Counter[tuple[str, int]] = Counter()
    keys = []
    for name, side in zip(names, sides or [0] * len(names), strict=True):
        form = name.lower()
        keys.append((form, side, seen[form, side]))
        seen[form, side] += 1
    return keys
