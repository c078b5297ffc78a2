"""The general transformer: equal to loops under every option, perturbed as rebuilt texts are, true to the contract."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import limelight
from conftest import WORDS
from limelight.attribution.request import Request
from limelight.errors import CapabilityError, InputError, LimelightError, ParameterError
from limelight.explainers.method import find, methods
from limelight.inputs.features import features_of
from limelight.models.words.classifier import Vocabulary
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig, _attend, _softmax_of_scores
from limelight.testing import CHECKS
from reference.attention_model import perturbed_text
from reference.transformer_model import forward_by_loops, states_of

FLOAT64 = 1e-11  # two orders of additions in float64, through three layers
FLOAT32 = 2e-5
DIFFERENCE = 1e-7  # of central differences with a step of 1e-5
LABELS = ("negative", "neutral", "positive")
SMALL = TransformerConfig(T_max=16, d_e=8, d_att=3, d_out=5, K=2, layers=3, d_mlp=7)
TEXTS = ["The film was GREAT, but too long!", "bad bad bad", "xyzzy unknown", "", "good " * 60]


def transformer(seed: int = 0, **options: Any) -> TransformerClassifier:
    """Float64, and weights large enough for attention far from uniform; norms and biases away from where they start."""
    config = TransformerConfig(**{**vars(SMALL), **options})
    model = TransformerClassifier(config, Vocabulary(WORDS), LABELS).double()
    model.initialise(seed, embedding=1.0, heads=0.8)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1:
                weight += 0.3 * torch.randn(weight.shape, generator=generator, dtype=torch.float64)
    return model.eval()


# ── the forward ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("residual", "layer_norm", "mlp"), list(itertools.product([True, False], [True, False], ["none", "relu", "gelu"]))
)
def test_logits_and_attention_equal_loops(residual: bool, layer_norm: bool, mlp: str) -> None:
    model = transformer(residual=residual, layer_norm=layer_norm, mlp=mlp)
    document = model.read("the film was not very good")
    loops, attention = forward_by_loops(model, states_of(model, model.encode_document(document).tolist()))
    np.testing.assert_allclose(model.predict_logits([document.text])[0], loops, rtol=0, atol=FLOAT64)
    view = model.view(document.text)
    (layers,) = view.attention_layers()
    ours = layers.weights
    assert ours.shape == (3, 2, 16, 16)
    np.testing.assert_allclose(ours, attention, rtol=0, atol=FLOAT64)
    np.testing.assert_array_equal(view.attentions()[0].weights, ours[:, :, 0, 1:7])
    first = limelight.explain(model, document.text, "alpha-avg", features="occurrences", layer=0)
    np.testing.assert_allclose(first.weights, ours[0, :, 0, 1:7].mean(axis=0), rtol=1e-12)
    assert np.ptp(ours[0], axis=-1).max() > 0.2  # far from uniform


def test_options_change_the_logits() -> None:
    variants = [
        {},
        {"residual": False},
        {"layer_norm": False},
        {"mlp": "none"},
        {"mlp": "gelu"},
        {"layers": 2},
        {"K": 1},
    ]
    found = {tuple(transformer(**options).predict_logits(TEXTS[:1])[0].round(9)) for options in variants}
    assert len(found) == len(variants)


def test_plain_softmax_equals_the_fused_kernel() -> None:
    q, k, v = torch.randn(3, 2, 4, 16, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(_softmax_of_scores(q, k) @ v, _attend(q, k, v), rtol=0, atol=FLOAT64)


def test_rows_of_the_table_give_the_same_logits() -> None:
    model = transformer()
    ids = model.encode(TEXTS)
    rows, slots = model.distinct_rows(ids)
    assert len(rows) < len(model.vocabulary)
    torch.testing.assert_close(model.logits_of_rows(model.W_e[rows], slots), model(ids), rtol=0, atol=0)


def test_float32_is_close_to_float64() -> None:
    double = transformer(layers=6)
    single = TransformerClassifier(double.config, double.vocabulary, LABELS)
    single.load_state_dict(double.state_dict())
    np.testing.assert_allclose(single.predict_logits(TEXTS), double.predict_logits(TEXTS), rtol=0, atol=FLOAT32)


def test_texts_are_predicted_alike_alone_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = transformer()
    whole = model.predict_logits(TEXTS)
    view = model.view(TEXTS[0])
    features, kept = features_of(view.document, "words"), np.random.default_rng(0).random((9, 9)) < 0.5
    perturbed = view.game(features, "delete")(kept)
    monkeypatch.setattr("limelight.models.words.transformer._TOKENS_AT_ONCE", {"cpu": 40})
    assert model.documents_at_once == 2
    np.testing.assert_allclose(model.predict_logits(TEXTS), whole, rtol=0, atol=FLOAT64)
    np.testing.assert_allclose(view.game(features, "delete")(kept), perturbed, rtol=0, atol=FLOAT64)
    assert view.game(features, "mask")(kept[:0]).shape == (0, 3)
    assert model.predict_proba([]).shape == (0, 3)


def test_initial_weights_follow_the_seed_and_the_scales() -> None:
    first, again, other = (TransformerClassifier(SMALL, Vocabulary(WORDS), LABELS) for _ in range(3))
    for model, seed in ((first, 0), (again, 0), (other, 1)):
        model.initialise(seed, embedding=2.0, heads=0.5)
    assert torch.equal(first.W_l, again.W_l)
    assert not torch.equal(first.W_l, other.W_l)
    assert first.W_e.std().item() == pytest.approx(2.0, rel=0.2)
    assert 0.4 < first.layers[1].W_q.abs().max().item() <= 0.5
    assert first.layers[1].W_o.abs().max().item() <= 0.5 / 6**0.5
    assert (first.layers[0].norm.weight == 1).all()
    assert (first.layers[0].b_1 == 0).all()


# ── what methods ask for ──────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_perturbations_equal_predictions_of_rebuilt_texts(data: st.DataObject) -> None:
    model = transformer(data.draw(st.integers(0, 3)))
    words = st.sampled_from(["the", "film", "Great", "bad", "zzz", "'", "!", "我", "<br />", "[UNK]"])
    text = " ".join(data.draw(st.lists(words, min_size=1, max_size=20))) + " end"
    cut = model.read(text)
    view = model.view(text[: cut.words[-1].end])  # what lies beyond would move in when words are deleted
    document = view.document
    features = features_of(document, data.draw(st.sampled_from(["words", "occurrences"])))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    kept = rng.random((5, len(features))) < data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    for removal in ("mask", "delete"):
        rebuilt = model.predict_logits([perturbed_text(document, features, z, removal) for z in kept])
        np.testing.assert_allclose(view.game(features, removal)(kept), rebuilt, rtol=0, atol=FLOAT64, err_msg=removal)


@pytest.mark.parametrize("options", [{"mlp": "gelu"}, {"layer_norm": False, "mlp": "none"}, {"residual": False}])
def test_gradients_equal_finite_differences(options: dict[str, Any]) -> None:
    model = transformer(**{"layers": 2, **options})
    document = model.read("the film was bad bad zzz")
    direction = np.array([0.3, -1.0, 0.5])
    ours = model.view(document.text).gradients(direction)
    e = states_of(model, model.encode_document(document).tolist())
    np.testing.assert_allclose(ours.embeddings, e[1:7], rtol=1e-14)
    step = 1e-5
    for t, coordinate in itertools.product((1, 4, 6), (0, 5)):
        sides = []
        for sign in (1, -1):
            moved = e.copy()
            moved[t, coordinate] += sign * step
            sides.append(forward_by_loops(model, moved)[0] @ direction)
        numeric = (sides[0] - sides[1]) / (2 * step)
        assert ours.gradients[t - 1, coordinate] == pytest.approx(numeric, rel=0, abs=DIFFERENCE)
    assert all(weight.grad is None for weight in model.parameters())


def test_a_constant_added_to_a_word_is_seen() -> None:
    """With norms in front of the heads the mean of a gradient's coordinates, G-avg, would be zero."""
    model = transformer()
    gradients = model.view("the film was great").gradients(np.array([1.0, 0.0, 0.0])).gradients
    assert np.abs(gradients.mean(axis=1)).max() > 1e-2 * np.abs(gradients).max()


APPLICABLE = [method.id for method in Request().applicable(transformer().view("the film"))]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("id", APPLICABLE)
def test_every_applicable_method_keeps_the_contract(id: str, check: str) -> None:
    """The checks raise AssertionError; tests/explainers/test_contract.py shows that they can."""
    options = {"n_samples": 50} if any("n_samples" in way.options for way in find(id).implementations) else {}
    CHECKS[check](id, transformer(), options)


def test_exact_methods_are_refused_and_the_others_named() -> None:
    refused = {info.id for info in methods()} - set(APPLICABLE)
    assert {"alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi", "rollout"} <= set(APPLICABLE)
    assert {"lime-limit", "lime-theorem"} <= refused
    for id in sorted(refused):
        with pytest.raises(CapabilityError, match="this model does not offer; here you can use alpha-avg,"):
            limelight.explain(transformer(), "the film was great", method=id)


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": 0}, "layers must be a whole number of at least 1: got 0"),
        ({"d_mlp": 2.5}, "d_mlp must be"),
        ({"d_e": 7}, "even"),
        ({"T_max": 1}, "T_max must leave room"),
        ({"residual": 1}, "residual must be True or False: got 1"),
        ({"layer_norm": "yes"}, "layer_norm must be True or False"),
        ({"mlp": "rely"}, "did you mean 'relu'"),
        ({"mlp": None}, "mlp"),
    ],
)
def test_sizes_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(LimelightError, match=message):
        TransformerConfig(**changes)


def test_bad_calls_say_what_to_do() -> None:
    with pytest.raises(InputError, match="list of texts"):
        transformer().predict_logits("one text")
    with pytest.raises(ParameterError, match="two labels"):
        TransformerClassifier(SMALL, Vocabulary([]), ["only"])
