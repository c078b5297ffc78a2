"""Units of weights: which explanations may be drawn on one scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limelight.errors import UnknownNameError
from limelight.explanation.result import Explanation


def unit_of(explanation: Explanation) -> str | None:
    """The output that the weights are changes of; None for weights that are no changes of an output, as attention."""
    from limelight.explainers.method import find  # with the methods comes torch, which a saved result does without

    output = explanation.parameters.get("output")
    try:
        is_change = find(explanation.method).changes
    except UnknownNameError:  # a method of somebody else's, read from a file
        return None
    return output if is_change and isinstance(output, str) else None


def together(explanations: Sequence[Explanation], lengths: Sequence[float]) -> list[float]:
    """For each explanation the largest of these lengths among those of its unit: its own where it has none."""
    units = [unit_of(explanation) for explanation in explanations]
    return [
        max((other for unit_, other in zip(units, lengths, strict=True) if unit_ == unit), default=own)
        if unit is not None
        else own
        for unit, own in zip(units, lengths, strict=True)
    ]


def largest(explanation: Explanation) -> float:
    """The largest absolute weight that is significant; 0 where none is."""
    weights = explanation.weights
    return float(np.abs(np.where(np.isfinite(weights) & explanation.significant, weights, 0.0)).max(initial=0.0))
