"""`--set NAME=VALUE`: any option of a method, as it is typed and as the library takes it.

A value is a whole number, a number (also inf), true, false, none, or else a name; quotes make a name of anything.

>>> read_settings(["layer=0", "kernel_width=inf", "head=none", "baseline=pad"])
{'layer': 0, 'kernel_width': inf, 'head': None, 'baseline': 'pad'}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from limelight.cli.wording import OPTIONS
from limelight.errors import ParameterError, shown

_LONGEST_NUMBER = 400
"""Characters: more than any number that a double can hold."""
_LONGEST_SHOWN = 80
"""Characters of a setting that a message repeats as they were typed."""
_CONSTANTS = {"true": True, "false": False, "none": None}
_OF_THE_CALL = {
    "features": "--features",
    "method": "--method",
    "methods": "--method",
    "model": "--model",
    "output": "--output",
    "removal": "--removal",
    "seed": "--seed",
    "target": "--target",
    "text": "the argument TEXT",
}
"""Arguments that all methods share, and the option of each."""


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Parse what followed each --set; whether a method has such an option is the method's to say."""
    settings: dict[str, Any] = {}
    for setting in given:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not (equals and value and name.isidentifier()):
            raise ParameterError(f"--set must look like NAME=VALUE, such as --set layer=0: got {shown(setting)}")
        typed = setting if len(setting) <= _LONGEST_SHOWN else f"{setting[:_LONGEST_SHOWN]}…"
        if name in _OF_THE_CALL:
            raise ParameterError(f"--set {typed}: {name!r} is no option of a method; use {_OF_THE_CALL[name]}")
        if name == "progress":
            raise ParameterError(f"--set {typed}: {name!r} is no option of a method; leave it out")
        if name in settings:
            raise ParameterError(f"--set {typed}: {shown(name)} was set before; give it once")
        settings[name] = read_value(value)
    return settings


def method_options(
    settings: Sequence[str] | None, *, samples: int | None, until: str | None = None, **others: float | None
) -> dict[str, Any]:
    """Options of methods from --set and from places of their own; one that was given in both is an error."""
    short = {"n_samples": samples, "until": None if until is None else read_value(until), **others}
    given = {name: value for name, value in short.items() if value is not None}
    by_set = read_settings(settings or [])
    for name in given.keys() & by_set.keys():
        raise ParameterError(f"{name!r} was given twice: by {OPTIONS[name]} and by --set; give it once")
    return {**given, **by_set}


def read_value(typed: str) -> Any:
    """The value that was typed, as Python has it: the inverse of `render.numbers.typed`."""
    if len(typed) >= 2 and typed[0] == typed[-1] and typed[0] in "'\"":
        return typed[1:-1]
    if typed.lower() in _CONSTANTS:
        return _CONSTANTS[typed.lower()]
    if len(typed) > _LONGEST_NUMBER:  # Python reads no integers of 5,000 digits, and as a float they are infinite
        return typed
    for kind in (int, float):
        try:
            return kind(typed)
        except ValueError:
            pass
    return typed
