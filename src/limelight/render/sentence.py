"""An explanation in one plain sentence: "negative, mainly because of bad; great speaks against it".

Terminal, page, notebook and figure draw the same parts, each in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from limelight.core.arrays import Floats
from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation
from limelight.render.numbers import said_of_winner
from limelight.render.row_model import listed_names, row_model

NAMED_FOR, NAMED_AGAINST = 3, 2
"""Words that the sentence names at most."""
BESIDE_STRONGEST = 1 / 3
"""A word is named beside the strongest of its side where it has this fraction of the strongest one's weight."""
WORTH_SAYING = 1 / 4
"""What speaks against is named from this fraction of the strongest weight for it."""
MAINLY = 1 / 2
"""The named words are the main reason where they hold this fraction of all significant weight on their side."""
_LONGEST = 60


class Part(NamedTuple):
    """Letters of the sentence: plain ones, a label, or the name of a feature with its number."""

    text: str
    feature: int | None = None
    is_label: bool = False


def sentence(explanation: Explanation) -> list[Part]:
    """The label that the model gives, and the words that decide it, as parts to draw: nothing in them acts."""
    return [Part(visible(part.text), part.feature, part.is_label) for part in _parts(explanation)]


def plain_sentence(explanation: Explanation, mark: str = "*") -> str:
    """The sentence as text, with a mark around each word."""
    parts = sentence(explanation)
    return "".join(part.text if part.feature is None else f"{mark}{part.text}{mark}" for part in parts)


def _parts(explanation: Explanation) -> Iterator[Part]:
    prediction, target = explanation.prediction, explanation.target
    own = row_model(explanation)
    weights = np.where(own.significant, explanation.weights, 0.0)
    is_regression = prediction.kind == "regression"
    asked_of_winner = target in prediction.assigned
    if is_regression:
        yield Part(f"{target} {said_of_winner(prediction)}", is_label=True)
    elif prediction.kind == "multi-label" and not asked_of_winner:
        yield from (Part("not "), Part(target, is_label=True))
    else:
        yield Part(target if asked_of_winner else prediction.label, is_label=True)
        if asked_of_winner and explanation.against is not None:
            yield from (Part(" rather than "), Part(explanation.against, is_label=True))
    for_, against = _strongest(explanation, weights, NAMED_FOR), _strongest(explanation, -weights, NAMED_AGAINST)
    if not for_ and not against:
        yield Part(f"; {own.none_significant}")
    elif explanation.stated.barely_moves:
        yield Part(f"; all {own.thing}s together barely change this")
    elif not explanation.signed:
        yield from (Part("; "), *_listed(explanation, for_))
        yield Part(f" {_verb(for_, 'has', 'have')} the largest weight{'s'[: len(for_) > 1]}, for no side")
    elif is_regression:
        yield from _sides(explanation, for_, ("raise", "it"), against, ("lower", "it"))
    elif not asked_of_winner:
        rather = "" if explanation.against is None else f" rather than {explanation.against}"
        up = f"for {target}{rather}"
        yield from _sides(explanation, for_, ("speak", up), against, ("speak", "against it"))
    else:
        yield from _reasons(explanation, weights, for_, against)


def _reasons(explanation: Explanation, weights: Floats, for_: Sequence[int], against: Sequence[int]) -> Iterator[Part]:
    """Why the model gives the label that was asked about."""
    if not for_:
        yield from (Part(", although "), *_listed(explanation, against))
        yield Part(f" {_verb(against, 'speaks', 'speak')} against it")
        return
    strongest, all_for = weights[for_[0]], weights[weights > 0.0].sum()
    holds = weights[for_].sum() >= MAINLY * all_for
    yield Part(", mainly because of " if holds else ", because of many words, first of all ")
    yield from _listed(explanation, for_)
    if against and -weights[against[0]] >= WORTH_SAYING * strongest:
        yield from (Part("; "), *_listed(explanation, against))
        more = " more strongly" if -weights[against[0]] > strongest else ""
        yield Part(f" {_verb(against, 'speaks', 'speak')}{more} against it")


def _sides(
    explanation: Explanation, for_: Sequence[int], up: tuple[str, str], against: Sequence[int], down: tuple[str, str]
) -> Iterator[Part]:
    """What speaks for something that the model does not say, or raises a number, and what speaks against it."""
    between = ": "
    for features, (verb, end) in ((for_, up), (against, down)):
        if features:
            yield from (Part(between), *_listed(explanation, features))
            yield Part(f" {_verb(features, verb + 's', verb)} {end}")
            between = "; "


def _strongest(explanation: Explanation, weights: Floats, most: int) -> list[int]:
    """The features of the largest weights above zero, none of a name that is there already."""
    chosen: dict[str, int] = {}
    for j in map(int, np.argsort(-weights, kind="stable")):
        if weights[j] <= 0.0 or weights[j] < BESIDE_STRONGEST * weights.max() or len(chosen) == most:
            break
        chosen.setdefault(explanation.features[j], j)
    return list(chosen.values())


def _listed(explanation: Explanation, features: Sequence[int]) -> Iterator[Part]:
    names = listed_names(explanation.features, explanation.sides)
    for i, j in enumerate(features):
        if i:
            yield Part(" and " if i == len(features) - 1 else ", ")
        name = names[j]
        yield Part(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1].rstrip()}…", j)


def _verb(features: Sequence[int], one: str, several: str) -> str:
    return one if len(features) == 1 else several
