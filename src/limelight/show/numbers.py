"""Weights as people read them: as many digits as they deserve, with a sign, and with their error where there is one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight.explanation import Explanation, Prediction

_SMALLEST_FIXED, _LARGEST_FIXED = -4, 5
_MOST_DECIMALS = 7


@dataclass(frozen=True)
class Digits:
    """How the numbers of one column are written; None: in scientific notation."""

    decimals: int | None

    @classmethod
    def of(cls, explanation: Explanation) -> Digits:
        """Four digits of the largest weight, so that words of a hundredth of it still differ, and at least one of a
        typical standard error."""
        largest = _exponent(np.abs(explanation.weights).max(initial=0.0))
        if not _SMALLEST_FIXED <= largest <= _LARGEST_FIXED:
            return cls(None)
        decimals = max(3 - largest, 0)
        if explanation.stderr is not None and len(explanation.stderr):
            decimals = max(decimals, -_exponent(np.median(explanation.stderr)))
        return cls(min(decimals, _MOST_DECIMALS))

    def write(self, value: float, *, sign: str = "+") -> str:
        if not math.isfinite(value):
            return str(value)
        kind = ".2e" if self.decimals is None else f".{self.decimals}f"
        return f"{value:{sign if value else '-'}{kind}}"

    def error(self, explanation: Explanation, feature: int) -> str:
        """The standard error of a weight; empty where the method has none."""
        return "" if explanation.stderr is None else self.write(float(explanation.stderr[feature]), sign="-")

    def weight(self, explanation: Explanation, feature: int) -> str:
        """A weight with its sign, ± its standard error."""
        weight, error = self.write(float(explanation.weights[feature])), self.error(explanation, feature)
        return f"{weight} ± {error}" if error else weight


def _exponent(value: float) -> int:
    return math.floor(math.log10(value)) if value > 0 and math.isfinite(value) else 0


def said_of_winner(prediction: Prediction) -> str:
    """How sure the model is of its label, or the number that a regression gives."""
    winner = prediction.labels.index(prediction.label)
    if prediction.probabilities is None:
        return f"{prediction.logits[winner]:.4g}"
    return percent(float(prediction.probabilities[winner]))


def percent(share: float) -> str:
    """A probability; never rounded to a certainty that it is not."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{share:.1%}".replace("%", " %")


def short(value: Any) -> str:
    """A parameter or diagnostic in a few characters."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {short(own)}' for name, own in value.items())})"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def times(evaluations: int) -> str:
    """How often the model was asked."""
    return "once" if evaluations == 1 else f"{evaluations:,} times"


_SENTENCES = {
    ("r2",): "weighted R² {r2:.3f}",
    ("surrogate_prediction", "model_prediction"): (
        "surrogate {surrogate_prediction:+.3f} where the model has {model_prediction:+.3f}"
    ),
    ("intercept",): "intercept {intercept:+.3f}",
    ("error",): "error at most {error:.1g}",
}
"""How numbers that methods say of themselves are told, by their keys; all others by their own name."""


def diagnosis(explanation: Explanation) -> str | None:
    """What a method says of its own fit, in one line; None where it says nothing."""
    diagnostics = explanation.diagnostics
    told = [keys for keys in _SENTENCES if all(isinstance(diagnostics.get(key), int | float) for key in keys)]
    parts = [_SENTENCES[keys].format_map(diagnostics) for keys in told]
    silent = {key for keys in told for key in keys}
    samples = explanation.parameters.get("n_samples")
    if explanation.accuracy == "sampled" and isinstance(samples, int):
        parts.append(f"{samples:,} samples{_stability(diagnostics.get('stable_top'), samples)}")
        silent.add("stable_top")
    parts += [f"{name.replace('_', ' ')} {short(value)}" for name, value in diagnostics.items() if name not in silent]
    return " · ".join(parts) or None


def _stability(stable_top: Mapping[str, Any] | None, samples: int) -> str:
    """Whether another seed would name the same strongest words."""
    if stable_top is None:
        return ""
    k, needed = stable_top["k"], stable_top["n_samples"]
    if needed is None:
        return f" (the {k} strongest words include a tie, which no number of samples settles)"
    runs = f"the same {k} strongest words in {stable_top['level']:.0%} of runs".replace("%", " %")
    return f" ({runs})" if needed <= samples else f" ({runs} would take {needed:,})"
