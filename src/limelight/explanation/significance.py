"""What an explanation shows beyond its own error, and what has to be said of it in words.

A weight counts as told from zero where its error does not explain it: for sampled weights with the false discoveries
among a text's features held at 5 % (Benjamini and Hochberg, 1995), for the others where it exceeds rounding and the
proven bound. Every view draws the rest as not distinguishable from 0.

Readers look at the words that were told from zero, and a 95 % interval of a word that was picked for being far from
zero misses more often than 5 %. The intervals of a text are therefore as wide as keeps the share of misses among the
picked at 5 % (the false coverage rate of Benjamini and Yekutieli, 2005): with R of d features picked they leave out
5 % · R/d each. The same rule picks and draws, so that an interval excludes 0 exactly where its feature is picked. A
standard error is never widened for that.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Floats
from limelight.explanation.result import Explanation
from limelight.statistics.student import INTERVAL as INTERVAL
from limelight.statistics.student import as_normal, half_width

FALSE_DISCOVERIES = 0.05
"""The expected share of features that are called told from zero and are not, and of intervals of such features that
miss their weight."""

_QUANTILE = 1e-12
"""Relative error of a quantile of the normal distribution, with room to spare."""
ABOUT_INTERVALS = "± is an interval: of those of the coloured words 95 % hold the true weight"
"""For legends."""


@dataclass(frozen=True)
class Evidence:
    """For each feature of an explanation: whether its weight is told from zero, and half of its interval.

    `half_width` holds sampling and rounding, and is None where nothing was sampled. A weight without an interval (NaN)
    is never told from zero. `level` is that of each single interval: 95 % where every feature is told from zero, and
    more where few are.
    """

    told: npt.NDArray[np.bool_]
    half_width: Floats | None
    level: float = 1.0 - FALSE_DISCOVERIES

    @property
    def is_empty(self) -> bool:
        """Whether no weight at all is told from zero."""
        return not self.told.any()


def evidence(explanation: Explanation) -> Evidence:
    """Of the weights of features; groups have their own, by `evidence_of_groups`."""
    return evidence_of(explanation.weights, explanation.stderr, rounding_of(explanation), freedom_of(explanation))


def intervals_of(explanation: Explanation) -> Floats:
    """The ends of the interval of each feature (d, 2); NaN where nothing is known of the error."""
    half: Any = evidence(explanation).half_width
    if half is None:
        half = rounding_of(explanation) if explanation.exact else np.nan
    return np.stack([explanation.weights - half, explanation.weights + half], axis=1)


def evidence_of_groups(explanation: Explanation) -> Evidence | None:
    """Of the outer of two levels, where there are two: a group is rounded as often as it has features."""
    groups = explanation.groups
    if groups is None:
        return None
    rounding = rounding_of(explanation) * max(map(len, groups.members), default=1)
    return evidence_of(groups.weights, groups.stderr, rounding, freedom_of(explanation))


def evidence_of(weights: Floats, stderr: Floats | None, rounding: float, freedom: int | None = None) -> Evidence:
    """`rounding`: how far a weight may be off without sampling, in its own units. `freedom`: from how many samples the
    standard errors are, where they are few."""
    beyond = np.maximum(np.abs(weights) - rounding, 0.0)
    if stderr is None:
        return Evidence(beyond > 0.0, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(beyond == 0.0, 0.0, beyond / stderr)
    told = discovered(z if freedom is None else as_normal(z, freedom), FALSE_DISCOVERIES)
    tail = FALSE_DISCOVERIES * max(int(told.sum()), 1) / max(len(told), 1)
    sampling = half_width(tail, freedom) * stderr
    # An interval that ends at 0, but for the last digits of the quantile, holds it.
    return Evidence(told & (beyond > sampling * (1.0 + _QUANTILE)), sampling + rounding, 1.0 - tail)


def discovered(z: Floats, level: float) -> npt.NDArray[np.bool_]:
    """Benjamini and Hochberg's step-up rule for two-sided normal statistics; NaN is never discovered."""
    p = np.array([math.erfc(value / math.sqrt(2.0)) if value == value else 1.0 for value in z])
    order = np.argsort(p, kind="stable")
    passed = np.flatnonzero(p[order] <= level * np.arange(1, len(p) + 1) / len(p))
    told = np.zeros(len(p), dtype=bool)
    if len(passed):
        told[order[: passed[-1] + 1]] = True
    return told


def rounding_of(explanation: Explanation) -> float:
    """The error of a weight that is not sampling: what its method states, and its proven bound."""
    stated = [explanation.diagnostics.get(name) for name in ("rounding", "error")]
    return sum(float(value) for value in stated if isinstance(value, int | float) and value >= 0.0)


def freedom_of(explanation: Explanation) -> int | None:
    """From how many samples the standard errors are, where they are few."""
    stated = explanation.diagnostics.get("freedom")
    return stated if type(stated) is int and stated > 0 else None


# ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def warnings_of(explanation: Explanation) -> tuple[str, ...]:
    """The verdict: what speaks against relying on the explanation, the most important first."""
    said = explanation.diagnostics.get("warnings")
    return tuple(map(str, said)) if isinstance(said, list | tuple) else ()


def barely_moves(explanation: Explanation) -> bool:
    """Whether all words together hardly move the output, so that no word is drawn in full colour."""
    return explanation.diagnostics.get("barely_moves") is True


def ending_of(explanation: Explanation) -> str | None:
    """How a run of samples ended, where it did as it was told to: nothing to be warned of. Samplers say it last."""
    stopped, until = (explanation.diagnostics.get(name) for name in ("stopped", "until"))
    as_told = stopped in ("settled", "tied", "complete") or (stopped == "time" and until is None)
    return explanation.notices[-1] if as_told and explanation.notices else None


def notices_of(explanations: Sequence[Explanation], names: Sequence[str]) -> list[str]:
    """What a reader must know beside how runs ended, each once; what is not of all explanations says whose it is."""
    owners: dict[str, list[str]] = {}
    for name, explanation in zip(names, explanations, strict=True):
        for notice in explanation.notices:
            if notice != ending_of(explanation):
                owners.setdefault(notice, []).append(name)
    return [
        notice if len(own) == len(explanations) else f"{', '.join(dict.fromkeys(own))}: {notice}"
        for notice, own in owners.items()
    ]


def unknown_words(explanation: Explanation) -> frozenset[int]:
    """The features whose words the model does not know."""
    stated = explanation.diagnostics.get("unknown")
    known = range(len(explanation))
    return (
        frozenset(j for j in stated if type(j) is int and j in known)
        if isinstance(stated, list | tuple)
        else frozenset()
    )


def accuracy_in_words(explanation: Explanation) -> str:
    """How the weights were computed. "exact" would read as "right", which no explanation is."""
    if explanation.diagnostics.get("complete"):
        return "no sampling, every combination of words was asked" + _ridge_in_words(explanation)
    if explanation.diagnostics.get("noise_alone"):
        return "no sampling, but a function whose answers vary"
    if explanation.accuracy in ("sampled", "approximate"):
        return explanation.accuracy
    error = rounding_of(explanation)
    known = f", error below {_rounded_up(error)}" if sys.float_info.min < error < math.inf else ""
    return f"no sampling{known}{_ridge_in_words(explanation)}"


def _ridge_in_words(explanation: Explanation) -> str:
    """Which of LIME's regressions it is, where nothing was drawn: its ridge is weighed against a number of samples."""
    parameters = explanation.parameters
    samples = parameters.get("ridge_samples", parameters.get("n_samples"))
    is_regression = isinstance(samples, int | float) and not isinstance(samples, bool) and "ridge" in parameters
    return f"; ridge of {samples:,g} samples" if is_regression and math.isfinite(samples) else ""


def _rounded_up(error: float) -> str:
    """With one digit, never below."""
    unit = 10.0 ** math.floor(math.log10(error))
    return f"{math.ceil(error / unit) * unit:.0e}"


def asked_in_words(explanation: Explanation) -> str:
    """The label that was asked about, and the one that it was compared with; of a regression the name of its value."""
    rather = "" if explanation.against is None else f" rather than {explanation.against}"
    return explanation.target + rather


def spoken_for(explanation: Explanation, feature: int) -> str | None:
    """The label that a word speaks for; None where it speaks against the target and for no label in particular.

    Weights without a sign speak for nothing.
    """
    weight = explanation.weights[feature]
    if not explanation.signed or weight == 0.0:
        return None
    if weight > 0.0:
        return explanation.target
    if explanation.against is not None:
        return explanation.against
    prediction = explanation.prediction
    if prediction.kind != "classes" or len(prediction.labels) != 2:
        return None
    return next(label for label in prediction.labels if label != explanation.target)
