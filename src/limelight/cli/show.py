"""`limelight show`: a saved result, drawn again without its model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from limelight.cli.options import examples
from limelight.cli.output import Color, Form, NoColor, Numbers, Out, Sort, Theme, Top, deliver, delivery
from limelight.cli.reading import read_bytes
from limelight.errors import DataError, InputError, known_name, shown

if TYPE_CHECKING:
    from limelight.render.entries import Entry

EXAMPLES = examples(
    'limelight explain "A great film." --out great.json',
    "limelight show great.json",
    "limelight show great.json --method shapley --out great.pdf",
)


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE.json|-", help="What 'limelight explain --format json' wrote.")],
    method: Annotated[str | None, typer.Option("--method", "-m", help="Only these methods: ids with commas.")] = None,
    top: Top = None,
    sort: Sort = None,
    numbers: Numbers = False,
    format: Form = None,
    out: Out = None,
    color: Color = None,
    no_color: NoColor = False,
    theme: Theme = "auto",
) -> None:
    """Draw a saved result again, in any format; no model is needed."""
    to = delivery(
        top=top,
        sort=sort,
        numbers=numbers,
        format=format,
        out=out,
        color=color,
        no_color=no_color,
        theme=theme,
        about={},
    )
    methods = None if method is None else [name for part in method.split(",") if (name := part.strip())]
    if methods == []:
        raise InputError("--method names no method: give ids with commas, or leave it out")
    deliver(to, _results(file, methods))


def _results(file: Path, methods: Sequence[str] | None) -> Iterator[Entry]:
    """Each text of the file; an error says in which line it was."""
    for place, record in list(_records(file)):
        try:
            yield _result(record, methods)
        except InputError as error:
            raise InputError(f"{file}{place}: {error}") from error


def _records(file: Path) -> Iterator[tuple[str, Any]]:
    """One JSON value, or one per line, each with where it stands."""
    source = "standard input" if str(file) == "-" else str(file)
    content = _content(file, source)
    try:
        yield "", json.loads(content)
        return
    except (ValueError, RecursionError) as error:
        lines = [(number, line) for number, line in enumerate(content.split("\n"), start=1) if line.strip()]
        if not lines:
            raise DataError(f"{source} is empty: name a file that limelight explain --format json wrote") from error
    for number, line in lines:
        try:
            yield f", line {number}", json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{source}, line {number}: not valid JSON ({error!s:.100}); name a file that limelight explain "
                "--format json wrote"
            ) from error


def _content(file: Path, source: str) -> str:
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{source} is not UTF-8, as JSON is: name a file that limelight explain wrote") from error


def _result(record: Any, methods: Sequence[str] | None) -> Entry:
    """A comparison, one explanation by itself, or a text that could not be explained."""
    from limelight.explanation.result import Comparison, Explanation
    from limelight.render.entries import Entry

    if not isinstance(record, Mapping):
        raise InputError(f"this is no saved result: got {shown(record)}; limelight explain --format json writes one")
    id = record.get("id")
    if id is not None and (not isinstance(id, int | str) or isinstance(id, bool)):
        raise InputError(f"an id must be a whole number or a string: got {shown(id)}")
    if "error" in record and "explanations" not in record:
        return Entry(str(record.get("text", "")), (), id, str(record["error"]))
    alone = "weights" in record
    comparison = Comparison((Explanation.from_dict(record),)) if alone else Comparison.from_dict(record)
    if methods is not None:
        there = [explanation.method for explanation in comparison]
        wanted = [known_name("method in this result", name, dict.fromkeys(there)) for name in methods]
        comparison = Comparison(tuple(e for name in wanted for e in comparison if e.method == name))
    return Entry.of(comparison, id)
