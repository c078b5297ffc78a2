"""The colours of Figure 1, and which methods are kin."""

from __future__ import annotations

import numpy as np

from limelight.explainers.method import methods
from limelight.render.palette import LIGHT, Rgb, contrast
from limelight.render.row_model import FAMILY_OF, by_family
from limelight.reproduce.fig1 import LEVELS, colours
from render.samples import comparison_of


def of_figure_1(weights: list[float]) -> list[Rgb]:
    return [
        (round(255 * red), round(255 * green), round(255 * blue)) for red, green, blue in colours(np.array(weights))
    ]


def test_colours_of_figure_1_are_proportional_and_ignore_what_is_not_finite() -> None:
    assert of_figure_1([0.0, 0.0]) == [LIGHT.paper] * 2
    found = of_figure_1([2.0, -1.0, 0.0, np.nan, 0.5])
    assert found == [(58, 182, 124), (250, 190, 180), LIGHT.paper, LIGHT.paper, (206, 237, 222)]


def test_words_of_figure_1_are_readable() -> None:
    assert min(contrast(own, LIGHT.ink) for own in of_figure_1(list(range(-LEVELS, LEVELS + 1)))) >= 4.5


def test_every_method_is_in_a_family_or_one_by_itself() -> None:
    ours = [
        method.id for method in methods() if method.implementations[0].run.__module__.startswith("limelight.explainers")
    ]
    assert len(ours) > 10
    assert [method for method in ours if method not in FAMILY_OF] == ["leave-one-out"]
    comparison = comparison_of("fine", methods=("gxi", "lime", "g-avg", "own"))
    assert by_family(comparison) == {"gradients": [0, 2], "LIME": [1], "own": [3]}
