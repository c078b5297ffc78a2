"""Attention rollout against whole matrix products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import limelight
from conftest import small_model
from limelight.errors import CapabilityError
from limelight.explainers.rollout import rolled_out
from reference.sampling_and_paths import rollout_matrices
from reference.small_transformers import FAMILIES, small_transformer

TEXT = 'It\'s "great", but the film is far too long.'
SAME = 1e-9


@settings(max_examples=40, deadline=None)
@given(layers=st.integers(1, 4), heads=st.integers(1, 3), T=st.integers(1, 8), seed=st.integers(0, 99))
def test_a_row_is_that_of_the_matrices(layers: int, heads: int, T: int, seed: int) -> None:
    attention = np.random.default_rng(seed).dirichlet(np.ones(T), size=(layers, heads, T))
    rolled = rollout_matrices(attention)
    for reader in range(T):
        np.testing.assert_allclose(rolled_out(attention, reader), rolled[reader], atol=SAME)
    np.testing.assert_allclose(rolled.sum(axis=1), 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_words_have_what_their_tokens_have(family: str) -> None:
    model, own = small_transformer(family)
    classifier = limelight.wrap(model, own)
    document = classifier.read(TEXT)
    (layers,) = classifier.attention_layers(document)
    assert own.convert_ids_to_tokens(document.windows[0].ids)[layers.reader] == own.cls_token
    row = rollout_matrices(layers.weights)[layers.reader]
    expected = np.zeros(len(document.words))
    for position, word, share in zip(layers.positions, layers.words, layers.shares, strict=True):
        expected[word] += share * row[position]
    e = limelight.explain(classifier, TEXT, "rollout", features="occurrences")
    np.testing.assert_allclose(e.weights, expected, atol=SAME)
    assert 0 < e.weights.sum() < 1
    assert e.exact


def test_one_layer_has_half_of_its_attention() -> None:
    model = small_model()
    rollout = limelight.explain(model, TEXT, "rollout")
    np.testing.assert_allclose(rollout.weights, limelight.explain(model, TEXT, "alpha-avg").weights / 2, atol=SAME)
    full = model.reference(model.encode_document(model.read(TEXT))).attention.detach().numpy()
    words = slice(1, 1 + len(model.read(TEXT).words))
    occurrences = limelight.explain(model, TEXT, "rollout", features="occurrences").weights
    np.testing.assert_allclose(occurrences, rollout_matrices(full[None])[0, words], atol=SAME)


def test_a_model_without_all_layers_is_refused() -> None:
    class OneAttention:
        def __init__(self) -> None:
            inner = small_model()
            self.labels, self.read, self.attentions = inner.labels, inner.read, inner.attentions
            self.predict_logits, self.predict_proba = inner.predict_logits, inner.predict_proba

    with pytest.raises(CapabilityError, match="needs attention layers"):
        limelight.explain(OneAttention(), TEXT, "rollout")  # type: ignore[arg-type]
