"""Values that hold arrays: equal by value, never changed, and short when they are printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.explanation.serialization import numbers_written, quoted, written_as_json

_SHOWN = 3
"""Words, labels or methods in a repr."""


class Value:
    """Equal by value, NaN to NaN, whatever arrays it holds: they are its own, and nobody can change them."""

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        for name in ("weights", "stderr", "logits", "probabilities"):
            if getattr(self, name, None) is not None:
                array = np.array(getattr(self, name), dtype=np.float64)
                array.flags.writeable = False
                object.__setattr__(self, name, array)

    def _plain(self, *names: str) -> dict[str, Any]:
        """These fields as JSON can hold them."""
        return {name: _as_plain(getattr(self, name), name) for name in names}

    def __eq__(self, other: object) -> bool:
        names = [own.name for own in fields(self) if own.compare]  # type: ignore[arg-type]
        return isinstance(other, type(self)) and all(_same(getattr(self, n), getattr(other, n)) for n in names)

    def __hash__(self) -> int:
        return hash(type(self))  # each kind adds what is hashable of it


class Weighted(Value):
    """Weights with names."""

    features: tuple[str, ...]
    weights: Floats

    def __len__(self) -> int:
        return len(self.features)

    def top(self, k: int = 10) -> list[tuple[str, float]]:
        """The k of largest absolute weight with their names, largest first."""
        order = np.argsort(-np.abs(self.weights), kind="stable")[:k]
        return [(self.features[j], float(self.weights[j])) for j in order]

    @property
    def strongest(self) -> str:
        return first_few([f"{quoted(name)} {weight:+.3g}" for name, weight in self.top(_SHOWN + 1)])


def _as_plain(value: Any, name: str) -> Any:
    if isinstance(value, Value):
        return value.to_dict()
    return numbers_written(value) if isinstance(value, np.ndarray) else written_as_json(value, name)


def _same(one: Any, other: Any) -> bool:
    """Equal by value, NaN to NaN, at any depth. JSON has no tuples: they equal lists."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    lists = [isinstance(value, np.ndarray | list | tuple) for value in (one, other)]
    if any(lists):
        return all(lists) and len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) or (_is_nan(one) and _is_nan(other))


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and math.isnan(value)


def counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def first_few(parts: Sequence[str]) -> str:
    return ", ".join([*parts[:_SHOWN], *(["…"] if len(parts) > _SHOWN else [])])
