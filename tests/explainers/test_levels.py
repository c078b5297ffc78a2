"""Sentences, phrases and two levels against enumeration through the model itself, and the errors of sums."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from explainers.test_exact import ENUMERATED, expected_lime, shapley_by_subsets
from limelight.inputs.features import features_of
from reference.attention_model import perturbed_logits
from reference.opaque import Opaque

TEXT = "the film was great. but too long, and bad! it is a very good end."
SHORT = "great film. but bad end!"
KINDS: list[Any] = ["sentences", "phrases", [(0, 8), (13, 18), (38, 41)]]


def all_outputs(text: str, kind: Any, removal: str, target: int = 2) -> tuple[Any, np.ndarray, np.ndarray]:
    model = small_model()
    document = model.read(text)
    features = features_of(document, kind)
    kept = np.array(list(itertools.product([False, True], repeat=len(features))))
    return features, kept, perturbed_logits(model, document, features, kept, removal)[:, target]


@pytest.mark.parametrize("removal", ["mask", "delete"])
@pytest.mark.parametrize("kind", KINDS)
def test_passages_equal_enumeration(kind: Any, removal: Any) -> None:
    _, kept, f = all_outputs(TEXT, kind, removal)
    arguments = {"features": kind, "removal": removal, "target": "positive"}
    shapley = limelight.explain(small_model(), TEXT, "shapley", **arguments)
    assert shapley.accuracy == "bounded"
    expected = shapley_by_subsets(kept, f)
    assert np.abs(shapley.weights - expected).max() <= ENUMERATED * np.abs(expected).max()
    lime = limelight.explain(small_model(), TEXT, "lime-limit", n_samples=1000, **arguments)
    expected = expected_lime(kept, f, 1000, 0.25, 1.0)
    assert np.abs(lime.weights - expected).max() <= ENUMERATED * np.abs(expected).max()


def owen_by_orders(kept: np.ndarray, f: np.ndarray, groups: Any) -> np.ndarray:
    value = {tuple(z): y for z, y in zip(kept.tolist(), f, strict=True)}
    phi, orders = np.zeros(kept.shape[1]), 0
    for outer in itertools.permutations(groups):
        for inner in itertools.product(*map(itertools.permutations, outer)):
            there = [False] * kept.shape[1]
            for j in itertools.chain(*inner):
                before = value[tuple(there)]
                there[j] = True
                phi[j] += value[tuple(there)] - before
            orders += 1
    return phi / orders


def test_two_levels_equal_enumeration_and_add_up() -> None:
    features, kept, f = all_outputs(SHORT, ("sentences", "words"), "mask")
    e = limelight.explain(small_model(), SHORT, "shapley", features=("sentences", "words"), target="positive")
    assert features.groups is not None
    assert e.groups is not None
    expected = owen_by_orders(kept, f, features.groups.members)
    assert np.abs(e.weights - expected).max() <= ENUMERATED * np.abs(expected).max()
    sentences = limelight.explain(small_model(), SHORT, "shapley", features="sentences", target="positive")
    np.testing.assert_allclose(e.groups.weights, sentences.weights, rtol=0, atol=ENUMERATED)
    assert e.groups.features == sentences.features
    assert e.weights.sum() == pytest.approx(f[-1] - f[0], abs=ENUMERATED)
    plain = limelight.explain(small_model(), SHORT, "shapley", features="occurrences", target="positive")
    assert np.abs(plain.weights - e.weights).max() > 1e-3, "Owen values are not Shapley values"


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_sampled_two_levels_approach_enumeration_and_add_up_exactly(removal: Any) -> None:
    features, kept, f = all_outputs(SHORT, ("sentences", "words"), removal)
    assert features.groups is not None
    expected = owen_by_orders(kept, f, features.groups.members)
    e = limelight.explain(
        Opaque(), SHORT, "shapley", features=("sentences", "words"), target="positive", removal=removal, n_samples=4000
    )
    assert e.accuracy == "sampled"
    assert e.stderr is not None
    assert (np.abs(e.weights - expected) <= 4.5 * e.stderr + 1e-12).all()
    assert e.weights.sum() == pytest.approx(f[-1] - f[0], abs=1e-10)
    assert e.groups is not None
    assert e.groups.stderr is not None
    own = np.array([expected[list(members)].sum() for members in features.groups.members])
    assert (np.abs(e.groups.weights - own) <= 4.5 * e.groups.stderr + 1e-12).all()


@pytest.mark.parametrize("method", ["lime", "shapley"])
def test_the_errors_of_sentences_are_those_of_repeated_runs(method: str) -> None:
    """A sum of weights that lean on each other has no error that follows from theirs."""
    runs = [
        limelight.explain(
            Opaque(), TEXT, method, features=("sentences", "words"), target="positive", n_samples=400, seed=seed
        ).groups
        for seed in range(150)
    ]
    spread = np.std([run.weights for run in runs if run is not None], axis=0, ddof=1)
    stated = np.sqrt(np.mean([run.stderr**2 for run in runs if run is not None and run.stderr is not None], axis=0))
    assert (np.abs(np.log(stated / spread)) < np.log(1.5)).all(), (stated, spread)


def test_lime_of_two_levels_is_lime_of_the_words_within_sentences() -> None:
    model = small_model()
    two = limelight.explain(model, SHORT, "lime-limit", features=("sentences", "words"), target="positive")
    one = limelight.explain(model, SHORT, "lime-limit", features="occurrences", target="positive")
    np.testing.assert_allclose(two.weights, one.weights, rtol=0, atol=1e-12)
