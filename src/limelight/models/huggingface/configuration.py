"""What the configuration and the tokenizer of a model say: labels and their kind, the longest input, special tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from torch import Tensor, nn

from limelight.core.arrays import whole_number
from limelight.errors import CapabilityError, EmptyTextError, InputError, ParameterError, known_name, shortened
from limelight.models.outputs import Kind, listed_labels

NEEDED = "load it with AutoModelForSequenceClassification, from a checkpoint that was fine-tuned for classification"
_KINDS: dict[str, Kind] = {
    "single_label_classification": "classes",
    "multi_label_classification": "multi-label",
    "regression": "regression",
}
"""From the problem_type of a configuration."""
_UNLIMITED = 10**6
"""Tokenizers without a limit give an astronomical one."""
_ANY_LENGTH = -1
"""How XLNet states that it has no table of positions."""
_SMALL_VOCABULARY = 100
"""Numbers that are taken to be tokens where neither the model nor the tokenizer says how many there are."""


# ── labels ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def kind_of(model: Any, given: str | None) -> Kind:
    """The kind that was given; without one, what the configuration says. One output alone is a number by default."""
    count = _count(model)
    if given is not None:
        kind = cast(Kind, known_name("kind", given, get_args(Kind)))
        if kind == "classes" and count < 2:
            raise ParameterError(
                f"kind='classes' needs two labels or more, and this {type(model).__name__} has {count}: use "
                "kind='multi-label' where its output goes through a sigmoid, or kind='regression' where it is a number"
            )
        return kind
    stated = _KINDS.get(str(getattr(model.config, "problem_type", None)), "classes")
    return "regression" if stated == "classes" and count < 2 else stated


def labels_of(model: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    """The labels that were given, or else those of the configuration."""
    count, listed = _count(model), None if given is None else listed_labels(given)
    named = getattr(model.config, "id2label", None) or {}
    if listed is None and not isinstance(named, Mapping):
        raise ParameterError(
            f"id2label of the configuration must give a name for each number: got {shortened(repr(named), 80)}; give "
            "labels=[…]"
        )
    labels = tuple(listed) if listed is not None else tuple(str(named.get(i, f"LABEL_{i}")) for i in range(count))
    if len(labels) != count or len(set(labels)) != count or not all(isinstance(x, str) and x for x in labels):
        raise ParameterError(
            f"{count} labels are needed, all different and none empty: got {labels!r}; give labels=[…]"
        )
    return labels


def _count(model: Any) -> int:
    count = getattr(model.config, "num_labels", None)
    if not isinstance(count, int) or count < 1:
        raise CapabilityError(f"{type(model).__name__} has no labels; {NEEDED}")
    return count


# ── the longest input ─────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── special tokens ────────────────────────────────────────────────────────────────────────────────────────────────────


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
    return _named_tokens(model, ("pad_token_id",), tokenizer)


def beginning_of(model: Any) -> int | None:
    """The token that the configuration says texts begin with, or else the one they end with."""
    return next(iter(_named_tokens(model, ("bos_token_id", "eos_token_id"))), None)


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


def _named_tokens(model: Any, names: Sequence[str], *others: Any) -> list[int]:
    """Tokens of the model that its configuration, and `others`, have under these names; the first of several."""
    owners, vectors = (_text_config(model), model.config, *others), n_vectors(model)
    values = [getattr(owner, name, None) for name in names for owner in owners]
    firsts: list[Any] = [value[0] if isinstance(value, list | tuple) and value else value for value in values]
    numbers = dict.fromkeys(int(value) for value in firsts if _is_int(value))
    return [number for number in numbers if number >= 0 and (vectors is None or number < vectors)]


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
