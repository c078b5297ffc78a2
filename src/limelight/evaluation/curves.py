"""The curves of an evaluation: what the output loses on average as words are removed, or kept alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from limelight.core.arrays import Floats
from limelight.evaluation.case import GRID, part_name
from limelight.evaluation.measure import Key

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


def curves_of(evaluation: Evaluation, measure: str, removal: str) -> list[Curve]:
    """Each method in the order of its own table, chance, and the best possible where it is known for all texts."""
    return list(_curves(evaluation, measure, removal))


def _curves(evaluation: Evaluation, measure: str, removal: str) -> Iterator[Curve]:
    output = evaluation.summary.output
    place = {"removal": removal, "output": output}
    for name, own in evaluation.methods.items():
        order = "towards" if own["signed"] else "absolute"
        keys = [Key(measure, part_name(part), name, order=order, **place) for part in GRID]
        if all(map(evaluation.has, keys)):
            yield _curve(evaluation, name, "signed" if own["signed"] else "unsigned", keys)
    chance = [Key(measure, part_name(part), **place) for part in GRID]
    if all(map(evaluation.has, chance)):
        yield _curve(evaluation, "random order", "chance", chance)
    best = [Key(measure, f"best {part_name(part)}", **place) for part in GRID]
    if all(evaluation.has(key) and np.isfinite(evaluation.of(key)).all() for key in best):
        yield _curve(evaluation, "best possible", "best", best)


def _curve(evaluation: Evaluation, name: str, kind: Kind, keys: list[Key]) -> Curve:
    means = [evaluation.summary.mean(key) for key in keys]
    columns = ([one.value for one in means], [one.low for one in means], [one.high for one in means])
    mean, low, high = (np.array([0.0, *column]) for column in columns)
    return Curve(name, kind, np.array([0.0, *GRID]), mean, low, high)
