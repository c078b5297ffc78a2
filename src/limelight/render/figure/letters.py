"""Letters in figures: how wide they are, and which of them the fonts have.

matplotlib draws a box for a letter that no font has, and warns. Here such a letter is replaced by a box before it is
drawn, and the figure says so. No text is read as a formula.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.backends import backend_agg
from matplotlib.font_manager import FontProperties

from limelight.core.sanitize import visible

BOX = "□"
CUT = "…"
_UNSEEN = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Characters that only shape their neighbours: left out where no font has them."""
_GENERIC = ("sans-serif", "serif", "monospace", "cursive", "fantasy")
_FINE = 10
"""Widths are measured in tenths of a point: letters are fitted to whole dots."""


def families() -> tuple[str, ...]:
    """The fonts of matplotlib's settings that are here, in their order, and one that always is."""
    settings: Any = matplotlib.rcParams
    wanted: list[str] = []
    for name in settings["font.family"]:
        wanted += settings[f"font.{name}"] if name in _GENERIC else [name]
    return tuple(dict.fromkeys([name for name in wanted if _place(name)] + ["DejaVu Sans"]))


@cache
def _place(family: str) -> str | None:
    try:
        return str(font_manager.fontManager.findfont(FontProperties(family=[family]), fallback_to_default=False))
    except ValueError:
        return None


@cache
def _letters(fonts: tuple[str, ...]) -> frozenset[int]:
    places = [place for place in map(_place, fonts) if place is not None]
    return frozenset(code for place in places for code in font_manager.get_font(place).get_charmap())


def drawable(text: str) -> str:
    """A text as it can be drawn here: nothing in it acts, and every letter has a form."""
    known = _letters(families())
    return "".join(letter if ord(letter) in known else "" if letter in _UNSEEN else BOX for letter in visible(text))


def width(text: str, size: float, *, bold: bool = False) -> float:
    """In inches, of a drawable text in letters of so many points."""
    return _points(text, size, bold, families()) / 72


@lru_cache(maxsize=4096)
def _points(text: str, size: float, bold: bool, fonts: tuple[str, ...]) -> float:
    font = FontProperties(family=list(fonts), size=size, weight="bold" if bold else "normal")
    untyped: Any = backend_agg
    renderer = untyped.RendererAgg(1, 1, 72 * _FINE)
    return float(renderer.get_text_width_height_descent(text, font, False)[0]) / _FINE


def fitted(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """The beginning of a drawable text that is at most so many inches wide; one that is cut says so."""
    if width(text, size, bold=bold) <= room:
        return text
    fits = 0
    while fits < len(text) and width(text[: fits + 1] + CUT, size, bold=bold) <= room:
        fits += 1
    return text[:fits].rstrip() + CUT


def wrapped(text: str, room: float, size: float, *, bold: bool = False) -> list[str]:
    """A drawable text in lines of at most so many inches, broken between words, and within those that are longer."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(f"{lines[-1]} {word}", size, bold=bold) <= room:
            lines[-1] += f" {word}"
            continue
        while len(word) > 1 and width(word, size, bold=bold) > room:
            fits = max(int(len(word) * room / width(word, size, bold=bold)) - 1, 1)
            lines.append(word[:fits])
            word = word[fits:]
        lines.append(word)
    return lines


def runs_leftwards(text: str) -> bool:
    """Whether a text is written from right to left: by its first letter that has a direction."""
    for letter in text:
        direction = unicodedata.bidirectional(letter)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False
