"""What every page that stands alone has around its content: the head, and a footer that says how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from limelight.render.html.escaping import isolated, safe


def page_head(title: str, style: str, policy: str, schemes: str | None = "light dark") -> Iterator[str]:
    """The lines before the body. The title is markup, the policy says what the page may do, and `schemes` which colour
    schemes its style has; None where the style says so itself."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    if schemes is not None:
        yield f'<meta name="color-scheme" content="{schemes}">'
    yield f"<title>{title}</title>"
    yield f"<style>{style}</style>"
    yield "</head>"


def page_footer(about: Mapping[str, str], *before: str) -> Iterator[str]:
    """What a page is about, and what made it; `before` are lines of markup that come first."""
    from limelight import __version__

    yield '<footer class="quiet">'
    yield from before
    yield from (f"<p>{safe(name)}: {isolated(value)}</p>" for name, value in about.items())
    yield f"<p>made by limelight {safe(__version__)}</p>"
    yield "</footer>"
