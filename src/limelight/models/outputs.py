"""What is explained: a number that follows from a model's logits.

A model is of one `Kind`, which says how its logits become probabilities: "classes" exclude each other (softmax), the
labels of a "multi-label" model do not (a sigmoid each), and "regression" gives numbers that are none.

    logit         what the model computes last; for a function from texts to probabilities, their logarithms
    log-odds      log p - log(1 - p): what speaks for a label speaks as much against all others together
    probability   p
    value         the number of a regression

A `Quantity` is one of these for a label, or for one label minus another ("why A and not B?").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import ParameterError, shown

Kind = Literal["classes", "multi-label", "regression"]
Output = Literal["logit", "log-odds", "probability", "value"]

OUTPUTS: dict[Kind, tuple[Output, ...]] = {
    "classes": ("logit", "log-odds", "probability"),
    "multi-label": ("logit", "log-odds", "probability"),
    "regression": ("value",),
}
"""The outputs of each kind of model; the first is explained where nothing else is asked for."""
OF_FUNCTIONS: dict[Kind, tuple[Output, ...]] = {
    "classes": ("log-odds", "probability", "logit"),
    "multi-label": ("log-odds", "probability", "logit"),
    "regression": ("value",),
}
"""The same where only probabilities are known."""


def listed_labels(labels: object) -> list[Any]:
    """Labels that were given, as a list."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        what = "the string " if isinstance(labels, str) else ""
        raise ParameterError(f"labels must be a list of names: got {what}{shown(labels)}; write labels=[…]")
    return list(labels)


def probabilities(logits: Floats, kind: Kind = "classes") -> Floats:
    """Of logits (..., C), without overflow: a softmax, or a sigmoid of each. A regression has none."""
    if kind == "classes":
        g = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return g / g.sum(axis=-1, keepdims=True)
    if kind == "multi-label":
        g = np.exp(-np.abs(logits))
        return np.where(logits >= 0, 1.0, g) / (1.0 + g)
    raise ValueError("the numbers of a regression are no probabilities")


def _others(logits: Floats, target: int) -> tuple[Floats, Floats]:
    """log Σ_{c ≠ target} exp(logit_c) (n,), and the softmax over these others (n, C), zero at the target."""
    rest = logits.copy()
    rest[:, target] = -np.inf
    top = rest.max(axis=1, keepdims=True)
    g = np.exp(rest - top)
    total = g.sum(axis=1, keepdims=True)
    return (np.log(total) + top)[:, 0], g / total


@dataclass(frozen=True)
class Quantity:
    """An output of the label `target`, less that of the label `against` where there is one.

    `classes` is how many logits the model has.
    """

    classes: int
    target: int
    against: int | None = None
    output: Output = "logit"
    kind: Kind = "classes"

    @property
    def is_linear(self) -> bool:
        """Whether it is linear in the logits: exact values of a logit are then exact values of it."""
        if self.output == "log-odds":
            return self.kind == "multi-label" or self.classes == 2
        return self.output in ("logit", "value")

    def of(self, logits: Floats) -> Floats:
        """Of logits (n, C): (n,)."""
        own = self._of_label(logits, self.target)
        return own if self.against is None else own - self._of_label(logits, self.against)

    def direction_at(self, logits: Floats) -> Floats:
        """Its derivative with respect to each logit, at logits (n, C): (n, C). The same everywhere where linear."""
        own = self._direction_of_label(logits, self.target)
        return own if self.against is None else own - self._direction_of_label(logits, self.against)

    def _of_label(self, logits: Floats, label: int) -> Floats:
        if self.output == "probability":
            return probabilities(logits, self.kind)[:, label]
        if self.output == "log-odds" and self.kind == "classes":
            if self.classes == 2:
                return logits[:, label] - logits[:, 1 - label]
            return logits[:, label] - _others(logits, label)[0]
        return logits[:, label]

    def _direction_of_label(self, logits: Floats, label: int) -> Floats:
        chosen = np.zeros_like(logits)
        chosen[:, label] = 1.0
        if self.output == "probability":
            p = probabilities(logits, self.kind)
            if self.kind == "classes":
                return p[:, [label]] * (chosen - p)
            return chosen * p * (1.0 - p)
        if self.output == "log-odds" and self.kind == "classes":
            return chosen - _others(logits, label)[1]
        return chosen
