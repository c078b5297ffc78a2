"""Diagnostics with types: what an explanation's dictionary of diagnostics states, read in one place.

The dictionary is what JSON holds, and a method may say anything in it. What has another type than the one below counts
as not stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stated:
    """What the diagnostics of an explanation state.

    `rounding`, `error`: how far a weight may be off by rounding and by its proven bound. `freedom`: from how many
    samples the standard errors are, where they are few. `warnings`: what speaks against relying on the weights.
    `barely_moves`: all words together hardly move the output. `unknown`: the features whose words the model does not
    know. `complete`: every combination of words was asked. `noise_alone`: nothing was drawn, and standard errors are
    those of a function's noise. `stopped`, `until`: how and why a run of samples ended; `stable`: the words whose
    ranking was stable then. `r2`, `surrogate_prediction`, `model_prediction`: the fit of a linear surrogate.
    """

    rounding: float = 0.0
    error: float = 0.0
    freedom: int | None = None
    warnings: tuple[str, ...] = ()
    barely_moves: bool = False
    unknown: frozenset[int] = frozenset()
    complete: bool = False
    noise_alone: bool = False
    stopped: str | None = None
    until: str | float | None = None
    stable: tuple[int, ...] | None = None
    r2: float | None = None
    surrogate_prediction: float | None = None
    model_prediction: float | None = None

    @property
    def numerical_error(self) -> float:
        """The error of a weight that is not sampling: its rounding and its proven bound."""
        return self.rounding + self.error

    @classmethod
    def of(cls, diagnostics: Mapping[str, Any], features: int) -> Stated:
        """The diagnostics of an explanation of so many features."""
        stated = diagnostics.get
        freedom, warnings, stopped, stable = (stated(key) for key in ("freedom", "warnings", "stopped", "settled"))
        unknown = stated("unknown")
        return cls(
            rounding=_error(stated("rounding")),
            error=_error(stated("error")),
            freedom=freedom if type(freedom) is int and freedom > 0 else None,
            warnings=tuple(map(str, _members(warnings))),
            barely_moves=stated("barely_moves") is True,
            unknown=frozenset(j for j in _members(unknown) if type(j) is int and 0 <= j < features),
            complete=bool(stated("complete")),
            noise_alone=bool(stated("noise_alone")),
            stopped=stopped if isinstance(stopped, str) else None,
            until=stated("until"),
            stable=tuple(stable) if isinstance(stable, list | tuple) else None,
            r2=_finite(stated("r2")),
            surrogate_prediction=_finite(stated("surrogate_prediction")),
            model_prediction=_finite(stated("model_prediction")),
        )


def _members(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _error(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value >= 0.0 else 0.0


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
