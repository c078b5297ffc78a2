"""Data that a page draws of an explanation, as numbers and words that are ready for it.

Names, labels and sentences are made visible here: nothing that acts instead of being seen reaches the page.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation, Prediction
from limelight.explanation.serialization import numbers_written
from limelight.explanation.wording import accuracy_in_words, asked_in_words
from limelight.inputs.features import Features
from limelight.models.interface import View
from limelight.render.html.stylesheet import shade_class
from limelight.render.numbers import diagnosis, percent, times, value
from limelight.render.palette import LEVELS, hue_of, legend
from limelight.render.pieces import pieces
from limelight.render.row_model import listed_names, row_model

Drawing = dict[str, Any]


def drawn_prediction(prediction: Prediction) -> Drawing:
    """Labels with the shares of their bars; of a regression its numbers."""
    chances = prediction.probabilities
    said = [value(float(x)) for x in prediction.logits] if chances is None else [percent(float(p)) for p in chances]
    return {
        **prediction.to_dict(),
        "shown": [visible(label) for label in prediction.labels],
        "said": said,
        "assigned": [visible(label) for label in prediction.assigned],
    }


def drawn_text(view: View, features: Features) -> Drawing:
    """The text in pieces, each with the feature that it belongs to, and what features are called."""
    document = view.document
    sides = None if document.second is None else [document.side_of(own[0][0]) for own in features.spans]
    texts = []
    for start, end in document.sides:
        inside = [tuple((a - start, b - start) for a, b in own if start <= a and b <= end) for own in features.spans]
        parts = pieces(document.text[start:end], inside)
        texts.append([[piece.text, -1 if piece.feature is None else piece.feature] for piece in parts])
    return {
        "names": listed_names(features.names, sides),
        "texts": texts,
        "notices": [visible(notice) for notice in document.notices],
    }


def drawn_row(explanation: Explanation) -> Drawing:
    """One method's row: colours, weights as they are written, which are significant, and what speaks against it."""
    level = row_model(explanation)
    half = level.half_widths
    return {
        "shades": [shade_class(shade) for shade in level.shades],
        "hues": [hue_of(explanation, float(weight))[0] for weight in explanation.weights],
        "written": [level.written(j).replace("-", "−") for j in range(len(explanation))],
        "told": level.significant.tolist(),
        "half_width": numbers_written(half),
        "settled": _stable(explanation, half).tolist(),
        "unknown": sorted(level.unknown),
        "accuracy": accuracy_in_words(explanation),
        "asked": times(explanation.evaluations) if explanation.evaluations else "",
        "about": visible(asked_in_words(explanation)),
        "warnings": [visible(warning) for warning in explanation.warnings],
        "notices": [visible(notice) for notice in explanation.notices],
        "diagnosis": visible(diagnosis(explanation) or ""),
        "legend": [{"hue": hue[0], "says": visible(says)} for hue, says in legend([explanation])],
    }


def _stable(explanation: Explanation, half_width: Floats) -> Any:
    """True for words that are stable, as a run states that drew until they are.

    In other runs they are the words that more samples would not draw otherwise: those without an interval, or with one
    within one step of colour.
    """
    if explanation.stderr is None:
        return np.ones(len(explanation), dtype=bool)
    if (stable := explanation.stated.stable) is not None:
        return np.isin(np.arange(len(explanation)), stable)
    largest = float(np.abs(explanation.weights).max(initial=0.0))
    return half_width <= largest / LEVELS
