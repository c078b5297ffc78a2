"""What is drawn of an explanation: which weights are told from zero, how deep their colours are, and in which order.

All of it follows from the explanation alone: a result that was saved is drawn without its model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Floats
from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation, GroupWeights
from limelight.explanation.significance import Evidence, evidence, evidence_of_groups, unknown_words, warnings_of
from limelight.render.numbers import Digits
from limelight.render.palette import Shade, shades

Order = Literal["weight", "signed", "text"]
"""The strongest first; from the most for to the most against; as they stand in the text."""
SIDES = ("1st", "2nd")
"""What the texts of a pair are called."""
_THINGS = {
    "words": "word",
    "occurrences": "word",
    "sentences": "sentence",
    "phrases": "phrase",
    "spans": "passage",
}
_RANKS = {"bounded": 0, "sampled": 1, "exact": 2, "approximate": 3}


@dataclass(frozen=True)
class Drawn:
    """One level of an explanation: its features, or its groups."""

    weights: Explanation | GroupWeights
    evidence: Evidence
    shades: Sequence[Shade]
    unknown: frozenset[int]
    digits: Digits
    signed: bool
    thing: str
    """What one of them is called: a word, a sentence."""

    def __len__(self) -> int:
        return len(self.weights.features)

    @property
    def told(self) -> npt.NDArray[np.bool_]:
        """Which weights are told from zero."""
        return self.evidence.told

    @cached_property
    def half_widths(self) -> Floats:
        """Half of each weight's interval (d,); NaN where there is none."""
        half = self.evidence.half_width
        return np.full(len(self), np.nan) if half is None else half

    @property
    def nothing_told(self) -> str:
        return f"no {self.thing} is told from zero"

    @cached_property
    def names(self) -> list[str]:
        """As they are listed: on one line, and of a pair with the text that they stand in."""
        names = [visible(" ".join(name.split()) or name) for name in self.weights.features]
        sides = self.weights.sides
        return names if sides is None else [f"{name} ({SIDES[s]})" for name, s in zip(names, sides, strict=True)]

    def written(self, j: int) -> str:
        """A weight ± half of its interval."""
        half = None if self.weights.stderr is None else float(self.half_widths[j])
        return self.digits.weight(float(self.weights.weights[j]), half, signed=self.signed)

    def ordered(self, order: Order, most: int | None = None, *, only_told: bool = False) -> list[int]:
        """The features to list: the strongest `most` of them, in this order; what is told from zero goes first."""
        size = np.abs(self.weights.weights)
        by_size = [int(j) for j in np.lexsort((-size, ~self.told))]
        chosen = [j for j in by_size if self.told[j] or not only_told][:most]
        if order == "text":
            return sorted(chosen)
        return sorted(chosen, key=lambda j: -self.weights.weights[j]) if order == "signed" else chosen


def drawn(explanation: Explanation) -> Drawn:
    """The features of an explanation."""
    own = evidence(explanation)
    return Drawn(
        explanation,
        own,
        shades(explanation, explanation.weights, own.told),
        unknown_words(explanation),
        Digits.of(explanation),
        explanation.signed,
        _things(explanation)[0],
    )


def drawn_groups(explanation: Explanation) -> Drawn | None:
    """The outer level, where there are two."""
    groups, of_groups = explanation.groups, evidence_of_groups(explanation)
    if groups is None or of_groups is None:
        return None
    colours = shades(explanation, groups.weights, of_groups.told)
    digits, thing = Digits.of(groups), _things(explanation)[1]
    return Drawn(groups, of_groups, colours, frozenset(), digits, explanation.signed, thing)


def _things(explanation: Explanation) -> tuple[str, str]:
    """What one feature is called, and one group: the kind of features may be "words in sentences"."""
    inner, _, outer = str(explanation.parameters.get("features", "words")).partition(" in ")
    return _THINGS.get(inner, "feature"), _THINGS.get(outer, "group")


def to_be_seen_once(comparison: Sequence[Explanation]) -> int:
    """Where a text is coloured once, by which explanation: one for the predicted label or the first that was asked for,
    that tells something and has no warning; of those one that is free of sampling, else of the narrowest intervals."""
    first = comparison[0].prediction.label if len({e.target for e in comparison}) > 1 else comparison[0].target

    def key(i: int) -> tuple[bool, bool, bool, bool, int, float, int]:
        explanation = comparison[i]
        own = evidence(explanation)
        largest = float(np.abs(explanation.weights).max(initial=0.0))
        width = 0.0 if own.half_width is None else float(np.median(own.half_width)) / largest if largest else np.inf
        return (
            explanation.target != first,
            own.is_empty,
            not explanation.signed,
            bool(warnings_of(explanation)),
            _RANKS[explanation.accuracy],
            width,
            i,
        )

    return min(range(len(comparison)), key=key)
