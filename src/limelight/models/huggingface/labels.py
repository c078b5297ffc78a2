"""What the outputs of a model of transformers are called, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args

from limelight.errors import CapabilityError, ParameterError, known_name, shown
from limelight.models.huggingface.folder import shortened
from limelight.models.outputs import Kind

NEEDED = "load it with AutoModelForSequenceClassification, from a checkpoint that was fine-tuned for classification"
_KINDS: dict[str, Kind] = {
    "single_label_classification": "classes",
    "multi_label_classification": "multi-label",
    "regression": "regression",
}
"""From the problem_type of a configuration."""


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
    count = _count(model)
    if given is not None and (isinstance(given, str) or not isinstance(given, Iterable)):
        raise ParameterError(f"labels must be a list of names: got {shown(given)}; write labels=[…]")
    named = getattr(model.config, "id2label", None) or {}
    if given is None and not isinstance(named, Mapping):
        raise ParameterError(
            f"id2label of the configuration must give a name for each number: got {shortened(repr(named), 80)}; give "
            "labels=[…]"
        )
    labels = tuple(given) if given is not None else tuple(str(named.get(i, f"LABEL_{i}")) for i in range(count))
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
