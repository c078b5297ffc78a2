"""Real attentions of a transformer, whatever implementation it was loaded with."""

from __future__ import annotations

import torch

from limelight.arrays import Array
from limelight.errors import CapabilityError
from limelight.models.huggingface.private import Tree
from limelight.models.huggingface.runner import Inputs


def all_attention(eager: Tree, inputs: Inputs) -> Array:
    """Attention (layers, heads, T, T) of one input (1, T), from a tree with eager attention.

    It is kept in the precision that it was computed in, half precision in float32.
    """
    types = {} if inputs.types is None else {"token_type_ids": inputs.types}
    with torch.inference_mode():
        answer = eager.module(input_ids=inputs.ids, output_attentions=True, **types)
    shown, T = getattr(answer, "attentions", None), inputs.ids.shape[1]
    if not shown or any(layer is None for layer in shown):
        raise CapabilityError(
            f"{eager.name} returned no attentions, not even with the eager implementation: use a method that does "
            "without"
        )
    precision = torch.promote_types(shown[0].dtype, torch.float32)
    weights: Array = torch.stack([layer[0].to(precision).cpu() for layer in shown]).numpy()
    if weights.shape[2:] != (T, T):
        raise CapabilityError(
            f"{eager.name} shows attention of shape {weights.shape[2:]} for {T} tokens (local or compressed "
            "attention): use a method that does without"
        )
    return weights
