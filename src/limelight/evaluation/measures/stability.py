"""Stability: how much of an explanation stays with another seed, and with a text that says the same.

Rank correlation, and the part of the ten strongest words that stay. The seed matters to methods that draw samples only.
The edits are of case, white space and final punctuation; words that both texts have are compared. The model itself may
answer an edited text differently: that is in `output moved`, and not the method's fault.

>>> EDITS["white space"]("A great film.")
'A  great  film.'
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from limelight.core.arrays import Floats
from limelight.errors import InputError
from limelight.evaluation.case import Case
from limelight.evaluation.measure import Measure, Score, score
from limelight.statistics.correlation import rank_correlation, shared_top

TEXTS = 50
_TOP = 10


def of_seeds(case: Case) -> Iterator[Score]:
    if case.number >= TEXTS or case.d < 2:
        return
    sampled = [entry for entry in case.entries if entry.is_sampled]
    for entry, other in case.again(case.resolved.asking(seed=case.seed + 1), sampled):
        yield from _likeness("seed", entry.name, entry.weights, other.weights)


def of_edits(case: Case) -> Iterator[Score]:
    if case.number >= TEXTS or case.d < 2:
        return
    sides = [case.view.document.side_of(own[0][0]) for own in case.features.spans]
    for name, edit in EDITS.items():
        edited = edit(case.text) if isinstance(case.text, str) else (edit(case.text[0]), edit(case.text[1]))
        if edited == case.text:
            continue
        try:
            view = case.plan.model.view(edited)
        except InputError:  # longer than the model reads, or without words
            continue
        yield score(f"{name}: output moved", abs(case.value(case.output, view.logits) - case.whole[case.output]))
        resolved = case.resolve(view)
        if resolved is None:
            continue
        for entry, other in case.again(resolved, case.explained):
            mine, theirs = same_features(case.features.names, other.features, sides, other.sides)
            yield from _likeness(name, entry.name, entry.weights[mine], other.weights[theirs])


def _likeness(part: str, method: str, one: Floats, other: Floats) -> Iterator[Score]:
    value = rank_correlation(one, other)
    if math.isfinite(value):
        yield score(part, value, method=method)
    if len(one):
        yield score(f"{part}, top 10", shared_top(one, other, _TOP), method=method)


# ── edits ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


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


stability = Measure(
    "stability",
    label="Stability",
    summary="How much of a ranking stays with another seed, and under edits of case, white space and punctuation",
    better="higher",
    default=False,
    scores=(
        of_seeds,
        of_edits,
    ),
)
