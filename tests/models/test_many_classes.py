"""Many classes: the same function as with few, in memory that does not grow by a copy of everything per class."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import limelight
from conftest import WORDS
from limelight.errors import ParameterError
from limelight.inputs.features import features_of
from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.classifier import Vocabulary
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig
from limelight.theory.folding import folded_logits
from limelight.training.optimiser import Optimiser, check_training_memory, training_bytes
from limelight.training.presets import PRESETS
from reference.attention_model import gradient_by_autograd, logits_by_loops, perturbed_logits

TEXT = "the film was great, but the end is bad"
FLOAT64 = 1e-12  # two orders of the same sums
EXACT = 1e-9  # the promise of the exact methods
SIZES = AttentionConfig(T_max=24, d_e=12, d_att=6, d_out=5, K=3)


def model_of(classes: int, sizes: AttentionConfig = SIZES, seed: int = 0) -> AttentionClassifier:
    labels = tuple(f"label {c}" for c in range(classes))
    model = AttentionClassifier(sizes, Vocabulary(WORDS), labels).double()
    model.initialise(seed, embedding=1.0, heads=1.2)
    return model


def folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on every model folds its classes into words, as those with few classes do."""
    monkeypatch.setattr(AttentionClassifier, "has_many_classes", False)


class LargestTensor(TorchDispatchMode):
    """Notes the size of the largest tensor that anything makes."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.numbers = max(self.numbers, tensor.numel())
        return result


def test_many_begin_above_the_width_of_a_head() -> None:
    assert not model_of(5).has_many_classes
    assert model_of(6).has_many_classes


def test_logits_and_their_gradients_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(9)
    ids = model.encode([TEXT, "bad bad", "", "good " * 60])
    labels = torch.tensor([0, 8, 3, 3])
    by_path = []
    for _ in range(2):
        model.zero_grad()
        logits = model(ids)
        torch.nn.functional.cross_entropy(logits, labels).backward()
        by_path.append([logits.detach(), *(weight.grad for weight in model.parameters())])
        folded(monkeypatch)
    for many, few in zip(*by_path, strict=True):
        torch.testing.assert_close(many, few, rtol=0, atol=FLOAT64)
    loops = np.stack([logits_by_loops(model, row.tolist()) for row in ids])
    np.testing.assert_allclose(by_path[0][0].numpy(), loops, rtol=0, atol=FLOAT64)
    torch.testing.assert_close(by_path[0][0][0], model.reference(ids[0]).logits.detach(), rtol=0, atol=FLOAT64)


def test_few_classes_are_folded_as_ever() -> None:
    """Bit for bit what version 0.1 computed."""
    model = model_of(3).float()
    ids = model.encode([TEXT, "bad bad", "good " * 60])
    rows, slots = model.distinct_rows(ids)
    heads = model.heads()
    scores, values = heads.score_and_value(model.W_e[rows])
    position_scores, position_values = heads.score_and_value(model.W_p)
    expected = folded_logits(scores[slots] + position_scores, values[slots] + position_values)
    torch.testing.assert_close(model(ids), expected, rtol=0, atol=0)


def test_a_step_of_training_makes_no_copy_of_a_text_per_class() -> None:
    classes, texts = 1000, 8
    model = model_of(classes).float()
    optimiser = Optimiser(model, replace(PRESETS["paper"], sizes=SIZES), 10)
    ids = model.encode([TEXT] * texts)
    with LargestTensor() as largest:
        optimiser.step(ids, torch.arange(texts))
        with torch.no_grad():
            model(ids)
    assert largest.numbers <= SIZES.K * SIZES.d_out * classes  # the weights of the output layer


def test_both_ways_train_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for _ in range(2):
        model = model_of(9)
        optimiser = Optimiser(model, replace(PRESETS["paper"], sizes=SIZES), 5)
        ids, labels = model.encode([TEXT, "bad bad", "too long"]), torch.tensor([1, 2, 8])
        losses.append([optimiser.step(ids, labels)[0] for _ in range(5)])
        folded(monkeypatch)
    np.testing.assert_allclose(*losses, rtol=0, atol=1e-9)  # Adam divides by the root of small squares


METHODS: list[tuple[str, dict[str, Any]]] = [
    ("lime", {"n_samples": 200}),
    ("lime", {"n_samples": 200, "removal": "delete"}),
    ("lime", {"n_samples": 200, "output": "probability"}),
    ("lime", {"n_samples": 200, "output": "probability", "removal": "delete"}),
    ("shapley", {"n_samples": 200, "removal": "delete"}),
    ("shapley", {}),
    ("banzhaf", {}),
    ("lime-limit", {}),
    ("leave-one-out", {}),
    ("leave-one-out", {"removal": "delete", "output": "probability"}),
    ("alpha-avg", {}),
    ("g-l2", {}),
    ("gxi", {"output": "probability"}),
    ("lime-theorem", {}),
]


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize(("method", "arguments"), METHODS)
def test_explanations_are_those_of_all_classes_folded(
    method: str, arguments: dict[str, Any], parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if parts:
        monkeypatch.setattr("limelight.models.words.attention_view._CLASS_BYTES", 1)
    model = model_of(9)
    ours = limelight.explain(model, TEXT, method, target="label 7", **arguments)
    many = limelight.explain(model, [TEXT, "bad bad film"], method, target="label 7", **arguments)
    folded(monkeypatch)
    theirs = limelight.explain(model, TEXT, method, target="label 7", **arguments)
    scale = np.abs(theirs.weights).max()
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=0, atol=EXACT * scale)
    np.testing.assert_allclose(many[0].weights, theirs.weights, rtol=0, atol=EXACT * scale)
    assert ours.evaluations == theirs.evaluations
    assert ours.target == theirs.target


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_games_equal_forwards_of_rebuilt_texts(removal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.models.words.attention_view._CLASS_BYTES", 200_000)  # a few classes at a time
    model = model_of(9)
    view = model.view(TEXT)
    features = features_of(view.document, "words")
    kept = np.random.default_rng(0).random((6, len(features))) < 0.5
    game = view.game(features, removal)
    expected = perturbed_logits(model, view.document, features, kept, removal)
    np.testing.assert_allclose(game(kept), expected, rtol=0, atol=1e-10)
    assert game.asked == len(kept)
    for direction in (np.eye(9)[4], np.eye(9)[4] - np.eye(9)[2]):
        alone = view.seen_along(direction)
        assert len(alone.labels) == 1
        np.testing.assert_allclose(alone.game(features, removal)(kept)[:, 0], expected @ direction, rtol=0, atol=1e-10)
        np.testing.assert_allclose(alone.logits, [view.logits @ direction])


def test_gradients_of_many_classes_equal_autograd() -> None:
    model = model_of(9)
    view = model.view(TEXT)
    np.testing.assert_allclose(
        view.gradients(np.eye(9)[6]).gradients, gradient_by_autograd(model, view.document, 6), rtol=0, atol=FLOAT64
    )


@pytest.mark.parametrize("method", ["lime", "lime-limit", "shapley", "banzhaf", "g-l2", "alpha-avg"])
def test_explaining_one_class_holds_one_class(method: str) -> None:
    """All classes of this document, in version 0.1, were 5 arrays of 24 · 3 · 3000 numbers: 8 MB."""
    model = model_of(3000)
    limelight.explain(model, TEXT, method)  # imports, compiles and caches
    tracemalloc.start()
    try:
        limelight.explain(model, TEXT, method, target="label 7")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3e6


def test_the_deep_model_has_its_classes_in_the_last_layer_alone() -> None:
    sizes = TransformerConfig(T_max=16, d_e=8, d_att=4, d_out=4, K=2, layers=2, d_mlp=8)
    model = TransformerClassifier(sizes, Vocabulary(WORDS), tuple(map(str, range(1000))))
    model.initialise(0)
    optimiser = Optimiser(model, replace(PRESETS["deep"], sizes=sizes), 10)
    with LargestTensor() as largest:
        optimiser.step(model.encode([TEXT] * 8), torch.arange(8))
    assert largest.numbers <= 1000 * max(sizes.d_e, 8)
    assert np.isfinite(limelight.explain(model, TEXT, "lime", n_samples=50).weights).all()


# ── what training takes ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("preset", ["paper", "default", "deep"])
def test_ten_thousand_classes_take_little_more_than_one_thousand(preset: str) -> None:
    one, ten = (training_bytes(PRESETS[preset], 30_000, classes) for classes in (1000, 10_000))
    assert one < ten < one + 1e9
    check_training_memory(PRESETS[preset], 30_000, 10_000, torch.device("cpu"))


def test_what_would_not_fit_is_refused_with_the_memory_it_would_take() -> None:
    with pytest.raises(ParameterError, match=r"training with 100,000,000 labels .* would take [\d,]+\.\d GB .*: join"):
        check_training_memory(PRESETS["paper"], 3000, 10**8, torch.device("cpu"))


def test_the_estimate_holds_the_weights_and_what_adam_keeps_of_them() -> None:
    """Weights, gradients and two moments are counted; a batch on top."""
    model = model_of(1000).float()
    preset = replace(PRESETS["paper"], sizes=SIZES)
    weights = sum(weight.numel() for weight in model.parameters())
    assert 4 * 4 * weights < training_bytes(preset, len(model.vocabulary), 1000) < 4 * 12 * weights + 50e6
