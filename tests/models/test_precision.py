"""Half precision where words are removed: what is asked in it, what it changes, and what is said of it."""

from __future__ import annotations

import threading
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import limelight
from limelight.errors import CapabilityError, ParameterError, UnknownNameError
from limelight.inputs.features import features_of
from limelight.models.huggingface import precision, runner
from limelight.models.huggingface.classifier import HuggingFaceClassifier
from limelight.models.huggingface.precision import fastest, has_bfloat16, lower_than
from limelight.models.huggingface.rounded_game import FEW_FEATURES, RoundedGame
from reference.small_transformers import FAMILIES, small_transformer

TEXT = "the film was great but far too long , the end is not very good , it is bad"
SHORT = "the film was great but far too long"
CPU = torch.device("cpu")
SAME = 2e-5  # other shapes of batches round float32 differently
REMOVALS = ("mask", "delete", "attention")
PLENTY = 10**6


def wrapped(dtype: Any = "bfloat16", family: str = "bert", **options: Any) -> HuggingFaceClassifier:
    model, own = small_transformer(family)
    classifier = limelight.wrap(model, own, dtype=dtype, **options)
    assert isinstance(classifier, HuggingFaceClassifier)
    return classifier


def game_of(classifier: HuggingFaceClassifier, text: str = TEXT, removal: Any = "mask") -> Any:
    view = classifier.view(text)
    return view.game(features_of(view.document, "occurrences"), removal)


def coalitions(d: int, n: int, seed: int = 0) -> np.ndarray:
    """Without such as lack or have one feature at most."""
    kept = np.random.default_rng(seed).random((4 * n, d)) < 0.6
    size = kept.sum(axis=1)
    return kept[(size > 1) & (size < d - 1)][:n]


# ── which precision ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cpu_info", "has_it"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx512f avx512_bf16 clzero\n", True),
        ("processor\t: 0\nflags\t\t: amx_tile amx_bf16\n", True),
        ("processor\t: 0\nFeatures\t: fp asimd bf16 i8mm\n", True),
        ("processor\t: 0\nflags\t\t: fpu avx512f avx512_vnni\n", False),
        ("processor\t: 0\nmodel name\t: avx512_bf16\nflags\t\t: avx2\n", False),
        ("", False),
    ],
)
def test_the_processor_says_whether_it_multiplies_bfloat16(cpu_info: str, has_it: bool) -> None:
    assert has_bfloat16(cpu_info) is has_it


def test_a_system_that_does_not_say_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_CPU_INFO", tmp_path / "nothing")
    monkeypatch.setattr(precision, "cpu_has_bfloat16", precision.cpu_has_bfloat16.__wrapped__)
    assert fastest(CPU) == torch.float32
    (tmp_path / "nothing").write_text("flags : avx512_bf16\n")
    assert fastest(CPU) == torch.bfloat16
    assert fastest(torch.device("meta")) == torch.float32


def test_auto_is_what_is_faster_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "fastest", lambda device: torch.bfloat16)
    assert lower_than(torch.float32, "auto", CPU, PLENTY) == torch.bfloat16
    assert lower_than(torch.float64, "auto", CPU, PLENTY) == torch.bfloat16
    assert lower_than(torch.float16, "auto", CPU, PLENTY) is None
    assert lower_than(torch.float32, None, CPU, PLENTY) is None
    assert lower_than(torch.float32, "float32", CPU, PLENTY) is None
    assert lower_than(torch.float64, "float32", CPU, PLENTY) == torch.float32
    monkeypatch.setattr(precision, "machine_memory", lambda: PLENTY)
    assert lower_than(torch.float32, "auto", CPU, PLENTY) is None  # both copies take more than half
    with pytest.raises(ParameterError, match=r"a copy of it in float16 would take .* leave dtype out"):
        lower_than(torch.float32, "float16", CPU, PLENTY)
    monkeypatch.setattr(precision, "fastest", lambda device: torch.float32)
    assert lower_than(torch.float32, "auto", CPU, 1) is None


def test_names_that_are_none_are_refused(tmp_path: Path) -> None:
    model, own = small_transformer("bert")
    for wrong in ("float61", "half", 16, ["float32"]):
        with pytest.raises(UnknownNameError, match="dtype"):
            limelight.wrap(model, own, dtype=wrong)
    with pytest.raises(UnknownNameError, match="dtype"):
        limelight.load(dtype="float61")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"no more digits to find in a model whose weights are bfloat16"):
        limelight.wrap(model.to(torch.bfloat16), own, dtype="float32")
    with pytest.raises(ParameterError, match="only a Hugging Face model and its tokenizer can take dtype"):
        limelight.wrap(lambda texts: np.ones((len(texts), 2)) / 2, labels=["a", "b"], dtype="auto")


@pytest.mark.parametrize(("own", "asked"), [(torch.bfloat16, "float16"), (torch.float16, "bfloat16")])
def test_another_half_precision_has_no_more_digits(own: torch.dtype, asked: Any) -> None:
    with pytest.raises(ParameterError, match="no more digits to find in a model whose weights are"):
        lower_than(own, asked, CPU, 0)


def test_a_loaded_model_is_auto_and_float32_is_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, own = small_transformer("bert")
    model.save_pretrained(tmp_path)
    own.save_pretrained(tmp_path)
    monkeypatch.setattr(precision, "fastest", lambda device: torch.bfloat16)
    found = {
        name: limelight.load(tmp_path, device="cpu", **({} if name is None else {"dtype": name}))
        for name in (None, "auto", "float32", "bfloat16")
    }
    asked = {name: (loaded.dtype, loaded.removal_dtype) for name, loaded in found.items()}  # type: ignore[union-attr]
    assert asked[None] == asked["auto"] == (torch.float32, torch.bfloat16)
    assert asked["float32"] == (torch.float32, None)
    assert asked["bfloat16"] == (torch.bfloat16, None)
    assert "bfloat16 for removals" in repr(found[None])
    assert "removals" not in repr(found["float32"])


def _far(game: RoundedGame) -> float:
    """Six standard deviations: what is stated is two."""
    return 3.0 * game.facts.rounding * game._largest


# ── what is asked in it ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("removal", REMOVALS)
def test_single_answers_are_exact_and_the_others_are_close(removal: Any) -> None:
    low, full = game_of(wrapped(), removal=removal), game_of(wrapped(None), removal=removal)
    assert isinstance(low, RoundedGame)
    d = low.features
    ones = np.ones((1, d), dtype=bool)
    alone = np.concatenate([ones, ~ones, np.eye(d, dtype=bool), ~np.eye(d, dtype=bool)])
    assert np.array_equal(low(alone), full(alone))
    assert low.facts.precision is None
    kept = coalitions(d, 700)
    answers, truth = low(kept), full(kept)
    twice = np.arange(700) % 16 == 0
    twice[512:] = False
    np.testing.assert_allclose(answers[twice], truth[twice], atol=SAME)
    off = np.abs(answers - truth)[~twice]
    assert SAME < off.max() <= _far(low)
    assert np.mean(off <= low.facts.rounding * low._largest) > 0.9
    assert low.facts.precision.dtype == "bfloat16"
    assert len(low.facts.precision.exact) == 32
    assert low.asked > full.asked


def test_the_same_coalitions_are_asked_twice_however_a_run_is_cut() -> None:
    kept = coalitions(len(wrapped(None).view(TEXT).document.words), 300)
    whole, parts = game_of(wrapped()), game_of(wrapped())
    whole(kept)
    for rows in (slice(0, 5), slice(5, 100), slice(100, 300)):
        parts(kept[rows])
    np.testing.assert_allclose(whole.facts.precision.exact, parts.facts.precision.exact, atol=SAME)


def test_what_rounding_has_in_common_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier, full = wrapped(), game_of(wrapped(None))
    game = game_of(classifier)
    tree, offset = game._rounded.tree, torch.tensor([0.5, -0.25, 0.0])[: len(classifier.labels)]
    logits = tree.logits
    monkeypatch.setattr(tree, "logits", lambda inputs: logits(inputs) + offset)
    kept = coalitions(game.features, 400)
    off = game(kept) - full(kept)
    assert np.abs(off).max() < 0.1
    assert np.allclose(game.facts.precision.shift, -offset.numpy(), atol=0.05)


def test_an_answer_that_is_not_finite_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    game, full = game_of(wrapped("float16")), game_of(wrapped(None))
    tree = game._rounded.tree
    logits = tree.logits

    def overflowing(inputs: Any) -> torch.Tensor:
        answers: torch.Tensor = logits(inputs).clone()
        answers[::3] = torch.inf
        return answers

    monkeypatch.setattr(tree, "logits", overflowing)
    kept = coalitions(game.features, 100)
    answers = game(kept)
    assert np.isfinite(answers).all()
    np.testing.assert_allclose(answers, full(kept), atol=0.05)
    assert np.isfinite(game.facts.precision.exact - game.facts.precision.rounded).all()


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta-v2"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_model_in_half_precision_says_how_far_its_answers_are_off(dtype: torch.dtype, family: str) -> None:
    """Nothing else is known of them: its weights are in half precision, and no other answers are there to compare."""
    own, tokenizer = small_transformer(family)
    rough = limelight.wrap(deepcopy(own.to(dtype)), tokenizer, dtype=None)
    exact = game_of(limelight.wrap(own.double(), tokenizer, dtype=None))  # of the same weights, which were rounded
    kept = coalitions(len(TEXT.split()), 200)
    answers, truth = game_of(rough)(kept), exact(kept)
    off, largest, said = np.abs(answers - truth).max(axis=1), np.abs(truth).max(), rough.view(TEXT).rounding
    assert off.max() > 0.0
    assert np.mean(off <= said * largest) > 0.9
    assert said >= torch.finfo(dtype).eps  # a single sum is rounded by half of it, and there are several


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_few_answers_in_half_precision_are_said_to_be_off_by_what_is_known_of_it(dtype: str) -> None:
    low, full = game_of(wrapped(dtype)), game_of(wrapped(None))
    kept = coalitions(low.features, 40)  # three of them are asked in both: too few to tell how far answers spread
    off = np.abs(low(kept) - full(kept)).max(axis=1)
    assert len(low.facts.precision.exact) == 3
    assert np.mean(off <= low.facts.rounding * low._largest) > 0.9
    assert low.facts.rounding >= torch.finfo(getattr(torch, dtype)).eps


def test_few_features_stay_in_full_precision() -> None:
    low, full = wrapped(), wrapped(None)
    assert len(low.view(SHORT).document.words) <= FEW_FEATURES
    a, b = (limelight.explain(model, SHORT, "lime", n_samples=100) for model in (low, full))
    assert np.array_equal(a.weights, b.weights)
    assert "precision" not in a.diagnostics


# ── what it changes, and what is said of it ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["leave-one-out", "gxi", "integrated-gradients", "alpha-avg", "rollout"])
def test_all_else_is_as_without(method: str) -> None:
    low, full = wrapped(), wrapped(None)
    a, b = (limelight.explain(model, TEXT, method) for model in (low, full))
    assert np.array_equal(a.weights, b.weights)
    assert np.array_equal(a.prediction.logits, b.prediction.logits)
    assert "precision" not in a.diagnostics
    assert a.diagnostics["rounding"] == b.diagnostics["rounding"]


@pytest.mark.parametrize("output", ["logit", "probability"])
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("lime", {}),
        ("lime", {"sampling": "official"}),
        ("shapley", {"estimator": "pairs"}),
        ("shapley", {"estimator": "permutations"}),
    ],
)
def test_weights_move_by_no_more_than_is_said(method: str, options: dict[str, Any], output: Any) -> None:
    low, full = wrapped(), wrapped(None)
    common = {"features": "occurrences", "output": output, "n_samples": 600, **options}
    a, b = (limelight.explain(model, TEXT, method, **common) for model in (low, full))
    assert np.array_equal(a.prediction.logits, b.prediction.logits)
    assert not np.array_equal(a.weights, b.weights)
    assert np.abs(a.weights - b.weights).max() <= a.diagnostics["rounding"]
    said = a.diagnostics["precision"]
    assert said["dtype"] == "bfloat16"
    assert 8 <= said["compared"] <= 32 < said["inputs"]
    assert 0.0 < said["weights"] < said["spread"]
    assert np.sqrt(np.mean((a.weights - b.weights) ** 2)) < 3 * said["weights"]
    assert b.evaluations < a.evaluations <= b.evaluations + said["compared"]  # the same input is asked once
    assert limelight.Explanation.from_dict(a.to_dict()).diagnostics["precision"] == said


def test_the_sum_of_shapley_values_stays_exact() -> None:
    e = limelight.explain(wrapped(), TEXT, "shapley", n_samples=300)
    full = limelight.explain(wrapped(None), TEXT, "shapley", n_samples=300)
    assert np.isclose(e.weights.sum(), full.weights.sum(), atol=1e-6)


# ── the copy ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_model_stays_as_it_is() -> None:
    model, own = small_transformer("bert")
    before = {name: (id(tensor), tensor.clone()) for name, tensor in model.state_dict(keep_vars=True).items()}
    classifier = limelight.wrap(model, own, dtype="bfloat16")
    limelight.explain(classifier, TEXT, "lime", n_samples=50)
    for name, tensor in model.state_dict(keep_vars=True).items():
        assert id(tensor) == before[name][0]
        assert tensor.dtype == before[name][1].dtype
        assert torch.equal(tensor, before[name][1])


@pytest.mark.parametrize("change", ["data", "optimiser", "precision", "module"])
def test_weights_that_change_are_seen(change: str) -> None:
    classifier = wrapped()
    model = classifier.model
    kept = coalitions(len(classifier.view(TEXT).document.words), 40)
    before = game_of(classifier)(kept)
    if change == "data":  # torch does not count this
        for weight in model.classifier.parameters():
            weight.data.mul_(-2.0)
    elif change == "optimiser":
        model(input_ids=torch.tensor([[2, 5, 6, 3]])).logits.sum().backward()
        torch.optim.SGD(model.parameters(), lr=5.0).step()
    elif change == "precision":
        model.double()
        model.classifier.weight.data.mul_(-2.0)
    else:
        model.classifier = nn.Linear(model.classifier.in_features, len(classifier.labels))
    after, truth = game_of(classifier)(kept), game_of(limelight.wrap(model, classifier.tokenizer))(kept)
    assert np.abs(after - before).max() > 0.2
    assert np.abs(after - truth).max() < 0.1


def test_tied_weights_stay_tied_and_tables_of_positions_stay_precise() -> None:
    model, own = small_transformer("bert")
    model.again = nn.Linear(1, 1)
    model.again.weight = model.classifier.weight
    model.register_buffer("stored", torch.ones(3))
    model.register_buffer("computed", torch.ones(3), persistent=False)
    tree = limelight.wrap(model, own, dtype="bfloat16").rounded_tree().module  # type: ignore[union-attr]
    assert tree.again.weight is tree.classifier.weight
    assert (tree.stored.dtype, tree.computed.dtype) == (torch.bfloat16, torch.float32)
    assert model.stored.dtype == torch.float32


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_runs_in_half_precision(family: str) -> None:
    low, full = wrapped(family=family), wrapped(None, family=family)
    kept = coalitions(len(low.view(TEXT).document.words), 60)
    game = game_of(low, removal="delete")
    off = np.abs(game(kept) - game_of(full, removal="delete")(kept)).max()
    assert game.facts.precision.dtype == "bfloat16"
    assert off <= _far(game)


def test_a_model_that_cannot_be_run_so_is_told_or_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "fastest", lambda device: torch.bfloat16)
    model, own = small_transformer("bert")
    model.bert.embeddings.register_forward_hook(lambda module, inputs, output: output.float())
    with pytest.raises(CapabilityError, match=r"cannot be run in bfloat16 \(RuntimeError: .*leave dtype out"):
        limelight.wrap(model, own, dtype="bfloat16")
    classifier = limelight.wrap(model, own, dtype="auto")
    assert "precision" not in limelight.explain(classifier, TEXT, "lime", n_samples=50).diagnostics
    assert isinstance(classifier, HuggingFaceClassifier)
    assert classifier.removal_dtype is None


def test_threads_share_the_copy() -> None:
    classifier = wrapped()
    kept = coalitions(len(classifier.view(TEXT).document.words), 60)
    truth = game_of(classifier)(kept)
    found: list[np.ndarray] = []

    def ask() -> None:
        for _ in range(5):
            found.append(game_of(classifier)(kept))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert all(np.allclose(one, truth, atol=1e-6) for one in found)


# ── shapes and kernels ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("family", FAMILIES)
def test_widths_that_are_rounded_up_change_nothing(family: str, removal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = wrapped(None, family)
    kept = coalitions(len(classifier.view(TEXT).document.words), 30)
    truth = game_of(classifier, removal=removal)(kept)
    widths: list[int] = []
    tree = classifier.trees.plain()
    logits = tree.logits
    monkeypatch.setattr(tree, "logits", lambda inputs: (widths.append(inputs.ids.shape[1]), logits(inputs))[1])
    monkeypatch.setitem(runner.SHAPES, "cpu", runner.Shapes(tokens=2048, alone=512, step=16, asked=0))
    np.testing.assert_allclose(game_of(classifier, removal=removal)(kept), truth, atol=SAME)
    limit = classifier.max_length or PLENTY
    assert set(widths) <= {16, 32, 48, 64, limit}
    np.testing.assert_allclose(
        classifier.predict_logits([TEXT, SHORT, "film"]),
        wrapped(None, family).predict_logits([TEXT, SHORT, "film"]),
        atol=SAME,
    )


def test_no_batch_is_wider_than_the_model_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(runner.SHAPES, "cpu", runner.Shapes(tokens=2048, alone=512, step=64, asked=0))
    classifier = wrapped(None, max_length=40)
    widths: list[int] = []
    tree = classifier.trees.plain()
    logits = tree.logits
    monkeypatch.setattr(tree, "logits", lambda inputs: (widths.append(inputs.ids.shape[1]), logits(inputs))[1])
    game_of(classifier)(coalitions(len(classifier.view(TEXT).document.words), 10))
    assert set(widths) == {40}


def naive_attention(query: Any, key: Any, value: Any, mask: Any, scale: Any) -> torch.Tensor:
    """With a bias, as the kernels take it."""
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    return torch.softmax(scores if mask is None else scores + runner._as_bias(mask, query), dim=-1) @ value


def test_attention_is_chosen_for_a_block_and_a_thread() -> None:
    q, k, v = (torch.randn(2, 3, 13, 8, dtype=torch.bfloat16) for _ in range(3))
    mask = torch.ones(2, 1, 13, 13, dtype=torch.bool)
    mask[..., 9:] = False
    asked: list[bool] = []

    def chosen(*args: Any) -> torch.Tensor:
        asked.append(args[3] is not None)
        return naive_attention(*args)

    elsewhere = threading.Thread(target=lambda: functional.scaled_dot_product_attention(q, k, v))
    with torch.inference_mode(), runner._Chosen(chosen):
        plain = functional.scaled_dot_product_attention(q, k, v, scale=0.3)
        masked = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        full = functional.scaled_dot_product_attention(q.float(), k.float(), v.float())
        causal = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        elsewhere.start()
        elsewhere.join()
    assert asked == [False, True]
    with torch.inference_mode():
        for own, options in ((plain, {"scale": 0.3}), (masked, {"attn_mask": mask}), (causal, {"is_causal": True})):
            truth = functional.scaled_dot_product_attention(q, k, v, **options)
            np.testing.assert_allclose(own.float(), truth.float(), atol=0.02)
        np.testing.assert_allclose(full, functional.scaled_dot_product_attention(q.float(), k.float(), v.float()))
    assert len(asked) == 2


def test_rows_of_a_bias_begin_where_a_kernel_can_read_them() -> None:
    query = torch.zeros(2, 3, 13, 8, dtype=torch.float16)
    bias = runner._as_bias(torch.ones(2, 1, 13, 13, dtype=torch.bool), query)
    assert bias.shape == (2, 3, 13, 13)
    assert bias.stride(2) % 8 == 0
    assert bias.dtype == torch.float16
    assert set(runner.IMPLEMENTATIONS) >= {shapes.attention for shapes in runner.SHAPES.values()} - {None}
