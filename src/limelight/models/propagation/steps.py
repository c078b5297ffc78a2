"""Which functions of torch are which step of a model, and a mode that computes them by a method's rules.

Inside `Propagating(rules)`, and in this thread alone, functions of torch that a rule is for keep their values and get
another gradient. A model's modules are not known here: what depends on the words has a gradient, what does not is a
weight. Activation modules are taken as a whole (`activation`), since some are made of several steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function_unary

from limelight.models.propagation.rules import Rules, Step, depends


class Propagating(TorchFunctionMode):
    """Inside, steps that depend on the words are computed by these rules."""

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._rules = rules

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        step = None if "out" in kwargs else _STEPS.get(function)
        if step is None:
            return function(*args, **kwargs)
        in_place = function in _IN_PLACE or kwargs.get("inplace") is True
        given = (args[0].clone(), *args[1:]) if in_place else args  # what a rule keeps is not to be written over
        result = step(self._rules, function, *given, **kwargs)
        if result is None:
            return function(*args, **kwargs)
        return args[0].copy_(result) if in_place else result


def activation(x: Tensor, module: Step) -> Tensor:
    """An activation module as one step."""
    if has_torch_function_unary(x):
        result: Tensor = handle_torch_function(activation, (x,), x, module)
        return result
    return module(x)


# ── steps: each gives None where it is not concerned ──────────────────────────────────────────────────────────────────


def _of_module(rules: Rules, _: Any, x: Tensor, module: Step) -> Tensor | None:
    return rules.elementwise(module, x) if depends(x) else None


def _elementwise(phi: Callable[..., Tensor]) -> Callable[..., Tensor | None]:
    def step(rules: Rules, _: Any, input: Tensor, *rest: Any, **options: Any) -> Tensor | None:
        options.pop("inplace", None)
        return rules.elementwise(lambda x: phi(x, *rest, **options), input) if depends(input) else None

    return step


def _without_options(phi: Step) -> Callable[..., Tensor | None]:
    """An activation whose only other argument says whether it works in place."""

    def step(rules: Rules, _: Any, input: Tensor, *__: Any, **___: Any) -> Tensor | None:
        return rules.elementwise(phi, input) if depends(input) else None

    return step


def _power(rules: Rules, _: Any, input: Tensor, exponent: Any) -> Tensor | None:
    if not depends(input) or isinstance(exponent, Tensor):
        return None
    return rules.elementwise(torch.square if exponent == 2 else lambda x: x**exponent, input)


def _square(rules: Rules, _: Any, input: Tensor) -> Tensor | None:
    return rules.elementwise(torch.square, input) if depends(input) else None


def _inverse_root(rules: Rules, _: Any, input: Tensor) -> Tensor | None:
    return rules.inverse_root(input) if depends(input) else None


def _times(rules: Rules, _: Any, input: Any, other: Any) -> Tensor | None:
    return rules.product(torch.mul, input, other) if depends(input) and depends(other) else None


def _divided(rules: Rules, function: Any, input: Any, other: Any, **options: Any) -> Tensor | None:
    above, below = (other, input) if function is Tensor.__rtruediv__ else (input, other)
    if options or not depends(below):
        return None
    return rules.times(above, rules.inverse(below))


def _matrices(
    rules: Rules, function: Any, input: Tensor, other: Tensor | None = None, *, mat2: Tensor | None = None
) -> Tensor | None:
    right = mat2 if other is None else other
    return rules.product(function, input, right) if right is not None and depends(input) and depends(right) else None


def _einsum(rules: Rules, _: Any, equation: str, *operands: Any) -> Tensor | None:
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    if len(given) != 2 or not all(map(depends, given)):
        return None
    return rules.product(lambda a, b: torch.einsum(equation, a, b), *given)


def _batches_added(
    rules: Rules, _: Any, input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor | None:
    if not (depends(batch1) and depends(batch2)):
        return None
    return rules.product(torch.bmm, batch1, batch2) * alpha + (beta * input if beta else 0.0)


def _softmax(
    rules: Rules, _: Any, input: Tensor, dim: int = -1, *__: Any, dtype: torch.dtype | None = None, **___: Any
) -> Tensor | None:
    if not depends(input):
        return None
    return rules.softmax(input if dtype is None else input.to(torch.promote_types(input.dtype, dtype)), dim)


def _layer_norm(
    rules: Rules,
    _: Any,
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *__: Any,
) -> Tensor | None:
    if not depends(input):
        return None
    result = rules.norm(input, _last(normalized_shape), eps, centred=True)
    result = result if weight is None else result * weight
    return result if bias is None else result + rules.added(bias)


def _rms_norm(
    rules: Rules, _: Any, input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor | None:
    if not depends(input):
        return None
    epsilon = torch.finfo(input.dtype).eps if eps is None else eps
    result = rules.norm(input, _last(normalized_shape), epsilon, centred=False)
    return result if weight is None else result * weight


def _last(shape: Any) -> tuple[int, ...]:
    return tuple(range(-len(shape), 0))


def _linear(rules: Rules, _: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor | None:
    if not depends(input) or depends(weight):
        return None
    result = rules.linear(input, weight)
    return result if bias is None else result + rules.added(bias)


def _matrix_added(rules: Rules, _: Any, input: Tensor, mat1: Tensor, mat2: Tensor, **options: Any) -> Tensor | None:
    """The linear layer of GPT-2: a bias and a product with weights."""
    if options or depends(input) or depends(mat2) or not depends(mat1):
        return None
    return rules.linear(mat1, mat2.mT) + rules.added(input)


def _sum(rules: Rules, _: Any, input: Any, other: Any, **options: Any) -> Tensor | None:
    """A constant, which is added to what depends on the words."""
    constants = [x for x in (input, other) if isinstance(x, Tensor) and not x.requires_grad and x.is_floating_point()]
    if options or len(constants) != 1 or not (depends(input) or depends(other)):
        return None
    return (input if depends(input) else other) + rules.added(constants[0])


def _table(rules: Rules, function: Any, *args: Any, **options: Any) -> Tensor:
    return rules.added(function(*args, **options))


def _converted(rules: Rules, function: Any, input: Tensor, *args: Any, **options: Any) -> Tensor | None:
    """No step is computed in a lower precision than the vectors of the tokens have."""
    wanted = _LOWER.get(function, options.get("dtype"))
    for given in args:
        wanted = given if isinstance(given, torch.dtype) else given.dtype if isinstance(given, Tensor) else wanted
    if wanted is None or not depends(input) or not wanted.is_floating_point:
        return None
    return input if torch.promote_types(input.dtype, wanted) == input.dtype else None


def _attention(
    rules: Rules,
    _: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor | None:
    """Fused attention, spelled out."""
    if not any(map(depends, (query, key, value))):
        return None
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    scores = _product(rules, query, key.mT) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(ahead, -math.inf)
    if attn_mask is not None:
        is_bool = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -math.inf) if is_bool else scores + attn_mask
    return _product(rules, rules.softmax(scores, -1), value)


def _product(rules: Rules, a: Tensor, b: Tensor) -> Tensor:
    return rules.product(torch.matmul, a, b) if depends(a) and depends(b) else a @ b


_LOWER = {Tensor.float: torch.float32, Tensor.half: torch.float16, Tensor.bfloat16: torch.bfloat16}
_SAME_BY_NAME: Mapping[Callable[..., Any], tuple[Any, ...]] = {
    _times: (torch.mul, torch.multiply, Tensor.mul, Tensor.__mul__, Tensor.__rmul__, Tensor.__imul__, Tensor.mul_),
    _divided: (torch.div, torch.true_divide, Tensor.div, Tensor.__truediv__, Tensor.__rtruediv__),
    _matrices: (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm, torch.mm, Tensor.mm),
    _einsum: (torch.einsum,),
    _batches_added: (torch.baddbmm, Tensor.baddbmm),
    _matrix_added: (torch.addmm, Tensor.addmm),
    _linear: (F.linear,),
    _sum: (torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__, Tensor.__iadd__, Tensor.add_),
    _table: (F.embedding,),
    _softmax: (F.softmax, torch.softmax, Tensor.softmax),
    _layer_norm: (F.layer_norm, torch.layer_norm),
    _rms_norm: (F.rms_norm,),
    _inverse_root: (torch.rsqrt, Tensor.rsqrt),
    _power: (torch.pow, Tensor.pow, Tensor.__pow__),
    _square: (torch.square, Tensor.square),
    _attention: (F.scaled_dot_product_attention,),
    _converted: (Tensor.to, Tensor.type_as, Tensor.float, Tensor.half, Tensor.bfloat16),
    _of_module: (activation,),
    _without_options(torch.relu): (F.relu, torch.relu, Tensor.relu),
    _without_options(F.silu): (F.silu,),
    _without_options(F.mish): (F.mish,),
    _without_options(F.relu6): (F.relu6,),
    _without_options(F.hardswish): (F.hardswish,),
    _without_options(torch.tanh): (F.tanh, torch.tanh, Tensor.tanh),
    _without_options(torch.sigmoid): (F.sigmoid, torch.sigmoid, Tensor.sigmoid),
    _without_options(torch.sqrt): (torch.sqrt, Tensor.sqrt),
    _without_options(torch.exp): (torch.exp, Tensor.exp),
    _without_options(torch.erf): (torch.erf, Tensor.erf),
    _without_options(torch.abs): (torch.abs, Tensor.abs),
    _elementwise(F.gelu): (F.gelu,),
    _elementwise(F.leaky_relu): (F.leaky_relu,),
    _elementwise(F.elu): (F.elu,),
    _elementwise(F.softplus): (F.softplus,),
}
_STEPS = {function: step for step, functions in _SAME_BY_NAME.items() for function in functions}
_IN_PLACE = {Tensor.__imul__, Tensor.mul_, Tensor.__iadd__, Tensor.add_}
