"""Sentences about an explanation that every view shows: how accurate it is, how it ended, whom a word speaks for."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import cast, get_args

from limelight.explanation.result import Explanation
from limelight.models.outputs import Output, Quantity


def ending_of(explanation: Explanation) -> str | None:
    """How a run of samples ended, where it did as it was told to: nothing to be warned of. Samplers say it last."""
    stopped, until = explanation.stated.stopped, explanation.stated.until
    as_told = stopped in ("settled", "tied", "complete", "samples") or (stopped == "time" and until is None)
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


def accuracy_in_words(explanation: Explanation) -> str:
    """How the weights were computed. "exact" would read as "right", which no explanation is."""
    if explanation.stated.complete:
        return "no sampling, every combination of words was asked" + _ridge_in_words(explanation)
    if explanation.stated.noise_alone:
        return "no sampling, but a function whose answers vary"
    if explanation.accuracy in ("sampled", "approximate"):
        return explanation.accuracy
    error = explanation.stated.numerical_error
    known = f", error below {_rounded_up(error)}" if sys.float_info.min < error < math.inf else ""
    return f"no sampling{known}{_ridge_in_words(explanation)}"


def accuracy_briefly(explanation: Explanation) -> str:
    """How the weights were computed, without bounds."""
    if explanation.stated.complete or (explanation.exact and not explanation.stated.noise_alone):
        return "no sampling"
    return accuracy_in_words(explanation)


def contrast_in_words(explanation: Explanation) -> str | None:
    """The unit of a contrast, and how its value follows from the model's logits; None where one label is explained."""
    prediction, output, against = explanation.prediction, explanation.parameters.get("output"), explanation.against
    if output not in get_args(Output) or not {explanation.target, against} <= set(prediction.labels):
        return None
    places = [prediction.labels.index(str(name)) for name in (explanation.target, against)]
    logits = prediction.logits[None]
    own, other = (
        float(Quantity(logits.shape[1], place, output=cast(Output, output), kind=prediction.kind).of(logits)[0])
        for place in places
    )
    less = f"{other:+.3f}" if other >= 0.0 else f"({other:+.3f})"
    return (
        f"weights are in units of the {output}: that of {explanation.target} less that of {against}, "
        + f"{own:+.3f} − {less.removeprefix('+')} = {own - other:+.3f}".replace("-", "−")
    )


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
