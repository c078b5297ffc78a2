"""How one console draws a word of some shade: in true colour, 256 or 16 colours, or with marks and none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation
from limelight.render.palette import DARK, LEVELS, LIGHT, Hue, Rgb, Shade, Theme, hue_of, legend, readable_ink
from limelight.render.row_model import RowModel

Background = Literal["auto", "light", "dark"]
"""Background of a terminal; auto: as it says of itself."""

WARNING = "bold rgb(215,0,175)"
"""A verdict: readable on black and on white, and among 256 colours; of sixteen magenta comes closest to that."""
UNKNOWN = "°"
"""Behind a word that the model does not know."""

# Steps of the 6x6x6 cube of 256-colour terminals; mixing with the paper would land on few of them, and unevenly. The
# weakest words of a hue that has no faint step have only their letters coloured.
_CUBE: dict[Theme, dict[Hue, tuple[int, ...]]] = {
    DARK: {"blue": (18, 20, 26, 33), "orange": (94, 130, 166, 208), "grey": (238, 241, 244, 248)},
    LIGHT: {"blue": (189, 153, 111, 69), "orange": (223, 216, 215, 208), "grey": (253, 251, 248, 245)},
}
_CUBE_WEAK: dict[Theme, dict[Hue, int]] = {
    DARK: {"blue": 75, "orange": 215, "grey": 249},
    LIGHT: {"blue": 25, "orange": 130, "grey": 241},
}
_CUBE_PAPER = {DARK: (234, 255), LIGHT: (231, 234)}
_CUBE_FROM = 0.2
# Each is loud, and there is none that is readable as a letter on black and on white: only strong words have one.
_SIXTEEN: dict[Hue, tuple[str, str]] = {
    "blue": ("bright_white on blue", "bold bright_white on bright_blue"),
    "orange": ("black on yellow", "bold black on bright_yellow"),
    "grey": ("black on white", "bold reverse"),
}
_ASCII = str.maketrans(
    {"·": "|", "±": "+/-", "²": "2", "⏎": "/", "⚠": "!", "━": "=", "─": "-", "…": "...", "°": "~", "−": "-"}
)
_MARK_FROM = (0.1, 0.3, 0.6)
"""Shares of the largest weight from which a word is marked once, twice, three times."""
_MANY_MEANINGS: dict[Hue, str] = {"blue": "for the label of its row", "orange": "against the label of its row"}


@dataclass(frozen=True)
class TerminalStyle:
    """Abilities of a console. `system`: truecolor, 256 or standard; None without colour."""

    system: str | None
    theme: Theme
    ascii_only: bool

    @classmethod
    def of(
        cls, console: Console, background: Background = "auto", environment: Mapping[str, str] = os.environ
    ) -> TerminalStyle:
        system = None if console.no_color else console.color_system
        # The Windows palette is the standard one in another order: Rich translates it.
        system = "standard" if system == "windows" else system
        is_light = background == "light"
        if background == "auto":
            # Some terminals say "foreground;background"; dark is the more common where they do not.
            is_light = environment.get("COLORFGBG", "").rsplit(";", 1)[-1] in ("7", "15")
        return cls(system, LIGHT if is_light else DARK, console.options.ascii_only)

    @property
    def paper(self) -> Style:
        """The paper of a text: painted, because a terminal does not say whether it is light or dark."""
        if self.system == "truecolor":
            return _on(self.theme.paper, self.theme.ink)
        if self.system == "256":
            paper, ink = _CUBE_PAPER[self.theme]
            return Style(color=Color.from_ansi(ink), bgcolor=Color.from_ansi(paper))
        return Style.null()

    def word(self, shade: Shade) -> Style:
        """Orange words are underlined too: colours alone do not reach every eye."""
        if shade.level == 0:
            return Style.null()
        if not self.system:
            return Style(bold=_rank(shade) > 1)
        coloured = self._coloured(shade)
        return coloured + Style(underline=True) if coloured and shade.underlined else coloured

    def bar(self, hue: Hue) -> Style:
        """A bar of a label's own colour."""
        if self.system == "truecolor":
            return Style(color=Color.from_rgb(*self.theme.deepest(hue)))
        if self.system == "256":
            return Style(color=Color.from_ansi(_CUBE[self.theme][hue][-1]))
        return (
            Style(color={"blue": "blue", "orange": "yellow", "grey": "bright_black"}[hue]) if self.system else Style()
        )

    def marks(self, shade: Shade, weight: float) -> tuple[str, str]:
        """Marks before and after a word where there is no colour."""
        rank = 0 if self.system else _rank(shade)
        if rank == 0:
            return "", ""
        return "[" + self._sign(shade.hue, weight) * rank, "]"

    def legend(self, explanations: Sequence[Explanation], place: str = " in its row") -> Text:
        """The meaning of the colours or marks that occur, and of no others; `place`: among which words."""
        entries = list(self._entries(explanations))
        text = Text("  " if self.system else ", ").join(entries)
        if self.system in ("truecolor", "256"):
            return text.append(f"; the deeper, the stronger{place}.")
        steps = "colours from about 30 and 60 %" if self.system else "marks from about 10, 30 and 60 %"
        return text.append(f"; {steps} of the largest weight{place}.")

    def _entries(self, explanations: Iterable[Explanation]) -> Iterator[Text]:
        if self.system:
            for hue, meaning in legend(explanations):
                underlined = " (underlined)" if hue == "orange" else ""
                yield Text.assemble((f" {visible(meaning)} ", self.word(Shade(hue, LEVELS))), underlined)
            return
        said_of: dict[str, list[str]] = {}
        for explanation in explanations:
            meanings_here = dict(legend([explanation]))
            for weight in (1.0, -1.0) if explanation.signed else (1.0,):
                hue = hue_of(explanation, weight)
                said_of.setdefault(self._sign(hue, weight), []).append(meanings_here[hue])
        for sign, several in sorted(said_of.items(), key=lambda entry: ("+", self.minus, "*").index(entry[0])):
            row = _MANY_MEANINGS["orange" if sign == self.minus else "blue"]
            yield Text(f"[{sign * 3}word] {visible(several[0]) if len(set(several)) == 1 else row}")

    def _sign(self, hue: Hue, weight: float) -> str:
        return "*" if hue == "grey" else "+" if weight > 0 else self.minus

    @property
    def minus(self) -> str:
        return self.plain("−")

    def plain(self, text: str) -> str:
        """Our own signs in what this console can encode; the user's text is left to the stream's error handler."""
        return text.translate(_ASCII) if self.ascii_only else text

    def mark(self, level: RowModel, j: int) -> str:
        """The mark behind the name of a feature: that the model does not know the word."""
        return self.plain(UNKNOWN) if j in level.unknown else ""

    def shortened(self, name: str, room: int) -> str:
        """A name in so many columns; one that is cut says so."""
        if cell_len(name) <= room:
            return name
        cut = self.plain("…")
        return set_cell_size(name, room - cell_len(cut)).rstrip() + cut

    def label(self, explanation: Explanation) -> str:
        """The method's label; its id where this console cannot encode the label."""
        label = explanation.method_label
        return explanation.method if self.ascii_only and not label.isascii() else label

    def _coloured(self, shade: Shade) -> Style:
        if self.system == "truecolor":
            return _on(self.theme.background(shade), self.theme.ink)
        if self.system == "256":
            return _from_cube(shade, self.theme)
        rank = _rank(shade)
        return Style.parse(_SIXTEEN[shade.hue][rank - 2]) if rank > 1 else Style.null()


def _rank(shade: Shade) -> int:
    return sum(shade.level >= share * LEVELS for share in _MARK_FROM)


def _on(background: Rgb, ink: Rgb) -> Style:
    return Style(color=Color.from_rgb(*ink), bgcolor=Color.from_rgb(*background))


def _from_cube(shade: Shade, theme: Theme) -> Style:
    step = shade.level / LEVELS
    if step < _CUBE_FROM:
        return Style(color=Color.from_ansi(_CUBE_WEAK[theme][shade.hue]))
    ramp = _CUBE[theme][shade.hue]
    place = int((step - _CUBE_FROM) / (1 - _CUBE_FROM) * len(ramp))
    colour = Color.from_ansi(ramp[min(place, len(ramp) - 1)])
    return Style(color=Color.from_rgb(*readable_ink(colour.get_truecolor())), bgcolor=colour)
