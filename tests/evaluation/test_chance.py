"""Chance is exact where every set of words was asked about."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import limelight
from limelight.evaluation.measure import Key
from limelight.inputs.features import features_of
from limelight.models.outputs import probabilities
from reference.opaque import Opaque

TEXT = "great but too long film"
METHOD = {"m": [[("great", 1.0)]]}
STORED = 1e-6
"""Eight digits are stored."""


def outputs_of_all_orders(removal: str, output: str, kept: bool = False) -> np.ndarray:
    """Curves of all 120 orders of five words: (orders, 6)."""
    model = Opaque()
    view = model.view(TEXT)
    game, target = view.game(features_of(view.document), removal), int(np.argmax(view.logits))
    rows = [[(j in order[:k]) == kept for j in range(5)] for order in permutations(range(5)) for k in range(6)]
    logits = game(np.array(rows))
    values = logits if output == "logit" else probabilities(logits)
    return values[:, target].reshape(-1, 6)


@pytest.mark.parametrize("removal", ["mask", "delete"])
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_chance_of_few_words_is_the_mean_over_all_orders(removal: str, output: str) -> None:
    evaluation = limelight.evaluate(Opaque(), [TEXT], [], elsewhere=METHOD, chance_orders=2)
    place = {"removal": removal, "output": output}
    for measure, kept in (("comprehensiveness", False), ("sufficiency", True)):
        curves = outputs_of_all_orders(removal, output, kept)
        expected = curves[0, 5 if kept else 0] - curves[:, 1:].mean()
        assert evaluation.of(Key(measure, "all", **place))[0] == pytest.approx(expected, abs=STORED)


def test_chance_is_drawn_where_sets_are_not_asked_about() -> None:
    found = limelight.evaluate(Opaque(), [TEXT], [], elsewhere=METHOD, chance_orders=2, limits="found")
    curves = outputs_of_all_orders("delete", "logit")
    expected = curves[0, 0] - curves[:, 1:].mean()
    value = found.of(Key("comprehensiveness", "all", removal="delete", output="logit"))[0]
    assert abs(value - expected) > 1e-3
    assert found.about["inputs"]["distinct"] < 64
