"""The colours of Figure 1, and which methods are kin."""

from __future__ import annotations

import numpy as np

from limelight.explainers.method import methods
from limelight.render import families
from limelight.render.colour import LEVELS, LIGHT, levels
from limelight.render.families import by_family
from limelight.render.palette import contrast
from render.samples import comparison_of


def test_levels_are_proportional_and_ignore_what_is_not_finite() -> None:
    assert levels(np.array([2.0, -1.0, 0.0, np.nan, 0.5])) == [20, -10, 0, 0, 5]
    assert levels(np.array([0.0, 0.0])) == [0, 0]


def test_words_of_figure_1_are_readable() -> None:
    assert min(contrast(LIGHT.background(level), LIGHT.ink) for level in range(-LEVELS, LEVELS + 1)) >= 4.5


def test_every_method_is_in_a_family_or_one_by_itself() -> None:
    ours = [
        method.id for method in methods() if method.implementations[0].run.__module__.startswith("limelight.explainers")
    ]
    assert len(ours) > 10
    assert [method for method in ours if method not in families._FAMILY_OF] == ["leave-one-out"]
    comparison = comparison_of("fine", methods=("gxi", "lime", "g-avg", "own"))
    assert by_family(comparison) == {"gradients": [0, 2], "LIME": [1], "own": [3]}
