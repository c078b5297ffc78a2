"""A recorded forward: vectors that are put into a forward of a module copy, and what is kept of it, with its graph.

The module copy has hooks that do nothing but while its forward is recorded, and then in that thread alone: one on the
table of token embeddings, and, where attention is shown, one on each module.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, is_grad_enabled, nn

from limelight.errors import CapabilityError

_LAST_OUTPUTS = 16
"""The last outputs of modules that are kept: what a head reads is among them, and the others can be let go."""


@dataclass(eq=False)
class RecordedForward:
    """One forward: `given` are tokens (m, T), and vectors (m, T, d_e) that they have instead of those of the table;
    `lookups` how often the table was used; `outputs` the last outputs of modules that have a gradient, in their order.
    """

    given: tuple[Tensor, Tensor] | None = None
    lookups: int = 0
    outputs: deque[Tensor] = field(default_factory=lambda: deque(maxlen=_LAST_OUTPUTS))


_recorded: ContextVar[RecordedForward | None] = ContextVar("recorded forward", default=None)


@contextlib.contextmanager
def recorded_forward(given: tuple[Tensor, Tensor] | None = None) -> Iterator[RecordedForward]:
    """Inside, and in this thread alone, a forward of a module copy is recorded."""
    forward = RecordedForward(given)
    token = _recorded.set(forward)
    try:
        yield forward
    finally:
        _recorded.reset(token)


def on_lookup(table: nn.Module, arguments: Any, vectors: Any) -> Any:
    """A hook on the table of token embeddings: vectors that are given, or those of the table as the ends of a graph."""
    forward = _recorded.get()
    if forward is None:
        return None
    if forward.given is None:  # the weights of a model may be frozen: gradients go back to here
        if not isinstance(vectors, Tensor) or not is_grad_enabled():
            return None
        return vectors.detach().requires_grad_().clone()  # a leaf could not be scaled in place, as CTRL does
    forward.lookups += 1
    ids, given = forward.given
    asked = arguments[0] if arguments else None
    if not isinstance(asked, Tensor) or (asked.shape == ids.shape and asked.equal(ids)):
        return given.clone()
    if asked.shape == ids.T.shape and asked.equal(ids.T):
        return given.transpose(0, 1).clone()  # XLNet has the batch behind the positions
    raise CapabilityError(
        "this model looks up the vectors of other tokens than it was given (it pads or changes them first), so "
        "gradients with respect to them are not defined: use a perturbation method"
    )


def on_output(module: nn.Module, arguments: Any, output: Any) -> None:
    """A hook on any module: its first output is kept."""
    forward = _recorded.get()
    if forward is None:
        return
    first = next(iter(output.values()), None) if isinstance(output, Mapping) else output
    first = first[0] if isinstance(first, tuple | list) and first else first
    if isinstance(first, Tensor) and first.requires_grad:
        forward.outputs.append(first)
