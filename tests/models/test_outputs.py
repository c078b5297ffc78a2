"""Quantities: what is explained, and its derivative, against definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from limelight.models.outputs import Kind, Output, Quantity, probabilities

DIFFERENCES = 1e-6  # of central differences with a step of 1e-5
LOGITS = arrays(np.float64, (3, 4), elements=st.floats(-8, 8))


def by_definition(output: Output, kind: Kind, logits: np.ndarray, label: int) -> np.ndarray:
    p = 1 / (1 + np.exp(-logits)) if kind == "multi-label" else np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    numbers = {"logit": logits, "value": logits, "probability": p, "log-odds": np.log(p) - np.log1p(-p)}
    return numbers[output][:, label]


CASES: list[tuple[Output, Kind]] = [
    ("logit", "classes"),
    ("log-odds", "classes"),
    ("probability", "classes"),
    ("logit", "multi-label"),
    ("log-odds", "multi-label"),
    ("probability", "multi-label"),
    ("value", "regression"),
]


@pytest.mark.parametrize(("output", "kind"), CASES)
@pytest.mark.parametrize("against", [None, 2])
@given(logits=LOGITS)
def test_values_are_their_definitions(output: Output, kind: Kind, against: int | None, logits: np.ndarray) -> None:
    expected = by_definition(output, kind, logits, 1)
    if against is not None:
        expected = expected - by_definition(output, kind, logits, against)
    np.testing.assert_allclose(Quantity(4, 1, against, output, kind).of(logits), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("output", "kind"), CASES)
@pytest.mark.parametrize("against", [None, 2])
def test_directions_are_derivatives(output: Output, kind: Kind, against: int | None) -> None:
    logits = np.random.default_rng(0).normal(size=(5, 4))
    quantity, step = Quantity(4, 1, against, output, kind), 1e-5
    for c in range(4):
        moved = step * np.eye(4)[c]
        slope = (quantity.of(logits + moved) - quantity.of(logits - moved)) / (2 * step)
        np.testing.assert_allclose(quantity.direction_at(logits)[:, c], slope, rtol=0, atol=DIFFERENCES)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("output", "kind"), CASES)
def test_what_is_called_linear_is(output: Output, kind: Kind, classes: int) -> None:
    quantity = Quantity(classes, 1, None, output, kind)
    logits = np.random.default_rng(1).normal(size=(50, classes)) * 3
    directions = quantity.direction_at(logits)
    is_linear = np.allclose(directions, directions[0]) and np.allclose(logits @ directions[0], quantity.of(logits))
    assert quantity.is_linear == is_linear


@given(logits=arrays(np.float64, (3, 2), elements=st.floats(-700, 700)))
def test_the_log_odds_of_two_labels_mirror_each_other(logits: np.ndarray) -> None:
    one, other = (Quantity(2, label, None, "log-odds").of(logits) for label in (0, 1))
    np.testing.assert_array_equal(one, -other)


@pytest.mark.parametrize("output", ["logit", "log-odds", "probability"])
@pytest.mark.parametrize("kind", ["classes", "multi-label"])
def test_extreme_logits_stay_finite(output: Output, kind: Kind) -> None:
    logits = np.array([[-1e4, 0.0, 1e4], [1e4, 1e4, 1e4], [-1e300, 0.0, 1e300]])
    quantity = Quantity(3, 1, None, output, kind)
    assert np.isfinite(quantity.of(logits)).all()
    assert np.isfinite(quantity.direction_at(logits)).all()
    assert np.isfinite(probabilities(logits, kind)).all()


def test_probabilities_of_labels_that_do_not_exclude_each_other_need_not_add_up() -> None:
    logits = np.array([2.0, 1.0, -3.0])
    np.testing.assert_allclose(probabilities(logits, "multi-label"), 1 / (1 + np.exp(-logits)), rtol=1e-14)
    np.testing.assert_allclose(probabilities(logits).sum(), 1.0, rtol=1e-14)
    with pytest.raises(ValueError, match="no probabilities"):
        probabilities(logits, "regression")
