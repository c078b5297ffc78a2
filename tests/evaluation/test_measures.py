"""Measures against their definitions, written out; against ERASER's formulas; against what ferret 0.4.1 gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.evaluation.measure import Key
from limelight.evaluation.measures.counterfactual import edited_words
from limelight.evaluation.measures.plausibility import average_precision
from limelight.inputs.features import features_of
from limelight.models.outputs import Quantity, probabilities
from reference import eraser
from reference.fixed_transformer import fixed_transformer
from reference.opaque import Opaque

TEXTS = ("the film was great but too long", "not very good and bad", "the end is great ! it s a very good film")
ROUNDING = 1e-9
"""The models here compute in float64, and stored numbers have eight digits."""
STORED = 2e-7
METHOD = "given"


def given(text: str, seed: int = 0) -> list[tuple[str, float]]:
    """Weights of both signs for the words of a text, all different."""
    words = list(dict.fromkeys(text.split()))
    weights = np.random.default_rng(seed).permutation(len(words)) - len(words) / 2 + 0.25
    return list(zip(words, weights.tolist(), strict=True))


def judged(model: Any, texts: Sequence[str] = TEXTS, **asked: Any) -> limelight.Evaluation:
    return limelight.evaluate(model, list(texts), [], elsewhere={METHOD: [given(text) for text in texts]}, **asked)


def outputs(model: Any, text: str, kept: Any, removal: Any, target: int, output: Any) -> Any:
    view = model.view(text)
    game = view.game(features_of(view.document), removal)
    logits = game(np.atleast_2d(np.array(kept, dtype=bool)))
    return Quantity(len(view.labels), target, None, output, "classes").of(logits)


@pytest.mark.parametrize("removal", ["mask", "delete"])
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_comprehensiveness_and_sufficiency_are_erasers(removal: str, output: str) -> None:
    model = Opaque()
    evaluation = judged(model)
    for i, text in enumerate(TEXTS):
        weights = [weight for _, weight in given(text)]
        target, d = int(np.argmax(model.view(text).logits)), len(weights)

        def predict(kept: list[bool], text: str = text, target: int = target) -> float:
            return float(outputs(model, text, kept, removal, target, output)[0])

        for name, formula in (
            ("comprehensiveness", eraser.comprehensiveness),
            ("sufficiency", eraser.sufficiency),
        ):
            place = {"method": METHOD, "removal": removal, "output": output, "order": "towards"}
            for part in eraser.BINS:
                expected = formula(predict, weights, eraser.size(part, d))
                assert evaluation.of(Key(name, f"{part:.0%}", **place))[i] == pytest.approx(expected, abs=STORED)
            over_all = np.mean([formula(predict, weights, k) for k in range(1, d + 1)])
            assert evaluation.of(Key(name, "all", **place))[i] == pytest.approx(over_all, abs=STORED)


def test_the_absolute_order_is_by_size() -> None:
    model = Opaque()
    evaluation = judged(model)
    place = {"method": METHOD, "removal": "mask", "output": "logit", "order": "absolute"}
    text = TEXTS[0]
    sizes = [abs(weight) for _, weight in given(text)]
    target = int(np.argmax(model.view(text).logits))
    expected = np.mean(
        [
            eraser.comprehensiveness(
                lambda kept: float(outputs(model, text, kept, "mask", target, "logit")[0]), sizes, k
            )
            for k in range(1, len(sizes) + 1)
        ]
    )
    assert evaluation.of(Key("comprehensiveness", "all", **place))[0] == pytest.approx(expected, abs=STORED)


def test_ferret_gives_the_same_where_conventions_coincide() -> None:
    table = json.loads((Path(__file__).parent / "ferret-0.4.1.json").read_text())
    model = limelight.wrap(*fixed_transformer(seed=3))
    for row in table["rows"]:
        words = row["text"].split()
        weights = {METHOD: [list(zip(words, row["weights"], strict=True))]}
        evaluation = limelight.evaluate(model, [row["text"]], [], elsewhere=weights)
        assert model.labels.index(evaluation.documents[0]["target"]) == row["target"]
        place = {"method": METHOD, "removal": "delete", "output": "probability", "order": "absolute"}
        for name in ("comprehensiveness", "sufficiency"):
            assert evaluation.of(Key(name, "all", **place))[0] == pytest.approx(row[name], abs=1e-6)


def test_limits_are_those_of_all_orders() -> None:
    text = "great but too long film"
    for model in (Opaque(), small_model()):
        evaluation = limelight.evaluate(model, [text], [], elsewhere={METHOD: [given(text)]})
        target = int(np.argmax(model.view(text).logits))
        areas = []
        for order in permutations(range(5)):
            kept = [[j not in order[:k] for j in range(5)] for k in range(6)]
            curve = outputs(model, text, kept, "mask", target, "logit")
            areas.append(curve[0] - curve[1:].mean())
        place = {"removal": "mask", "output": "logit"}
        chance = evaluation.of(Key("comprehensiveness", "all", **place))[0]
        best = evaluation.of(Key("comprehensiveness", "best above chance", **place))[0]
        width = evaluation.of(Key("comprehensiveness", "best above worst", **place))[0]
        if isinstance(model, Opaque):  # there chance is a mean of few orders
            assert min(areas) - STORED <= chance <= max(areas) + STORED
        else:
            assert chance == pytest.approx(np.mean(areas), abs=STORED)
        assert chance + best == pytest.approx(max(areas), abs=STORED)
        assert width == pytest.approx(max(areas) - min(areas), abs=STORED)


def test_sign_and_flips_by_hand() -> None:
    model = Opaque()
    evaluation = judged(model)
    for i, text in enumerate(TEXTS):
        weights = np.array([weight for _, weight in given(text)])
        logits = model.view(text).logits
        target, d = int(np.argmax(logits)), len(weights)
        alone = outputs(model, text, ~np.eye(d, dtype=bool), "delete", target, "logit")
        agrees = np.sign(logits[target] - alone) == np.sign(weights)
        expected = np.abs(weights)[agrees].sum() / np.abs(weights).sum()
        sign = evaluation.of(Key("sign", "", METHOD, removal="delete", output="logit"))[i]
        assert sign == pytest.approx(expected, abs=STORED)
        view = model.view(text)
        game = view.game(features_of(view.document), "delete")
        gone = next(
            (
                k
                for k in range(d + 1)
                if game(np.array([[j not in eraser.top(weights.tolist(), k) for j in range(d)]])).argmax() != target
            ),
            None,
        )
        place = {"method": METHOD, "removal": "delete", "order": "towards"}
        assert evaluation.of(Key("flips", "part", **place))[i] == pytest.approx(
            1.0 if gone is None else gone / d, abs=STORED
        )
        assert evaluation.of(Key("flips", "flipped", **place))[i] == float(gone is not None)


def test_fewer_steps_keep_the_ends_and_the_parts() -> None:
    asked: dict[str, Any] = {"texts": TEXTS[2:], "limits": "found"}
    every, few = judged(Opaque(), **asked), judged(Opaque(), **asked, steps=2)
    place = {"method": METHOD, "removal": "mask", "output": "logit", "order": "towards"}
    for part in ("5%", "10%", "20%", "50%"):
        key = Key("comprehensiveness", part, **place)
        assert few.of(key)[0] == pytest.approx(every.of(key)[0], abs=STORED)
    key = Key("comprehensiveness", "all", **place)
    assert few.of(key)[0] != pytest.approx(every.of(key)[0], abs=STORED)
    assert few.about["inputs"]["distinct"] < every.about["inputs"]["distinct"]


def test_rounding_is_no_difference_between_orders() -> None:
    """Of a text of one word, or of words that are all the same to the model, the best order is nothing but rounding."""
    texts = ["plot", "mess", "music", "dull", "nice", "ugly", "qqqxx zzzyy wwwvv", "xxyyzz kkjjhh rrttyy"]
    evaluation = limelight.evaluate(limelight.load(), texts, ["shapley", "alpha-avg"])
    assert evaluation.summary.silent == len(texts)
    assert [one.score.documents for one in evaluation.summary.standings("signed")] == [0]
    assert "nothing can be said" in evaluation.verdict[1]


def test_fewer_steps_measure_the_best_order_and_chance_as_they_measure_methods() -> None:
    text = " ".join(
        "this film was great at first but far too long a plot of bad jokes that nobody could love yet its music is "
        "superb and every actor gives an excellent show until an awful end makes us all feel sorry".split()
    )
    texts = [text, " ".join(reversed(text.split())), text.replace("great", "boring")]
    model = limelight.load()
    every, few = (limelight.evaluate(model, texts, ["shapley"], steps=steps) for steps in (None, 3))
    assert not every.summary.is_at_most
    assert few.summary.is_at_most  # nothing is proved of the lines between steps
    one, other = (own.summary.standings("signed")[0].score.value for own in (every, few))
    assert other == pytest.approx(one, abs=0.02)
    place = {"removal": "mask", "output": "logit"}
    for part in ("5%", "10%", "20%", "50%"):
        key = Key("sufficiency", part, **place)
        assert few.of(key) == pytest.approx(every.of(key), abs=STORED)


def test_plausibility_by_hand() -> None:
    text = "the film was great but too long"
    weights = {METHOD: [[("great", 3.0), ("the", 2.0), ("long", 1.0)]]}
    evaluation = limelight.evaluate(
        Opaque(), [text], [], elsewhere=weights, rationales=[[0, 0, 0, 1, 0, 0, 1]], measures=["plausibility"]
    )
    place = {"method": METHOD, "order": "absolute"}
    found = {part: evaluation.of(Key("plausibility", part, **place))[0] for part in ("average precision", "F1", "IOU")}
    # Two of seven words are marked, so the top two count: great (marked) and the (not).
    assert found["F1"] == pytest.approx(2 * 1 / (2 + 2))
    assert found["IOU"] == pytest.approx(1 / 3)
    assert found["average precision"] == pytest.approx((1 / 1 + 2 / 3) / 2)


def test_average_precision_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, marked = rng.integers(0, 6, 30).astype(float), rng.random(30) < 0.3
        if marked.any():
            assert average_precision(scores, marked) == pytest.approx(metrics.average_precision_score(marked, scores))


def test_edited_words_are_those_that_went() -> None:
    words, others = "a great film , truly great".split(), "a dull film , really truly great".split()
    assert edited_words(words, others).tolist() == [False, True, False, False, False, False]
    assert edited_words(["a", "b", "c"], ["a", "c"]).tolist() == [False, True, False]


def test_probability_is_measured_beside_the_logit() -> None:
    model = Opaque()
    evaluation = judged(model)
    text = TEXTS[1]
    weights = [weight for _, weight in given(text)]
    view = model.view(text)
    game = view.game(features_of(view.document), "mask")
    target = int(np.argmax(view.logits))
    kept = np.array([[j not in eraser.top(weights, k) for j in range(len(weights))] for k in range(len(weights) + 1)])
    chances = probabilities(game(kept))[:, target]
    place = {"method": METHOD, "removal": "mask", "output": "probability", "order": "towards"}
    value = evaluation.of(Key("comprehensiveness", "all", **place))[1]
    assert value == pytest.approx(chances[0] - chances[1:].mean(), abs=STORED)
