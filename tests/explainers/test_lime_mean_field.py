"""The method `lime-mean-field`: its weights are the theory's, and it says how good it is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.errors import CapabilityError, ParameterError
from limelight.explainers.lime_formulas import ENOUGH
from limelight.inputs.features import features_of
from limelight.testing import check_explainer
from limelight.theory.mean_field import lime_mean_field
from reference.opaque import Opaque

TEXT = "The film was great, but the film is too long and the end is bad!"
OPTIONS: dict[str, Any] = {"n_samples": 200, "kernel_width": 0.4, "ridge": 2.0}


@pytest.mark.parametrize("dominant", [0, 2])
def test_it_keeps_the_contract(dominant: int) -> None:
    check_explainer("lime-mean-field", small_model(), dominant=dominant)


@pytest.mark.parametrize("kind", ["words", "occurrences"])
@pytest.mark.parametrize("target", [0, 2])
def test_the_weights_are_the_theorys(kind: Any, target: int) -> None:
    model = small_model()
    view = model.view(TEXT)
    game = view.ratio_game(features_of(view.document, kind))
    e = limelight.explain(
        model, TEXT, "lime-mean-field", target=model.labels[target], features=kind, dominant=1, **OPTIONS
    )
    expected = lime_mean_field(game, target, 200, 0.4, 2.0, 1)
    assert e.weights.tobytes() == expected.values.tobytes()
    assert e.diagnostics["error_estimate"] == ENOUGH * expected.error_estimate


def test_it_is_lime_limit_when_all_words_are_conditioned_on() -> None:
    model = small_model()
    formula = limelight.explain(model, TEXT, "lime-mean-field", dominant=12, **OPTIONS)
    exact = limelight.explain(model, TEXT, "lime-limit", **OPTIONS)
    assert formula.weights == pytest.approx(exact.weights, abs=1e-9)
    assert formula.diagnostics["error_estimate"] == pytest.approx(0.0, abs=1e-9)


def test_on_trained_weights_it_is_close_and_knows_how_close() -> None:
    model = limelight.load()
    text = "A great film, but the end is a terrible mess and far too long"
    formula = limelight.explain(model, text, "lime-mean-field")
    exact = limelight.explain(model, text, "lime-limit").weights
    error = np.linalg.norm(formula.weights - exact) / np.linalg.norm(exact)
    assert error < 0.05
    assert 0.5 / ENOUGH < error / formula.diagnostics["error_estimate"] < 1.0


def test_what_it_says_of_itself() -> None:
    e = limelight.explain(small_model(), TEXT, "lime-mean-field")
    assert e.method_label == "LIME, mean field"
    assert e.accuracy == "approximate"
    assert not e.exact
    assert e.evaluations == 0
    assert "dominant words" in e.diagnostics["approximation"]
    assert sum(e.diagnostics["parts"].values()) == pytest.approx(1.0)
    assert e.diagnostics["others_beside_dominant"] > 0.0
    json.dumps(e.to_dict(), allow_nan=False)


def test_nothing_to_divide_by_is_none() -> None:
    unknown = limelight.explain(small_model(), "[UNK] [UNK]", "lime-mean-field", features="occurrences")
    assert set(unknown.diagnostics["parts"].values()) == {None}
    without = limelight.explain(small_model(), TEXT, "lime-mean-field", dominant=0)
    assert without.diagnostics["others_beside_dominant"] is None


def test_it_is_for_masking_and_logits_of_a_ratio_game() -> None:
    with pytest.raises(CapabilityError, match="removal='mask'"):
        limelight.explain(small_model(), TEXT, "lime-mean-field", removal="delete")
    with pytest.raises(CapabilityError, match="ratio game"):
        limelight.explain(Opaque(), TEXT, "lime-mean-field")


@pytest.mark.parametrize("dominant", [-1, 13, 1.5])
def test_bad_options_are_refused(dominant: Any) -> None:
    with pytest.raises(ParameterError, match="dominant"):
        limelight.explain(small_model(), TEXT, "lime-mean-field", dominant=dominant)
