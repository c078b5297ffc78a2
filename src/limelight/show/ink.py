"""How one console draws a word of some level: in true colour, 256 or 16 colours, or with signed marks and none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from rich.color import Color
from rich.console import Console
from rich.style import Style

from limelight.explanation import Explanation
from limelight.show.colour import DARK, LEVELS, LIGHT, Rgb, Theme, readable_ink
from limelight.show.visible import visible

# Steps of the 6x6x6 cube of 256-colour terminals; mixing with the paper would land on few of them, and unevenly. Its
# darkest green is already strong, so that the weakest words have only their letters coloured.
_CUBE = {
    DARK: ((22, 28, 34, 40), (52, 88, 124, 160)),
    LIGHT: ((194, 157, 120, 83), (224, 217, 210, 203)),
}
_CUBE_WEAK = {DARK: (71, 167), LIGHT: (28, 124)}
_CUBE_PAPER = {DARK: (234, 255), LIGHT: (231, 234)}
_CUBE_FROM = 0.2
_SIXTEEN = {
    1: ("green", "bold black on green", "bold black on bright_green"),
    -1: ("red", "bold bright_white on red", "bold black on bright_red"),
}
_ASCII = str.maketrans({"·": "|", "±": "+/-", "²": "2", "⏎": "/", "⚠": "!", "━": "=", "─": "-", "…": "..."})
_MARK_FROM = (0.1, 0.3, 0.6)
"""Shares of the largest weight from which a word is marked once, twice, three times."""


@dataclass(frozen=True)
class Ink:
    """What a console can draw. `system`: truecolor, 256 or standard; None without colour."""

    system: str | None
    theme: Theme
    ascii_only: bool

    @classmethod
    def of(cls, console: Console, environment: Mapping[str, str] = os.environ) -> Ink:
        system = None if console.no_color else console.color_system
        # The Windows palette is the standard one in another order: Rich translates it.
        system = "standard" if system == "windows" else system
        return cls(system, LIGHT if _is_light(environment) else DARK, console.options.ascii_only)

    @property
    def paper(self) -> Style:
        """What a text is written on: painted, because a terminal does not say whether it is light or dark."""
        if self.system == "truecolor":
            return _on(self.theme.paper, self.theme.ink)
        if self.system == "256":
            paper, ink = _CUBE_PAPER[self.theme]
            return Style(color=Color.from_ansi(ink), bgcolor=Color.from_ansi(paper))
        return Style.null()

    def word(self, level: int) -> Style:
        """Words against are underlined too: colours alone do not reach every eye."""
        if level == 0:
            return Style.null()
        if not self.system:
            return Style(bold=self._rank(level) > 1)
        against = level < 0 and self._rank(level) > 0
        return self._coloured(level) + Style(underline=against or None)

    def marks(self, level: int) -> tuple[str, str]:
        """What is written before and after a word where there is no colour."""
        rank = 0 if self.system else self._rank(level)
        if rank == 0:
            return "", ""
        return "[" + ("+" if level > 0 else self.minus) * rank, "]"

    @property
    def legend(self) -> str:
        if self.system:
            return "Green words speak for it, red underlined ones against it; the deeper, the stronger in its row."
        return (
            f"[+++word] speaks for it, [{self.minus * 3}word] against it; marks from 10, 30 and 60 % of the largest "
            "weight in its row."
        )

    @property
    def minus(self) -> str:
        return "-" if self.ascii_only else "−"

    def plain(self, text: str) -> str:
        """Our own signs in what this console can encode; the user's text is left to the stream's error handler."""
        if not self.ascii_only:
            return text
        return text.translate(_ASCII)

    def label(self, explanation: Explanation) -> str:
        """What the method is called; its id where this console cannot encode that."""
        label = explanation.label
        return visible(explanation.method if self.ascii_only and not label.isascii() else label)

    def _rank(self, level: int) -> int:
        return sum(abs(level) >= share * LEVELS for share in _MARK_FROM)

    def _coloured(self, level: int) -> Style:
        step = abs(level) / LEVELS
        sign = 1 if level > 0 else -1
        if self.system == "truecolor":
            return _on(self.theme.background(level), self.theme.ink)
        if self.system == "256":
            return _from_cube(step, self.theme, level < 0)
        rank = self._rank(level)
        return Style.parse(_SIXTEEN[sign][rank - 1]) if rank else Style.null()


def _on(background: Rgb, ink: Rgb) -> Style:
    return Style(color=Color.from_rgb(*ink), bgcolor=Color.from_rgb(*background))


def _from_cube(step: float, theme: Theme, against: bool) -> Style:
    if step < _CUBE_FROM:
        return Style(color=Color.from_ansi(_CUBE_WEAK[theme][against])) if step >= _MARK_FROM[0] else Style.null()
    ramp = _CUBE[theme][against]
    place = int((step - _CUBE_FROM) / (1 - _CUBE_FROM) * len(ramp))
    colour = Color.from_ansi(ramp[min(place, len(ramp) - 1)])
    return Style(color=Color.from_rgb(*readable_ink(colour.get_truecolor())), bgcolor=colour)


def _is_light(environment: Mapping[str, str]) -> bool:
    """Some terminals say "foreground;background" in COLORFGBG; dark is the more common where they do not."""
    background = environment.get("COLORFGBG", "").rsplit(";", 1)[-1]
    return background in ("7", "15")
