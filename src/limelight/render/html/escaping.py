"""Strings of strangers made safe to stand in HTML, as content of an element or in a quoted attribute."""

from __future__ import annotations

import html

from limelight.core.sanitize import visible


def safe(value: object) -> str:
    """Shown as it is, whatever it is."""
    return html.escape(visible(str(value)), quote=True)


def isolated(name: object) -> str:
    """A name in its own direction of writing, whatever stands around it."""
    return f"<bdi>{safe(name)}</bdi>"


def number(written: str) -> str:
    """A written number with a real minus sign, as wide as a plus."""
    return safe(written.replace("-", "−"))


def numbers_in(sentence: str) -> str:
    """A sentence with real minus signs before its numbers; hyphens within words stay."""
    return "".join(
        number(letter)
        if letter == "-" and sentence[i + 1 : i + 2].isdigit() and not sentence[i - 1 : i].isalnum()
        else safe(letter)
        for i, letter in enumerate(sentence)
    )


def shortened(text: str, longest: int) -> str:
    """Its beginning where it is long: the whole stands elsewhere."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
