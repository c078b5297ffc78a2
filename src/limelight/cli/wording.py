"""Messages of the library in the words of the command line: Python has arguments, a shell has options.

>>> in_options("load the model with truncate=True to keep the first 512")
'use --truncate to keep the first 512'
>>> in_options("use features='occurrences', or n_samples=500")
'use --features occurrences, or --samples 500'
"""

from __future__ import annotations

import re

_OPTIONS = {
    "batch_tokens": "--batch-tokens",
    "device": "--device",
    "dtype": "--dtype",
    "features": "--features",
    "id_column": "--id-column",
    "kernel_width": "--kernel-width",
    "kind": "--kind",
    "label_column": "--label-column",
    "label_names": "--label-names",
    "limit": "--limit",
    "n_samples": "--samples",
    "output": "--output",
    "pairs": "--second",
    "parts": "--parts",
    "precision": "--precision",
    "removal": "--removal",
    "ridge": "--ridge",
    "second_column": "--second-column",
    "seconds": "--seconds",
    "seed": "--seed",
    "shard_size": "--shard-size",
    "target": "--target",
    "text_column": "--text-column",
    "truncate": "--truncate",
    "until": "--until",
    "window": "--window",
    "workers": "--workers",
}
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
"""Where a word for a word would not do."""
_SETTING = re.compile(r"(?<![\w./-])([a-z_]+)=('[^']*'|\"[^\"]*\"|True|\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w/]|\.\w)")
_NAMED = re.compile(rf"(?<![\w.'\"-])({'|'.join(name for name in _OPTIONS if '_' in name)})(?![\w'\"=])")
_AT_THE_BEGINNING = re.compile(rf"^({'|'.join(_OPTIONS)})(?= must )")
_UNKNOWN = re.compile(rf"^(unknown option for .{{1,200}}?) '({'|'.join(_OPTIONS)})'(?=: )")


def in_options(message: str) -> str:
    """The same message; what was typed by a user is not known from what limelight wrote, but seldom looks like it."""
    for phrase, instead in _PHRASES:
        message = message.replace(phrase, instead)
    message = _UNKNOWN.sub(lambda match: f"{match[1]} {_OPTIONS[match[2]]}", message)
    message = _SETTING.sub(_option, message)
    message = _AT_THE_BEGINNING.sub(lambda match: _OPTIONS[match[1]], message)
    return _NAMED.sub(lambda match: _OPTIONS[match[1]], message)


def _option(match: re.Match[str]) -> str:
    name, value = match[1], match[2].strip("'\"")
    if name not in _OPTIONS:
        return match[0]
    return _OPTIONS[name] if value == "True" else f"{_OPTIONS[name]} {value}"
