"""Everything that can go wrong in a way a user can put right.

    LimelightError
    ├── InputError               the text, or the call itself
    │   ├── EmptyTextError       nothing to explain
    │   ├── UnknownNameError     a method, label or option that does not exist
    │   └── ParameterError       a value out of range
    ├── CapabilityError          this model cannot do what this method needs
    ├── CheckpointError          a model folder that cannot be read
    ├── DataError                a data file that cannot be used
    └── NumericalError           a result that is not finite, or a tolerance that cannot be met

Each message says what was wrong, what was given, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LimelightError(Exception):
    """Base of every error that limelight raises on purpose."""


class InputError(LimelightError, ValueError):
    """The text or the call is at fault."""


class EmptyTextError(InputError):
    """There is no word to explain."""


class UnknownNameError(InputError):
    """A name that is not on the list of those that exist."""

    def __init__(self, kind: str, given: object, known: Iterable[str]) -> None:
        names = list(known)
        near = difflib.get_close_matches(str(given), names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(f"unknown {kind} {given!r}: {hint}choose from {', '.join(map(repr, names))}")


class ParameterError(InputError):
    """A value that is out of range or of the wrong kind."""


class CapabilityError(LimelightError, TypeError):
    """A method asks for something that a model does not have."""


class CheckpointError(LimelightError):
    """A model folder is incomplete, damaged or of another kind."""


class DataError(LimelightError):
    """A data file cannot be read, or holds something that cannot be used."""


class NumericalError(LimelightError, ArithmeticError):
    """A number is not finite, or a requested precision cannot be reached."""
