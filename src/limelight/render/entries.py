"""Results that are written, one entry per text; their forms, and the endings of file names that promise them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from limelight.errors import ParameterError, shown
from limelight.explanation.result import Comparison, Explanation
from limelight.explanation.serialization import SCHEMA
from limelight.inputs.document import Text

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


@dataclass(frozen=True)
class Entry:
    """One text with its explanations, or with the error for which there are none. `id` tells it from the others.

    `why`: the reason for showing the first explanation first, where nobody named a method.
    """

    text: Text
    explanations: Sequence[Explanation] = ()
    id: int | str | None = None
    error: str | None = None
    why: str | None = None

    @classmethod
    def of(cls, explanations: Sequence[Explanation], id: int | str | None = None, why: str | None = None) -> Entry:
        return cls(explanations[0].text, tuple(explanations), id, None, why)

    def to_dict(self) -> dict[str, Any]:
        if self.error is None:
            written = Comparison(tuple(self.explanations)).to_dict()
        else:
            text = self.text if isinstance(self.text, str) else list(self.text)
            written = {"schema": SCHEMA, "text": text, "error": self.error}
        return {"schema": written.pop("schema"), **({} if self.id is None else {"id": self.id}), **written}


def format_of(asked: Format | None, out: Path | None) -> Format:
    """The format that was asked for or that the file's name promises; an error where the two differ.

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
