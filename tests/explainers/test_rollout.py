"""Attention rollout against whole matrix products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import limelight
from conftest import small_model
from limelight.errors import CapabilityError
from limelight.explainers.attention import rolled_out
from reference.sampling_and_paths import rollout_matrices
from reference.small_transformers import FAMILIES, small_transformer

TEXT = 'It\'s "great", but the film is far too long.'
SAME = 1e-9
TWO_FORWARDS = 16 * float(np.finfo(np.float32).eps)
"""Of attention from two forwards on one text: sums over some 16 tokens in float32. The last bit of one differed where
MKL and torch computed as processors without AVX2 do."""


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
    view = classifier.view(TEXT)
    (layers,) = view.attention_layers()
    assert own.convert_ids_to_tokens(view.windows[0].ids)[layers.reader] == own.cls_token
    row = rollout_matrices(layers.weights)[layers.reader]
    expected = np.zeros(len(view.document.words))
    for position, word, part in zip(layers.positions, layers.words, layers.token_parts, strict=True):
        expected[word] += part * row[position]
    e = limelight.explain(classifier, TEXT, "rollout", features="occurrences")
    np.testing.assert_allclose(e.weights, expected, rtol=TWO_FORWARDS, atol=SAME)
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


def test_a_model_without_attention_is_refused() -> None:
    with pytest.raises(CapabilityError, match="needs attention layers or attention of a model"):
        limelight.explain(limelight.wrap(lambda texts: [[0.5, 0.5]] * len(texts)), TEXT, "rollout")
