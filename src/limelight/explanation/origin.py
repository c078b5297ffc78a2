"""The origin of an explanation: model, date and call, which views state at their foot.

It is no part of the stored form: what was read from a file says that its model is not known.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from limelight.errors import shown
from limelight.models.identity import known_fingerprint, name_of

if TYPE_CHECKING:
    from limelight.explanation.result import Explanation

UNKNOWN = "unknown (read from a file)"
DIGITS = 12
"""Digits of a fingerprint that are shown."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Name of the model, date and call. The model itself is held weakly: an explanation keeps no model alive."""

    name: str
    date: str
    call: str
    model: weakref.ref[Any] | None

    @classmethod
    def of(cls, model: Any, function: str, *arguments: object, **options: object) -> Origin:
        """Of a call: the arguments beside model and text, and all options that are not None."""
        given = [*map(shown, arguments), *(f"{key}={shown(own)}" for key, own in options.items() if own is not None)]
        call = f"limelight.{function}({', '.join(['model', 'text', *given])})"
        try:
            held = weakref.ref(model)
        except TypeError:  # a class of somebody else's may not allow it
            held = None
        return cls(name_of(model), date.today().isoformat(), call, held)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "model": None}

    def facts(self) -> dict[str, str]:
        model = None if self.model is None else self.model()
        known = None if model is None else known_fingerprint(model)
        prints = {} if known is None else {"fingerprint": known[:DIGITS]}
        return {"model": self.name, **prints, "date": self.date, "call": self.call}


def stated(explanations: Iterable[Explanation], origin: Origin) -> None:
    """Explanations that were just made are told where they come from."""
    for explanation in explanations:
        object.__setattr__(explanation, "origin", origin)


def facts_about(explanations: Sequence[Explanation], known: Mapping[str, str]) -> dict[str, str]:
    """What a footer states: what is `known` to the caller, and all else that the explanations know of themselves."""
    origins = {id(own.origin): own.origin for own in explanations if own.origin is not None}
    facts = {"model": UNKNOWN}
    for origin in list(origins.values())[:1]:
        facts = origin.facts()
    if len(origins) > 1:  # of several calls only what they share
        others = [origin.facts() for origin in origins.values()]
        facts = {name: own for name, own in facts.items() if all(other.get(name) == own for other in others)}
    seeds = dict.fromkeys(str(e.parameters["seed"]) for e in explanations if "seed" in e.parameters)
    if seeds:
        facts["seed"] = ", ".join(seeds)
    if "command" in known:
        facts.pop("call", None)
    return {**facts, **known}
