"""The content of every view of an explanation: significant weights, depths of colours, names, orders.

All of it follows from the explanation alone: a result that was saved is drawn without its model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Floats
from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation, GroupWeights
from limelight.explanation.significance import Significance
from limelight.explanation.units import largest, together
from limelight.explanation.wording import asked_in_words
from limelight.render.numbers import Digits
from limelight.render.palette import Shade, shades

Order = Literal["weight", "signed", "text"]
"""The strongest first; from the most for to the most against; as they stand in the text."""
SIDES = ("1st", "2nd")
"""Names of the two texts of a pair."""
LONG_TEXT = 60
"""Words from which a text is coloured once at first, and not in as many copies as there are methods."""
_THINGS = {"words": "word", "occurrences": "word", "sentences": "sentence", "phrases": "phrase", "spans": "passage"}
_RANKS = {"bounded": 0, "sampled": 1, "exact": 2, "approximate": 3}
_FAMILIES = {
    "attention": (
        "alpha-avg",
        "alpha-max",
        "alpha-value",
        "rollout",
        "attention-norm",
        "attention-gradient",
        "chefer",
        "attcat",
    ),
    "LIME": ("lime", "lime-limit", "lime-proposition", "lime-theorem", "lime-mean-field"),
    "gradients": ("g-avg", "g-l1", "g-l2", "gxi", "integrated-gradients"),
    "Shapley": ("shapley", "banzhaf"),
    "propagation": ("deepshap", "decomposition", "attnlrp"),
}
"""Methods that answer the same question by kindred means."""
FAMILY_OF = {method: family for family, methods in _FAMILIES.items() for method in methods}


@dataclass(frozen=True)
class RowModel:
    """One level of an explanation, its features or its groups, as every view draws it."""

    weights: Explanation | GroupWeights
    significance: Significance
    shades: Sequence[Shade]
    unknown: frozenset[int]
    digits: Digits
    signed: bool
    thing: str
    """The noun for one of them: word, sentence."""

    def __len__(self) -> int:
        return len(self.weights.features)

    @property
    def significant(self) -> npt.NDArray[np.bool_]:
        """True for weights that are distinguishable from zero (d,)."""
        return self.significance.significant

    @cached_property
    def half_widths(self) -> Floats:
        """Half of each weight's interval (d,); NaN where there is none."""
        half = self.significance.half_width
        return np.full(len(self), np.nan) if half is None else half

    @property
    def none_significant(self) -> str:
        return f"no {self.thing} is distinguishable from zero"

    @cached_property
    def names(self) -> list[str]:
        """As they are listed: on one line, and of a pair with the text that they stand in."""
        return listed_names(self.weights.features, self.weights.sides)

    def written(self, j: int) -> str:
        """A weight ± half of its interval."""
        half = None if self.weights.stderr is None else float(self.half_widths[j])
        return self.digits.weight(float(self.weights.weights[j]), half, signed=self.signed)

    def ordered(self, order: Order, most: int | None = None, *, only_significant: bool = False) -> list[int]:
        """The features to list: the strongest `most` of them, in this order; significant ones go first."""
        size = np.abs(self.weights.weights)
        by_size = [int(j) for j in np.lexsort((-size, ~self.significant))]
        chosen = [j for j in by_size if self.significant[j] or not only_significant][:most]
        if order == "text":
            return sorted(chosen)
        return sorted(chosen, key=lambda j: -self.weights.weights[j]) if order == "signed" else chosen


def row_model(explanation: Explanation, scale: float = 0.0) -> RowModel:
    """The features of an explanation; the deepest colour is that of its largest weight, or of a larger `scale`."""
    return _model(explanation, explanation, explanation.significance, explanation.stated.unknown, 0, scale)


def row_models(explanations: Sequence[Explanation]) -> list[RowModel]:
    """The features of explanations that stand together: those of one unit share one scale."""
    scales = together(explanations, [largest(explanation) for explanation in explanations])
    return [row_model(explanation, scale) for explanation, scale in zip(explanations, scales, strict=True)]


def group_model(explanation: Explanation) -> RowModel | None:
    """The outer level, where there are two."""
    groups, own = explanation.groups, explanation.group_significance
    return None if groups is None or own is None else _model(explanation, groups, own, frozenset(), 1)


def levels_of(explanation: Explanation) -> list[RowModel]:
    """The groups where there are any, then the features."""
    groups = group_model(explanation)
    return [*([] if groups is None else [groups]), row_model(explanation)]


def _model(
    explanation: Explanation,
    weights: Explanation | GroupWeights,
    own: Significance,
    unknown: frozenset[int],
    level: int,
    scale: float = 0.0,
) -> RowModel:
    # The kind of features may be "words in sentences".
    kinds = str(explanation.parameters.get("features", "words")).split(" in ", 1)
    thing = _THINGS.get(kinds[level] if level < len(kinds) else "", ("feature", "group")[level])
    colours = shades(explanation, weights.weights, own.significant, scale)
    return RowModel(weights, own, colours, unknown, Digits.of(weights), explanation.signed, thing)


def listed_names(names: Sequence[str], sides: Sequence[int] | None) -> list[str]:
    """Names of features on one line each; those of a pair say in which text they stand."""
    lines = [visible(" ".join(name.split()) or name) for name in names]
    return lines if sides is None else [f"{name} ({SIDES[s]})" for name, s in zip(lines, sides, strict=True)]


def row_names(
    comparison: Sequence[Explanation],
    label: Callable[[Explanation], str] = lambda explanation: explanation.method_label,
) -> list[str]:
    """Names of explanations beside each other: by method, by what was asked, or by both."""
    asked = [asked_in_words(explanation) for explanation in comparison]
    if len(set(asked)) == 1:
        return [label(explanation) for explanation in comparison]
    if len({explanation.method for explanation in comparison}) == 1:
        return asked
    return [f"{label(explanation)} · {own}" for explanation, own in zip(comparison, asked, strict=True)]


def by_family(explanations: Sequence[Explanation]) -> dict[str, list[int]]:
    """The numbers of the explanations of each family, in the order in which the families come.

    A method of no family is one by itself.
    """
    families: dict[str, list[int]] = {}
    for i, explanation in enumerate(explanations):
        families.setdefault(FAMILY_OF.get(explanation.method, explanation.method_label), []).append(i)
    return families


def to_be_seen_once(comparison: Sequence[Explanation]) -> int:
    """The explanation that colours a text which is shown once: for the predicted label or the first that was asked for,
    with significant words and no warning; of those Shapley values, else one that is free of sampling, else of the
    narrowest intervals."""
    first = comparison[0].prediction.label if len({e.target for e in comparison}) > 1 else comparison[0].target

    def key(i: int) -> tuple[bool, bool, bool, bool, bool, int, float, int]:
        explanation = comparison[i]
        own = explanation.significance
        largest = float(np.abs(explanation.weights).max(initial=0.0))
        width = 0.0 if own.half_width is None else float(np.median(own.half_width)) / largest if largest else np.inf
        return (
            explanation.target != first,
            own.is_empty,
            not explanation.signed,
            bool(explanation.warnings),
            explanation.method != "shapley",
            _RANKS[explanation.accuracy],
            width,
            i,
        )

    return min(range(len(comparison)), key=key)
