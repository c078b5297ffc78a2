from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.contract import CHECKS, check_explainer
from limelight.explainers.method import _REGISTERED, Outcome, Request, find, method, methods

FEW = {"n_samples": 50}


def options_of(id: str) -> dict[str, Any]:
    return {name: value for name, value in FEW.items() if name in find(id).parameters}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("id", [info.id for info in methods()])
def test_every_method_keeps_the_contract(id: str, check: str) -> None:
    CHECKS[check](id, small_model(), options_of(id))


@pytest.mark.parametrize("id", [info.id for info in methods()])
def test_the_embedded_model_keeps_the_contract(id: str) -> None:
    check_explainer(id, limelight.load(), **options_of(id))


def _no_weights(request: Request) -> Outcome:
    return Outcome(np.zeros(1))


def _all_equal(request: Request) -> Outcome:
    return Outcome(np.ones(len(request.features)))


def _random(request: Request) -> Outcome:
    return Outcome(np.random.default_rng().random(len(request.features)))


def _meddling(request: Request) -> Outcome:
    request.model.W_e.data += 1
    return Outcome(np.ones(len(request.features)))


@pytest.mark.parametrize(
    ("broken", "promise"),
    [(_no_weights, "shape"), (_all_equal, "target"), (_random, "seed"), (_meddling, "changed the model")],
)
def test_the_contract_catches_broken_methods(broken: Any, promise: str) -> None:
    method("broken", label="broken", summary="", needs=("gradient",))(broken)
    methods.cache_clear()
    try:
        with pytest.raises(AssertionError, match=promise):
            check_explainer("broken", small_model())
    finally:
        del _REGISTERED["broken"]
        methods.cache_clear()
