"""What a method is called in front of people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limelight.explainers.method import methods
from limelight.show.visible import visible


def method_label(id: str, *, ascii_only: bool = False) -> str:
    """The paper's name of a method, or its id: where it is not registered (a user's own) or Greek cannot be shown."""
    label = next((info.label for info in methods() if info.id == id), id)
    return visible(id if ascii_only and not label.isascii() else label)


def has_sign(id: str) -> bool:
    """Whether the weights of a method say on which side a word is; attention weights and norms do not."""
    return next((info.signed for info in methods() if info.id == id), True)


def accuracy(exact: bool, parameters: Mapping[str, Any]) -> str:
    """In one word, how a method comes to its weights."""
    return "exact" if exact else "sampled" if "n_samples" in parameters else "approximate"
