"""Colours: one meaning each, readable ink on all of them, told apart by all eyes."""

from __future__ import annotations

import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limelight
from limelight.render.html.stylesheet import palette_stylesheet
from limelight.render.palette import DARK, HUES, LEVELS, LIGHT, Shade, Theme, contrast, hue_of, legend, shades
from render.samples import comparison_of

WCAG_AA = 4.5
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
# Machado, Oliveira and Fernandes (2009), severity 1: what linear red, green and blue become.
EYES = {
    "all colours": np.eye(3),
    "no red cones": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
JUST_SEEN = 2.3
"""The distance in CIELAB from which two colours side by side are told apart (Mahy, Van Eycken, Oosterlinck, 1994)."""


def lab(colour: tuple[int, int, int], eye: object) -> np.ndarray:
    """CIELAB of a colour as an eye sees it."""
    c = np.array(colour) / 255
    linear = np.asarray(eye) @ np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.array(to_xyz) @ np.clip(linear, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@THEMES
def test_ink_is_readable_at_every_level(theme: Theme) -> None:
    for hue in HUES:
        for level in range(LEVELS + 1):
            assert contrast(theme.ink, theme.background(Shade(hue, level))) >= WCAG_AA
    assert contrast(theme.quiet, theme.paper) >= WCAG_AA


@THEMES
def test_all_letters_of_pages_and_reports_are_readable_on_their_paper(theme: Theme) -> None:
    papers = {"paper": theme.paper, "notice": theme.notice, "tint": theme.tint}
    letters = {"ink": theme.ink, "quiet": theme.quiet, "accent": theme.accent}
    for (name, ink), (place, paper) in product(letters.items(), papers.items()):
        assert contrast(ink, paper) >= WCAG_AA, f"{name} on {place}"
    for colour in theme.series:
        assert contrast(colour, theme.paper) >= WCAG_AA, "a line of a chart, and its name"
    assert contrast(theme.edge, theme.notice) >= 2.0, "a border that the eye finds beside the letters"


def test_pages_and_reports_take_their_sizes_from_the_tokens() -> None:
    sheets = [file for file in Path(limelight.__file__).parent.rglob("*.css") if file.name != "tokens.css"]
    assert {"explanation.css", "report.css", "page.css"} <= {file.name for file in sheets}
    for file in sheets:
        rules = file.read_text("utf-8")
        assert not re.search(r"font-size: [\d.]+rem|font: [\d.]+rem|#[0-9a-f]{6}\b", _without_charts(rules)), file
        for name in set(re.findall(r"var\(--((?:type|space)-\d|sans|round|rounder)\)", rules)):
            assert f"--{name}: " in palette_stylesheet(), f"{name} in {file}"


def _without_charts(rules: str) -> str:
    """The page's own chart has lines of its own colours."""
    return re.sub(r"\.line\.m\d \{[^}]*\}", "", rules)


@THEMES
@pytest.mark.parametrize("eye", EYES)
def test_all_eyes_tell_the_colours_apart_and_from_none(theme: Theme, eye: str) -> None:
    for level in range(1, LEVELS + 1):
        seen = [lab(theme.background(Shade(hue, level)), EYES[eye]) for hue in HUES]
        seen.append(lab(theme.paper, EYES[eye]))
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 2 * JUST_SEEN
    # Where they are deepest, nobody has to compare.
    blue, orange = (lab(theme.background(Shade(hue, LEVELS)), EYES[eye]) for hue in ("blue", "orange"))
    assert np.linalg.norm(blue - orange) > 20 * JUST_SEEN


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((255, 255, 255), (0, 0, 0)) == pytest.approx(21)
    # Published: #777 on white fails AA by a little.
    assert contrast((0x77, 0x77, 0x77), (255, 255, 255)) == pytest.approx(4.48, abs=0.005)


def test_two_labels_have_a_colour_each_whatever_is_explained() -> None:
    for target, sign in (("positive", 1), ("negative", -1)):
        explanation = comparison_of("so", [1.0], methods=("gxi",), target=target)[0]
        assert hue_of(explanation, 1.0 * sign) == "blue"
        assert hue_of(explanation, -1.0 * sign) == "orange"
        assert legend([explanation]) == [("blue", "for positive"), ("orange", "for negative")]


def test_several_labels_are_for_and_against_the_target() -> None:
    labels = ("a", "b", "c")
    first, second = (comparison_of("so", [1.0], methods=("gxi",), labels=labels, target=own)[0] for own in "ab")
    for explanation in (first, second):
        assert (hue_of(explanation, 1.0), hue_of(explanation, -1.0)) == ("blue", "orange")
    assert legend([first]) == [("blue", "for a"), ("orange", "against a")]
    both = [("blue", "for what is explained"), ("orange", "against what is explained")]
    assert legend([first, second]) == both
    rather = comparison_of("so", [1.0], methods=("gxi",), labels=labels, target="a", against="c")[0]
    assert legend([rather]) == [("blue", "for a"), ("orange", "for c")]


def test_two_labels_that_do_not_exclude_each_other_are_for_and_against() -> None:
    labels = {"labels": ("toxic", "insult"), "model": "multi-label", "methods": ("gxi",)}
    explanation = comparison_of("so", [1.0], target="toxic", **labels)[0]
    assert legend([explanation]) == [("blue", "for toxic"), ("orange", "against toxic")]


def test_methods_without_sign_have_a_colour_of_their_own() -> None:
    explanations = comparison_of("so", [1.0], methods=("alpha-avg", "gxi"))
    assert hue_of(explanations[0], 1.0) == "grey"
    assert [hue for hue, _ in legend(explanations)] == ["blue", "orange", "grey"]
    assert [hue for hue, _ in legend([explanations[0]])] == ["grey"]


numbers = st.floats(allow_nan=True, allow_infinity=True, width=32)


@given(st.lists(st.tuples(numbers, st.booleans()), min_size=1, max_size=12))
def test_levels_follow_the_weights(weights_and_told: list[tuple[float, bool]]) -> None:
    weights, told = (np.array(own) for own in zip(*weights_and_told, strict=True))
    explanation = comparison_of(" ".join(f"w{i}" for i in range(len(told))), weights, methods=("gxi",))[0]
    drawn = shades(explanation, weights.astype(float), told.astype(bool))
    for (weight, is_told), shade in zip(weights_and_told, drawn, strict=True):
        is_drawn = is_told and np.isfinite(weight) and weight != 0
        assert (shade.level > 0) == is_drawn
        assert shade.level <= LEVELS
        if is_drawn:
            assert shade.hue == ("blue" if weight > 0 else "orange")
    order = sorted(
        (abs(weight), shade.level) for (weight, _), shade in zip(weights_and_told, drawn, strict=True) if shade.level
    )
    assert [level for _, level in order] == sorted(level for _, level in order)
    assert not order or order[-1][1] == LEVELS
