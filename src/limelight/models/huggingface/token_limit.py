"""How many tokens a model reads at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import nn

from limelight.core.arrays import whole_number
from limelight.errors import CapabilityError, EmptyTextError, InputError, ParameterError
from limelight.models.huggingface.labels import NEEDED

_UNLIMITED = 10**6
"""Tokenizers without a limit give an astronomical one."""
_ANY_LENGTH = -1
"""How XLNet states that it has no table of positions."""


def token_limit(model: Any, tokenizer: Any, given: int | None) -> int | None:
    """How many tokens the model reads: no more than it has positions for, or than its tokenizer says."""
    capacity, stated = position_capacity(model), getattr(tokenizer, "model_max_length", None)
    if capacity is not None and capacity < 1:
        raise CapabilityError(f"this model has positions for {capacity} tokens, so it reads none; {NEEDED}")
    attended = _fully_attended(model)
    known = [int(limit) for limit in (capacity, stated, attended) if limit is not None and 0 < limit < _UNLIMITED]
    if given is None:
        return min(known, default=None)
    given = whole_number("max_length", given, 3)
    if capacity is not None and given > capacity:
        raise ParameterError(f"max_length={given} is more than this model has positions for: {capacity}")
    if attended is not None and given > attended:
        raise ParameterError(f"max_length={given} is more than {attended}: {_reason(attended)}")
    return given


def position_capacity(model: Any) -> int | None:
    """From the table of positions; those that number them from the padding token on (RoBERTa) lose the first ones."""
    tables = [
        module
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding)
    ]
    if tables:
        return min(t.num_embeddings - (0 if t.padding_idx is None else t.padding_idx + 1) for t in tables)
    stated: int | None = getattr(model.config, "max_position_embeddings", None)
    return None if stated == _ANY_LENGTH else stated


@contextlib.contextmanager
def reason_of_limit(model: Any, limit: int | None) -> Iterator[None]:
    """Inside, an error about a text that is too long says why, where that is not the number of positions."""
    try:
        yield
    except EmptyTextError:
        raise
    except InputError as error:
        if limit is None or limit != _fully_attended(model):
            raise
        raise InputError(f"{error}; {_reason(limit)}") from error


def _fully_attended(model: Any) -> int | None:
    """How many tokens BigBird reads with full attention while it is set to sparse one; None for all other models.

    It gives sparse attention up for good when it first meets a text that is no longer, such as one of one word. So
    what it says of longer texts depends on what it was asked before.
    """
    if not any(getattr(module, "attention_type", None) == "block_sparse" for module in model.modules()):
        return None
    blocks, size = getattr(model.config, "num_random_blocks", None), getattr(model.config, "block_size", None)
    return (5 + 2 * blocks) * size if isinstance(blocks, int) and isinstance(size, int) else None


def _reason(limit: int) -> str:
    return (
        f"what this model says of more than {limit} tokens depends on whether it has met a shorter text before, since "
        "it gives its sparse attention up then; load it with attention_type='original_full' to read longer ones"
    )
