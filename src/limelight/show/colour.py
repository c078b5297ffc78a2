"""Green for, red against, as deep as the weight is large (the paper's Figure 1); the ink stays readable on each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.arrays import Floats

Rgb = tuple[int, int, int]

LEVELS = 20
"""Steps from no colour to the deepest: one is 5 % of a method's largest weight, below what an eye tells apart."""


@dataclass(frozen=True)
class Theme:
    """Colours on one kind of background. Green leans to blue and red to orange: more eyes can tell them apart."""

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
DARK = Theme(paper=(27, 28, 33), ink=(240, 240, 244), speaks_for=(16, 122, 78), speaks_against=(178, 52, 42))


def levels(weights: Floats) -> list[int]:
    """For each weight its step from -LEVELS to LEVELS, relative to the largest of them; nothing is drawn at 0."""
    finite = np.where(np.isfinite(weights), weights, 0.0)
    largest = float(np.abs(finite).max(initial=0.0))
    if largest == 0.0:
        return [0] * len(finite)
    return [round(float(weight) / largest * LEVELS) for weight in finite]


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast ratio of WCAG 2: 1 (the same) to 21 (black on white)."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def readable_ink(background: Rgb) -> Rgb:
    """Black or white, whichever stands out more."""
    return max(((0, 0, 0), (255, 255, 255)), key=lambda ink: contrast(ink, background))


def _luminance(colour: Rgb) -> float:
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in (c / 255 for c in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
