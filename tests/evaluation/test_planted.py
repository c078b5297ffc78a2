"""A shortcut that was planted in training: the evaluation finds the methods that found it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import limelight
from limelight.evaluation.measure import Key
from reference.planted import (
    LABELS,
    at_random,
    flipped,
    knowing,
    shortcut_model,
    shortcut_texts,
    with_noise,
    without_shortcuts,
)

N_TEXTS = 20
NOISE = (0.1, 0.5, 2.0)


@pytest.fixture(scope="module")
def evaluation() -> limelight.Evaluation:
    model = shortcut_model()
    texts, labels = shortcut_texts(N_TEXTS, seed=2)
    assert model.predict_logits(texts).argmax(axis=1).tolist() == labels
    predicted = [LABELS[label] for label in labels]
    truth = knowing(texts, predicted)
    exact = [limelight.explain(model, text, "shapley") for text in texts]
    shapley = [list(zip(own.features, map(float, own.weights), strict=True)) for own in exact]
    elsewhere = {
        "truth": truth,
        "flipped": flipped(truth),
        "random": at_random(texts),
        **{f"noise {size}": with_noise(shapley, size) for size in NOISE},
    }
    return limelight.evaluate(model, texts, ["shapley", "alpha-avg"], elsewhere=elsewhere)


def scores(evaluation: limelight.Evaluation) -> dict[str, Any]:
    return {one.method: one for one in evaluation.summary.standings("signed")}


def test_who_knows_the_shortcut_is_near_the_best_possible(evaluation: limelight.Evaluation) -> None:
    assert evaluation.summary.limits == {"certified": N_TEXTS}
    found = scores(evaluation)
    assert found["truth"].score.value > 0.9
    assert found["shapley"].score.value > 0.9
    assert found["truth"].decision.verdict == found["shapley"].decision.verdict == "better"


def test_who_knows_nothing_is_at_chance(evaluation: limelight.Evaluation) -> None:
    found = scores(evaluation)
    assert 0.0 in found["random"].score
    assert found["random"].decision.verdict in ("equal", "undecided")


def test_a_flipped_sign_is_worse_than_chance_and_caught(evaluation: limelight.Evaluation) -> None:
    assert scores(evaluation)["flipped"].decision.verdict == "worse"
    place = {"removal": evaluation.summary.removal, "output": evaluation.summary.output}
    assert evaluation.summary.mean(Key("sign", "", "flipped", **place)).value < 0.25
    assert evaluation.summary.mean(Key("sign", "", "truth", **place)).value > 0.75


def test_who_is_far_below_the_best_order_is_not_said_to_have_found_the_words(evaluation: limelight.Evaluation) -> None:
    (noisy,) = (line for line in evaluation.verdict if line.startswith("noise 2.0:"))
    (good,) = (line for line in evaluation.verdict if line.startswith("shapley:"))
    assert scores(evaluation)["noise 2.0"].score.high < 0.5
    assert "finds some of the words that matter" in noisy
    assert "finds the words that matter" in good


def test_shapley_values_fall_as_noise_grows(evaluation: limelight.Evaluation) -> None:
    found = scores(evaluation)
    falling = [found[name].score.value for name in ("shapley", *(f"noise {size}" for size in NOISE))]
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] < 0.6 * falling[0]


def test_the_model_has_learnt_the_shortcut_and_nothing_else() -> None:
    """What the other tests stand on: without its shortcut a text has no label."""
    model = shortcut_model()
    texts, labels = shortcut_texts(40, seed=3)
    contrast = np.diff(model.predict_logits(texts), axis=1)[:, 0] * np.where(labels, 1.0, -1.0)
    without = [without_shortcuts(text) for text in texts]
    left = np.abs(np.diff(model.predict_logits(without), axis=1)[:, 0])
    assert left.max() < 0.2 * contrast.min()
