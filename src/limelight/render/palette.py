"""The colours of terminal, page and figures: one meaning each, told apart by colour-blind eyes, with readable ink.

Where a model has two labels that exclude each other, a word has the colour of the label that it speaks for: orange for
the first, blue for the second, in every text. Otherwise blue speaks for what is explained and orange against it. Grey
says how much a word matters where a method gives no sign. What is not significant has no colour. Orange is also
underlined, unless it is faint: colours alone do not reach every eye.

>>> round(contrast((0, 0, 0), (255, 255, 255)))
21
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Floats
from limelight.explanation.result import Explanation

Rgb = tuple[int, int, int]
Hue = Literal["blue", "orange", "grey"]
HUES: tuple[Hue, ...] = ("blue", "orange", "grey")

LEVELS = 20
"""Steps up to the deepest colour: one is 5 % of a method's largest weight, below what an eye tells apart."""
UNDERLINED_FROM = LEVELS // 5
"""The level from which orange is underlined: fainter words would fill a page with lines."""
_FAINTEST = 0.12
"""How much of its colour a word has that is significant but far from the strongest: it must not look like none."""


class Shade(NamedTuple):
    """How a word is drawn; level 0 is without colour, LEVELS the deepest."""

    hue: Hue
    level: int

    @property
    def depth(self) -> float:
        """How much of its colour a word has: 0 to 1."""
        return _FAINTEST + (1 - _FAINTEST) * min(self.level / LEVELS, 1.0) if self.level > 0 else 0.0

    @property
    def underlined(self) -> bool:
        return self.hue == "orange" and self.level >= UNDERLINED_FROM


@dataclass(frozen=True)
class Theme:
    """The colours on one kind of paper. `quiet`: for letters of less weight, readable on the paper all the same.

    `line`: rules; `tint`, `notice`: papers of what stands out; `edge`: the border of a notice; `accent`: links and the
    focus; `series`: the lines of a chart.
    """

    paper: Rgb
    ink: Rgb
    quiet: Rgb
    blue: Rgb
    orange: Rgb
    grey: Rgb
    line: Rgb
    tint: Rgb
    notice: Rgb
    edge: Rgb
    accent: Rgb
    series: tuple[Rgb, ...]

    def deepest(self, hue: Hue) -> Rgb:
        return {"blue": self.blue, "orange": self.orange, "grey": self.grey}[hue]

    def background(self, shade: Shade) -> Rgb:
        """The colour behind a word; `ink` is readable on each of them."""
        red, green, blue = (
            round(p + shade.depth * (d - p)) for p, d in zip(self.paper, self.deepest(shade.hue), strict=True)
        )
        return red, green, blue


LIGHT = Theme(
    paper=(255, 255, 255),
    ink=(24, 24, 28),
    quiet=(92, 92, 102),
    blue=(84, 160, 250),
    orange=(250, 150, 40),
    grey=(158, 158, 168),
    line=(222, 222, 228),
    tint=(244, 246, 251),
    notice=(255, 243, 209),
    edge=(217, 154, 0),
    accent=(47, 84, 200),
    series=(
        (47, 109, 179),
        (184, 80, 26),
        (37, 128, 79),
        (122, 79, 176),
        (163, 50, 79),
        (95, 107, 26),
        (18, 122, 132),
        (107, 74, 47),
    ),
)
DARK = Theme(
    paper=(27, 28, 33),
    ink=(240, 240, 244),
    quiet=(169, 169, 182),
    blue=(36, 92, 196),
    orange=(164, 78, 0),
    grey=(102, 102, 112),
    line=(60, 61, 72),
    tint=(36, 38, 46),
    notice=(62, 49, 16),
    edge=(217, 154, 0),
    accent=(140, 168, 255),
    series=(
        (125, 176, 240),
        (240, 160, 102),
        (108, 199, 149),
        (185, 153, 234),
        (239, 139, 165),
        (195, 207, 107),
        (111, 208, 218),
        (208, 168, 136),
    ),
)


def hue_of(explanation: Explanation, weight: float) -> Hue:
    """The colour of a word, a sentence or a bar of this weight."""
    if not explanation.signed:
        return "grey"
    if not _has_label_colours(explanation):
        return "blue" if weight >= 0 else "orange"
    is_second = explanation.target == explanation.prediction.labels[1]
    return "blue" if is_second == (weight >= 0) else "orange"


def shades(
    explanation: Explanation, weights: Floats, significant: npt.NDArray[np.bool_], scale: float = 0.0
) -> list[Shade]:
    """How each of these weights is drawn: those of features or of groups, relative to the largest of them, or to
    `scale` where rows of one unit share one.

    What is significant has at least level 1, and the rest none. Where all words together barely move the model, none
    has more than level 1.
    """
    if explanation.stated.barely_moves:
        return [Shade(hue_of(explanation, float(w)), int(own)) for w, own in zip(weights, significant, strict=True)]
    finite = np.where(np.isfinite(weights) & significant, weights, 0.0)
    largest = max(float(np.abs(finite).max(initial=0.0)), scale)
    return [
        Shade(hue_of(explanation, w), max(round(abs(w) / largest * LEVELS), 1) if w else 0) for w in map(float, finite)
    ]


def legend(explanations: Iterable[Explanation]) -> list[tuple[Hue, str]]:
    """The meaning in words of each colour that may occur; label names are as they were given."""
    said: dict[Hue, set[str]] = {}
    for explanation in explanations:
        for weight in (1.0, -1.0) if explanation.signed else (0.0,):
            said.setdefault(hue_of(explanation, weight), set()).add(_meaning(explanation, weight))
    several = {"blue": "for what is explained", "orange": "against what is explained"}
    return [(hue, min(said[hue]) if len(said[hue]) == 1 else several[hue]) for hue in HUES if hue in said]


def _meaning(explanation: Explanation, weight: float) -> str:
    target, against = explanation.target, explanation.against
    if not explanation.signed:
        return "how much a word matters, for no side"
    if explanation.prediction.kind == "regression":
        return f"{'raises' if weight > 0 else 'lowers'} {target}"
    if weight > 0:
        return f"for {target}"
    if against is not None:
        return f"for {against}"
    if _has_label_colours(explanation):
        return f"for {next(name for name in explanation.prediction.labels if name != target)}"
    return f"against {target}"


def _has_label_colours(explanation: Explanation) -> bool:
    labels = explanation.prediction.labels
    is_pair = explanation.prediction.kind == "classes" and len(labels) == 2 and labels[0] != labels[1]
    return is_pair and explanation.target in labels


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast ratio of WCAG 2: 1 (the same) to 21 (black on white)."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def readable_ink(background: Rgb) -> Rgb:
    """Black or white, whichever stands out more."""
    return max(((0, 0, 0), (255, 255, 255)), key=lambda ink: contrast(ink, background))


def hex_of(colour: Rgb) -> str:
    """As stylesheets and figures write it."""
    return "#" + "".join(f"{channel:02x}" for channel in colour)


def _luminance(colour: Rgb) -> float:
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in (c / 255 for c in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
