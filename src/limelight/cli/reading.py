"""The texts that a command is about: an argument, a file, a table, or standard input."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli.application import note
from limelight.errors import DataError, InputError, UnknownNameError, shown
from limelight.storage.files import reason

if TYPE_CHECKING:
    from limelight.inputs.document import Text

_TEXTS = "text"
"""The column of the texts where none is named."""
_MAGIC = {
    b"\x1f\x8b": "is packed with gzip: unpack it first, with gunzip",
    b"PK\x03\x04": "is no text but an archive, as documents and sheets of office programs are: save it as plain text",
    b"\xd0\xcf\x11\xe0": "is no text but a document of an office program: save it as plain text",
    b"%PDF-": "is no text but a PDF: save it as plain text, for example with pdftotext",
    b"{\\rtf": "is no plain text but RTF: save it as plain text",
    b"PAR1": "is a Parquet table: give it a name that ends in .parquet",
    b"\xff\xfe": "is UTF-16, not UTF-8: convert it first, for example with iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "is UTF-16, not UTF-8: convert it first, for example with iconv -f UTF-16 -t UTF-8",
}
"""First bytes of files that are no plain text, and what to do with them."""


@dataclass(frozen=True)
class Asked:
    """A text, or a pair of them, that a command is to explain; `id` is None where it is the only one."""

    text: Text
    id: int | str | None = None

    @property
    def is_blank(self) -> bool:
        return not (self.text if isinstance(self.text, str) else "".join(self.text)).strip()


@dataclass(frozen=True)
class Source:
    """The place of the texts, as it was typed."""

    text: str | None
    file: Path | None
    lines: bool = False
    second: str | None = None
    text_column: str | None = None
    second_column: str | None = None
    id_column: str | None = None
    limit: int | None = None

    def read(self) -> list[Asked]:
        """One text, or many with their ids: lines by number, rows by number or by an id column."""
        if self.second is not None and (self.lines or self.second_column is not None):
            many = "--lines" if self.lines else "--second-column"
            raise InputError(f"--second is for one pair of texts, and {many} for many texts: give one of them")
        from limelight.storage.tables import SUFFIXES, is_table

        if self.file is not None and self.text is None and is_table(self.file):
            return self._rows(self.file)
        for option, value in (
            ("--text-column", self.text_column),
            ("--second-column", self.second_column),
            ("--id-column", self.id_column),
        ):
            if value is not None:
                raise InputError(f"{option} is for a table given by --file ({', '.join(SUFFIXES)}): leave it out")
        if self.limit is not None and not self.lines:
            raise InputError("--limit is for a table given by --file, or for --lines: leave it out")
        content = read_text(self.text, self.file)
        if not self.lines:
            return [Asked(content if self.second is None else (content, self.second))]
        lines = content.removesuffix("\n").split("\n")[: self.limit]
        return [Asked(line.removesuffix("\r"), number) for number, line in enumerate(lines, start=1)]

    @property
    def thing(self) -> str:
        """The thing that ids count."""
        return "line" if self.lines else "row" if self.id_column is None else "id"

    @property
    def pairs_by(self) -> str | None:
        """The option that gave second texts; None where there are none."""
        return "--second" if self.second is not None else None if self.second_column is None else "--second-column"

    def _rows(self, table: Path) -> list[Asked]:
        from limelight.storage.labelled_texts import read_texts

        if self.lines:
            raise InputError(
                f"{table} is a table, whose rows are texts anyway: leave --lines out, or rename it to .txt"
            )
        if self.second is not None:
            raise InputError("--second is for one pair of texts: name the column of second texts by --second-column")
        try:
            rows = read_texts(
                table,
                _TEXTS if self.text_column is None else self.text_column,
                second_column=self.second_column,
                id_column=self.id_column,
                limit=self.limit,
            )
        except UnknownNameError as error:
            if self.text_column is not None or f" {shown(_TEXTS)}: " not in str(error):  # another column is missing
                raise
            raise InputError(f"{error}; name the column of the texts by --text-column") from error
        return [Asked(text, id) for text, id in zip(rows.texts, rows.ids, strict=True)]


def read_text(text: str | None, file: Path | None) -> str:
    """The text given as TEXT or --file; '-' or neither is standard input."""
    if file is not None and str(file) != "-":
        if text is not None:
            raise InputError(f"both a text and --file {file} were given: give one of them")
        if file.suffix.lower() == ".json":
            raise InputError(
                f"{file} is JSON, not a text: limelight show {file} draws a saved result; write texts one object per "
                "line and name the file .jsonl"
            )
        content = read_bytes(file, "text file", ", or give the text itself as the argument")
        return _decode(content, f"the file {file}")
    if text is None or text == "-":
        if text is None and file is None and (sys.stdin is None or sys.stdin.isatty()):
            raise InputError(
                'there is no text to explain: type limelight explain "your text", or use --file, or a pipe'
            )
        return _decode(read_bytes(Path("-")), "standard input")
    if any("\ud800" <= character <= "\udfff" for character in text):  # how Python passes on bytes it could not decode
        raise InputError("the text on the command line is not valid UTF-8: put it in a UTF-8 file and use --file")
    if len(text) < 256 and not any(map(str.isspace, text)) and os.path.isfile(text):
        note(f"explaining the word {text!r} itself; to explain what is in the file of that name, use --file {text}")
    return text


def read_bytes(file: Path, what: str = "file", instead: str = "") -> bytes:
    """Content of a file, or of standard input where it is called '-'; `instead` is what else may be done."""
    if str(file) == "-" and sys.stdin is None:
        raise InputError("standard input is closed: give the text itself as the argument, or use --file")
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {file}: check its name{instead}") from error
    except IsADirectoryError as error:
        raise InputError(f"{file} is a folder: name a {what}") from error
    except (OSError, ValueError) as error:
        if str(file) == "-":
            raise InputError(f"cannot read standard input: {reason(error)}; use --file") from error
        raise InputError(f"cannot read {file}: {reason(error)}; check its name and its permissions") from error


def _decode(content: bytes, source: str) -> str:
    for beginning, problem in _MAGIC.items():
        if content.startswith(beginning):
            raise DataError(f"{source} {problem}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{source} is not UTF-8 (byte 0x{content[error.start]:02x} at position {error.start}): "
            "convert it first, for example with iconv -f LATIN1 -t UTF-8"
        ) from error
