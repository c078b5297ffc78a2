"""A recorded forward: the attention of every layer where it is used, its values, and the projection behind them.

Attention is recognised by what it is: a product whose left side has rows of weights that add up to at most 1, one for
each pair of positions, and whose right side holds a vector for each position. Gradients stay those of torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from limelight.models.propagation.rules import Product, Rules, depends


@dataclass
class Layer:
    """Attention (heads, T, T) as it stands in the graph, values (heads, T, d), and their output projection (d_e,
    heads · d); None where the next step is none."""

    attention: Tensor
    values: Tensor
    heads: int
    projection: Tensor | None = None

    @property
    def weights(self) -> Tensor:
        return self.attention.detach().reshape(self.heads, *self.attention.shape[-2:])

    def norms(self, readers: Tensor) -> Tensor | None:
        """‖Σ_h α_h[reader, t] V_h[t] W_h‖ for each position (T,): what a position brings, mean over the readers."""
        if self.projection is None:
            return None
        split = self.projection.reshape(len(self.projection), self.heads, -1)
        moved = torch.einsum("htd,ohd->hto", self.values, split)
        return torch.einsum("hrt,hto->rto", self.weights[:, readers], moved).norm(dim=-1).mean(dim=0)


@dataclass
class Recording(Rules):
    """Plain gradients; the layers of a text of `length` tokens are noted in their order."""

    length: int
    layers: list[Layer] = field(default_factory=list)
    _unprojected: Tensor | None = None

    def product(self, multiply: Product, a: Tensor, b: Tensor) -> Tensor:
        result = multiply(a, b)
        T = self.length
        if a.shape[-2:] == (T, T) and b.shape[-2] == T and _is_attention(a.detach()):
            heads = a.numel() // (T * T)
            values = b.detach().expand(*a.shape[:-2], *b.shape[-2:]).reshape(heads, T, b.shape[-1])
            self.layers.append(Layer(a, values, heads))
            self._unprojected = result.detach().reshape(heads, T, -1)
        return result

    def linear(self, x: Tensor, weight: Tensor) -> Tensor:
        """A linear layer behind attention that reads its heads side by side is their projection."""
        if self._unprojected is not None and depends(x):
            heads = self._unprojected.transpose(0, 1).flatten(1)
            reads_heads = x.numel() == heads.numel() and torch.equal(x.detach().reshape(heads.shape), heads)
            is_first = self.layers[-1].projection is None
            if reads_heads and is_first:
                self.layers[-1].projection = weight.detach()
            elif reads_heads or is_first:
                # Two read the heads, such as an adapter beside a layer; or something stands between.
                self.layers[-1].projection = self._unprojected = None
        return F.linear(x, weight)


def _is_attention(weights: Tensor) -> bool:
    slack = 16 * weights.shape[-1] * torch.finfo(weights.dtype).eps
    return bool((weights >= 0).all()) and bool((weights.sum(dim=-1) <= 1 + slack).all())
