"""The names and the shape of things that people build on."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import limelight
from conftest import small_model


def test_every_public_name_is_there_and_listed_in_order() -> None:
    assert limelight.__all__ == sorted(limelight.__all__)
    for name in limelight.__all__:
        assert getattr(limelight, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'explian'"):
        limelight.explian  # noqa: B018


def test_the_contract_of_an_explanation() -> None:
    model = small_model()
    e = limelight.explain(model, "A great film.", method="lime", target="positive", seed=0, n_samples=100)
    assert e.features == ("a", "great", "film", ".")
    assert e.weights.shape == (4,)
    assert e.spans == (((0, 1),), ((2, 7),), ((8, 12),), ((12, 13),))
    assert (e.method, e.target, e.exact) == ("lime", "positive", False)
    assert e.prediction.probabilities.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="read-only"):
        e.weights[0] = 1.0


def test_a_comparison_has_one_set_of_features() -> None:
    c = limelight.compare(small_model(), "great , bad", methods=["gxi", "shapley"])
    assert c["shapley"].method == "shapley"
    assert [e.method for e in c] == ["gxi", "shapley"]
    np.testing.assert_array_equal(c.weights[1], c["shapley"].weights)
    assert [e["method"] for e in c.to_dict()["explanations"]] == ["gxi", "shapley"]
    with pytest.raises(KeyError, match="lime"):
        c["lime"]


def test_the_limit_of_infinitely_many_samples_can_be_written_as_json() -> None:
    e = limelight.explain(
        small_model(), "great , bad", "lime-limit", n_samples=math.inf, kernel_width=math.inf, ridge=0.0
    )
    written = json.loads(json.dumps(e.to_dict(), allow_nan=False))
    assert written["parameters"]["n_samples"] == "inf"
    assert e.parameters["n_samples"] == math.inf
