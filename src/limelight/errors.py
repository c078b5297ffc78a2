"""Everything that can go wrong in a way a user can put right.

    LimelightError
    ├── InputError               the text, or the call itself
    │   ├── EmptyTextError       nothing to explain
    │   ├── UnknownNameError     a method, label or option that does not exist
    │   └── ParameterError       a value out of range
    ├── CapabilityError          this model cannot do what this method needs
    ├── CheckpointError          a model folder that cannot be read
    ├── DataError                a data file that cannot be used
    ├── NumericalError           a result that is not finite, or a tolerance that cannot be met
    └── TooLargeError            a question that takes more memory than there is

and what goes well but is not to be relied on, which is no error: ExplanationWarning; and Ctrl-C: Interrupted.

Each message says what was wrong, what was given, and what to do.
"""

from __future__ import annotations

import copyreg
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from limelight.core.sanitize import visible

_LONGEST_SHOWN = 80
"""Characters of a value that a message repeats."""
_NAMES_SHOWN = 20
"""Names that a message lists where there are more."""


def shown(value: object) -> str:
    """A value that was given, for a message: as Python writes it, on one line, printable anywhere and never long."""
    if isinstance(value, str | bytes | bytearray):
        value = value[:_LONGEST_SHOWN]  # the repr of a whole book would be cut anyway
    try:
        written = visible(repr(value))
    except Exception as error:  # the repr is the caller's own code; Python itself refuses integers of 5,000 digits
        written = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return written if len(written) <= _LONGEST_SHOWN else written[: _LONGEST_SHOWN - 1] + "…"


def shortened(message: str, limit: int = 300) -> str:
    """Somebody else's message, for a message of ours: on one line, printable anywhere and not beyond a limit."""
    line = visible(" ".join(message[: 10 * limit].split()))
    return line if len(line) <= limit else line[:limit] + "…"


def listed(names: Iterable[str]) -> str:
    """Names to choose from, for a message: the first ones where there are many."""
    every = list(names)
    more = f", … ({len(every):,} in all)" if len(every) > _NAMES_SHOWN else ""
    return ", ".join(map(shown, every[:_NAMES_SHOWN])) + more


class LimelightError(Exception):
    """Base of every error that limelight raises on purpose."""


class InputError(LimelightError, ValueError):
    """The text or the call is at fault."""


class EmptyTextError(InputError):
    """There is no word to explain."""


class UnknownNameError(InputError):
    """A name that is not on the list of those that exist."""

    def __init__(
        self, kind: str, given: object, known: Iterable[str], other_names: Mapping[str, str] | None = None
    ) -> None:
        names = list(known)
        comparable = isinstance(given, str) and len(given) <= _LONGEST_SHOWN
        plain = "".join(filter(str.isalnum, str(given).lower())) if comparable else ""
        near = [name for name in ((other_names or {}).get(plain, "")).split() if name in names]
        near += difflib.get_close_matches(str(given), names, n=1) if comparable else []
        hint = f"did you mean {shown(near[0])}? " if near else ""
        choice = f"{hint}choose from {listed(names)}" if names else "there are none to choose from"
        super().__init__(f"unknown {kind} {shown(given)}: {choice}")

    def __reduce__(self) -> tuple[object, ...]:
        """By its message: it comes back whole from another process."""
        return copyreg.__newobj__, (type(self), str(self))  # type: ignore[attr-defined]


def known_name(kind: str, given: object, known: Iterable[str], other_names: Mapping[str, str] | None = None) -> str:
    """`given` as a plain string, if it is one of the names that exist; anything else is an UnknownNameError.

    `other_names`: what else people call some of them, in small letters and digits alone; several are tried in turn.
    """
    names = list(known)
    if not isinstance(given, str) or given not in names:
        raise UnknownNameError(kind, given, names, other_names)
    return str.__str__(given)


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


class TooLargeError(LimelightError, MemoryError):
    """What was asked takes more memory than there is."""


class ExplanationWarning(UserWarning):
    """Something speaks against relying on an explanation: the sentences of its diagnostics["warnings"]."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while explanations were computed: `explanations` are those that were reached.

    The last one has the samples that there were; its diagnostics["stopped"] is "interrupted". It is a
    KeyboardInterrupt, so a loop over texts ends as well, unless it catches this.
    """

    def __init__(self, explanations: Sequence[Any]) -> None:
        super().__init__(f"interrupted with {len(explanations)} explanation{'s' * (len(explanations) != 1)}")
        self.explanations = tuple(explanations)

    @property
    def explanation(self) -> Any:
        """The last one that was reached."""
        return self.explanations[-1]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.explanations,)
