"""The arrays that rooms hand to each other, and the one check of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from limelight.errors import ParameterError, shown

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Coalitions = npt.NDArray[np.bool_]
"""One row per coalition, one column per feature: True where it is kept."""


def whole_number(name: str, value: object, least: int, hint: str = "") -> int:
    """`value` as an int: Python's or NumPy's, no bool, at least `least`; the error says what `name` may be."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ParameterError(f"{name} must be a whole number of at least {least}{hint}: got {shown(value)}")
