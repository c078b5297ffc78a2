"""Messages of the library in the words of the command line: Python has arguments, a shell has options.

>>> in_options("load the model with truncate=True to keep the first 512")
'use --truncate to keep the first 512'
>>> in_options("use features='occurrences', or n_samples=500")
'use --features occurrences, or --samples 500'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from limelight.errors import LimelightError

OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "batch_tokens device dtype features id_column kernel_width kind label_column label_names limit output parts "
        "precision removal ridge second_column seconds seed shard_size target text_column truncate until window workers"
    ).split()
} | {"n_samples": "--samples", "pairs": "--second"}
"""Arguments that have an option of their own; any other of a method is given by --set."""
_PHRASES = (
    (
        "say that the model reads pairs, by pairs=True in limelight.load or limelight.wrap",
        "leave --second out",
    ),
    ("give a tuple of two strings", "give the second text by --second"),
    ("load the model with ", "use "),
    ("load it with ", "use "),
    ("('sentences', 'words')", "sentences,words"),
    ("('…', 'words')", "--features …,words"),
)
"""Phrases that need more than a word for a word."""
_SETTING = re.compile(r"(?<![\w./-])([a-z_]+)=('[^']*'|\"[^\"]*\"|True|\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w/]|\.\w)")
_NAMED = re.compile(rf"(?<![\w.'\"-])({'|'.join(name for name in OPTIONS if '_' in name)})(?![\w'\"=])")
_AT_THE_BEGINNING = re.compile(rf"^({'|'.join(OPTIONS)})(?= must )")
_TAKEN = re.compile(r"^(only Hugging Face models take )([a-z_]+(?:, [a-z_]+)*)(?=: )")
_OR_NONE = re.compile(r"^(--[a-z-]+ must be [^:]*?) or None\b")
_UNKNOWN = re.compile(rf"^(unknown option for .{{1,200}}?) '({'|'.join(OPTIONS)})'(?=: )")


def in_options(message: str, typed: Mapping[str, str] | None = None) -> str:
    """A message with options for arguments. A user's own words are not known as such, but seldom look like these.

    `typed`: options that stand for an argument here, where the usual one is not what was typed.
    """
    options = {**OPTIONS, **(typed or {})}

    def setting(match: re.Match[str]) -> str:
        name, value = match[1], match[2].strip("'\"")
        if name not in options:
            return match[0]
        return options[name] if value == "True" else f"{options[name]} {value}"

    def taken(match: re.Match[str]) -> str:
        return match[1] + ", ".join(options.get(name, name) for name in match[2].split(", "))

    for phrase, instead in _PHRASES:
        message = message.replace(phrase, instead)
    message = _UNKNOWN.sub(lambda match: f"{match[1]} {options[match[2]]}", message)
    message = _TAKEN.sub(taken, message)
    message = _SETTING.sub(setting, message)
    message = _AT_THE_BEGINNING.sub(lambda match: options[match[1]], message)
    message = _OR_NONE.sub(r"\1", message)  # an option that is not wanted is left out
    return _NAMED.sub(lambda match: options[match[1]], message)


@contextmanager
def as_typed(**typed: str | None) -> Iterator[None]:
    """Errors from within name these options for the arguments that they gave; an argument may come from several."""
    try:
        yield
    except LimelightError as error:
        given = {argument: option for argument, option in typed.items() if option is not None}
        error.args = (in_options(str(error), given), *error.args[1:])
        raise
