from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import small_model
from limelight.errors import InputError, ParameterError
from limelight.inputs.features import features_of
from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.classifier import Vocabulary
from reference.attention_model import gradient_by_autograd, logits_by_loops, perturbed_logits

FLOAT64 = 1e-10  # the bound for folded against reference in float64
FLOAT32 = 1e-5
TEXTS = ["The film was GREAT, but too long!", "bad bad bad", "xyzzy unknown", "", "good " * 60, "it's a café 我"]


def test_reference_folded_and_loops_agree(model: AttentionClassifier) -> None:
    ids = model.encode(TEXTS)
    folded = model(ids).detach().numpy()
    reference = torch.stack([model.reference(row).logits for row in ids]).detach().numpy()
    loops = np.stack([logits_by_loops(model, row.tolist()) for row in ids])
    np.testing.assert_allclose(folded, reference, rtol=0, atol=FLOAT64)
    np.testing.assert_allclose(reference, loops, rtol=0, atol=FLOAT64)
    np.testing.assert_allclose(model.predict_logits(TEXTS), loops, rtol=0, atol=FLOAT64)


def test_folded_equals_reference_in_float32() -> None:
    config = AttentionConfig()
    model = AttentionClassifier(config, Vocabulary(["the", "film", "was", "great", "but", "bad"]), ("no", "yes"))
    model.initialise(3)
    ids = model.encode(["the film was great", "bad " * 300])
    reference = torch.stack([model.reference(row).logits for row in ids])
    assert torch.allclose(model(ids), reference, rtol=0, atol=FLOAT32)


def test_attention_matrices_are_those_of_every_query(model: AttentionClassifier) -> None:
    forward = model.reference(model.encode(["the film was great"])[0])
    assert forward.attention.shape == (3, 24, 24)
    torch.testing.assert_close(forward.attention.sum(dim=-1), torch.ones(3, 24, dtype=torch.float64))
    (seen,) = model.view("the film was great").attentions()
    np.testing.assert_allclose(seen.weights[0], forward.attention[:, 0, 1:5].detach().numpy(), rtol=1e-12)


def test_encoding_starts_with_cls_and_pads_with_unknown(model: AttentionClassifier) -> None:
    ids = model.encode(["the [UNK] nonsense film", ""]).tolist()
    the, film = model.vocabulary.ids(["the", "film"])
    assert ids[0][:6] == [0, the, 1, 1, film, 1]
    assert ids[1] == [0] + [1] * 23
    assert model.encode(["film " * 99]).shape == (1, 24)


def test_probabilities_are_rows_of_a_softmax(model: AttentionClassifier) -> None:
    proba, logits = model.predict_proba(TEXTS), model.predict_logits(TEXTS)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.log(proba[:, 0] / proba[:, 2]), logits[:, 0] - logits[:, 2], rtol=1e-9)
    assert model.predict_proba([]).shape == (0, 3)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_perturbations_equal_forwards_of_rebuilt_texts(data: st.DataObject) -> None:
    model = small_model(data.draw(st.integers(0, 5)))
    words = st.sampled_from(["the", "film", "Great", "bad", "zzz", "'", "!", "我", "<br />", "[UNK]"])
    text = " ".join(data.draw(st.lists(words, min_size=1, max_size=30))) + " end"
    document = model.read(text)
    features = features_of(document, data.draw(st.sampled_from(["words", "occurrences"])))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    kept = rng.random((5, len(features))) < data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    shown = document.text[: document.words[-1].end]  # what lies beyond the cut would move in when words are deleted
    view = model.view(shown)
    for removal in ("mask", "delete"):
        ours = view.game(features, removal)(kept)
        np.testing.assert_allclose(
            ours, perturbed_logits(model, view.document, features, kept, removal), rtol=0, atol=FLOAT64
        )


def test_deletion_works_in_blocks(model: AttentionClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    view = model.view("the film was great")
    features = features_of(view.document, "words")
    kept = np.random.default_rng(0).random((23, 4)) < 0.5
    whole = view.game(features, "delete")(kept)
    monkeypatch.setattr("limelight.theory.deletion.ROWS_AT_ONCE", 5)
    np.testing.assert_array_equal(view.game(features, "delete")(kept), whole)
    np.testing.assert_array_equal(view.deletion_tables().logits(torch.from_numpy(kept)).numpy(), whole)
    assert view.game(features, "delete")(kept[:0]).shape == (0, 3)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_gradients_equal_autograd(model: AttentionClassifier, target: int) -> None:
    view = model.view("the film was not very good, it's bad bad zzz")
    document = view.document
    ours = view.gradients(np.eye(3)[target])
    np.testing.assert_allclose(ours.gradients, gradient_by_autograd(model, document, target), rtol=0, atol=1e-12)
    forward = model.reference(model.encode_document(document))
    np.testing.assert_allclose(ours.embeddings, forward.e[1 : 1 + len(document.words)].detach().numpy(), rtol=1e-14)


def test_bad_calls_say_what_to_do(model: AttentionClassifier) -> None:
    with pytest.raises(InputError, match="list of texts"):
        model.predict_logits("one text")
    with pytest.raises(ParameterError, match="even"):
        AttentionConfig(d_e=7)
    with pytest.raises(ParameterError, match="K must be"):
        AttentionConfig(K=0)
    with pytest.raises(ParameterError, match="two labels"):
        AttentionClassifier(AttentionConfig(), Vocabulary([]), ["only"])
