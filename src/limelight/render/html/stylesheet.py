"""The look of an explanation in HTML: light and dark, wide and narrow, on paper, and inside somebody else's page."""

from __future__ import annotations

import re
from importlib import resources

from limelight.render.palette import DARK, HUES, LEVELS, LIGHT, Rgb, Shade, Theme, hex_of

SCOPE = "limelight"
"""The class that all is in: every rule is under it, so that a fragment leaves the notebook around it alone."""

_RULES = resources.files(__package__).joinpath("explanation.css").read_text("utf-8")
_TOKENS = " ".join(resources.files(__package__).joinpath("tokens.css").read_text("utf-8").split())
"""Sizes of letters and of spaces, which pages, reports and the served page share, as they share the colours."""
_PAGE_RULES = (
    "html {background: LIGHT} body {margin: 0} @media screen and (prefers-color-scheme: dark) {html {background: DARK}}"
)
_SHADES = [Shade(hue, level) for hue in HUES for level in range(1, LEVELS + 1)]
_REM = re.compile(r"([\d.]+)rem\b")
_PIXELS_IN_NOTEBOOKS = 14
"""The size of a notebook's own letters."""
_DARK_HOSTS = ("[data-jp-theme-light=false]", "[data-vscode-theme-kind*=dark]", ".vscode-dark", "html[theme=dark]")
"""How notebooks say that they are dark: JupyterLab, VS Code (twice), Colab. The system's own taste is not theirs."""


def page_stylesheet(rules: str = "") -> str:
    """For a page of its own: as light or dark as the reader's screen, and in letters as large; light on paper.

    `rules` are more of them, of a report; `.S` stands for the scope.
    """
    dark = f"@media screen and (prefers-color-scheme: dark) {{.S {{{_colours(DARK)}}}}}"
    page = _PAGE_RULES.replace("LIGHT", hex_of(LIGHT.paper)).replace("DARK", hex_of(DARK.paper))
    sheet = f"{page}\n{_sheet(dark, '', rules)}"
    return sheet.replace("@NARROW", "@media").replace(".S", f".{SCOPE}")


def fragment_stylesheet(rules: str = "") -> str:
    """For a part of somebody else's page: the host's rules are taken back first, and its theme is followed.

    The id, which nothing has, gives each rule more weight than the host's rules for classes and elements. Lengths do
    not follow the host's letters, and what is narrow is the fragment, not the window.
    """
    again = ".S, .S *, .S *::before, .S *::after {all: revert}\n"
    hosts = ", ".join(f"{host} .S" for host in _DARK_HOSTS)
    dark = f"@media screen {{{hosts} {{{_colours(DARK)}}}}}"
    placed = "\n.S {container: limelight / inline-size; padding: .75rem 1rem; margin: 0}"
    sheet = again + _sheet(dark, " !important", rules) + placed
    sheet = _REM.sub(lambda rem: f"{float(rem[1]) * _PIXELS_IN_NOTEBOOKS:g}px", sheet)
    return sheet.replace("@NARROW", "@container limelight").replace(".S", f":is(.{SCOPE}, #_)")


def palette_stylesheet() -> str:
    """The tokens alone, as light or dark as the reader's screen: for pages with rules of their own."""
    dark = f"@media (prefers-color-scheme: dark) {{:root {{{_colours(DARK)}}}}}"
    return "\n".join([f":root {{{_TOKENS} {_colours(LIGHT)}}}", dark, *_shade_rules("", ".2em")])


def _sheet(dark: str, important: str, rules: str) -> str:
    """`important`: over the colours that stand at the words for hosts that strip stylesheets."""
    tokens = f".S {{{_TOKENS} {_colours(LIGHT)}}}"
    return "\n".join([tokens, dark, _RULES.strip(), rules.strip(), *_shade_rules(".S ", ".22em", important)])


def _shade_rules(scope: str, offset: str, important: str = "") -> list[str]:
    """Rules for the background of each shade, and for shades that are underlined, so far below the letters."""
    words = [f"{scope}.{name} {{background: var(--{name}){important}}}" for name in map(shade_class, _SHADES)]
    lines = ", ".join(f"{scope}.{shade_class(shade)}" for shade in _SHADES if shade.underlined)
    return [*words, f"{lines} {{text-decoration: underline 2px; text-underline-offset: {offset}}}"]


def shade_class(shade: Shade) -> str:
    """The class of a word of this shade; empty where it has no colour."""
    return f"{shade.hue[0]}{shade.level}" if shade.level else ""


def _colours(theme: Theme) -> str:
    named = ("paper", "ink", "quiet", "line", "tint", "notice", "edge", "accent")
    names: dict[str, Rgb] = {name: getattr(theme, name) for name in named}
    names |= {f"c{i}": colour for i, colour in enumerate(theme.series)}
    names |= {shade_class(shade): theme.background(shade) for shade in _SHADES}
    scheme = "light" if theme is LIGHT else "dark"
    return f"color-scheme: {scheme}; " + "; ".join(f"--{name}: {hex_of(colour)}" for name, colour in names.items())
