"""What default LIME estimates: one regression, however many samples are drawn, and what people are told of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.errors import ParameterError
from limelight.explainers.sampling.lime_sampler import LimeSampler
from limelight.explanation.wording import accuracy_in_words

SHORT = "the film was great"
LONG = "the film was great but too long and the end is bad , it s a very good film not bad !"
EXACT = 1e-9
"""Two computations of one regression in float64."""


def lime(text: str, method: str = "lime", **options: Any) -> Any:
    return limelight.explain(small_model(), text, method, target="positive", **options)


def test_a_short_text_has_one_lime_however_many_samples_are_asked_for() -> None:
    few, many, limit = lime(SHORT, n_samples=16), lime(SHORT, n_samples=100_000), lime(SHORT, "lime-limit")
    assert few.diagnostics["complete"]
    assert many.diagnostics["complete"]
    np.testing.assert_allclose(few.weights, many.weights, rtol=0, atol=EXACT)
    np.testing.assert_allclose(few.weights, limit.weights, rtol=0, atol=EXACT)
    assert few.parameters["ridge_samples"] == 5000


@pytest.mark.parametrize("of", [16, 100, math.inf])
def test_an_option_says_otherwise(of: float) -> None:
    limit = lime(SHORT, "lime-limit", n_samples=of).weights
    np.testing.assert_allclose(lime(SHORT, ridge_samples=of).weights, limit, rtol=0, atol=EXACT)
    assert np.abs(limit - lime(SHORT).weights).max() > 1e-5


def test_samples_estimate_the_regression_of_5000() -> None:
    """An additive game is found exactly from 80 samples: with the ridge of 5,000, and not with that of 80."""
    d, c = 12, np.random.default_rng(0).normal(size=12)

    def weights(n: int, of: float) -> Any:
        samples = LimeSampler(lambda kept: (kept @ c)[:, None], d, 0, 0.25, 1.0, ridge_samples=of)
        samples.extend(n)
        return samples.estimate().values[:, 0]

    np.testing.assert_allclose(weights(80, 5000), weights(2**d, 5000), rtol=0, atol=1e-7)
    np.testing.assert_allclose(weights(80, 80), weights(2**d, 80), rtol=0, atol=1e-7)
    assert np.abs(weights(80, 5000) - weights(80, 80)).max() > 0.05


def test_official_draws_stay_as_they_are() -> None:
    official = lime(LONG, sampling="official", n_samples=300)
    assert official.parameters["ridge_samples"] == 300
    again = lime(LONG, sampling="official", n_samples=300, ridge_samples=300)
    np.testing.assert_array_equal(official.weights, again.weights)
    with pytest.raises(ParameterError, match="ridge_samples does not go with sampling='official'"):
        lime(LONG, sampling="official", n_samples=300, ridge_samples=5000)


@pytest.mark.parametrize("wrong", [1, 0, -3, math.nan, "5000", True])
def test_what_is_no_number_of_samples_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="ridge_samples must be"):
        lime(LONG, ridge_samples=wrong)


def test_people_are_told_which_regression_it_is() -> None:
    assert accuracy_in_words(lime(SHORT)).endswith("every combination of words was asked; ridge of 5,000 samples")
    limit = lime(SHORT, "lime-limit")
    assert limit.method_label == "LIME, unsampled"
    assert accuracy_in_words(limit).startswith("no sampling")
    assert accuracy_in_words(limit).endswith("; ridge of 5,000 samples")
    assert accuracy_in_words(lime(SHORT, ridge_samples=100)).endswith("; ridge of 100 samples")
    assert "ridge" not in accuracy_in_words(lime(SHORT, "lime-limit", n_samples=math.inf))
    assert "ridge" not in accuracy_in_words(lime(SHORT, "shapley"))
