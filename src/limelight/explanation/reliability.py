"""What speaks against relying on an explanation, in plain sentences that say what to do.

The thresholds were chosen on 50 film reviews and 60 sentences, with a fine-tuned transformer of six layers and the
embedded model, and judged on 200 reviews and 140 sentences besides: nothing is said of any explanation of the embedded
model, and LIME is said to contradict the transformer on 7 % of the reviews and 2 % of the sentences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from limelight.errors import shown
from limelight.explainers.method import find
from limelight.explanation.result import Explanation
from limelight.explanation.significance import Significance
from limelight.statistics.stability import chance_of_other_top, samples_for_stable_top

CONTRADICTS = 0.05
"""Of all that the weights hand out: off by so much, and on the other side, a surrogate contradicts the model. Where it
is less, the model itself is undecided."""
FAR = 0.25
"""Of all that the weights hand out: a surrogate this far from the model describes another text."""
LOW_R2 = 0.5
"""Below, the weights describe less than half of what the model does around the text."""
FAIR_R2 = 0.6
"""Below, that is said without a warning: a fit just above LOW_R2 is hardly better than one just below."""
COARSE = 1e-3
"""Of the largest logit: more error than this is that of half precision."""
TOP = 5
"""The strongest words, which people read."""
LIKELY = 0.5
"""A ranking is said not to survive where this is more likely than not, for each of the first words."""
STABLE = 0.95
"""The chance that an advised number of samples is to give a ranking of surviving."""
MOST_ADVISED = 10**6
"""More samples than this are not advised: words that close are tied."""
SATURATED = 1e-4
"""Closer to 0 or 1 than this a probability moves by less than the digits that it is shown with: by 0.01 %."""

LITTLE = {"logit": 0.02, "log-odds": 0.02, "probability": 0.005}
"""All words together move the model barely where their weights hand out less than this: half of a percentage point of
a probability, at most. The numbers of a regression have no such scale, and none is guessed."""


def verdict(explanation: Explanation, of_method: Sequence[str] = ()) -> list[str]:
    """The most important first. `of_method` is what the computation itself has to say."""
    own = explanation.significance
    nothing, unknown = _nothing_significant(explanation, own), _without_interval(explanation)
    if unknown is not None:
        said = [unknown, *([] if nothing is not None else _of_surrogate(explanation))]
    else:
        said = [nothing] if nothing is not None else [*_of_surrogate(explanation), *_of_noise(explanation, own)]
    return [*said, *of_method, *_of_output(explanation)]


def moves_little(explanation: Explanation) -> bool:
    """Whether weights that are changes of the output add up to next to nothing, whatever their signs."""
    if explanation.prediction.kind == "regression" or not len(explanation):
        return False
    least = LITTLE.get(str(explanation.parameters.get("output", "logit")))
    return least is not None and float(np.abs(explanation.weights).sum()) < least


def with_little_effect(explanation: Explanation) -> Explanation:
    """A copy that is drawn without full colour, and says first that its words barely move the model."""
    said = list(explanation.warnings)
    if not explanation.significance.is_empty:  # what tells nothing says so already
        said.insert(
            0,
            "these words barely move the model: all of them together change the output for "
            f"{shown(explanation.target)} by next to nothing, so do not read a reason into them",
        )
    return explanation.stating(barely_moves=True, warnings=said)


def little_for_all(explanations: Sequence[Explanation]) -> list[Explanation]:
    """Explanations of one text: weights that are no changes of the output, such as attention, tell nothing of how far
    the words move it; where another method's do, and it is next to nothing, all of that label say so."""
    of = {(e.target, e.against) for e in explanations if e.stated.barely_moves}
    changing = (e for e in explanations if find(e.method).changes)
    moved = {(e.target, e.against) for e in changing if not e.stated.barely_moves}
    little = of - moved
    return [
        with_little_effect(e) if (e.target, e.against) in little and not e.stated.barely_moves else e
        for e in explanations
    ]


def _nothing_significant(explanation: Explanation, own: Significance) -> str | None:
    if not own.is_empty:
        return None
    largest, rounding = float(np.abs(explanation.weights).max(initial=0.0)), explanation.stated.numerical_error
    if own.half_width is None or largest <= rounding:
        coarse = rounding > COARSE * float(np.abs(explanation.prediction.logits).max())
        instead = "load the model in float32" if coarse else "do not read anything into them"
        return f"no weight can be told from 0, since all are within numerical error: {instead}"
    if len(explanation) == 1:
        return "one feature alone gives samples nothing to compare it with: use leave-one-out"
    return f"no weight can be told from 0 beside its sampling noise: {_more_samples(explanation)}"


def _without_interval(explanation: Explanation) -> str | None:
    """Weights of which samples do not tell how far they are off."""
    if explanation.stderr is None or not (unknown := int(np.isnan(explanation.stderr).sum())):
        return None
    d = len(explanation)
    which = "no weight has" if unknown == d else f"{unknown} of {d} weights have no"
    return (
        f"{which} {'an ' if unknown == d else ''}interval, since these samples do not tell how far they may be off: "
        f"{_more_samples(explanation)}, 4 per word or more"
    )


def _of_surrogate(explanation: Explanation) -> list[str]:
    """How well a linear surrogate describes the model."""
    stated = explanation.stated
    surrogate, model, r2 = stated.surrogate_prediction, stated.model_prediction, stated.r2
    said = []
    if surrogate is not None and model is not None:
        handed_out, off = float(np.abs(explanation.weights).sum()), abs(surrogate - model)
        both = f"it gives {surrogate:.3g} where the model gives {model:.3g}, so use shapley or leave-one-out"
        if off > CONTRADICTS * handed_out and _on_other_sides(explanation, surrogate, model):
            said.append(f"the linear fit contradicts the model on this very text: {both}")
        elif off > FAR * handed_out:
            said.append(f"the linear fit is far from the model on this very text: {both}")
    if r2 is not None and r2 < LOW_R2:
        said.append(
            f"the linear fit describes only {r2:.0%} of how the output changes (R²), since words act together here: "
            "compare with shapley, or explain features='phrases'".replace("%", " %")
        )
    return said


def remarks_on_fit(r2: object) -> list[str]:
    """A notice on a linear fit that is neither good nor so poor that a warning is due."""
    if not isinstance(r2, int | float) or not LOW_R2 <= r2 < FAIR_R2:
        return []
    share = f"{r2:.0%}".replace("%", " %")
    return [
        f"the linear fit describes {share} of how the output changes (R²): compare with shapley before relying on it"
    ]


def _on_other_sides(explanation: Explanation, one: float, other: float) -> bool:
    """Of what divides yes from no; a regression has no such place."""
    output = explanation.parameters.get("output")
    middle = 0.5 if output == "probability" and explanation.against is None else 0.0
    return output != "value" and (one - middle) * (other - middle) < 0.0


def _of_noise(explanation: Explanation, own: Significance) -> list[str]:
    """Whether sampling leaves anything to read."""
    if explanation.stderr is None or own.half_width is None:
        return []
    said = []
    typical = float(np.median(own.half_width))
    if typical > np.abs(explanation.weights).max():
        said.append(f"most intervals (± {typical:.2g}) are wider than the largest weight: {_more_samples(explanation)}")
    firsts = range(1, min(TOP, len(explanation) - 1) + 1)
    weights, stderr = explanation.weights, explanation.stderr
    if firsts and all(chance_of_other_top(weights, stderr, k) >= LIKELY for k in firsts):
        said.append(f"another run would likely name other strongest words: {_enough_samples(explanation, firsts)}")
    return said


def _samples(explanation: Explanation) -> tuple[str, int] | None:
    """What decides how many samples are drawn, and how many they are."""
    for name in ("n_permutations", "n_samples"):
        drawn = explanation.parameters.get(name)
        if isinstance(drawn, int):
            # Permutations are whole ones, and may be more than was asked for; LIME's samples are as many as it says.
            is_least = name == "n_samples" and explanation.method != "lime"
            return name, max(drawn, explanation.evaluations or 0) if is_least else drawn
    return None


def _more_samples(explanation: Explanation) -> str:
    if explanation.stated.noise_alone:
        return "average several answers of the function for each text"
    drawn = _samples(explanation)
    return "draw more samples" if drawn is None else f"raise {drawn[0]} ({drawn[1]:,} here)"


def _enough_samples(explanation: Explanation, firsts: Sequence[int]) -> str:
    if explanation.stated.noise_alone:
        return _more_samples(explanation)
    drawn = _samples(explanation)
    if drawn is None or explanation.stderr is None:
        return "draw more samples"
    name, n = drawn
    needed = min(samples_for_stable_top(explanation.weights, explanation.stderr, n, k, STABLE) for k in firsts)
    if needed > max(MOST_ADVISED, n):
        return "they are as good as tied, and no number of samples settles it"
    unit = 10 ** (len(str(int(needed))) - 1)
    return f"raise {name} to {math.ceil(needed / unit) * unit:,}"


def _of_output(explanation: Explanation) -> list[str]:
    """Whether the output that is explained can move at all."""
    prediction = explanation.prediction
    if explanation.parameters.get("output") != "probability" or prediction.probabilities is None:
        return []
    chance = float(prediction.probabilities[prediction.labels.index(explanation.target)])
    if SATURATED < chance < 1.0 - SATURATED:
        return []
    return ["the probability is within 0.01 % of certainty, where it hardly moves: use output='log-odds'"]
