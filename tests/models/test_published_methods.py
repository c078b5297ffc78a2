"""AttnLRP and decomposition beside what their authors' code gives; benchmarks/one_pass_parity.py made the numbers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import limelight
from limelight.models.propagation.rules import Decomposition
from limelight.models.propagation.steps import Propagating

transformers = pytest.importorskip("transformers")
from reference import published_models as published  # noqa: E402
from reference.small_architectures import word_pieces  # noqa: E402

NUMBERS = json.loads((Path(__file__).parents[1] / "reference" / "published_methods.json").read_text("utf-8"))


@cache
def built(name: str) -> Any:
    family = name.removesuffix("_without_tables")
    kind = {"bert": "Bert", "gpt2": "GPT2", "llama": "Llama"}[family]
    configuration = getattr(transformers, f"{kind}Config")(**published.CONFIGURATIONS[family])
    model = getattr(transformers, f"{kind}ForSequenceClassification")(configuration).double().eval()
    published.draw(model)
    if name == "bert_without_tables":
        published.silence_tables(model)
    return model


def words(name: str, method: str, theirs: dict[str, Any]) -> np.ndarray:
    """The weights of the words, from the same logits."""
    model = limelight.wrap(built(name), word_pieces())
    e = limelight.explain(model, published.TEXT, method, target=model.labels[published.LABEL])
    np.testing.assert_allclose(e.prediction.logits, theirs["logits"], rtol=0, atol=1e-6)
    return e.weights


def test_the_text_is_read_as_the_numbers_were_made() -> None:
    assert tuple(word_pieces()(published.TEXT)["input_ids"]) == published.IDS


@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize(("made", "precision"), [("attnlrp", 1e-6), ("attnlrp_exact", 1e-12)])
def test_attnlrp_is_that_of_lxt(name: str, made: str, precision: float) -> None:
    """As released, lxt computes RMS norms in float32 and adds 1e-10 to what it divides by."""
    theirs = NUMBERS[made][name]
    largest = np.abs(theirs["weights"]).max()
    ours = words(name, "attnlrp", theirs)
    np.testing.assert_allclose(ours, theirs["weights"][1:-1], rtol=0, atol=precision * largest)


def test_decomposition_is_decompx_where_nothing_is_added_to_the_vectors_of_words() -> None:
    theirs = NUMBERS["decompx"]["bert_without_tables"]
    ours = words("bert_without_tables", "decomposition", theirs)
    np.testing.assert_allclose(ours, theirs["weights"][1:-1], rtol=0, atol=1e-10)


def test_decompx_counts_positions_types_and_two_biases_with_the_token_that_they_are_added_to() -> None:
    """DecompX starts from the states that the first layer reads, and gives a token the first layer's value bias."""
    model, theirs = built("bert"), NUMBERS["decompx"]["bert"]
    value = model.bert.encoder.layer[0].attention.self.value
    with torch.no_grad():
        states = model.bert.embeddings(torch.tensor([published.IDS]))
    states.requires_grad_()
    moved = torch.zeros_like(states, requires_grad=True)
    adding = value.register_forward_hook(lambda _, __, output: output + moved)
    model.requires_grad_(False)
    try:
        with Propagating(Decomposition()):
            logits = model.classifier(model.bert.pooler(model.bert.encoder(states).last_hidden_state))
    finally:
        adding.remove()
    of_states, of_values = torch.autograd.grad(logits[0, published.LABEL], [states, moved])
    weights = (states * of_states).sum(dim=-1) + (value.bias * of_values).sum(dim=-1)
    np.testing.assert_allclose(weights[0].detach().numpy(), theirs["weights"], rtol=0, atol=1e-10)
    ours = words("bert", "decomposition", theirs)
    assert np.abs(ours - theirs["weights"][1:-1]).max() > 0.01
