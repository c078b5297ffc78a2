"""The curves of an evaluation: what the output loses on average as words are removed, or kept alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from limelight.core.arrays import Floats
from limelight.evaluation.case import GRID, own_order, part_name
from limelight.evaluation.measure import Key, Measure

if TYPE_CHECKING:
    from limelight.evaluation.result import Evaluation

Kind = Literal["signed", "unsigned", "chance", "best"]


@dataclass(frozen=True)
class Curve:
    """Means over texts at parts of the words, with the band of their 95 % intervals."""

    name: str
    kind: Kind
    parts: Floats
    mean: Floats
    low: Floats
    high: Floats


def curves_of(evaluation: Evaluation, measure: Measure, removal: str) -> list[Curve]:
    """Each method in the order of its own table, chance, and the best possible where it is known for all texts."""
    parts = [part_name(part) for part in GRID]
    place = {"removal": removal, "output": evaluation.summary.output}
    found = []
    for name, own in evaluation.methods.items():
        keys = [measure.key(part, name, order=own_order(own["signed"]), **place) for part in parts]
        if all(map(evaluation.has, keys)):
            found.append(_curve(evaluation, name, "signed" if own["signed"] else "unsigned", keys))
    chance = [measure.key(part, **place) for part in parts]
    if all(map(evaluation.has, chance)):
        found.append(_curve(evaluation, "random order", "chance", chance))
    best = [measure.key(f"best {part}", **place) for part in parts]
    if all(np.isfinite(evaluation.of(key)).all() for key in best):
        found.append(_curve(evaluation, "best possible", "best", best))
    return found


def _curve(evaluation: Evaluation, name: str, kind: Kind, keys: list[Key]) -> Curve:
    means = [evaluation.summary.mean(key) for key in keys]
    columns = ([one.value for one in means], [one.low for one in means], [one.high for one in means])
    mean, low, high = (np.array([0.0, *column]) for column in columns)
    return Curve(name, kind, np.array([0.0, *GRID]), mean, low, high)
