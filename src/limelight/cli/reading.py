"""The text that a command is about: an argument, a file, or standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from limelight.cli.application import note
from limelight.errors import DataError, InputError
from limelight.files import reason


def read_text(text: str | None, file: Path | None) -> str:
    """What was given as TEXT or --file; '-' or neither is standard input."""
    if file is not None and str(file) != "-":
        if text is not None:
            raise InputError(f"both a text and --file {file} were given: give one of them")
        return _decode(_read_bytes(file), f"the file {file}")
    if text is None or text == "-":
        if text is None and file is None and (sys.stdin is None or sys.stdin.isatty()):
            raise InputError(
                'there is no text to explain: type limelight explain "your text", or use --file, or a pipe'
            )
        return _decode(_standard_input(), "standard input")
    if any("\ud800" <= character <= "\udfff" for character in text):  # how Python passes on bytes it could not decode
        raise InputError("the text on the command line is not valid UTF-8: put it in a UTF-8 file and use --file")
    if len(text) < 256 and not any(map(str.isspace, text)) and os.path.isfile(text):
        note(f"explaining the word {text!r} itself; to explain what is in the file of that name, use --file {text}")
    return text


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise InputError("standard input is closed: give the text itself as the argument, or use --file")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise InputError(f"cannot read standard input: {reason(error)}; use --file") from error


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {file}: check its name, or give the text itself as the argument") from error
    except IsADirectoryError as error:
        raise InputError(f"{file} is a folder: name a text file") from error
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {file}: {reason(error)}; check its name and its permissions") from error


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{source} is not UTF-8 (byte 0x{content[error.start]:02x} at position {error.start}): "
            "convert it first, for example with iconv -f LATIN1 -t UTF-8"
        ) from error
