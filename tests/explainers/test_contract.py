"""Every method keeps the contract, and the contract notices a method that does not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight import testing
from limelight.attribution.request import Request
from limelight.errors import CapabilityError
from limelight.explainers.method import (
    Bounded,
    Exact,
    Question,
    Sampled,
    Weights,
    find,
    forget,
    method,
    methods,
)
from limelight.explanation.result import Explanation
from limelight.models.interface import Differentiable
from limelight.testing import CHECKS, check_explainer

FEW = {"n_samples": 50}


def options_of(id: str) -> dict[str, Any]:
    return {
        name: value for name, value in FEW.items() if any(name in way.options for way in find(id).implementations[:1])
    }


@cache
def subject(id: str) -> Any:
    """A model that the method is for: limelight's own, or a small transformer."""
    model = small_model()
    if id in OF_OWN_MODELS:
        return model
    pytest.importorskip("transformers")
    from reference.small_transformers import small_transformer

    transformer, tokenizer = small_transformer("bert")
    return limelight.wrap(transformer.double(), tokenizer, truncate=True)


OF_OWN_MODELS = [one.id for one in Request().applicable(small_model().view("The film was great."))]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("id", [one.id for one in methods()])
def test_every_method_keeps_the_contract(id: str, check: str) -> None:
    CHECKS[check](id, subject(id), options_of(id))


@pytest.mark.parametrize("id", OF_OWN_MODELS)
def test_the_embedded_model_keeps_the_contract(id: str) -> None:
    check_explainer(id, limelight.load(), **options_of(id))


# ── broken methods, each in one way ───────────────────────────────────────────────────────────────────────────────────


def _fine(question: Question[Any]) -> Weights:
    """Nothing is wrong with it: what the broken ones are compared with."""
    gradients = question.view.gradients(question.direction)
    return Weights(question.per_feature(gradients.gradients.sum(axis=1), gradients.words), Exact(), 1)


def _no_weights(question: Question[Any]) -> Weights:
    return Weights(np.zeros(1), Exact())


def _all_equal(question: Question[Any]) -> Weights:
    return Weights(np.ones(len(question.features)), Exact())


def _random(question: Question[Any]) -> Weights:
    return Weights(np.random.default_rng().random(len(question.features)), Exact())


def _never_counted(question: Question[Any]) -> Weights:
    return replace(_fine(question), evaluations=2.5)  # type: ignore[arg-type]


def _counted_backwards(question: Question[Any]) -> Weights:
    return replace(_fine(question), evaluations=-1)


def _sampled_without_a_seed(question: Question[Any]) -> Weights:
    return replace(_fine(question), accuracy=Sampled(np.ones(len(question.features))))


def _boundless(question: Question[Any]) -> Weights:
    return replace(_fine(question), accuracy=Bounded(np.inf))


def _not_for_json(question: Question[Any]) -> Weights:
    return replace(_fine(question), diagnostics={"document": question.document})


def _deaf(question: Question[Any]) -> Weights:
    with contextlib.suppress(Exception):
        question.progress.begin("working", 1)
    return _fine(question)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_no_weights, "weights of shape"),
        (_all_equal, "the target makes no difference"),
        (_random, "the same seed gives other weights"),
        (_never_counted, "evaluations must be a whole number: got 2.5"),
        (_counted_backwards, "the model was asked -1 times"),
        (_sampled_without_a_seed, "standard errors belong to sampled methods"),
        (_boundless, "an error bound of inf"),
        (_deaf, "an exception of the progress was swallowed"),
    ],
)
def test_the_contract_catches_broken_methods(broken: Callable[..., Weights], promise: str) -> None:
    assert_caught(broken, promise)


def test_the_contract_accepts_a_method_that_keeps_it() -> None:
    with declared(_fine):
        check_explainer("broken", small_model())


def test_weights_below_zero_need_a_sign() -> None:
    assert_caught(_fine, "a weight below zero from a method without sign", signed=False)


def test_what_is_drawn_has_standard_errors() -> None:
    assert_caught(_random, "standard errors belong to sampled methods", uses=("seed",))


def test_a_method_that_changes_its_model_is_caught() -> None:
    model = small_model()

    def meddling(question: Question[Any]) -> Weights:
        with contextlib.suppress(StopIteration):
            next(model.parameters()).data.add_(1)
        return _fine(question)

    with declared(meddling), pytest.raises(AssertionError, match="explaining changed the model"):
        CHECKS["model left alone"]("broken", model, {})


def test_a_stopped_call_that_leaves_something_behind_is_caught() -> None:
    stops: list[int] = []

    def remembering(question: Question[Any]) -> Weights:
        weights = replace(_fine(question), evaluations=len(stops))
        try:
            question.progress.begin("working", 1)
        except Exception:
            stops.append(1)
            raise
        return weights

    with declared(remembering), pytest.raises(AssertionError, match="changes the next one"):
        CHECKS["cancelling"]("broken", small_model(), {})


def test_an_explanation_that_cannot_be_read_back_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    with declared(_not_for_json), pytest.raises(limelight.LimelightError, match=r"diagnostics\['document'\]"):
        check_explainer("broken", small_model())
    read = Explanation.from_dict
    monkeypatch.setattr(Explanation, "from_dict", lambda data: replace(read(data), label="other"))
    with pytest.raises(AssertionError, match="not the same when it is read back"):
        CHECKS["serialisation"]("gxi", small_model(), {})


def test_label_sign_and_seed_are_compared_with_what_was_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    def relabelled(*arguments: Any, **options: Any) -> Explanation:
        return replace(limelight.explain(*arguments, **options), label="G times I")

    monkeypatch.setattr(testing, "explain", relabelled)
    with pytest.raises(AssertionError, match=r"says \('G times I', signed=True\), its method \('G×I', signed=True\)"):
        CHECKS["what it says of itself"]("gxi", small_model(), {})


def test_a_method_that_does_not_apply_says_so() -> None:
    class Blind:
        labels = small_model().labels

        def view(self, text: str) -> Any:
            whole = small_model().view(text)
            known = ("document", "labels", "kind", "outputs", "logits")
            return type("Seen", (), {name: getattr(whole, name) for name in known})()

    with pytest.raises(CapabilityError, match="gxi"):
        check_explainer("gxi", Blind())  # type: ignore[arg-type]


@contextlib.contextmanager
def declared(run: Callable[..., Weights], signed: bool = True, uses: tuple[str, ...] = ()) -> Any:
    """Inside, the method "broken" is computed by `run`."""
    broken = method("broken", label="Broken", summary="", signed=signed)
    broken.implementation(Differentiable, uses=uses)(run)
    try:
        yield
    finally:
        forget("broken")


def assert_caught(run: Callable[..., Weights], promise: str, **how: Any) -> None:
    with declared(run, **how), pytest.raises(AssertionError, match=promise):
        check_explainer("broken", small_model())
