"""Numbers stay: what version 0.1.0 answered (results-0.1.json, written by record.py) is answered again, the same."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from record import ATTENTION, METHODS, REMOVING, answer, deep_model, huggingface_model

import limelight

RESULTS = json.loads(Path(__file__).with_name("results-0.1.json").read_text(encoding="utf-8"))["results"]
MODELS = {"embedded": limelight.load, "deep": deep_model, "bert": huggingface_model}
PAIRS = list(dict.fromkeys((result["model"], result["method"]) for result in RESULTS))
# Nothing but the order of sums in float64 may differ.
EXACT = 1e-12
# Means over all coalitions are computed to a relative 1e-11 of the outputs, and state so; their quadrature is another
# one since 0.2, so both answers are off by that, differently.
QUADRATURE = ("lime-limit", "shapley", "banzhaf")
BOUNDED = 2e-11
# Of the largest weight: samples are drawn as before, bit for bit, but a regression magnifies the rounding of its sums.
SAMPLED = 1e-11
DRAWN = 64 * float(np.finfo(np.float32).eps)
"""Of the deep model's numbers, where torch computes without AVX2: its weights are drawn as normal numbers in float32,
whose logarithms and cosines differ in the last bit there. About twelve products follow each other in two layers, each
of vectors up to five times as long as what they move."""
ALIKE = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
"""Whether weights are drawn as they were for the recorded results."""
LOGITS = 64 * float(np.finfo(np.float32).eps)
"""Rounding of the embedded model's prediction, in units of its largest logit: it is computed in float32, which each
processor rounds otherwise. Weights come from tables in float64, and are the same."""
WIDER = 1.35
"""Standard errors of 300 samples or so, at most."""


@cache
def model_called(name: str) -> Any:
    if name == "bert":
        pytest.importorskip("transformers")
    return MODELS[name]()


def takes_long(result: dict[str, Any]) -> bool:
    """5,000 samples of a deep model; the same question with 300 is in the file too."""
    return result["model"] != "embedded" and result["method"] == "shapley" and "n_samples" not in result["arguments"]


AS_IN_0_1 = {"lime": {"sampling": "official"}, "shapley": {"estimator": "permutations"}}
"""What gives the draws of 0.1; exact ways have no such option."""


@pytest.mark.parametrize(("name", "method"), PAIRS, ids=map("-".join, PAIRS))
def test_every_answer_is_still_given_and_the_same(name: str, method: str) -> None:
    model = model_called(name)
    for result in RESULTS:
        if (result["model"], result["method"]) != (name, method) or takes_long(result):
            continue
        answers = answer(model, method, {**result["arguments"], **AS_IN_0_1.get(method, {})})
        answers = answers or answer(model, method, result["arguments"])
        asked = f"{name} {method} {result['arguments']}"
        assert answers is not None, f"no answer any more: {asked}"
        for new, old in zip(answers, result["answers"], strict=True):
            drawn = 0.0 if ALIKE or name != "deep" else DRAWN
            rounded = LOGITS if name == "embedded" else drawn
            if result["arguments"]["output"] == "probability":  # its slope is taken at the prediction
                drawn = rounded
            assert_same(new, old, asked, BOUNDED if method in QUADRATURE else EXACT, drawn, rounded)


def assert_same(
    new: dict[str, Any], old: dict[str, Any], asked: str, exact: float, drawn: float, rounded: float
) -> None:
    if new["exact"] and old["stderr"] is not None:  # sampled in 0.1, and exact since words that are deleted are
        assert new["features"] == old["features"], asked
        off = np.abs(np.array(new["weights"]) - old["weights"]) / np.maximum(old["stderr"], EXACT)
        assert off.max() < 5, asked
        return
    assert (new["features"], new["exact"]) == (old["features"], old["exact"]), asked
    np.testing.assert_allclose(
        new["logits"], old["logits"], rtol=0, atol=EXACT + rounded * np.abs(old["logits"]).max(), err_msg=asked
    )
    largest = np.abs(old["weights"]).max()
    tolerance = (exact if old["stderr"] is None else SAMPLED * largest) + drawn * largest
    np.testing.assert_allclose(new["weights"], old["weights"], rtol=0, atol=tolerance, err_msg=asked)
    assert (new["stderr"] is None) == (old["stderr"] is None), asked
    if old["stderr"] is not None:
        # They are widened where samples are few, as their own error has its part in an interval since 0.2.
        wider = (np.array(new["stderr"]) + tolerance) / (np.array(old["stderr"]) + tolerance)
        assert ((wider > 1.0 - 1e-6 - drawn) & (wider < WIDER)).all(), asked
    assert set(new["diagnostics"]) >= set(old["diagnostics"]), asked
    for name, value in old["diagnostics"].items():
        assert new["diagnostics"][name] == pytest.approx(value, rel=SAMPLED + drawn, abs=exact), f"{name}: {asked}"


def test_the_file_covers_every_method_removal_and_kind_of_features() -> None:
    compared = [result for result in RESULTS if not takes_long(result)]
    asked = {(one["method"], one["arguments"]["features"], one["arguments"]["removal"]) for one in compared}
    for features in ("words", "occurrences"):
        assert {(method, features, "mask") for method in METHODS} <= asked
        for removal in ("delete", "attention"):
            assert {(method, features, removal) for method in ("leave-one-out", "lime", "shapley")} <= asked
    assert {one["method"] for one in compared if one["arguments"]["output"] == "probability"} >= {
        method for method in METHODS if method not in (*ATTENTION, *REMOVING)
    } | {"leave-one-out", "lime", "shapley"}
    assert len(compared) > 200
