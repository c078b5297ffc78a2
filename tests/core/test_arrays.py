"""The one check of whole numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.core.arrays import whole_number
from limelight.errors import ParameterError

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


@given(st.integers(0, 127), st.sampled_from((int, *INTEGERS)))
def test_whole_numbers_of_any_kind_become_int(value: int, kind: type[Any]) -> None:
    number = whole_number("seed", kind(value), 0)
    assert type(number) is int
    assert number == value


@given(st.integers(), st.integers())
def test_the_least_is_allowed_and_nothing_below_it(value: int, least: int) -> None:
    if value >= least:
        assert whole_number("layer", value, least) == value
    else:
        with pytest.raises(ParameterError, match=f"^layer must be a whole number of at least {least}: got {value}$"):
            whole_number("layer", value, least)


@pytest.mark.parametrize("kind", [int, *INTEGERS])
def test_too_small_of_any_kind(kind: type[Any]) -> None:
    with pytest.raises(ParameterError, match="n_samples must be"):
        whole_number("n_samples", kind(1), 2)


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        np.True_,
        np.False_,
        2.0,
        np.float64(2),
        np.float32(2),
        float("nan"),
        float("inf"),
        Decimal(2),
        Fraction(2),
        2 + 0j,
        "2",
        b"2",
        None,
        [2],
        np.array([2]),
        np.array(2),
    ],
    ids=repr,
)
def test_what_is_no_whole_number(value: object) -> None:
    with pytest.raises(ParameterError, match="seed must be a whole number of at least 0: got "):
        whole_number("seed", value, 0)


def test_the_hint_says_what_else_is_possible() -> None:
    with pytest.raises(ParameterError, match=r"^k must be a whole number of at least 1, or 'all': got 'some'$"):
        whole_number("k", "some", 1, ", or 'all'")
