"""Integrated gradients: a Riemann sum, completeness, and what happens when it cannot be met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import limelight
from conftest import small_model
from limelight.errors import ExplanationWarning, ParameterError, UnknownNameError
from reference.small_transformers import FAMILIES, small_transformer

TEXT = "it's the film that was great but too long"
RIEMANN = 2e-4  # the midpoint sum's own error with this many steps
STEPS = 200


def transformer(family: str = "bert") -> Any:
    model, own = small_transformer(family)
    return limelight.wrap(model.double(), own)


def riemann(classifier: Any, text: str, baseline: str, output: str, target: int) -> np.ndarray:
    """Per word, from the model's own embedding table, one midpoint at a time."""
    view = classifier.view(text)
    (window,), document = view.windows, view.document
    model, own = classifier.model, classifier.tokenizer
    table, ids = model.get_input_embeddings(), torch.from_numpy(window.ids)[None]
    with torch.no_grad():
        vectors = table(ids)
        start = vectors.clone()
        token = own.mask_token_id if baseline == "mask" else own.pad_token_id
        replacement = torch.zeros_like(vectors[0, 0]) if baseline == "zero" else table(torch.tensor([token]))[0]
        start[:, sorted(set(window.positions.tolist()))] = replacement
    total = torch.zeros(vectors.shape[1], dtype=torch.float64)
    for k in range(STEPS):
        point = (start + (k + 0.5) / STEPS * (vectors - start)).requires_grad_()
        hook = table.register_forward_hook(lambda module, arguments, found, point=point: point)
        logits = model(input_ids=ids).logits[0]
        hook.remove()
        value = logits[target] if output == "logit" else logits.softmax(dim=0)[target]
        (gradient,) = torch.autograd.grad(value, point)
        total += (gradient * (vectors - start)).sum(dim=-1)[0] / STEPS
    per_word = np.zeros(len(document.words))
    for position, word, part in zip(window.positions, window.words, window.token_parts, strict=True):
        per_word[word] += part * float(total[position])
    return per_word


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize(("baseline", "output"), [("mask", "logit"), ("pad", "probability"), ("zero", "logit")])
def test_it_is_the_riemann_sum(family: str, baseline: str, output: Any) -> None:
    classifier = transformer(family)
    options: dict[str, Any] = {"baseline": baseline, "output": output, "target": "neutral", "tolerance": 1e-6}
    e = limelight.explain(classifier, TEXT, "integrated-gradients", features="occurrences", **options)
    expected = riemann(classifier, TEXT, baseline, output, 1)
    np.testing.assert_allclose(e.weights, expected, atol=RIEMANN * np.abs(expected).sum())
    assert np.abs(expected).max() > 10 * RIEMANN * np.abs(expected).sum()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_completeness_holds_to_the_tolerance_and_is_reported(family: str, output: Any) -> None:
    model, own = small_transformer(family)
    classifier = limelight.wrap(model, own)
    e = limelight.explain(classifier, TEXT, "integrated-gradients", output=output)
    found = e.diagnostics
    change = found["model_prediction"] - found["baseline_output"]
    assert found["completeness_error"] == pytest.approx(abs(e.weights.sum() - change), abs=1e-9)
    assert found["relative_error"] <= 1e-3
    assert found["steps"] >= 16
    position = list(classifier.labels).index(e.target)
    of = e.prediction.logits if output == "logit" else e.prediction.probabilities
    assert found["model_prediction"] == pytest.approx(of[position], abs=1e-4)
    (window,) = classifier.view(TEXT).windows
    ids = torch.from_numpy(window.ids)[None]
    ids[0, window.positions] = own.mask_token_id if own.mask_token_id is not None else own.unk_token_id
    with torch.no_grad():
        masked = model(input_ids=ids).logits
    if output == "logit":
        assert found["baseline_output"] == pytest.approx(float(masked[0, position]), abs=1e-4)


def test_steps_are_doubled_until_the_tolerance_is_met() -> None:
    classifier = transformer("distilbert")  # its masked baseline sits next to a kink of the layer normalisation
    steps = [
        limelight.explain(classifier, TEXT, "integrated-gradients", tolerance=tolerance).diagnostics["steps"]
        for tolerance in (0.5, 1e-3)
    ]
    assert steps[0] < steps[1]
    fixed = limelight.explain(classifier, TEXT, "integrated-gradients", steps=5, tolerance=1e-12)
    assert fixed.diagnostics["steps"] == 5
    with pytest.warns(
        ExplanationWarning, match=r"miss \S+ of what they should add up to, after 16 steps: raise max_st"
    ):
        unmet = limelight.explain(classifier, TEXT, "integrated-gradients", tolerance=1e-10, max_steps=16)
    assert unmet.diagnostics["relative_error"] > 1e-10


def test_the_papers_model_has_them_too() -> None:
    """Against autograd on its own reference forward, by a midpoint sum."""
    model = small_model()
    text = "the film was great but it is bad"
    e = limelight.explain(model, text, "integrated-gradients", target="neutral", features="occurrences", tolerance=1e-8)
    ids = model.encode_document(model.read(text))
    n = len(e)
    vectors, start = model.W_e.detach()[ids], model.W_e.detach()[ids].clone()
    start[1 : 1 + n] = model.W_e.detach()[model.vocabulary.unknown_id]
    total = np.zeros(n)
    for k in range(STEPS):
        point = (start + (k + 0.5) / STEPS * (vectors - start)).requires_grad_()
        x = point + model.W_p
        q, key, v = x @ model.W_q.mT, x @ model.W_k.mT, x @ model.W_v.mT
        alpha = (q[:, :1] @ key.mT / model.config.d_att**0.5).softmax(dim=-1)
        logits = torch.einsum("kco,ko->kc", model.W_l, (alpha @ v)[:, 0]).mean(dim=0)
        (gradient,) = torch.autograd.grad(logits[1], point)
        total += (gradient * (vectors - start)).sum(dim=-1)[1 : 1 + n].numpy() / STEPS
    np.testing.assert_allclose(e.weights, total, atol=RIEMANN * np.abs(total).sum())
    masked = model.predict_logits([" ".join(["[UNK]"] * n)])[0, 1]
    assert e.weights.sum() == pytest.approx(e.prediction.logits[1] - masked, abs=1e-7)
    with pytest.raises(UnknownNameError, match="baseline"):
        limelight.explain(model, text, "integrated-gradients", baseline="pad")


def test_a_text_that_is_its_own_baseline_has_no_weights() -> None:
    model, own = small_transformer("bert")
    e = limelight.explain(limelight.wrap(model, own), "[MASK] [MASK]", "integrated-gradients")
    np.testing.assert_allclose(e.weights, 0, atol=1e-6)


@pytest.mark.parametrize("wrong", [{"tolerance": 0}, {"tolerance": float("nan")}, {"steps": 0}, {"max_steps": 2.5}])
def test_bad_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        limelight.explain(transformer(), TEXT, "integrated-gradients", **wrong)
    with pytest.raises(UnknownNameError, match="did you mean 'mask'"):
        limelight.explain(transformer(), TEXT, "integrated-gradients", baseline="masks")
