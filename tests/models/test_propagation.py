"""One pass through a transformer: rules, what adds up, what is refused, and nobody else's gradients."""

from __future__ import annotations

import copy
import threading
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import limelight
from limelight.errors import CapabilityError, InputError
from limelight.models.propagation.rules import AttnLRP, Decomposition, DeepSHAP, Rules, depends, stand_in
from limelight.models.propagation.steps import Propagating, activation

transformers = pytest.importorskip("transformers")
from reference.small_architectures import USUAL, quiet, small_classifier, word_pieces  # noqa: E402
from reference.small_transformers import small_pair_transformer, small_transformer  # noqa: E402

TEXT = "the film was disappointingly long and not wonderful"
WHOLE = "the film was long and great"
"""Words of one piece each: a masked word is one mask token, and DeepSHAP masks each of its pieces."""
ALL = [(0, len(WHOLE))]
COMPLETE = 1e-10
"""Of the weights, in float64."""
ADD_UP = (
    "Albert Bert BioGpt CTRL Camembert ConvBert Data2VecText DebertaV2 Deberta DiffLlama DistilBert Electra Ernie "
    "EuroBert Exaone4 FNet Falcon Flaubert GPT2 GPTBigCode GPTJ GPTNeo GPTNeoX Gemma Gemma2 Gemma3Text Glm4 Helium "
    "Llama MPNet MegatronBert MobileBert ModernBert Mpt OPT Olmo2 OpenAIGPT Persimmon Phi3 Qwen2 Qwen3 RemBert "
    "RoFormer Roberta SqueezeBert StableLm Starcoder2 XLM XLMRoberta Xmod"
).split()
REFUSED = {
    ("BigBird", "decomposition"): "classifier",
    ("Bloom", "decomposition"): "BloomGelu",
    ("Bloom", "attnlrp"): "BloomGelu",
    ("Bloom", "deepshap"): "BloomGelu",
    ("JetMoe", "deepshap"): "JetMoeParallelExperts",
    ("XLNet", "deepshap"): "XLNet",
    ("Yoso", "deepshap"): "YosoSelfAttention",
    ("Esm", "attnlrp"): "EsmIntermediate",
    ("Qwen3_5Text", "decomposition"): "linear_attn",
}


@cache
def classifier(name: str) -> Any:
    with quiet():
        return limelight.wrap(small_classifier(f"{name}ForSequenceClassification").double(), word_pieces(USUAL))


# ── rules, beside what defines them ───────────────────────────────────────────────────────────────────────────────────


def gradients(rules: Rules, x: Tensor, f: Any) -> tuple[Tensor, Tensor]:
    """The value (rows, …) and the gradient of the first row's sum under these rules."""
    leaf = x.clone().requires_grad_()
    with Propagating(rules):
        value = f(leaf)
    (gradient,) = torch.autograd.grad(value[: len(value) // rules.rows].sum(), leaf)
    return value.detach(), gradient


STEPS = {
    "gelu": F.gelu,
    "silu": F.silu,
    "relu": F.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "square": lambda x: x**2,
    "softmax": lambda x: F.softmax(3 * x, dim=-1),
    "layer norm": lambda x: F.layer_norm(x, (5,), torch.arange(1.0, 6.0, dtype=x.dtype), None),
    "RMS norm": lambda x: F.rms_norm(x, (5,)),
    "norm by hand": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
    "gated": lambda x: F.silu(x) * x.flip(-1),
    "attention": lambda x: F.softmax(x @ x.mT, dim=-1) @ x,
    "fused attention": lambda x: F.scaled_dot_product_attention(x, x.flip(-1), x, is_causal=True),
    "quotient": lambda x: x / (1.0 + torch.exp(x.flip(-1))),
    "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x),
    "names": lambda x: torch.matmul(torch.bmm(x, mat2=x.mT), other=torch.mul(input=x, other=torch.tanh(x))),
    "in place": lambda x: in_place(x * 1.0),
}


def in_place(x: Tensor) -> Tensor:
    """What is written over is read by another name, and what the last steps return is not used."""
    before = x
    x *= x.flip(-1)
    F.silu(x, inplace=True)
    x.add_(before)
    return before + x


def drawn(seed: int = 0, rows: int = 2) -> Tensor:
    return torch.randn((rows, 4, 5), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("name", STEPS)
def test_deepshap_gives_every_step_the_difference_between_both_rows(name: str) -> None:
    x, f = drawn(), STEPS[name]
    value, gradient = gradients(DeepSHAP(), x, f)
    torch.testing.assert_close(value, f(x), rtol=0, atol=1e-14)
    expected = (f(x)[0] - f(x)[1]).sum()
    assert float((gradient[0] * (x[0] - x[1])).sum()) == pytest.approx(float(expected), abs=1e-10)


@pytest.mark.parametrize("name", STEPS)
def test_without_rules_every_step_has_its_gradient(name: str) -> None:
    x, f = drawn(), STEPS[name]
    leaf = x.clone().requires_grad_()
    (plain,) = torch.autograd.grad(f(leaf).sum(), leaf)
    value, gradient = gradients(Rules(), x, f)
    torch.testing.assert_close(value, f(x), rtol=0, atol=1e-14)
    torch.testing.assert_close(gradient, plain, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in STEPS if name not in ("softmax", "sigmoid", "quotient")])
def test_decomposition_gives_every_step_its_value(name: str) -> None:
    """All steps but those that have a value without words."""
    x, f = drawn(rows=1), STEPS[name]
    value, gradient = gradients(Decomposition(), x, f)
    assert float((gradient * x).sum()) == pytest.approx(float(value.sum()), abs=1e-12)


def test_what_is_added_is_counted_apart() -> None:
    rules, x = Decomposition(), drawn(rows=1).requires_grad_()
    layer, norm = torch.nn.Linear(5, 3).double().requires_grad_(False), torch.nn.LayerNorm(3).double()
    norm.requires_grad_(False)
    norm.bias.normal_(generator=torch.Generator().manual_seed(1))
    with Propagating(rules):
        value = torch.sigmoid(norm(layer(x + torch.ones(5, dtype=torch.float64)))).sum()
    gradient, rest = torch.autograd.grad(value, [x, rules.biases])
    assert float((gradient * x.detach()).sum() + rest) == pytest.approx(float(value.detach()), abs=1e-12)
    assert abs(float(rest)) > 0.1


def test_slopes_of_tiny_and_of_no_differences_are_derivatives() -> None:
    x = drawn()
    for gap in (0.0, 1e-12, 1e-7, 1e-5):
        pair = torch.stack([x[0], x[0] + gap])
        for name in ("gelu", "tanh", "softmax", "layer norm"):
            _, gradient = gradients(DeepSHAP(), pair, STEPS[name])
            leaf = x[:1].clone().requires_grad_()
            (plain,) = torch.autograd.grad(STEPS[name](leaf).sum(), leaf)
            torch.testing.assert_close(gradient[0], plain[0], rtol=0, atol=1e-8 + 10 * gap, msg=f"{name} {gap}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_softmax_of_scores_as_large_as_those_of_trained_models(dtype: torch.dtype) -> None:
    scores = torch.tensor([[-111.0, 142.0, 3.0, 141.5], [88.0, -60.0, 140.0, 139.0]], dtype=dtype)
    masked = torch.cat([scores, torch.full((2, 1), torch.finfo(dtype).min, dtype=dtype)], dim=1)
    for given in (scores, masked, torch.cat([scores, torch.full((2, 1), -torch.inf, dtype=dtype)], dim=1)):
        leaf = given.clone().requires_grad_()
        with Propagating(DeepSHAP()):
            p = F.softmax(leaf, dim=-1)
        (gradient,) = torch.autograd.grad(p[0, 1], leaf)
        assert bool(torch.isfinite(gradient).all())
        moved = (gradient[0, :4] * (given[0] - given[1])[:4]).sum()
        assert float(moved) == pytest.approx(float((p[0, 1] - p[1, 1]).detach()), abs=1e-5)


def test_an_activation_module_is_one_step_under_rules_alone() -> None:
    module = transformers.activations.NewGELUActivation()
    x = drawn(rows=1).requires_grad_()
    torch.testing.assert_close(activation(x, module), module(x), rtol=0, atol=0)
    with Propagating(AttnLRP()):
        (gradient,) = torch.autograd.grad(activation(x, module).sum(), x)
    torch.testing.assert_close(gradient, module(x).detach() / x.detach())


def test_a_stand_in_has_the_value_of_one_and_the_gradient_of_the_other() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y = stand_in(x**2, 5 * x)
    assert (float(y.detach()), depends(y)) == (9.0, True)
    assert float(torch.autograd.grad(y, x)[0]) == 5.0


# ── the paper's single layer ──────────────────────────────────────────────────────────────────────────────────────────


def single_layer(e: Tensor, r: Tensor, u: Tensor, constant: Tensor) -> Tensor:
    """f (n,) = Σ_t α_t w_t with scores s_t = r · e_t + constant and values w_t = u · e_t."""
    alpha = torch.softmax(e @ r + constant, dim=-1)
    return (alpha * (e @ u)).sum(dim=-1)


def test_closed_forms_of_a_single_attention_layer() -> None:
    generator = torch.Generator().manual_seed(4)
    e = torch.randn((2, 6, 5), generator=generator, dtype=torch.float64)
    r, u = torch.randn((2, 5), generator=generator, dtype=torch.float64)
    constant = torch.randn(6, generator=generator, dtype=torch.float64)
    s, w = e @ r, e @ u
    alpha = torch.softmax(s + constant, dim=-1)
    f = (alpha * w).sum(dim=-1, keepdim=True)

    def layer(x: Tensor) -> Tensor:
        return single_layer(x, r, u, constant)

    def weights(rules: Rules) -> Tensor:
        _, gradient = gradients(rules, e[: rules.rows], layer)
        return (gradient[0] * (e[0] if rules.rows == 1 else e[0] - e[1])).sum(dim=-1)

    gxi = alpha * w + s * alpha * (w - f)
    m = (alpha[0] - alpha[1]) / (alpha[0].log() - alpha[1].log())
    w_mid, m_sum = w.mean(dim=0), m.sum()
    deep = alpha.mean(dim=0) * (w[0] - w[1]) + m * (w_mid - (m * w_mid).sum() / m_sum) * (s[0] - s[1])
    expected = {Decomposition(): alpha[0] * w[0], AttnLRP(): gxi[0] / 2, Rules(): gxi[0], DeepSHAP(): deep}
    for rules, closed in expected.items():
        torch.testing.assert_close(weights(rules), closed, rtol=0, atol=1e-12)


def test_alpha_value_adds_up_to_the_logit_of_the_embedded_model() -> None:
    model = limelight.load()
    for features in ("words", "occurrences"):
        e = limelight.explain(
            model, "A great film, and great it is.", "alpha-value", target="positive", features=features
        )
        logit = e.prediction.logits[model.labels.index("positive")]
        assert e.weights.sum() + e.diagnostics["rest"] == pytest.approx(logit, abs=1e-5)
        assert e.exact


# ── models ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ADD_UP)
def test_weights_add_up(name: str) -> None:
    model = classifier(name)
    for method in ("decomposition", "deepshap"):
        e = limelight.explain(model, TEXT, method)
        assert e.diagnostics["completeness_error"] <= COMPLETE * np.abs(e.weights).sum(), method
        assert e.weights.shape == (8,)
        assert e.prediction.logits.max() == pytest.approx(e.diagnostics["output"], abs=1e-5)


@pytest.mark.parametrize(("name", "method"), REFUSED, ids=str)
def test_a_module_that_the_rules_do_not_cover_is_named(name: str, method: str) -> None:
    with pytest.raises(CapabilityError, match=REFUSED[name, method]):
        limelight.explain(classifier(name), TEXT, method)


def test_the_sum_of_deepshap_is_what_masking_all_words_changes() -> None:
    model = classifier("Bert")
    for output in ("logit", "probability"):
        common: dict[str, Any] = {"output": output, "target": model.labels[1]}
        e = limelight.explain(model, WHOLE, "deepshap", **common)
        one = limelight.explain(model, WHOLE, "leave-one-out", features=ALL, **common)
        assert e.weights.sum() == pytest.approx(one.weights[0], abs=1e-9)


@pytest.mark.parametrize("method", ["decomposition", "deepshap", "attnlrp", "attention-gradient", "attcat"])
def test_contrasts_are_differences_and_features_are_sums(method: str) -> None:
    model = classifier("Bert")
    first, second = (limelight.explain(model, TEXT, method, target=label) for label in model.labels[:2])
    contrast = limelight.explain(model, TEXT, method, target=tuple(model.labels[:2]))
    np.testing.assert_allclose(contrast.weights, first.weights - second.weights, atol=1e-11)
    whole = limelight.explain(model, TEXT, method, target=model.labels[0], features=[(0, len(TEXT))])
    assert whole.weights[0] == pytest.approx(first.weights.sum(), abs=1e-11)


def test_nothing_of_the_users_model_changes_and_other_threads_have_their_gradients() -> None:
    model, tokenizer = small_transformer("bert")
    model.train()
    before = {name: (weight.clone(), weight.requires_grad) for name, weight in model.named_parameters()}
    wrapped = limelight.wrap(model, tokenizer)
    ids = torch.tensor([[2, 7, 8, 9, 3]])

    def gradient() -> Tensor:
        vectors = model.get_input_embeddings()(ids).detach().requires_grad_()
        own = copy.deepcopy(model).eval()
        (found,) = torch.autograd.grad(own(inputs_embeds=vectors).logits[0, 0], vectors)
        return found

    alone, meanwhile, done = gradient(), [], threading.Event()

    def others() -> None:
        while not done.is_set():
            meanwhile.append(gradient())

    thread = threading.Thread(target=others)
    thread.start()
    try:
        found = [limelight.explain(wrapped, "the film was great", method) for method in ("deepshap", "chefer") * 5]
    finally:
        done.set()
        thread.join()
    assert len(meanwhile) > 0
    assert all(torch.equal(alone, own) for own in meanwhile)
    assert found[0] == found[2]
    assert model.training
    for name, weight in model.named_parameters():
        assert torch.equal(before[name][0], weight), name
        assert before[name][1] == weight.requires_grad
        assert weight.grad is None


# ── attention with its gradient, beside its definitions ───────────────────────────────────────────────────────────────


def naive(model: Any, ids: Tensor, label: int) -> dict[str, np.ndarray]:
    """Chefer's relevance, AttCAT and α × gradient by loops over what transformers returns, the gradients retained."""
    model = copy.deepcopy(model).eval()
    model.set_attn_implementation("eager")
    answer = model(ids, output_attentions=True, output_hidden_states=True)
    for tensor in (*answer.attentions, *answer.hidden_states):
        tensor.retain_grad()
    answer.logits[0, label].backward()
    T = ids.shape[1]
    R, cat, gradient = np.eye(T), np.zeros(T), np.zeros(T)
    for attention, state in zip(answer.attentions, answer.hidden_states[1:], strict=True):
        A, dA = (own[0].double().detach().numpy() for own in (attention, attention.grad))
        R = R + np.maximum(A * dA, 0).mean(axis=0) @ R
        for t in range(T):
            gradient[t] += (A * dA)[:, :, t].sum()
            relevance = 0.0 if state.grad is None else float((state.detach()[0, t] * state.grad[0, t]).sum())
            cat[t] += relevance * A[:, :, t].mean()
    return {"chefer": R[0] - np.eye(T)[0], "attcat": cat, "attention-gradient": gradient}


def test_attention_and_gradient_are_what_the_papers_define() -> None:
    model, tokenizer = small_transformer("bert")
    wrapped = limelight.wrap(model.double(), tokenizer)
    text = "the film is great"
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    assert ids.shape[1] == 6
    for method, expected in naive(model, ids, 1).items():
        e = limelight.explain(wrapped, text, method, target=wrapped.labels[1])
        np.testing.assert_allclose(e.weights, expected[1:-1], rtol=1e-9, atol=1e-12, err_msg=method)


def test_norms_are_of_the_vectors_that_words_bring_to_the_reader() -> None:
    model, tokenizer = small_transformer("bert")
    wrapped = limelight.wrap(model.double(), tokenizer)
    ids = tokenizer("the film is great", return_tensors="pt")["input_ids"]
    eager = copy.deepcopy(model).eval()
    eager.set_attn_implementation("eager")
    layer = eager.bert.encoder.layer[0].attention
    with torch.no_grad():
        answer = eager(ids, output_attentions=True, output_hidden_states=True)
        values = layer.self.value(answer.hidden_states[0])[0].unflatten(1, (2, 8))
        W = layer.output.dense.weight.unflatten(1, (2, 8))
        brought = torch.stack(
            [sum(answer.attentions[0][0, h, 0, t] * (W[:, h] @ values[t, h]) for h in range(2)) for t in range(6)]
        )
    e = limelight.explain(wrapped, "the film is great", "attention-norm", layer=0)
    np.testing.assert_allclose(e.weights, brought.norm(dim=1)[1:-1].numpy(), rtol=1e-9)


def test_there_is_no_length_of_what_two_layers_bring() -> None:
    class Adapted(torch.nn.Module):
        def __init__(self, base: torch.nn.Linear) -> None:
            super().__init__()
            self.base, self.down, self.up = base, torch.nn.Linear(16, 2, bias=False), torch.nn.Linear(2, 16, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            return self.base(x) + self.up(self.down(x))

    model, tokenizer = small_transformer("bert")
    for layer in model.bert.encoder.layer:
        layer.attention.output.dense = Adapted(layer.attention.output.dense)
    wrapped = limelight.wrap(model.eval(), tokenizer)
    with pytest.raises(CapabilityError, match="more than a projection"):
        limelight.explain(wrapped, "the film is great", "attention-norm")
    e = limelight.explain(wrapped, "the film is great", "decomposition")
    assert e.diagnostics["completeness_error"] < 1e-5


# ── windows, pairs, precision, short texts, and what there is not ─────────────────────────────────────────────────────


ONE_PASS = ("decomposition", "deepshap", "attnlrp", "attention-gradient", "chefer", "attcat", "attention-norm")


def test_windows_have_the_fraction_that_they_have_of_the_prediction() -> None:
    model, tokenizer = small_transformer("bert")
    wrapped = limelight.wrap(model.double(), tokenizer, window=True, max_length=8)
    text = "the film great and the end is long and it"
    e = limelight.explain(wrapped, text, "deepshap")
    whole = limelight.explain(wrapped, text, "leave-one-out", features=[(0, len(text))])
    assert e.evaluations > 2
    assert e.weights.sum() == pytest.approx(whole.weights[0], abs=1e-10)
    for method in ONE_PASS:
        assert np.isfinite(limelight.explain(wrapped, text, method).weights).all()


def test_pairs_have_weights_on_both_sides() -> None:
    model, tokenizer = small_pair_transformer("bert")
    wrapped = limelight.wrap(model.double(), tokenizer, pairs=True)
    pair = ("the film great", "the end is long")
    for method in ONE_PASS:
        e = limelight.explain(wrapped, pair, method)
        assert set(e.sides or ()) == {0, 1}
    first = limelight.explain(wrapped, pair, "deepshap", parts="first")
    masked = limelight.explain(wrapped, pair, "shapley", parts="first")
    assert first.weights.sum() == pytest.approx(masked.weights.sum(), abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_models_in_half_precision_are_computed_in_single_precision(dtype: torch.dtype) -> None:
    model, tokenizer = small_transformer("bert")
    half = limelight.wrap(copy.deepcopy(model).to(dtype), tokenizer)
    single = limelight.wrap(copy.deepcopy(model).to(dtype).float(), tokenizer)
    for method in ("deepshap", "decomposition"):
        one, other = (
            limelight.explain(own, "the film was great", method, target=own.labels[0]) for own in (half, single)
        )
        np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-5 * np.abs(other.weights).max())


def test_activations_in_place_and_compiled_modules_are_steps_like_others() -> None:
    model, tokenizer = small_transformer("bert")
    expected = limelight.wrap(model, tokenizer)
    compiled = copy.deepcopy(model)
    compiled.bert.encoder.layer[0] = torch.compile(compiled.bert.encoder.layer[0], backend="eager")
    in_place = copy.deepcopy(model)
    for own, nonlinear in ((model, torch.nn.ReLU()), (in_place, torch.nn.ReLU(inplace=True))):
        own.bert.encoder.layer[1].intermediate.intermediate_act_fn = nonlinear
    compiled.bert.encoder.layer[1].intermediate.intermediate_act_fn = torch.nn.ReLU()
    for method in ONE_PASS:
        weights = limelight.explain(expected, TEXT, method).weights
        for own in (compiled, in_place):
            np.testing.assert_array_equal(
                limelight.explain(limelight.wrap(own, tokenizer), TEXT, method).weights, weights
            )


def test_a_quantised_model_is_refused_in_words() -> None:
    model, tokenizer = small_transformer("bert")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantised = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
        wrapped = limelight.wrap(quantised, tokenizer)
        for method in ("deepshap", "chefer"):
            with pytest.raises(CapabilityError, match="int8"):
                limelight.explain(wrapped, "the film was great", method)


def test_a_text_of_one_token_and_a_baseline_that_there_is_not() -> None:
    model = classifier("Bert")
    for method in ONE_PASS:
        assert limelight.explain(model, "film", method).weights.shape == (1,)
    with pytest.raises(InputError, match="baseline"):
        limelight.explain(model, "film", "deepshap", baseline="nothing")
    with pytest.raises(InputError, match="'until': choose from 'baseline'"):
        limelight.explain(model, "film", "deepshap", until=0.1)
    with pytest.raises(InputError, match="'until': there are none to choose from"):
        limelight.explain(model, "film", "decomposition", until=0.1)


def test_a_model_with_a_step_of_its_own_is_refused_by_the_modules_name() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: Tensor) -> Tensor:
            return x.sin() * 2

        @staticmethod
        def backward(context: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
            return gradient

    class Surprise(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return Doubled.apply(x)

    model, tokenizer = small_transformer("bert")
    model.bert.encoder.layer[0].output.dropout = Surprise()
    wrapped = limelight.wrap(model.double(), tokenizer)
    for method in ("decomposition", "deepshap", "attnlrp"):
        with pytest.raises(CapabilityError, match=r"Surprise \(bert.encoder.layer.0.output.dropout\)"):
            limelight.explain(wrapped, "the film was great", method)


def test_a_step_that_passes_nothing_back_is_not_taken_for_a_bias() -> None:
    class Cut(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.detach() * 0.5

    model, tokenizer = small_transformer("bert")
    model.bert.encoder.layer[0].output.dropout = Cut()
    wrapped = limelight.wrap(model.double(), tokenizer)
    for method in ("decomposition", "deepshap", "attnlrp"):
        with pytest.raises(CapabilityError, match="do not cover"):
            limelight.explain(wrapped, "the film was great", method)
