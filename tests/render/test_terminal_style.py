"""Colours of a console: one meaning each, told apart in every colour system, readable on every background."""

from __future__ import annotations

import io
import re
from itertools import pairwise

import pytest
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from limelight.render.palette import DARK, HUES, LEVELS, LIGHT, Hue, Rgb, Shade, Theme, contrast
from limelight.render.terminal.page import Look
from limelight.render.terminal.style import WARNING, TerminalStyle
from render.captures import shown
from render.samples import comparison_of

WCAG_AA = 4.5
"""The contrast that WCAG 2 asks of normal letters."""
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
XTERM = TerminalTheme(
    BLACK,
    WHITE,
    [BLACK, (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)],
    [(127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255), WHITE],
)
"""The sixteen colours as xterm has them."""
SYSTEMS = {"truecolor": ColorSystem.TRUECOLOR, "256": ColorSystem.EIGHT_BIT, "standard": ColorSystem.STANDARD}


def colours_of(style: Style, system: str) -> tuple[Rgb | None, Rgb | None]:
    """Letters and background as a terminal of this system has them; None is the terminal's own."""

    def rgb(colour: Color | None) -> Rgb | None:
        if colour is None:
            return None
        triplet = colour.downgrade(SYSTEMS[system]).get_truecolor(XTERM)
        return triplet.red, triplet.green, triplet.blue

    return rgb(style.color), rgb(style.bgcolor)


def styles_in(output: str, words: str) -> dict[str, str]:
    """The escape codes with which each word was drawn in the text, which comes after the summary."""
    text = output[output.rindex("row.") :]
    return {word: code for code, word in re.findall(rf"\x1b\[([\d;]*)m({'|'.join(words.split())})", text)}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_word_is_readable_on_its_paper(system: str, theme: Theme) -> None:
    ink = TerminalStyle(system, theme, ascii_only=False)
    for hue in HUES:
        for level in range(LEVELS + 1):
            letters, background = colours_of(ink.paper + ink.word(Shade(hue, level)), system)
            # Sixteen colours have no paper: a word has both colours, or none.
            assert (letters is None) == (background is None), (hue, level)
            if letters is not None and background is not None:
                assert contrast(letters, background) >= WCAG_AA, (hue, level)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_hues_are_never_confused_and_strong_words_stand_out_more(system: str, theme: Theme) -> None:
    ink = TerminalStyle(system, theme, ascii_only=False)
    strong = {hue: colours_of(ink.word(Shade(hue, LEVELS)), system)[1] for hue in HUES}
    assert len(set(strong.values())) == len(HUES)
    for hue in HUES:
        steps = [ink.paper + ink.word(Shade(hue, level)) for level in range(LEVELS + 1)]
        away = [0.0 if (own := colours_of(style, system)[1]) is None else contrast(own, theme.paper) for style in steps]
        if system != "standard":  # where the names of colours, not their light, make the difference
            assert all(one <= other + 1e-9 for one, other in pairwise(away)), hue
            assert away[-1] > away[0]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_word_has_the_colour_of_the_label_it_speaks_for(system: str) -> None:
    """Whatever was predicted or asked: the worst words of a bad review do not shine like good ones."""
    words = "nice awful"
    styles = {
        (target, logits): styles_in(
            shown(comparison_of(words, weights, target=target, logits=logits), system=system), words
        )
        for target, weights in (("positive", [1.0, -1.0]), ("negative", [-1.0, 1.0]))
        for logits in ((0.0, 2.0), (2.0, 0.0))
    }
    assert len({tuple(sorted(own.items())) for own in styles.values()}) == 1
    own = next(iter(styles.values()))
    assert own["nice"] != own["awful"]
    assert "4" in own["awful"].split(";"), "orange is underlined"
    assert "4" not in own["nice"].split(";")[:2]


def test_the_legend_has_the_colours_that_it_explains() -> None:
    output = shown(comparison_of("nice awful so", [1.0, -1.0, 0.1], methods=("gxi", "alpha-avg")), system="truecolor")
    ink = TerminalStyle("truecolor", DARK, ascii_only=False)
    meanings: dict[Hue, str] = {
        "blue": "for positive",
        "orange": "for negative",
        "grey": "how much a word matters, for no side",
    }
    for hue, meaning in meanings.items():
        style = ink.word(Shade(hue, LEVELS))
        assert style.render(f" {meaning} ", color_system=ColorSystem.TRUECOLOR) in output
    assert "for no side" not in Text.from_ansi(shown(comparison_of("nice"), system="256")).plain
    assert "(underlined)" in Text.from_ansi(output).plain


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_is_not_told_has_no_colour_and_the_legend_says_so(system: str) -> None:
    comparison = comparison_of("nice awful so", [1.0, 0.3, 0.3], stderr=[0.01, 0.01, 0.3])
    output = shown(comparison, system=system)
    text = Text.from_ansi(output)
    paper = TerminalStyle(system, DARK, ascii_only=False).paper
    backgrounds = {
        word: text.get_style_at_offset(Console(), text.plain.rindex(word)).bgcolor for word in ("nice", "awful", "so\n")
    }
    assert len(set(backgrounds.values())) == 3
    assert backgrounds["so\n"] == (Style.parse(str(paper)).bgcolor if paper else None)
    assert "distinguishable from 0" in re.sub(r"\s+", " ", Text.from_ansi(output).plain)
    told = shown(comparison_of("nice awful", [1.0, -1.0]), system=system)
    assert "distinguishable from 0" not in Text.from_ansi(told).plain


@pytest.mark.parametrize("system", ["256", "standard"])
def test_fewer_colours_still_tell_signs_and_strengths_apart(system: str) -> None:
    output = shown(comparison_of("strong weak against faintly", [1.0, 0.35, -1.0, -0.35]), system=system)
    styles = styles_in(output, "strong weak against faintly")
    assert len(set(styles.values())) == 4
    assert "38;2" not in output


def test_bars_have_the_colours_of_their_labels() -> None:
    output = shown(comparison_of("nice", methods=("alpha-avg", "lime")), system="truecolor").splitlines()
    for line, colour in zip(output, (DARK.blue, DARK.orange), strict=False):
        assert f"38;2;{';'.join(map(str, colour))}m━" in line
    three = shown(comparison_of("nice", labels=("a", "b", "c")), system="truecolor").splitlines()[0]
    assert "38;2" not in three


def test_no_color_has_marks_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    output = shown(comparison_of("great", [1.0]), system="truecolor")
    assert "48;2" not in output
    assert "[+++great]" in Text.from_ansi(output).plain


def test_the_background_is_what_is_said_of_it() -> None:
    console = Console(file=io.StringIO(), color_system="truecolor", force_terminal=True)
    assert TerminalStyle.of(console, environment={"COLORFGBG": "0;15"}).theme is LIGHT
    assert TerminalStyle.of(console, environment={"COLORFGBG": "15;0"}).theme is DARK
    assert TerminalStyle.of(console, environment={}).theme is DARK
    assert TerminalStyle.of(console, "light", {"COLORFGBG": "15;0"}).theme is LIGHT
    assert TerminalStyle.of(console, "dark", {"COLORFGBG": "0;15"}).theme is DARK
    light = shown(comparison_of("great"), system="truecolor", look=Look(background="light"))
    assert f"48;2;{';'.join(map(str, LIGHT.background(Shade('blue', LEVELS))))}m" in light


def test_verdicts_are_readable_on_black_and_on_white() -> None:
    for system in ("truecolor", "256"):
        letters, background = colours_of(Style.parse(WARNING), system)
        assert background is None
        assert letters is not None
        assert min(contrast(letters, paper) for paper in (BLACK, WHITE)) >= WCAG_AA
