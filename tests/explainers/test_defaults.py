"""What is compared where no method is named, and how often a model is really run for it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import limelight
from conftest import small_model
from limelight.errors import CapabilityError
from limelight.explainers import lime_on_device
from limelight.explainers.method import FIGURE_1, Question
from limelight.inputs.features import features_of
from limelight.models.outputs import Quantity
from limelight.models.words.classifier import Vocabulary
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig
from reference.opaque import Opaque
from reference.small_transformers import small_transformer

TEXT = "the film was great but it is too long"
OTHERS = ["lime", "shapley", "leave-one-out"]
OF_GRADIENTS = ["integrated-gradients", "deepshap", "decomposition"]
FEW = {"n_samples": 60}


def deep_model() -> TransformerClassifier:
    config = TransformerConfig(T_max=16, d_e=8, d_att=4, d_out=4, K=2, layers=2)
    model = TransformerClassifier(config, Vocabulary(TEXT.split()), ("bad", "good"))
    model.initialise(0, embedding=1.0, heads=1.0)
    return model


def function(texts: list[str]) -> np.ndarray:
    p = np.array([0.2 + 0.6 * ("great" in text) for text in texts])
    return np.stack([1 - p, p], axis=1)


def shown(model: Any, **arguments: Any) -> list[str]:
    return [e.method for e in limelight.compare(model, TEXT, **arguments)]


def test_our_own_models_show_figure_1_and_exact_values() -> None:
    assert shown(small_model()) == [*FIGURE_1, "lime-limit", "shapley"]
    assert shown(small_model(), removal="delete") == [*FIGURE_1, "lime-limit", "shapley"]
    assert shown(small_model(), output="probability") == [*FIGURE_1]
    assert shown(deep_model(), **FEW) == [*FIGURE_1]


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_hugging_face_shows_what_there_is_of_seven(family: str) -> None:
    model = limelight.wrap(*small_transformer(family))
    assert shown(model, **FEW) == [*OTHERS, *OF_GRADIENTS, "alpha-avg"]
    assert shown(model, removal="delete", output="probability", **FEW) == [*OTHERS, *OF_GRADIENTS, "alpha-avg"]


def test_functions_show_what_can_be_asked() -> None:
    assert shown(limelight.wrap(function), **FEW) == OTHERS
    assert shown(Opaque(), **FEW) == OTHERS


def test_a_default_that_a_model_turns_out_not_to_have_is_left_out() -> None:
    """Attention that is not returned: the model says so only when it is asked."""
    model, own = small_transformer("bert")

    def silent(module: Any, arguments: Any, named: dict[str, Any]) -> tuple[Any, Any]:
        return arguments, {**named, "output_attentions": False}

    model.register_forward_pre_hook(silent, with_kwargs=True)
    classifier = limelight.wrap(model, own)
    assert shown(classifier, **FEW) == [*OTHERS, *OF_GRADIENTS]
    with pytest.raises(CapabilityError, match="returned no attentions"):
        limelight.compare(classifier, TEXT, ["lime", "alpha-avg"], **FEW)


def test_a_tokenizer_without_a_mask_has_no_masked_baseline() -> None:
    model, own = small_transformer("bert")
    without = copy.deepcopy(own)
    without.mask_token = without.unk_token = None
    classifier = limelight.wrap(model, without)
    assert shown(classifier, removal="delete", **FEW) == [*OTHERS, "decomposition", "alpha-avg"]
    with pytest.raises(CapabilityError, match="use baseline='pad' or baseline='zero'"):
        limelight.explain(classifier, TEXT, "integrated-gradients", removal="delete")


# ── how often the model was asked ─────────────────────────────────────────────────────────────────────────────────────


class Counted:
    """A Hugging Face classifier that counts the inputs of its forwards, whoever runs them."""

    def __init__(self, family: str = "bert", **options: Any) -> None:
        model, own = small_transformer(family)
        self.classifier = limelight.wrap(model, own, **options)
        self.inputs = 0
        model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, module: Any, arguments: Any, named: dict[str, Any]) -> None:
        given = named.get("input_ids")
        self.inputs += len(named["inputs_embeds"] if given is None else given)

    def asked(self, method: str, text: str, **arguments: Any) -> tuple[int, int]:
        """What an explanation says, and what was counted beyond the prediction itself."""
        self.classifier.view(text).logits  # noqa: B018 - asked in company first, as wide as this text is
        self.inputs = 0
        self.classifier.view(text).logits  # noqa: B018
        predicting, self.inputs = self.inputs, 0
        e = limelight.explain(self.classifier, text, method, **arguments)
        assert e.evaluations is not None
        return e.evaluations, self.inputs - predicting


WAYS = {
    "lime": FEW,
    "shapley": FEW,
    "leave-one-out": {},
    "integrated-gradients": {},
    "gxi": {},
    "g-avg": {},
    "alpha-avg": {},
    "rollout": {},
    "deepshap": {},
    "chefer": {},
}


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_evaluations_are_what_a_transformer_was_given(method: str, removal: Any) -> None:
    said, counted = Counted().asked(method, TEXT, removal=removal, **WAYS[method])
    assert said == counted > 0


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_windows_are_inputs_of_their_own(method: str, output: Any) -> None:
    long = " ".join([TEXT] * 8)
    said, counted = Counted(window=True).asked(method, long, output=output, **WAYS[method])
    assert said == counted > 1


def test_all_labels_take_one_run() -> None:
    model = Counted()
    model.classifier.view(TEXT).logits  # noqa: B018
    model.inputs = 0
    compared = limelight.explain(model.classifier, TEXT, "shapley", target="all", **FEW)
    assert {e.evaluations for e in compared} == {model.inputs - 1}  # the prediction is one more


@pytest.mark.parametrize("method", OTHERS)
def test_evaluations_are_what_a_function_was_given(method: str) -> None:
    given: list[str] = []

    def counting(texts: list[str]) -> np.ndarray:
        given.extend(texts)
        return function(texts)

    model = limelight.wrap(counting, labels=["bad", "good"])
    e = limelight.explain(model, TEXT, method, **({} if method == "leave-one-out" else FEW))
    assert e.evaluations == len(given) - 1  # the prediction is one more


@pytest.mark.parametrize("method", [*OTHERS, "gxi", "g-l1", "alpha-max", "rollout"])
def test_evaluations_are_what_a_deep_model_of_ours_was_given(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = deep_model(), [0]
    run = model.logits_of_states

    def counting(states: Any) -> Any:
        rows[0] += len(states)
        return run(states)

    monkeypatch.setattr(model, "logits_of_states", counting)
    predicting = 1
    e = limelight.explain(model, TEXT, method, **(FEW if method in ("lime", "shapley") else {}))
    if method in ("alpha-max", "rollout"):  # another way through the layers, which this does not count
        assert e.evaluations == 1
    else:
        assert e.evaluations == rows[0] - predicting


@pytest.mark.parametrize("original_first", [True, False])
def test_lime_on_a_device_asks_of_the_document_once(original_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, rows = lime_on_device._outputs, [0]

    def counting(question: Any, kept: Any, removal: Any) -> Any:
        rows[0] += len(kept)
        return answer(question, kept, removal)

    monkeypatch.setattr(lime_on_device, "_outputs", counting)
    settings = lime_on_device.LimeSettings(n_samples=60, original_first=original_first)
    model = small_model()
    view = model.view(TEXT)
    asked = Question(view, view.document, features_of(view.document, "words", "both"), Quantity(3, 1), view.logits)
    samples = lime_on_device.draw_and_ask(asked, 0, ("mask",), settings, 1, torch.device("cpu"))
    assert rows[0] == 60 + (not original_first)
    assert samples.outputs.shape == (1, 60, 1)
    assert float(samples.of_document[0]) == pytest.approx(model.predict_logits([TEXT])[0, 1], abs=1e-5)


@pytest.mark.parametrize("method", ["lime-limit", "shapley", "banzhaf", "gxi", "alpha-avg", "rollout", "lime-theorem"])
def test_closed_forms_ask_nothing(method: str) -> None:
    assert limelight.explain(small_model(), TEXT, method).evaluations == 0


def test_the_defaults_stay_within_the_forwards_that_are_stated() -> None:
    """compare()'s docstring: 5,000 each for LIME and Shapley, one per word and the text, integrated gradients, one."""
    model = Counted("distilbert")  # integrated gradients of which take many steps
    limelight.explain(model.classifier, TEXT, "decomposition")  # asks once whether its rules cover the model
    model.inputs = 0
    compared = limelight.compare(model.classifier, TEXT)
    asked = {e.method: e.evaluations for e in compared}
    assert model.inputs == 1 + sum(asked.values())
    assert asked["integrated-gradients"] <= 2034
    assert asked["leave-one-out"] == len(compared.features) + 1
    assert asked["lime"] <= 5000
    assert asked["shapley"] <= 5000 * 1.05
    assert asked["alpha-avg"] == 1
    assert all(number in limelight.compare.__doc__ for number in ("10,000 times", "5,000 times each", "2,034 at most"))
