"""One pass back through a transformer of Hugging Face under a method's rules, and whether its weights add up.

The model's own copy for this has eager attention and weights without a gradient, so that whatever has one depends on
the words. Activation modules are one step each. Models in half precision are copied to float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from limelight.core.arrays import Floats, Integers
from limelight.errors import CapabilityError
from limelight.models.huggingface.attention import readers_of
from limelight.models.huggingface.gradients import array64
from limelight.models.huggingface.module_copy import ModuleCopy
from limelight.models.huggingface.runner import Inputs
from limelight.models.interface import RulesName
from limelight.models.outputs import Quantity
from limelight.models.propagation.recording import Recording
from limelight.models.propagation.rules import AttnLRP, Decomposition, DeepSHAP, Rules
from limelight.models.propagation.steps import Propagating, activation

RULES: dict[RulesName, type[Rules]] = {"decomposition": Decomposition, "attnlrp": AttnLRP, "deepshap": DeepSHAP}
_ACTIVATIONS = ("transformers.activations", "torch.nn.modules.activation")
_NO_ACTIVATIONS = (nn.Softmax, nn.LogSoftmax, nn.MultiheadAttention)
_ALLOWED = 1e-4
"""Of the outputs and the weights: what may be missing of the sum."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def join_activations(module: nn.Module) -> None:
    """Make each activation module of a tree of our own one step."""
    for part in module.modules():
        if type(part).__module__ in _ACTIVATIONS and not isinstance(part, _NO_ACTIVATIONS):
            _join(part)


def _join(part: nn.Module) -> None:
    own = part.forward
    if "inplace" in vars(part):
        vars(part)["inplace"] = False  # a rule needs what the step was given

    def forward(x: Tensor) -> Tensor:
        return activation(x, own)

    part.forward = forward


@dataclass(frozen=True)
class Window:
    """One input: the vectors of its tokens (T, d), those of the masked text, and its fraction of the prediction."""

    inputs: Inputs
    vectors: Tensor
    masked: Tensor
    part: float


@dataclass(frozen=True)
class Found:
    """The weights of the tokens of each window, the explained output of each row, and how far weights do not add up."""

    weights: list[Floats]
    outputs: Floats
    rest: float
    missing: float | None
    forwards: int


@dataclass(frozen=True)
class _Pass:
    """A forward under rules that can be gone back through."""

    rules: Rules
    leaf: Tensor
    logits: Tensor

    @property
    def moved(self) -> Tensor:
        """What the gradient of each token's vector is multiplied with."""
        leaf = self.leaf.detach()
        return leaf[0] - leaf[1] if self.rules.rows == 2 else leaf[0]

    def back(self, output: Tensor, *, keep: bool = False) -> tuple[Tensor, float]:
        """The weight of each token (T,), and what biases and tables contribute."""
        biases = [self.rules.biases] if isinstance(self.rules, Decomposition) else []
        gradients = torch.autograd.grad(output, [self.leaf, *biases], retain_graph=keep, allow_unused=True)
        leaf = torch.zeros_like(self.leaf) if gradients[0] is None else gradients[0]
        rest = float(gradients[1]) if biases and gradients[1] is not None else 0.0
        return (leaf[0].double() * self.moved.double()).sum(dim=-1), rest


def _forward(tree: ModuleCopy, window: Window, rules: Rules) -> _Pass:
    rows = [window.vectors, window.masked][: rules.rows]
    leaf = torch.stack(rows).detach().requires_grad_()
    with torch.enable_grad(), tree.as_it_is(), Propagating(rules):
        return _Pass(rules, leaf, tree.logits_of_embeddings(window.inputs, leaf))


def propagated(tree: ModuleCopy, windows: Sequence[Window], name: RulesName, quantity: Quantity) -> Found:
    """The weight of each token of each window; an error where the rules do not cover a step of the model.

    AttnLRP's weights add up to nothing that is known, but its rules are for the same steps as decomposition's: where
    these add up once, those cover the model too.
    """
    if name == "attnlrp" and not tree.is_covered:
        _propagated(tree, windows[:1], "decomposition", quantity, name)
    return _propagated(tree, windows, name, quantity, name)


def _propagated(
    tree: ModuleCopy, windows: Sequence[Window], name: RulesName, quantity: Quantity, method: RulesName
) -> Found:
    passes = [_forward(tree, window, RULES[name]()) for window in windows]
    logits = np.sum([window.part * array64(run.logits) for window, run in zip(windows, passes, strict=True)], axis=0)
    along = _direction(logits, quantity)
    weights, rest = [], 0.0
    for window, run in zip(windows, passes, strict=True):
        output = (torch.from_numpy(along * window.part).to(run.logits) * run.logits[0]).sum()
        own, added = run.back(output)
        weights.append(array64(own))
        rest += added
    total, whole = float(sum(own.sum() for own in weights)) + rest, float(sum(np.abs(own).sum() for own in weights))
    outputs = quantity.of(logits)
    expected = {"decomposition": float(along @ logits[0]), "deepshap": float(outputs[0] - outputs[-1])}.get(name)
    missing = None if expected is None else abs(total - expected)
    largest = max(*np.abs(outputs), whole, abs(expected or 0.0))
    if not np.isfinite(total) or (missing is not None and missing > _ALLOWED * largest):
        raise _not_covered(tree, windows[0], name, method, missing, largest)
    if name == "decomposition" and not tree.is_covered:
        _check_constants(tree, windows[0], passes[0].rules, method)
        tree.is_covered = True
    return Found(weights, outputs, rest, missing, len(windows) * passes[0].rules.rows)


def _check_constants(tree: ModuleCopy, window: Window, rules: Rules, method: RulesName) -> None:
    """What counts as a bias must be the same for another text: steps that pass nothing back would be taken for one."""
    other = Decomposition()
    _forward(tree, replace(window, vectors=window.masked), other)
    assert isinstance(rules, Decomposition)
    pairs = zip(rules.constants, other.constants, strict=False)
    if len(rules.constants) != len(other.constants) or not all(torch.equal(own, their) for own, their in pairs):
        raise CapabilityError(
            f"the rules of {method} do not cover this {tree.name}: one of its modules computes something from the "
            "words that nothing can be passed back through; use integrated-gradients, lime or shapley"
        )


def _direction(logits: Floats, quantity: Quantity) -> Floats:
    """The derivative of the quantity with respect to each logit, at the text or, of two rows, averaged between both.

    The average over the straight line times the difference of the logits is the difference of the quantity.
    """
    if len(logits) == 1 or quantity.is_linear:
        return quantity.direction_at(logits[:1])[0]
    points = logits[1] + (_NODES[:, None] + 1) / 2 * (logits[0] - logits[1])
    return (_WEIGHTS / 2) @ quantity.direction_at(points)


def _not_covered(
    tree: ModuleCopy, window: Window, name: RulesName, method: RulesName, missing: float | None, largest: float
) -> CapabilityError:
    """Which module computes something that the rules do not cover."""
    off = "are not finite" if missing is None or not np.isfinite(missing) else f"miss {missing / largest:.1g} of it"
    where = _first_uncovered(tree, window, RULES[name]()) or "one of its modules"
    return CapabilityError(
        f"the rules of {method} do not cover this {tree.name}: weights that must add up to its output {off}, because "
        f"{where} computes a step that there is no rule for; use integrated-gradients, lime or shapley"
    )


def _first_uncovered(tree: ModuleCopy, window: Window, rules: Rules) -> str:
    """The first module, from the inside, whose output is not the sum of what it came from."""
    seen: list[tuple[str, object]] = []

    def noting(name: str) -> Callable[..., None]:
        return lambda part, _, output: seen.append((f"its {type(part).__name__} ({name or 'the whole'})", output))

    own = tree.copied()  # other threads may be on their way through the shared one
    for name, part in own.module.named_modules():
        part.register_forward_hook(noting(name))
    run = _forward(own, window, rules)
    for name, given in seen:
        output = given[0] if isinstance(given, tuple) and given else given
        if not (isinstance(output, Tensor) and output.requires_grad and output.is_floating_point()):
            continue
        n = max(1, output.shape[0] // rules.rows)
        along = torch.cos(torch.arange(output[:n].numel(), device=output.device)).to(output).view_as(output[:n])
        values = [float((along * half.detach()).sum()) for half in torch.split(output, n)]
        expected = values[0] - values[1] if rules.rows == 2 else values[0]
        weights, rest = run.back((along * output[:n]).sum(), keep=True)
        total = float(weights.sum()) + rest
        if not abs(total - expected) <= _ALLOWED * max(float(weights.abs().sum()), *map(abs, values)):
            return name
    return ""


# ── a recorded forward ────────────────────────────────────────────────────────────────────────────────────────────────


class Recorded(NamedTuple):
    """A forward of one input: attention and its slopes (L, H, T, T), relevance and norms (L, T), and the reader."""

    attention: Floats
    slopes: Floats
    relevance: Floats
    norms: Floats | None
    readers: Integers


def recorded(tree: ModuleCopy, window: Window, direction: Floats) -> Recorded:
    """One forward, and the gradient of the directed output with respect to all attention and states of layers."""
    T = window.inputs.ids.shape[1]
    recording = Recording(T)
    leaf = window.vectors[None].detach().requires_grad_()
    with torch.enable_grad(), Propagating(recording):
        answer, forward = tree.forward_of_embeddings(window.inputs, leaf, output_hidden_states=True)
    readers = readers_of(answer.logits, forward.outputs, T)
    if readers is None:
        raise CapabilityError(f"no position moves the logits of this {tree.name}: use a method that does without")
    layers, expected = recording.layers, getattr(tree.module.config, "num_hidden_layers", len(recording.layers))
    if len(layers) != expected or len({layer.heads for layer in layers}) != 1:
        raise CapabilityError(
            f"{tree.name} shows attention between all positions in {len(layers)} of its {expected} layers (others are "
            "local, linear or compressed): use a method that does without"
        )
    states = [state for state in answer.hidden_states or () if state.requires_grad and state.shape[:2] == (1, T)]
    output = (torch.from_numpy(direction * window.part).to(answer.logits) * answer.logits[0]).sum()
    wanted = [*(layer.attention for layer in layers), *states]
    found = torch.autograd.grad(output, wanted, allow_unused=True)
    slopes = [
        (torch.zeros_like(layer.attention) if slope is None else slope).reshape(layer.weights.shape)
        for layer, slope in zip(layers, found, strict=False)
    ]
    relevance = [
        (state.detach()[0].double() * gradient[0].double()).sum(dim=-1)
        for state, gradient in zip(states, found[len(layers) :], strict=True)
        if gradient is not None
    ]
    norms = [layer.norms(torch.from_numpy(readers).to(leaf.device)) for layer in layers]
    known = [norm for norm in norms if norm is not None]
    return Recorded(
        np.stack([array64(layer.weights) for layer in layers]),
        np.stack([array64(slope) for slope in slopes]),
        np.stack([array64(own) for own in relevance]) if relevance else np.zeros((0, T)),
        np.stack([array64(own) for own in known]) if len(known) == len(layers) else None,
        readers,
    )
