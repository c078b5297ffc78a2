"""Numbers and words that verdict, tables and pages of an evaluation share."""

from __future__ import annotations

import math

from limelight.evaluation.inference import Interval
from limelight.evaluation.result import Evaluation

NOTHING = "–"
PAIRS_NAMED = 6
"""Pairs, or methods, that a sentence names; the others are counted."""
_REMOVED = {"mask": "masked", "delete": "deleted", "attention": "hidden from attention"}


def removed(removal: str) -> str:
    """Participle of a removal: "With words masked"."""
    return _REMOVED.get(removal, removal)


def texts_of(evaluation: Evaluation) -> str:
    """Noun for what is counted: texts, or pairs of them."""
    if evaluation.about.get("pairs"):
        return "pair of texts" if len(evaluation) == 1 else "pairs of texts"
    return "text" if len(evaluation) == 1 else "texts"


def towards(evaluation: Evaluation) -> str:
    """Clause for the words that go first, where methods have signs."""
    return "raises the number" if evaluation.about.get("kind") == "regression" else "speaks for the target"


def percent(part: float) -> str:
    return f"{part:.0%}".replace("%", " %")


def interval(score: Interval) -> str:
    """A score in a sentence, with its interval, which one text does not have."""
    return f"{score.value:.2f}" if math.isnan(score.low) else f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]"


def cell(one: Interval, before: str = "") -> str:
    """A value in a table with its interval."""
    if math.isnan(one.value):
        return NOTHING
    if math.isnan(one.low):
        return f"{before}{one.value:.3g}"
    digits = _digits(one.low, one.high, one.value)
    return f"{before}{one.value:.{digits}f} [{one.low:.{digits}f}, {one.high:.{digits}f}]"


def _digits(*values: float) -> int:
    largest = max(abs(value) for value in values)
    return 2 if largest >= 0.1 or largest == 0.0 else min(2 - math.floor(math.log10(largest)), 8)


def number(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.2f}"


def p_value(p: float) -> str:
    return NOTHING if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"
