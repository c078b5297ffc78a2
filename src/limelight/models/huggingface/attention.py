"""Real attentions of a transformer, whatever implementation it was loaded with, and the position that its head reads.

The head may read [CLS], the last token, or a mean of all. It is not told by names: of the last module's output that has
a vector for each position those are read at which the logits have a gradient. The forward is the one that shows the
attention; the gradient goes back through the head alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Array, Integers
from limelight.errors import CapabilityError
from limelight.models.huggingface.configuration import SpecialTokens
from limelight.models.huggingface.module_copy import ModuleCopy
from limelight.models.huggingface.recorded_forward import recorded_forward
from limelight.models.huggingface.runner import Inputs
from limelight.models.interface import Reader


def all_attention(eager: ModuleCopy, inputs: Inputs, special: SpecialTokens) -> tuple[Array, Reader]:
    """Attention (layers, heads, T, T) of one input (1, T) by a tree with eager attention, and who reads it.

    Weights are kept in the precision that they were computed in, half precision in float32.
    """
    T = inputs.ids.shape[1]
    weights_made = any(weight.is_inference() for weight in eager.module.parameters())  # under torch.inference_mode()
    with (
        torch.set_grad_enabled(eager.differentiable and not weights_made),
        eager.as_it_is(),
        recorded_forward() as forward,
    ):
        answer = eager.module(**eager.arguments(inputs), output_attentions=True)
        readers = readers_of(answer.logits, forward.outputs, T)
    shown = getattr(answer, "attentions", None)
    if not shown or any(layer is None for layer in shown):
        raise CapabilityError(
            f"{eager.name} returned no attentions, not even with the eager implementation: use a method that does "
            "without"
        )
    # A row of Longformer's has a window's entries, which may be as many as the tokens.
    local = getattr(eager.module.config, "attention_window", None) is not None
    for layer in shown:
        if local or layer.ndim != 4 or layer.shape != (1, shown[0].shape[1], T, T):
            raise CapabilityError(
                f"{eager.name} shows attention of shape {tuple(layer.shape[2:])} for {T} tokens (local, linear or "
                "compressed attention): use a method that does without"
            )
    precision = torch.promote_types(shown[0].dtype, torch.float32)
    weights: Array = torch.stack([layer[0].detach().to(precision).cpu() for layer in shown]).numpy()
    if readers is None:
        readers = usual_readers(weights, inputs.ids[0].cpu().numpy(), special)
    return weights, int(readers[0]) if len(readers) == 1 else readers


def readers_of(logits: Tensor, outputs: Sequence[Tensor], T: int) -> Integers | None:
    """The positions of the last output (1, T, ·) that move the logits; None where the model has no gradients."""
    if not logits.requires_grad:
        return None
    # Different factors: a softmax inside a head would take the gradient of a plain sum away.
    along = torch.cos(torch.arange(1, logits.shape[1] + 1, device=logits.device)).to(logits)
    for output in reversed(outputs):
        if output.ndim != 3 or output.shape[:2] != (1, T):
            continue
        (gradient,) = torch.autograd.grad((along * logits).sum(), output, retain_graph=True, allow_unused=True)
        if gradient is not None and bool((gradient != 0).any()):
            return np.flatnonzero((gradient != 0).any(dim=2)[0].cpu().numpy()).astype(np.int64)
    return None


def usual_readers(weights: Array, ids: Integers, special: SpecialTokens) -> Integers:
    """Where heads of models without gradients (int8) read: of causal ones the last token that is not padding, of others
    the tokenizer's [CLS]."""
    T = len(ids)
    if T > 1 and not np.triu(weights, 1).any():
        words = np.flatnonzero(ids != special.pad) if special.pad is not None else np.arange(T)
        return words[-1:] if len(words) else np.zeros(1, dtype=np.int64)
    places = np.flatnonzero(ids == special.cls)
    if not len(places):
        raise CapabilityError(
            "this model has no gradients that would tell which position its head reads, and its tokenizer puts no "
            "[CLS] token into a text, so there is no position whose attention would be an explanation: use a "
            "perturbation method"
        )
    return places[:1]
