"""Gradients of a transformer with respect to the vectors of its tokens.

The vectors are those that leave the table of token embeddings, before positions are added: adding is no change to a
gradient. A hook puts given vectors in their place, so that any model works that has such a table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limelight.errors import CapabilityError
from limelight.models.huggingface.runner import Floats, Inputs
from limelight.view import Direction


@contextlib.contextmanager
def given_embeddings(model: Any, embeddings: Tensor) -> Iterator[None]:
    """Inside, the model reads these vectors (m, T, d_e) instead of those of its tokens."""
    table, uses = model.get_input_embeddings(), 0

    def put(module: Any, arguments: Any, found: Tensor) -> Tensor:
        nonlocal uses
        uses += 1
        return embeddings

    hook = table.register_forward_hook(put)
    try:
        yield
    finally:
        hook.remove()
    if uses != 1:
        raise CapabilityError(
            f"{type(model).__name__} looks up its token embeddings {uses} times in one forward, so gradients with "
            "respect to them are not defined: use a perturbation method"
        )


def embed(model: Any, ids: Tensor) -> Tensor:
    """The vectors (T, d_e) of token numbers (T,)."""
    with torch.no_grad():
        vectors: Tensor = model.get_input_embeddings()(ids)
    return vectors.detach()


def logits_of(model: Any, inputs: Inputs, embeddings: Tensor) -> Tensor:
    """Logits (m, C) where the tokens have these vectors (m, T, d_e)."""
    more = {}
    if inputs.types is not None:
        more["token_type_ids"] = inputs.types.expand(len(embeddings), -1)
    with given_embeddings(model, embeddings):
        logits: Tensor = model(input_ids=inputs.ids.expand(len(embeddings), -1), **more).logits
    return logits


def directed_gradients(model: Any, inputs: Inputs, embeddings: Tensor, direction: Direction) -> tuple[Floats, Tensor]:
    """Logits (m, C), and the gradient (m, T, d_e) of Σ_c direction_c · logit_c, the direction (m, C) held fixed.

    Nothing is left on the parameters.
    """
    leaf = embeddings.detach().requires_grad_()
    with torch.enable_grad():
        logits = logits_of(model, inputs, leaf)
        found = logits.detach().double().cpu().numpy()
        along = torch.from_numpy(np.ascontiguousarray(direction(found))).to(logits)
        (gradient,) = torch.autograd.grad((along * logits).sum(), leaf)
    return found, gradient


@dataclass(frozen=True)
class EmbeddingLine:
    """The straight line of vectors (T, d_e) that ends at `embeddings` and began `difference` before."""

    model: Any
    inputs: Inputs
    embeddings: Tensor
    difference: Tensor

    def logits(self, points: Floats) -> Floats:
        with torch.no_grad():
            return logits_of(self.model, self.inputs, self._at(points)).double().cpu().numpy()

    def slopes(self, points: Floats, direction: Direction) -> tuple[Floats, Floats]:
        """Logits (m, C), and the part of each token (m, T) in the derivative along the line."""
        logits, gradient = directed_gradients(self.model, self.inputs, self._at(points), direction)
        return logits, (gradient.double() * self.difference.double()).sum(dim=-1).cpu().numpy()

    def _at(self, points: Floats) -> Tensor:
        back = torch.from_numpy(1.0 - points).to(self.embeddings)
        return self.embeddings - back[:, None, None] * self.difference
