"""The attention and gradient rows of Figure 1, against their definitions on trained weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import limelight
from limelight.models.words.attention import AttentionClassifier
from limelight.models.words.classifier import sinusoidal_positions
from reference.attention_model import gradient_by_autograd

TEXT = "Attention based explanations are popular, but questionable: a popular film isn't always a good one!"
AUTOGRAD = 1e-9  # float64, closed form against autograd


@pytest.fixture(scope="module")
def trained() -> AttentionClassifier:
    return limelight.load()


@pytest.fixture(scope="module")
def attention(trained: AttentionClassifier) -> np.ndarray:
    """First row of each head's attention matrix, for the words, by the reference forward in float64."""
    double = AttentionClassifier(trained.config, trained.vocabulary, trained.labels).double()
    double.load_state_dict({name: p.double() for name, p in trained.state_dict().items()})
    document = trained.read(TEXT)
    with torch.no_grad():
        forward = double.reference(double.encode_document(document))
    return forward.attention[:, 0, 1 : 1 + len(document.words)].numpy()


def summed(per_word: np.ndarray, names: list[str]) -> np.ndarray:
    order = list(dict.fromkeys(names))
    return np.array([sum(x for x, n in zip(per_word, names, strict=True) if n == name) for name in order])


@pytest.mark.parametrize(("method", "reduce"), [("alpha-avg", np.mean), ("alpha-max", np.max)])
def test_attention_rows(trained: AttentionClassifier, attention: np.ndarray, method: str, reduce: object) -> None:
    per_word = reduce(attention, axis=0)  # type: ignore[operator]
    occurrences = limelight.explain(trained, TEXT, method, features="occurrences")
    np.testing.assert_allclose(occurrences.weights, per_word, rtol=0, atol=AUTOGRAD)
    words = limelight.explain(trained, TEXT, method, features="words")
    np.testing.assert_allclose(words.weights, summed(per_word, list(occurrences.features)), rtol=0, atol=AUTOGRAD)
    assert (words.weights >= 0).all()


REDUCTIONS = {
    "g-avg": lambda g, e: sum(g) / len(g),
    "g-l1": lambda g, e: sum(abs(x) for x in g),
    "g-l2": lambda g, e: sum(x * x for x in g) ** 0.5,
    "gxi": lambda g, e: sum(x * y for x, y in zip(g, e, strict=True)),
}


@pytest.mark.parametrize("method", REDUCTIONS)
@pytest.mark.parametrize("target", ["negative", "positive"])
def test_gradient_rows(trained: AttentionClassifier, method: str, target: str) -> None:
    document = trained.read(TEXT)
    gradient = gradient_by_autograd(trained, document, trained.labels.index(target))
    positions = sinusoidal_positions(trained.config.T_max, trained.config.d_e)
    embeddings = trained.W_e[trained.encode_document(document)].double() + positions
    e = embeddings[1 : 1 + len(document.words)].detach().numpy()
    per_word = np.array([REDUCTIONS[method](g_t, e_t) for g_t, e_t in zip(gradient, e, strict=True)])
    occurrences = limelight.explain(trained, TEXT, method, features="occurrences", target=target)
    np.testing.assert_allclose(occurrences.weights, per_word, rtol=0, atol=AUTOGRAD)
    words = limelight.explain(trained, TEXT, method, features="words", target=target)
    np.testing.assert_allclose(words.weights, summed(per_word, list(occurrences.features)), rtol=0, atol=AUTOGRAD)


def test_gradients_of_the_probability_follow_the_chain_rule(trained: AttentionClassifier) -> None:
    document = trained.read(TEXT)
    p = trained.predict_proba([TEXT])[0]
    gradient = sum(p[1] * ((c == 1) - p[c]) * gradient_by_autograd(trained, document, c) for c in (0, 1))
    ours = limelight.explain(trained, TEXT, "g-avg", target="positive", output="probability", features="occurrences")
    np.testing.assert_allclose(ours.weights, gradient.mean(axis=1), rtol=0, atol=1e-7)  # p comes from float32 logits
