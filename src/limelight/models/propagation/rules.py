"""Rules of propagation: what each kind of step of a transformer passes back to what it was computed from.

The weight of a token with vector x_t is x_t · g_t, where g_t is the gradient of the explained output under a method's
rules; DeepSHAP's is (x_t − r_t) · g_t, where r_t is the token's vector in the masked text. The table, step by step:

| method | norm | activation φ | softmax | product of two tensors that depend on the words |
|---|---|---|---|---|
| decomposition (Modarressi et al., 2023) | scale fixed | slope φ(x)/x | weights fixed | half to each; gates fixed |
| AttnLRP (Achtibat et al., 2024) | scale fixed | slope φ(x)/x | its gradient | half to each |
| DeepSHAP (after Lundberg and Lee, 2017) | finite differences | Δφ/Δx | finite differences | gradient half way |

A step keeps its value. Its gradient is that of a stand-in that is linear in what the step depends on. What a method's
weights add up to:

- *Decomposition* freezes scales, slopes, attention and gates at the text. What is left is linear in the vectors of the
  tokens, in the tables that are added to them, and in the biases: the output is the sum of what each contributes.
- *AttnLRP* lets attention weights respond, so its weights add up to no number that is known beforehand.
- *DeepSHAP* runs the text and the masked text side by side, in both halves of a batch, and gives every step the slope
  between both: its weights add up to f(text) − f(masked text). The rule for a softmax over scores s with weights p is
  exact too. With m_j the logarithmic mean of p_j in both texts, Δ log p_j = Δs_j − Δ log Σ exp s and Σ Δp_j = 0 give

      Δp_j = m_j (Δs_j − Σ_k m_k Δs_k / Σ_k m_k).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Step = Callable[[Tensor], Tensor]
Product = Callable[[Tensor, Tensor], Tensor]


def stand_in(value: Tensor, linear: Tensor) -> Tensor:
    """`value`, with the gradient of `linear`: what is added is 0."""
    return value.detach() + (linear - linear.detach())


class _Sloped(torch.autograd.Function):
    """A value, with the gradient of x times a slope."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, value: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None, None


class _Passed(torch.autograd.Function):
    """A product whose operands get `fraction` of their gradients beside what `beside` makes of the other operand."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, multiply: Product, beside: Step, fraction: float) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.multiply, ctx.beside, ctx.fraction = multiply, beside, fraction
        return multiply(a, b)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        a, b = (operand.detach().requires_grad_() for operand in ctx.saved_tensors)
        with torch.enable_grad():
            (to_a,) = torch.autograd.grad(ctx.multiply(a, ctx.beside(b)), a, gradient)
            (to_b,) = torch.autograd.grad(ctx.multiply(ctx.beside(a), b), b, gradient)
        return to_a * ctx.fraction, to_b * ctx.fraction, None, None, None


def sloped(x: Tensor, value: Tensor, slope: Tensor) -> Tensor:
    result: Tensor = _Sloped.apply(x, value, slope)  # type: ignore[no-untyped-call]
    return result


def passed(a: Tensor, b: Tensor, multiply: Product, beside: Step, fraction: float = 1.0) -> Tensor:
    result: Tensor = _Passed.apply(a, b, multiply, beside, fraction)  # type: ignore[no-untyped-call]
    return result


def depends(value: object) -> bool:
    """Whether a value depends on the words: the weights of the copied model have no gradient."""
    return isinstance(value, Tensor) and value.requires_grad


class Rules:
    """Plain gradients: the value and the gradient that torch gives each step."""

    rows = 1
    """Inputs that are run side by side."""

    def elementwise(self, phi: Step, x: Tensor) -> Tensor:
        return phi(x)

    def product(self, multiply: Product, a: Tensor, b: Tensor) -> Tensor:
        """Any product of two tensors that both depend on the words, such as that of attention and values."""
        return multiply(a, b)

    def linear(self, x: Tensor, weight: Tensor) -> Tensor:
        """A product with weights of the model."""
        return F.linear(x, weight)

    def softmax(self, scores: Tensor, dim: int) -> Tensor:
        return torch.softmax(scores, dim)

    def inverse_root(self, x: Tensor) -> Tensor:
        """The scale of a norm."""
        return torch.rsqrt(x)

    def inverse(self, x: Tensor) -> Tensor:
        """What is divided by depends on the words: a norm that is spelled out."""
        return self.elementwise(torch.reciprocal, x)

    def added(self, constant: Tensor) -> Tensor:
        """A bias, or a row of a table, that is added to what depends on the words."""
        return constant

    def times(self, a: Any, b: Any) -> Tensor:
        return self.product(torch.mul, a, b) if depends(a) and depends(b) else a * b

    def norm(self, x: Tensor, dims: tuple[int, ...], epsilon: float, *, centred: bool) -> Tensor:
        """x by its root mean square, or by its standard deviation after its mean was taken out."""
        centre = x - x.mean(dims, keepdim=True) if centred else x
        variance = self.elementwise(torch.square, centre).mean(dims, keepdim=True) + epsilon
        return self.times(centre, self.inverse_root(variance))


class _FixedScale(Rules):
    """What decomposition and AttnLRP have in common."""

    def inverse_root(self, x: Tensor) -> Tensor:
        return torch.rsqrt(x).detach()

    def inverse(self, x: Tensor) -> Tensor:
        return torch.reciprocal(x).detach()

    def elementwise(self, phi: Step, x: Tensor) -> Tensor:
        """φ(0) + x · (φ(x) − φ(0))/x, the quotient fixed; where x is 0, its limit."""
        at = x.detach()
        value, zero = phi(at), phi(at.new_zeros(()))
        through_zero = not bool(zero != 0)
        slope = (value if through_zero else value - zero) / at
        nil = at == 0
        if bool(nil.any()):
            slope = torch.where(nil, derivative(phi, at), slope)
        return sloped(x, value, slope) if through_zero else stand_in(value, slope * x + self.added(zero))

    def product(self, multiply: Product, a: Tensor, b: Tensor) -> Tensor:
        return passed(a, b, multiply, torch.detach, 0.5)

    def norm(self, x: Tensor, dims: tuple[int, ...], epsilon: float, *, centred: bool) -> Tensor:
        centre = x - x.mean(dims, keepdim=True) if centred else x
        return centre * self.inverse_root(centre.detach().square().mean(dims, keepdim=True) + epsilon)


class AttnLRP(_FixedScale):
    """Attention-aware relevance propagation."""


class Decomposition(_FixedScale):
    """The output as a sum of what each token's vector contributes, and of what tables and biases do."""

    def __init__(self) -> None:
        self.biases = torch.ones((), dtype=torch.float64, requires_grad=True)
        """1, by which all that is added is multiplied: its gradient is what biases and tables contribute."""
        self.constants: list[Tensor] = []
        """All that was added, which must not depend on the words."""

    def added(self, constant: Tensor) -> Tensor:
        self.constants.append(constant.detach())
        biases = self.biases.to(constant)
        if not isinstance(constant, torch.nn.Parameter) and bool((endless := torch.isinf(constant)).any()):
            # A mask of attention, which has no share in anything.
            return torch.where(endless, 0.0, constant) * biases + torch.where(endless, constant, 0.0)
        return constant * biases

    def softmax(self, scores: Tensor, dim: int) -> Tensor:
        return torch.softmax(scores, dim).detach()

    def elementwise(self, phi: Step, x: Tensor) -> Tensor:
        value = super().elementwise(phi, x)
        value.is_gate = True  # type: ignore[attr-defined]
        return value

    def product(self, multiply: Product, a: Tensor, b: Tensor) -> Tensor:
        """The gate of a gated MLP is fixed."""
        if hasattr(a, "is_gate") != hasattr(b, "is_gate"):
            return multiply(a.detach(), b) if hasattr(a, "is_gate") else multiply(a, b.detach())
        return super().product(multiply, a, b)


class DeepSHAP(Rules):
    """Slopes between the text, in the first half of every batch, and the masked text in the second."""

    rows = 2

    def product(self, multiply: Product, a: Tensor, b: Tensor) -> Tensor:
        return passed(a, b, multiply, _middle)

    def inverse_root(self, x: Tensor) -> Tensor:
        first, second = (half.sqrt() for half in _halves(x.detach()))
        return sloped(x, torch.rsqrt(x.detach()), _twice(-1 / (first * second * (first + second))))

    def elementwise(self, phi: Step, x: Tensor) -> Tensor:
        at = x.detach()
        first, second = _halves(at)
        value = phi(at)
        if phi is torch.square:
            return sloped(x, value, _twice(first + second))
        # A difference below the cube root of the precision loses more digits than the slope half way is off.
        apart = first - second
        near = apart.abs() < torch.finfo(at.dtype).eps ** (1 / 3) * (1 + torch.maximum(first.abs(), second.abs()))
        f_first, f_second = _halves(value)
        slope = (f_first - f_second) / torch.where(near, 1.0, apart)
        return sloped(x, value, _twice(torch.where(near, derivative(phi, (first + second) / 2), slope)))

    def softmax(self, scores: Tensor, dim: int) -> Tensor:
        logarithms = torch.log_softmax(scores.detach(), dim)
        mean = _twice(_logarithmic_mean(*_halves(logarithms)))
        finite = torch.where(torch.isinf(scores.detach()), 0.0, scores)
        centre = (mean * finite).sum(dim, keepdim=True) / mean.sum(dim, keepdim=True)
        return stand_in(logarithms.exp(), mean * (finite - centre))


def derivative(phi: Step, x: Tensor) -> Tensor:
    with torch.enable_grad():
        at = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(phi(at).sum(), at)
    return slope


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of the text and those of the masked text: whatever dimensions were merged, the batch comes first."""
    n = x.shape[0] // 2
    return x[:n], x[n:]


def _twice(x: Tensor) -> Tensor:
    return torch.cat([x, x])


def _middle(x: Tensor) -> Tensor:
    first, second = _halves(x.detach())
    return _twice((first + second) / 2)


def _logarithmic_mean(first: Tensor, second: Tensor) -> Tensor:
    """(p − q)/(log p − log q) from log p and log q: the larger times (1 − e^−d)/d, with d the gap of the logarithms."""
    gap = torch.nan_to_num((first - second).abs(), nan=0.0)  # of two weights that are 0
    small = gap < torch.finfo(gap.dtype).eps ** 0.5
    ratio = torch.where(small, 1 - gap / 2, -torch.expm1(-gap) / torch.where(small, 1.0, gap))
    return torch.maximum(first, second).exp() * ratio
