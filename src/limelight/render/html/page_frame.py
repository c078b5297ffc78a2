"""The frame of every page that stands alone: its policy, its head, and a footer that says how it was made."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from limelight.render.html.escaping import isolated, safe

SCRIPT = "\n" + resources.files(__package__).joinpath("page.js").read_text("utf-8")
"""The script of a page: a word in all rows at once, sorting, hiding methods, switching the label. Without it nothing is
missing but the convenience."""


@cache
def policy(script: str | None = SCRIPT) -> str:
    """The policy of a page: it may use its own styles and one script, known by its hash; nothing is fetched or sent."""
    if script is None:
        return "default-src 'none'; style-src 'unsafe-inline'"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def page_head(title: str, style: str, policy: str) -> list[str]:
    """The lines before the body. The title is markup, and the policy says what the page may do."""
    return [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title>",
        f"<style>{style}</style>",
        "</head>",
    ]


def page_footer(about: Mapping[str, str], *before: str) -> list[str]:
    """A footer: facts about the page, and what made it; `before` are lines of markup that come first."""
    from limelight import __version__

    said = (f"<p>{safe(name)}: {isolated(value)}</p>" for name, value in about.items())
    return ['<footer class="quiet">', *before, *said, f"<p>made by limelight {safe(__version__)}</p>", "</footer>"]
