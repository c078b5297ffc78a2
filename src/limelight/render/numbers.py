"""Weights as people read them: as many digits as they deserve, with a sign, ± half of an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight.explanation.result import Explanation, GroupWeights, Prediction
from limelight.explanation.significance import INTERVAL

_SMALLEST_FIXED, _LARGEST_FIXED = -4, 5
_MOST_DECIMALS = 7


@dataclass(frozen=True)
class Digits:
    """How the numbers of one column are written; None: in scientific notation."""

    decimals: int | None

    @classmethod
    def of(cls, weights: Explanation | GroupWeights) -> Digits:
        """Four digits of the largest weight, so that words of a hundredth of it still differ, and at least one of a
        typical interval."""
        finite = weights.weights[np.isfinite(weights.weights)]
        largest = _exponent(float(np.abs(finite).max(initial=0.0)))
        if not _SMALLEST_FIXED <= largest <= _LARGEST_FIXED:
            return cls(None)
        decimals = max(3 - largest, 0)
        if weights.stderr is not None and (known := weights.stderr[np.isfinite(weights.stderr)]).size:
            decimals = max(decimals, -_exponent(INTERVAL * float(np.median(known))))
        return cls(min(decimals, _MOST_DECIMALS))

    def write(self, value: float, *, sign: str = "+") -> str:
        if not math.isfinite(value):
            return str(value)
        kind = ".2e" if self.decimals is None else f".{self.decimals}f"
        return f"{value:{sign if value else '-'}{kind}}"

    def weight(self, weight: float, half_width: float | None, *, signed: bool) -> str:
        """A weight ± half of its interval, None where nothing was sampled, NaN where it cannot be known."""
        written = self.write(weight, sign="+" if signed else "-")
        if half_width is None:
            return written
        return (
            f"{written}, no interval" if math.isnan(half_width) else f"{written} ± {self.write(half_width, sign='-')}"
        )


def _exponent(value: float) -> int:
    return math.floor(math.log10(value)) if value > 0 and math.isfinite(value) else 0


def said_of_winner(prediction: Prediction) -> str:
    """How sure the model is of its label, or the number that a regression gives."""
    winner = prediction.labels.index(prediction.label)
    if prediction.probabilities is None:
        return value(float(prediction.logits[winner]))
    return percent(float(prediction.probabilities[winner]))


def value(number: float) -> str:
    """The number that a regression gives."""
    return f"{number:,.6g}"


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


def typed(value: Any) -> str:
    """An option's value as it is typed on the command line."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def times(evaluations: int) -> str:
    """How often the model was asked."""
    return "once" if evaluations == 1 else f"{evaluations:,} times"


_SENTENCES = {
    ("r2",): "weighted R² {r2:.3f}",
    ("surrogate_prediction", "model_prediction"): (
        "surrogate {surrogate_prediction:+.3f} where the model has {model_prediction:+.3f}"
    ),
    ("intercept",): "intercept {intercept:+.3f}",
}
"""Sentences for diagnostics, by their keys; all others are shown by their own name."""
_SHOWN_ELSEWHERE = ("warnings", "barely_moves", "unknown", "rounding", "error")
"""Diagnostics that views have a place of their own for: the verdict, unknown words, the accuracy in words."""
_FOR_PROGRAMS = (
    "nodes",
    "intercept_error",
    "complete",
    "stopped",
    "until",
    "seconds",
    "settled",
    "freedom",
    "noise_alone",
)
"""Diagnostics of a computation rather than of its result: they are in the JSON."""


def diagnosis(explanation: Explanation) -> str | None:
    """A method's diagnostics of its own fit, in one line; None where it has none."""
    diagnostics = {
        name: value
        for name, value in explanation.diagnostics.items()
        if value is not None and name not in (*_SHOWN_ELSEWHERE, *_FOR_PROGRAMS)
    }
    worded = [keys for keys in _SENTENCES if all(isinstance(diagnostics.get(key), int | float) for key in keys)]
    parts = [_SENTENCES[keys].format_map(diagnostics) for keys in worded]
    silent = {key for keys in worded for key in keys}
    if isinstance(note := diagnostics.get("approximation"), str):
        parts.append(note)
        silent.add("approximation")
    samples = explanation.parameters.get("n_samples")
    if explanation.accuracy == "sampled" and isinstance(samples, int):
        parts.append(f"{samples:,} samples{_stability(explanation, diagnostics.get('stable_top'), samples)}")
        silent.add("stable_top")
    parts += [f"{name.replace('_', ' ')} {short(value)}" for name, value in diagnostics.items() if name not in silent]
    return " · ".join(parts) or None


def _stability(explanation: Explanation, stable_top: Any, samples: int) -> str:
    """Whether another seed would name the same strongest words; nothing where there are no others."""
    if not isinstance(stable_top, Mapping):
        return ""
    k, level, needed = (stable_top.get(name) for name in ("k", "level", "n_samples"))
    if not isinstance(k, int) or not isinstance(level, float) or len(explanation) <= k:
        return ""
    if not isinstance(needed, int):
        return f" (the {k} strongest words include a tie, which no number of samples settles)"
    runs = f"the same {k} strongest words in {level:.0%} of runs".replace("%", " %")
    return f" ({runs})" if needed <= samples else f" ({runs} would take {needed:,})"
