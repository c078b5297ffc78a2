"""The files of the page, read once: a request names one of them, and no path is ever made of what it says."""

from __future__ import annotations

from importlib import resources

from limelight.render.html.stylesheet import palette_stylesheet

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
    files["/colours.css"] = (palette_stylesheet().encode(), _MEDIA[".css"])
    return files
