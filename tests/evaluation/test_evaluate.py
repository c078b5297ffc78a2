"""evaluate(): planted truths are found, inputs are shared, what is wrong is said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.errors import CapabilityError, EmptyTextError, InputError, LimelightError, UnknownNameError
from limelight.evaluation.measure import Key, measures
from limelight.evaluation.shared_answers import Answers, sharing
from limelight.inputs.features import features_of
from reference.opaque import Opaque
from reference.small_transformers import small_transformer

FOR, AGAINST, NEUTRAL = (
    ("good", "great", "fine"),
    ("bad", "dull", "poor"),
    tuple("the a film was it and plot cast".split()),
)
N_TEXTS = 24


def rule(texts: Sequence[str]) -> Any:
    """A classifier whose reasons are known: words for, less words against."""
    score = [sum(w in FOR for w in text.split()) - sum(w in AGAINST for w in text.split()) + 0.5 for text in texts]
    p = 1.0 / (1.0 + np.exp(-np.array(score)))
    return np.stack([1.0 - p, p], axis=1)


def planted_texts(n: int = N_TEXTS) -> list[str]:
    rng = np.random.default_rng(0)
    texts = []
    for i in range(n):
        words = [*rng.choice(FOR, 2, replace=False), *rng.choice(AGAINST, 1), *rng.choice(NEUTRAL, 5, replace=False)]
        if i % 2:
            words = [
                *rng.choice(AGAINST, 2, replace=False),
                *rng.choice(FOR, 1),
                *rng.choice(NEUTRAL, 5, replace=False),
            ]
        texts.append(" ".join(map(str, rng.permutation(words))))
    return texts


def truth(text: str, predicted: str) -> list[tuple[str, float]]:
    side = 1.0 if predicted == "yes" else -1.0
    return [(w, side * ((w in FOR) - (w in AGAINST))) for w in text.split()]


@pytest.fixture(scope="module")
def planted() -> limelight.Evaluation:
    """The truth, its opposite, its sizes, chance, and the truth with more and more noise."""
    model = limelight.wrap(rule, labels=["no", "yes"])
    texts = planted_texts()
    labels = [model.labels[int(np.argmax(row))] for row in rule(texts)]
    rng = np.random.default_rng(1)
    right = [truth(text, label) for text, label in zip(texts, labels, strict=True)]
    noise = [[float(rng.normal()) for _ in own] for own in right]

    def noisy(size: float) -> Any:
        return [
            [(w, v + size * e) for (w, v), e in zip(own, errors, strict=True)]
            for own, errors in zip(right, noise, strict=True)
        ]

    elsewhere = {
        "truth": right,
        "flipped": [[(w, -v) for w, v in own] for own in right],
        "sizes": [[(w, abs(v)) for w, v in own] for own in right],
        "random": noisy(1e6),
        **{f"noise {size}": noisy(size) for size in (0.3, 1.0, 3.0)},
    }
    return limelight.evaluate(model, texts, ["leave-one-out"], elsewhere=elsewhere)


def scores(evaluation: limelight.Evaluation, table: Any = "signed") -> dict[str, Any]:
    return {one.method: one for one in evaluation.summary.standings(table)}


def test_a_planted_truth_ranks_first(planted: limelight.Evaluation) -> None:
    found = scores(planted)
    assert max(one.score.value for one in found.values()) == pytest.approx(found["truth"].score.value)
    assert found["truth"].score.value == pytest.approx(1.0, abs=1e-6)  # eight words: the limits are enumerated
    assert found["truth"].decision.verdict == "better"
    assert planted.summary.limits == {"enumerated": N_TEXTS}


def test_chance_holds_zero_and_noise_costs(planted: limelight.Evaluation) -> None:
    found = scores(planted)
    assert 0.0 in found["random"].score
    assert found["random"].decision.verdict in ("equal", "undecided")
    falling = [found[name].score.value for name in ("truth", "noise 0.3", "noise 1.0", "noise 3.0", "random")]
    assert falling == sorted(falling, reverse=True)


def test_a_flipped_sign_is_caught(planted: limelight.Evaluation) -> None:
    place = {"removal": planted.summary.removal, "output": planted.summary.output}
    signs = {name: planted.summary.mean(Key("sign", "", name, **place)).value for name in ("truth", "flipped")}
    assert signs["truth"] == pytest.approx(1.0)
    assert signs["flipped"] == pytest.approx(0.0)
    assert scores(planted)["flipped"].decision.verdict == "worse"
    said = next(sentence for sentence in planted.verdict if sentence.startswith("flipped"))
    assert "worse than chance" in said


def test_a_method_without_signs_has_its_own_table(planted: limelight.Evaluation) -> None:
    assert list(scores(planted, "unsigned")) == ["sizes"]
    assert "sizes" not in scores(planted)
    assert set(scores(planted, "absolute")) == set(planted.methods)
    assert not planted.has(Key("sign", "", "sizes", removal="mask", output=planted.summary.output))


def test_pairs_are_corrected_together(planted: limelight.Evaluation) -> None:
    pairs = {(pair.first, pair.second): pair for pair in planted.summary.comparisons}
    assert len(pairs) == 7 * 6 // 2  # seven methods with signs, one without
    told = pairs[("truth", "random")] if ("truth", "random") in pairs else pairs[("random", "truth")]
    assert told.decision.verdict == "better"
    assert told.decision.p >= told.comparison.p  # Holm's correction never makes a claim easier


def test_each_distinct_input_is_given_once() -> None:
    """Of a model that counts what it is given: methods and measures share their inputs."""
    given: list[str] = []

    def counting(texts: Sequence[str]) -> Any:
        given.extend(texts)
        return rule(texts)

    texts = planted_texts(4)
    model = limelight.wrap(counting, labels=["no", "yes"])
    limelight.evaluate(model, texts, ["lime", "shapley", "leave-one-out"], n_samples=200)
    assert len(given) <= 1.15 * len(set(given))


def test_a_transformer_is_asked_about_each_input_once() -> None:
    model = limelight.wrap(*small_transformer("bert"))
    texts = ["The film was great, but it's far too long!", "Bad film: not very good, and the scene is too long"]
    evaluation = limelight.evaluate(model, texts, ["lime", "shapley", "leave-one-out"], n_samples=300)
    inputs = evaluation.about["inputs"]
    assert 0 < inputs["given"] <= 1.15 * inputs["distinct"]
    alone = sum(own["evaluations"] for own in evaluation.methods.values()) * len(texts)
    assert inputs["distinct"] > 500
    assert alone > 0.0


def test_sharing_changes_neither_view_nor_answers() -> None:
    view = small_model().view("the film was great but too long")
    features = features_of(view.document)
    answers = Answers(view, features, "mask")
    shared: Any = sharing(view, features, {"mask": answers})
    kept = np.random.default_rng(0).random((20, len(features))) < 0.5
    plain = view.game(features, "mask")(kept)
    game = shared.game(features, "mask")
    np.testing.assert_array_equal(game(kept), plain)
    asked, evaluations = game.asked, answers.evaluations
    np.testing.assert_array_equal(game(kept[::-1]), plain[::-1])
    assert answers.evaluations == evaluations
    assert game.asked >= asked
    assert "game" not in vars(view)


def test_the_same_call_gives_the_same_evaluation_and_json_keeps_it() -> None:
    texts = ["the film was great", "not very good and bad", "the end is bad"]
    asked: dict[str, Any] = {"methods": ["lime", "gxi", "alpha-avg"], "n_samples": 100, "seed": 3}
    one, other = (limelight.evaluate(small_model(), texts, **asked) for _ in range(2))
    assert one.keys == other.keys
    np.testing.assert_array_equal(one.values, other.values)
    again = limelight.Evaluation.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False)))
    assert again == one
    assert again.verdict == one.verdict
    assert limelight.evaluate(small_model(), texts, **{**asked, "seed": 4}) != one


def test_frames_pages_and_figures_say_the_same(planted: limelight.Evaluation) -> None:
    frame, means = planted.to_frame(), planted.to_frame(summary=True)
    key = Key("sign", "", "truth", removal="mask", output=planted.summary.output)
    chosen = frame[(frame["measure"] == "sign") & (frame["method"] == "truth") & (frame["removal"] == "mask")]
    chosen = chosen[chosen["output"] == planted.summary.output]
    assert chosen["value"].mean() == pytest.approx(planted.summary.mean(key).value)
    assert {"value", "low", "high", "texts"} <= set(means.columns)
    page = planted.to_html()
    assert "<svg" in page
    assert "Methods compared" in page
    assert planted.plot().axes


def test_exact_chance_of_the_single_layer_is_the_mean_over_orders() -> None:
    text = "the film was great but too long"
    few, many = (
        limelight.evaluate(Opaque(), [text], [], elsewhere={"m": [[("great", 1.0)]]}, chance_orders=n, limits="found")
        for n in (2, 2000)
    )
    exact = limelight.evaluate(small_model(), [text], [], elsewhere={"m": [[("great", 1.0)]]})
    key = Key("comprehensiveness", "all", removal="mask", output="logit")
    assert abs(many.of(key)[0] - exact.of(key)[0]) < 0.02
    assert abs(few.of(key)[0] - exact.of(key)[0]) > abs(many.of(key)[0] - exact.of(key)[0])


def test_a_text_of_one_word_says_nothing_and_breaks_nothing() -> None:
    evaluation = limelight.evaluate(small_model(), ["great"], ["gxi", "lime-limit", "alpha-avg"])
    assert len(evaluation.verdict) > 1
    assert "nothing can be said" in " ".join(evaluation.verdict)
    mixed = limelight.evaluate(small_model(), ["great", "the film was bad", "not good"], ["gxi"])
    assert np.isfinite(mixed.summary.standings("signed")[0].score.value)


def test_methods_that_do_not_apply_are_listed() -> None:
    evaluation = limelight.evaluate(Opaque(), ["the film was great"], ["leave-one-out", "gxi"])
    assert list(evaluation.methods) == ["leave-one-out"]
    assert "gradient" in evaluation.about["skipped"]["gxi"]
    assert "gxi" in evaluation.verdict[-1]
    with pytest.raises(CapabilityError, match="none of the methods applies"):
        limelight.evaluate(Opaque(), ["the film was great"], ["gxi"])


def test_a_label_that_is_never_predicted_is_said() -> None:
    texts = ["the film was great", "not very good"]
    model = small_model()
    never = next(
        label
        for label in model.labels
        if label not in {model.labels[int(row.argmax())] for row in model.predict_logits(texts)}
    )
    evaluation = limelight.evaluate(model, texts, ["gxi"], target=never)
    assert "none of the texts" in evaluation.about["notices"][0]
    assert not any(key.measure == "flips" and key.part == "part" for key in evaluation.keys)


def test_every_measure_runs_and_sanity_finds_attention_blind_to_the_top() -> None:
    texts = ["the film was great but too long", "the end is not very good and bad"]
    evaluation = limelight.evaluate(
        small_model(),
        texts,
        ["lime", "gxi", "alpha-avg"],
        measures="all",
        n_samples=200,
        rationales=[[(13, 18)], None],
        counterfactuals=["the film was bad but too long", None],
    )
    present = {key.measure for key in evaluation.keys}
    expected = {one.id for one in measures()} - {"out-of-distribution"}  # a range of two texts says nothing
    assert expected <= present
    stay = {name: evaluation.summary.mean(Key("sanity", "top", name)).value for name in ("gxi", "alpha-avg")}
    assert stay["alpha-avg"] == pytest.approx(1.0)  # attention does not look at what reads it
    assert stay["gxi"] < 0.999
    assert evaluation.summary.mean(Key("stability", "white space", "gxi")).value == pytest.approx(1.0)


def test_randomising_leaves_the_model_alone() -> None:
    from limelight.evaluation.measures.sanity import STAGES, randomised

    for model in (small_model(), limelight.wrap(*small_transformer("bert"))):
        before = model.predict_logits(["the film was great"])
        copies = [randomised(model, stage, 0).predict_logits(["the film was great"]) for stage in STAGES]
        np.testing.assert_array_equal(model.predict_logits(["the film was great"]), before)
        assert all(not np.allclose(own, before) for own in copies)
    with pytest.raises(CapabilityError, match="not known"):
        randomised(limelight.wrap(rule, labels=["no", "yes"]), "all", 0)


GOOD = ["the film was great", "not very good"]


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"texts": "the film"}, InputError, "list of texts"),
        ({"texts": []}, InputError, "no texts"),
        ({"texts": ["the film", "  "], "ids": ["a", "b"]}, EmptyTextError, "text 'b'"),
        ({"ids": ["a"]}, InputError, "1 ids for 2 texts"),
        ({"ids": ["a", "a"]}, InputError, "two texts have the id 'a'"),
        ({"methods": "lime"}, InputError, "list of ids"),
        ({"methods": ["limes"]}, UnknownNameError, "did you mean 'lime'"),
        ({"measures": ["signs"]}, UnknownNameError, "did you mean 'sign'"),
        ({"measures": []}, InputError, "measures is empty"),
        ({"measures": ["plausibility"]}, InputError, "needs rationales"),
        ({"target": "neutrale"}, UnknownNameError, "did you mean 'neutral'"),
        ({"limits": "best"}, UnknownNameError, "limits"),
        ({"removal": "hide"}, CapabilityError, "'mask' or 'delete'"),
        ({"output": "value"}, CapabilityError, "no output"),
        ({"steps": 1}, InputError, "steps"),
        ({"chance_orders": 1}, InputError, "chance_orders"),
        ({"n_sample": 3}, UnknownNameError, "option"),
        (
            {"rationales": [[1, 0, 0], None], "ids": ["x1", "x2"]},
            InputError,
            "text 'x1' has 3 zeros and ones, and the text has 4",
        ),
        ({"rationales": [[(0, 99)], None]}, InputError, "length of the text"),
        ({"rationales": [None]}, InputError, "1 rationales for 2 texts"),
        ({"counterfactuals": ["the film was great", None]}, InputError, "is the text itself"),
        ({"counterfactuals": [3, None], "ids": ["x1", "x2"]}, InputError, "text 'x1' must be a text"),
        ({"counterfactuals": [None, " "], "ids": ["x1", "x2"]}, EmptyTextError, "the counterfactual of text 'x2': "),
        ({"elsewhere": [1]}, InputError, "mapping"),
        ({"elsewhere": {"lime": [[], []]}}, InputError, "rename it"),
        ({"elsewhere": {"mine": [[]]}}, InputError, "explains 1 texts, and there are 2"),
        (
            {"elsewhere": {"mine": [[("zebra", 1.0)], []]}, "ids": ["x1", "x2"]},
            InputError,
            "text 'x1': the word 'zebra'",
        ),
        ({"elsewhere": {"mine": [[("film", float("nan"))], []]}}, InputError, "finite number"),
        ({"elsewhere": {"mine": [[((3, 4), 1.0)], []]}}, InputError, "holds no word"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], kind: type[LimelightError], says: str) -> None:
    asked: dict[str, Any] = {"texts": GOOD, "methods": ["gxi"], **arguments}
    with pytest.raises(kind, match=says.replace("(", r"\(")):
        limelight.evaluate(small_model(), **asked)


@pytest.mark.parametrize(
    "wrong",
    [{"elsewhere": {"mine": [[], [("zebra", 1.0)]]}}, {"counterfactuals": [None, " "]}],
    ids=lambda own: next(iter(own)),
)
def test_what_does_not_fit_the_last_text_is_said_before_the_first_is_judged(
    wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(*given: object) -> None:
        raise AssertionError("a text was judged")

    monkeypatch.setattr("limelight.evaluation.api.evaluate_text", judged)
    with pytest.raises(InputError, match="text 2"):
        limelight.evaluate(small_model(), GOOD, ["gxi"], **wrong)


def test_two_texts_decide_nothing_however_alike() -> None:
    """Both methods reach the best order on both texts: that may be chance."""
    model = limelight.wrap(rule, labels=["no", "yes"])
    texts = ["a good film", "the cast was great"]
    right = [truth(text, "yes") for text in texts]
    evaluation = limelight.evaluate(model, texts, ["leave-one-out"], elsewhere={"truth": [*right]})
    said = " ".join(evaluation.verdict)
    assert "undecided whether it is better than chance with 2 texts" in said
    assert "Equally good" not in said
    assert "1.00 finds" not in said


def test_copies_of_a_text_are_said_to_make_intervals_too_short() -> None:
    said = " ".join(limelight.evaluate(small_model(), [*GOOD, GOOD[0]], ["gxi"]).verdict)
    assert "1 of 3 texts are copies of others" in said
    assert "copies" not in " ".join(limelight.evaluate(small_model(), GOOD, ["gxi"]).verdict)
