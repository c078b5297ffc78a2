"""The colours of the paper's Figure 1: green for, red against, as deep as the weight is large.

Only the reproduction draws so; every view of one's own results has the colours of `palette`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Floats

Rgb = tuple[int, int, int]

LEVELS = 20
"""Steps from no colour to the deepest: one is 5 % of a method's largest weight, below what an eye tells apart."""


@dataclass(frozen=True)
class Theme:
    """Green leans to blue and red to orange: more eyes can tell them apart."""

    paper: Rgb
    ink: Rgb
    speaks_for: Rgb
    speaks_against: Rgb

    def background(self, level: int) -> Rgb:
        """Between the paper (level 0) and the deepest colour (±LEVELS)."""
        deepest = self.speaks_for if level > 0 else self.speaks_against
        share = min(abs(level) / LEVELS, 1.0)
        red, green, blue = (round(p + share * (d - p)) for p, d in zip(self.paper, deepest, strict=True))
        return red, green, blue


LIGHT = Theme(paper=(255, 255, 255), ink=(24, 24, 28), speaks_for=(58, 182, 124), speaks_against=(244, 124, 104))


def levels(weights: Floats) -> list[int]:
    """For each weight its step from -LEVELS to LEVELS, relative to the largest of them; nothing is drawn at 0."""
    finite = np.where(np.isfinite(weights), weights, 0.0)
    largest = float(np.abs(finite).max(initial=0.0))
    if largest == 0.0:
        return [0] * len(finite)
    return [round(float(weight) / largest * LEVELS) for weight in finite]
