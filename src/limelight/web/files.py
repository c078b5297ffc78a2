"""The files of the page, read once: a request names one of them, and no path is ever made of what it says."""

from __future__ import annotations

from importlib import resources

from limelight.render.html.stylesheet import EXTRAS, shade_class
from limelight.render.palette import DARK, HUES, LEVELS, LIGHT, Shade, Theme, hex_of

_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def page_files() -> dict[str, tuple[bytes, str]]:
    """By the path in the address: bytes and media type."""
    files = {}
    for entry in resources.files("limelight.web").joinpath("static").iterdir():
        ending = entry.name[entry.name.rfind(".") :]
        if ending in _MEDIA:
            files[f"/{entry.name}"] = (entry.read_bytes(), _MEDIA[ending])
    files["/"] = files.pop("/index.html")
    files["/colours.css"] = (colours().encode(), _MEDIA[".css"])
    return files


def colours() -> str:
    """The palette of all views as a stylesheet: what a word of each shade stands on, light and dark."""
    shades = [Shade(hue, level) for hue in HUES for level in range(1, LEVELS + 1)]
    words = [f".{shade_class(s)} {{background: var(--{shade_class(s)})}}" for s in shades]
    lines = ", ".join(f".{shade_class(s)}" for s in shades if s.underlined)
    return "\n".join(
        [
            f":root {{{_variables(LIGHT, shades)}}}",
            f"@media (prefers-color-scheme: dark) {{:root {{{_variables(DARK, shades)}}}}}",
            *words,
            f"{lines} {{text-decoration: underline 2px; text-underline-offset: .2em}}",
        ]
    )


def _variables(theme: Theme, shades: list[Shade]) -> str:
    own = {"paper": theme.paper, "ink": theme.ink, "quiet": theme.quiet, **EXTRAS[theme]}
    own |= {shade_class(shade): theme.background(shade) for shade in shades}
    scheme = "light" if theme is LIGHT else "dark"
    return f"color-scheme: {scheme}; " + "; ".join(f"--{name}: {hex_of(colour)}" for name, colour in own.items())
