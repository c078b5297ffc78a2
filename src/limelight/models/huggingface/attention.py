"""Real attentions of a transformer, whatever implementation it was loaded with.

Fused implementations never form the attention matrix and return none, without a word. For the length of one call the
model is switched to the eager one, which computes the same function and shows it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.errors import CapabilityError

Floats = npt.NDArray[np.float64]


@contextlib.contextmanager
def eager_attention(model: Any) -> Iterator[None]:
    """The eager implementation inside, the former one after, come what may."""
    former = getattr(model.config, "_attn_implementation", None)
    if former in (None, "eager"):
        yield
        return
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(former)


def all_attention(model: Any, ids: Tensor, types: Tensor | None) -> Floats:
    """Attention (layers, heads, T, T) of one input (1, T)."""
    more = {} if types is None else {"token_type_ids": types}
    with eager_attention(model), torch.inference_mode():
        shown = getattr(model(input_ids=ids, output_attentions=True, **more), "attentions", None)
    name, T = type(model).__name__, ids.shape[1]
    if not shown or any(layer is None for layer in shown):
        raise CapabilityError(
            f"{name} returned no attentions, not even with the eager implementation: use a method that does without"
        )
    weights = torch.stack([layer[0].double().cpu() for layer in shown]).numpy()
    if weights.shape[2:] != (T, T):
        raise CapabilityError(
            f"{name} shows attention of shape {weights.shape[2:]} for {T} tokens (local or compressed attention): "
            "use a method that does without"
        )
    return weights
