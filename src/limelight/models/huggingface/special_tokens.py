"""Tokens that mean no word: which number stands for padding, for a removed word, and for the beginning of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

_SMALL_VOCABULARY = 100
"""Numbers that are taken to be tokens where neither the model nor the tokenizer says how many there are."""


@dataclass(frozen=True)
class SpecialTokens:
    """Numbers of tokens: in the place of a word, behind the end, where the tokenizer says that the classifier reads,
    and for a text of no tokens; None where there is none."""

    mask: int | None
    pad: int | None
    cls: int | None
    beginning: int | None = None

    @property
    def filler(self) -> int:
        """What fills shorter inputs up; a model without a padding token is never given any."""
        return 0 if self.pad is None else self.pad


def mask_of(tokenizer: Any) -> int | None:
    """The mask token, or the unknown one where there is none."""
    mask: int | None = tokenizer.mask_token_id if tokenizer.mask_token_id is not None else tokenizer.unk_token_id
    return mask


def pads_of(model: Any, tokenizer: Any) -> list[int]:
    """Padding tokens to try, the best first: a head that looks for padding looks for the configuration's."""
    named = [_number(owner, "pad_token_id") for owner in (_text_config(model), model.config, tokenizer)]
    return [number for number in dict.fromkeys(named) if number is not None and _is_token(number, model)]


def beginning_of(model: Any) -> int | None:
    """The token that the configuration says texts begin with, or else the one they end with."""
    owners = (_text_config(model), model.config)
    named = [_number(owner, name) for name in ("bos_token_id", "eos_token_id") for owner in owners]
    return next((number for number in named if number is not None and _is_token(number, model)), None)


def special_numbers(model: Any, tokenizer: Any) -> set[int]:
    """All tokens that the configuration or the tokenizer has a special meaning for."""
    settings = vars(_text_config(model)), vars(model.config)
    named = {value for own in settings for name, value in own.items() if name.endswith("_token_id") and _is_int(value)}
    return named | set(tokenizer.all_special_ids)


def vocabulary_size(model: Any, tokenizer: Any) -> int:
    """How many numbers are tokens to both of them."""
    sizes = [n_vectors(model), len(tokenizer) if hasattr(type(tokenizer), "__len__") else None]
    return min((size for size in sizes if size is not None), default=_SMALL_VOCABULARY)


def n_vectors(model: Any) -> int | None:
    """How many tokens a model has vectors for, where it has a table of them."""
    try:
        table = getattr(model.get_input_embeddings(), "weight", None)
    except NotImplementedError:
        return None
    return len(table) if isinstance(table, Tensor) else None


def _text_config(model: Any) -> Any:
    """The part of a configuration that is about texts: all of it, for a model that reads nothing else."""
    try:
        return model.config.get_text_config()
    except (AttributeError, ValueError):
        return model.config


def _number(owner: Any, name: str) -> int | None:
    """A token's number as a configuration or a tokenizer has it; the first where there are several."""
    value: Any = getattr(owner, name, None)
    if isinstance(value, list | tuple) and value:
        value = value[0]
    return int(value) if _is_int(value) else None


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_token(number: int, model: Any) -> bool:
    vectors = n_vectors(model)
    return number >= 0 and (vectors is None or number < vectors)
