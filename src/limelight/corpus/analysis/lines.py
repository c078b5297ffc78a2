"""Lines of tables: dataclasses made of columns, and written as plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from limelight.corpus.analysis.flat_rows import Question


@dataclass(frozen=True)
class Plain:
    """A dataclass that JSON can hold."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: what is infinite or not known is None."""
        return {own.name: _plain(getattr(self, own.name)) for own in fields(self)}


L = TypeVar("L", bound=Plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, tuple):
        return value._asdict() if isinstance(value, Question) else [_plain(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def lines_of(kind: type[L], columns: Mapping[str, Any], chosen: Sequence[int]) -> tuple[L, ...]:
    """The lines at the chosen places of columns, which hold a value of each field for every place."""
    at = np.array(chosen, dtype=np.int64)
    picked = (own[at].tolist() if isinstance(own, np.ndarray) else [own[i] for i in chosen] for own in columns.values())
    return tuple(kind(**dict(zip(columns, row, strict=True))) for row in zip(*picked, strict=True))
