"""The forms in which results are written, and the endings of file names that promise them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from limelight.errors import ParameterError, shown

FigureFormat = Literal["png", "svg", "pdf"]
Format = Literal["table", "json", "csv", "html"] | FigureFormat

_ENDINGS: dict[str, Format] = {
    ".txt": "table",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".html": "html",
    ".htm": "html",
    ".png": "png",
    ".svg": "svg",
    ".pdf": "pdf",
}


def format_of(asked: Format | None, out: Path | None) -> Format:
    """What was asked for, or what the name of the file promises; it is an error where the two differ.

    A name without an ending promises nothing.
    """
    ending = "" if out is None else out.suffix.lower()
    if not ending:
        return asked or "table"
    promised = _ENDINGS.get(ending)
    if promised is None:
        raise ParameterError(
            f"--out {out} ends in {shown(ending)}, a format that limelight does not write: use one of "
            f"{', '.join(_ENDINGS)}"
        )
    if asked is not None and asked != promised:
        own = next(name for name, format in _ENDINGS.items() if format == asked)
        raise ParameterError(
            f"--format {asked} and --out {out} are two formats: end the name in {own}, or leave --format out"
        )
    return promised


def is_figure(format: Format) -> bool:
    return format in get_args(FigureFormat)
