"""Gradients of a transformer with respect to the vectors of its tokens.

The vectors are those that leave the table of token embeddings, before positions are added: adding is no change to a
gradient. Nothing is left on the parameters.

Autograd takes no tensor that was made under torch.inference_mode(). The caller may be there, so all tensors of a
gradient are made in `differentiated()`; weights that were made there are their owner's, and refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Floats
from limelight.errors import CapabilityError, shortened
from limelight.models.huggingface.module_copy import ModuleCopy
from limelight.models.huggingface.runner import Inputs
from limelight.models.interface import Direction

_WITHOUT = (
    "torch has no gradient of this {name} with respect to its tokens ({reason}): use a perturbation method, such as "
    "lime or leave-one-out, or load the model without quantisation"
)


@contextlib.contextmanager
def differentiated(tree: ModuleCopy) -> Iterator[ModuleCopy]:
    """A tree out of an inference mode of the caller: tensors that are made inside can be differentiated."""
    if not tree.differentiable:
        raise CapabilityError(_WITHOUT.format(name=tree.name, reason="it has layers that are quantised to int8"))
    made = [name for name, weight in tree.module.named_parameters() if weight.is_inference()]
    if made:
        raise CapabilityError(
            f"{len(made)} weights of this {tree.name} were made under torch.inference_mode(), such as {made[0]}, and "
            "torch has no gradients through them: load the model outside of it, or use a perturbation method"
        )
    with torch.inference_mode(False):
        yield tree


def directed_gradients(
    tree: ModuleCopy, inputs: Inputs, embeddings: Tensor, direction: Direction
) -> tuple[Floats, Tensor]:
    """Logits (m, C), and the gradient (m, T, d_e) of Σ_c direction_c · logit_c, the direction (m, C) held fixed."""
    leaf = embeddings.detach().requires_grad_()
    with torch.enable_grad(), tree.as_it_is():  # autocast would also round what goes backwards
        logits = tree.logits_of_embeddings(inputs, leaf)
        values = array64(logits)
        along = torch.from_numpy(np.ascontiguousarray(direction(values))).to(logits)
        try:
            (gradient,) = torch.autograd.grad((along * logits).sum(), leaf)
        except (RuntimeError, AssertionError) as error:  # Reformer asserts that it is being trained
            if isinstance(error, torch.OutOfMemoryError):
                raise
            raise CapabilityError(_WITHOUT.format(name=tree.name, reason=shortened(str(error)))) from error
    return values, gradient


def array64(tensor: Tensor) -> Floats:
    return tensor.detach().double().cpu().numpy()


@dataclass(frozen=True)
class EmbeddingLine:
    """The straight line of vectors (T, d_e) that ends at `embeddings` and began `difference` before."""

    tree: ModuleCopy
    inputs: Inputs
    embeddings: Tensor
    difference: Tensor

    def logits(self, points: Floats) -> Floats:
        with torch.no_grad():
            return array64(self.tree.logits_of_embeddings(self.inputs, self._at(points)))

    def slopes(self, points: Floats, direction: Direction) -> tuple[Floats, Floats]:
        """Logits (m, C), and the part of each token (m, T) in the derivative along the line."""
        logits, gradient = directed_gradients(self.tree, self.inputs, self._at(points), direction)
        return logits, (gradient.double() * self.difference.double()).sum(dim=-1).cpu().numpy()

    def _at(self, points: Floats) -> Tensor:
        back = torch.from_numpy(1.0 - points).to(self.embeddings)
        return self.embeddings - back[:, None, None] * self.difference
