"""What every method returns: weights on words, with what is needed to judge them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from limelight.document import Span

Floats = npt.NDArray[np.float64]


def _written(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no infinity, which `n_samples` and `kernel_width` may be: it is written as the word "inf"."""
    return {name: str(v) if isinstance(v, float) and math.isinf(v) else v for name, v in values.items()}


@dataclass(frozen=True)
class Prediction:
    """What the model says of a text: one logit and one probability per label, and the label that wins."""

    label: str
    labels: tuple[str, ...]
    logits: Floats
    probabilities: Floats

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "labels": list(self.labels),
            "logits": self.logits.tolist(),
            "probabilities": self.probabilities.tolist(),
        }


@dataclass(frozen=True)
class Explanation:
    """The weight of each feature of one text for one label, according to one method.

    `stderr` is None where a method has no sampling error; `exact` is True where nothing was sampled or approximated.
    `diagnostics` holds what a method says of itself (LIME: intercept, fidelity, the surrogate's prediction);
    `notices` what a reader must know (a text that was cut).
    """

    text: str
    method: str
    target: str
    features: tuple[str, ...]
    weights: Floats
    spans: tuple[tuple[Span, ...], ...]
    stderr: Floats | None
    exact: bool
    prediction: Prediction
    seconds: float
    parameters: Mapping[str, Any]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.weights, self.stderr):
            if array is not None:
                array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.features)

    def top(self, k: int = 10) -> list[tuple[str, float]]:
        """The k features of largest absolute weight, largest first."""
        order = np.argsort(-np.abs(self.weights), kind="stable")[:k]
        return [(self.features[j], float(self.weights[j])) for j in order]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "method": self.method,
            "target": self.target,
            "features": list(self.features),
            "weights": self.weights.tolist(),
            "spans": [[list(span) for span in spans] for spans in self.spans],
            "stderr": None if self.stderr is None else self.stderr.tolist(),
            "exact": self.exact,
            "prediction": self.prediction.to_dict(),
            "seconds": self.seconds,
            "parameters": _written(self.parameters),
            "diagnostics": dict(self.diagnostics),
            "notices": list(self.notices),
            "text": self.text,
        }

    def to_html(self) -> str:
        """A self-contained page; text and names are escaped."""
        from limelight.show.html import page

        return page([self])

    def _repr_html_(self) -> str:
        from limelight.show.html import fragment

        return fragment([self])


@dataclass(frozen=True)
class Comparison(Sequence[Explanation]):
    """Several methods on the same features of the same text, in the order asked for."""

    explanations: tuple[Explanation, ...]

    def __len__(self) -> int:
        return len(self.explanations)

    def __getitem__(self, key: Any) -> Any:
        """By position, by slice, or by a method's id."""
        if isinstance(key, str):
            for explanation in self.explanations:
                if explanation.method == key:
                    return explanation
            raise KeyError(
                f"{key!r} is not among the methods compared: {', '.join(e.method for e in self.explanations)}"
            )
        return self.explanations[key]

    @property
    def features(self) -> tuple[str, ...]:
        return self.explanations[0].features

    @property
    def prediction(self) -> Prediction:
        return self.explanations[0].prediction

    @property
    def weights(self) -> Floats:
        """One row per method: (methods, features)."""
        return np.stack([explanation.weights for explanation in self.explanations])

    def to_dict(self) -> dict[str, Any]:
        """The object that `limelight explain --format json` prints."""
        first = self.explanations[0]
        return {
            "text": first.text,
            "prediction": first.prediction.to_dict(),
            "explanations": [explanation.to_dict() for explanation in self.explanations],
        }

    def to_html(self) -> str:
        from limelight.show.html import page

        return page(self.explanations)

    def _repr_html_(self) -> str:
        from limelight.show.html import fragment

        return fragment(self.explanations)
