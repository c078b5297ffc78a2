"""Which implementation of attention a forward runs with, chosen for one thread and one block.

torch chooses one of several by itself, and the switches for that belong to the whole process. On recent GPUs its choice
may be cuDNN's, which plans each new shape of a batch for longer than it computes it. Inside `attention_of` the function
`scaled_dot_product_attention` is answered by an implementation that plans nothing; what that does not do (a mask with a
gradient, float32) is left to torch. Nothing outside the block, and no other thread, sees a difference.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_HALVES = (torch.float16, torch.bfloat16)
_ALIGNED = 8
"""Rows of a mask must begin at a multiple of so many numbers for the kernel that takes one."""
_LARGEST_HEAD = 256


def attention_of(device: torch.device, name: str | None) -> AbstractContextManager[Any]:
    """Inside, attention on a GPU is that of `IMPLEMENTATIONS`; on any other device, or without a name, torch's own."""
    if device.type != "cuda" or name is None:
        return contextlib.nullcontext()
    return _Chosen(IMPLEMENTATIONS[name])


Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None, float | None], Tensor | None]
"""From queries, keys and values (B, H, L, D), a mask (B, 1 or H, L, L) and a scale to (B, H, L, D), or None where an
implementation is not for them."""


class _Chosen(TorchFunctionMode):
    """Answers attention by an implementation, in this thread."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self._attention = attention

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.nn.functional.scaled_dot_product_attention:
            answer = self._instead(*args, **(kwargs or {}))
            if answer is not None:
                return answer
        return function(*args, **(kwargs or {}))

    def _instead(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor | None:
        plain = query.dim() == 4 and query.shape == key.shape == value.shape and not (dropout_p or is_causal)
        if not plain or enable_gqa or query.dtype not in _HALVES or query.shape[-1] > _LARGEST_HEAD:
            return None
        if query.shape[-1] % _ALIGNED or torch.is_grad_enabled():
            return None
        return self._attention(query, key, value, attn_mask, scale)


def _flash(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None) -> Tensor | None:
    """FlashAttention without a mask, the memory-efficient kernel with one: neither plans anything."""
    if mask is not None:
        return _efficient(query, key, value, mask, scale)
    answer: Tensor = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, 0.0, False, scale=scale)[0]
    return answer


def _efficient(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None) -> Tensor | None:
    """The memory-efficient kernel, which takes any mask."""
    bias = None if mask is None else _as_bias(mask, query)
    answer: Tensor = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, False, 0.0, False, scale=scale
    )[0]
    return answer


def _as_bias(mask: Tensor, query: Tensor) -> Tensor:
    """A mask as numbers that are added, in rows that begin where the kernel can read them, for all heads."""
    B, H, L, _ = query.shape
    if mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=query.dtype, device=mask.device).masked_fill_(~mask, float("-inf"))
    keys = mask.shape[-1]
    if keys % _ALIGNED:
        mask = torch.nn.functional.pad(mask, (0, _ALIGNED - keys % _ALIGNED))[..., :keys]
    return mask.to(query.dtype).expand(B, H, L, keys)


IMPLEMENTATIONS: dict[str, Attention] = {"flash": _flash, "efficient": _efficient}
