"""What a verdict claims of given scores, and what it does not: no model is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import limelight
from limelight.evaluation.measure import Key
from limelight.evaluation.result import joined

REMOVALS = ("mask", "delete")


def evaluation(
    gains: Mapping[str, Any], deleted: Mapping[str, Any] | None = None, how: str = "certified", **beside: Any
) -> limelight.Evaluation:
    """Methods with signs, by what they gain on each text above chance; 1 is the best. `beside`: of documents."""
    both = {"mask": gains, "delete": gains if deleted is None else deleted}
    count = len(next(iter(gains.values())))
    values = []
    for i in range(count):
        row = {}
        for removal, own in both.items():
            place = {"removal": removal, "output": "logit"}
            row[Key("comprehensiveness", "best above chance", **place)] = 1.0
            row[Key("comprehensiveness", how, **place)] = 1.0
            for name, column in own.items():
                row[Key("comprehensiveness", "above chance", name, order="towards", **place)] = float(column[i])
        values.append(row)
    about = {"removal": "mask", "removals": list(REMOVALS), "output": "logit", "outputs": ["logit"], "measures": []}
    documents = [{"id": i, **{name: column[i] for name, column in beside.items()}} for i in range(count)]
    methods = {name: {"signed": True, "elsewhere": True, "label": name} for name in gains}
    return joined(about, documents, methods, values)


def said(own: limelight.Evaluation) -> str:
    return " ".join(own.verdict)


def scattered(mean: float, texts: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, 0.1, size=texts)


@pytest.mark.parametrize("texts", [1, 2, 5])
def test_few_texts_decide_nothing(texts: int) -> None:
    own = evaluation({"good": np.full(texts, 0.9), "bad": np.full(texts, 0.1), "zero": np.zeros(texts)})
    assert {one.decision.verdict for one in own.summary.standings("signed")} == {"undecided"}
    assert {pair.decision.verdict for pair in own.summary.comparisons} == {"undecided"}
    assert "nothing: a claim needs at least 6" in said(own)
    assert "[" not in said(own).split("intervals). ", 1)[1]  # no interval
    assert not own.summary.claims


def test_six_texts_are_enough_for_two_methods_and_not_for_ten() -> None:
    two = evaluation({"good": np.full(6, 0.9), "bad": np.full(6, 0.1)})
    assert [pair.decision.verdict for pair in two.summary.comparisons] == ["better"]
    ten = evaluation({f"m{i}": np.full(6, 0.1 * i) for i in range(10)})
    assert {pair.decision.verdict for pair in ten.summary.comparisons} == {"undecided"}
    assert "With 10 methods, any two of them can be told apart from 8 texts on" in said(ten)


def test_copies_of_a_text_count_once() -> None:
    gains = {"good": scattered(0.8, 4, 0).repeat(10), "bad": scattered(0.2, 4, 1).repeat(10)}
    apart = evaluation(gains)
    copies = evaluation(gains, copy_of=[i // 10 * 10 for i in range(40)])
    assert apart.summary.claims
    assert not copies.summary.claims
    assert "4 texts that count decide nothing" in said(copies)
    standing = copies.summary.standings("signed")[0]
    assert standing.score.documents == 4
    assert standing.score.value == pytest.approx(apart.summary.standings("signed")[0].score.value)


def test_evaluate_finds_copies_itself() -> None:
    def rule(texts: Any) -> Any:
        p = np.array([0.9 if "good" in text else 0.2 for text in texts])
        return np.stack([1.0 - p, p], axis=1)

    model = limelight.wrap(rule, labels=["no", "yes"])
    own = limelight.evaluate(model, ["a good film"] * 8, ["leave-one-out"])
    assert [document.get("copy_of") for document in own.documents] == [None, *[0] * 7]
    assert not own.summary.claims
    assert "7 of 8 texts are copies of others, and no evidence of their own" in said(own)


def test_texts_that_differ_in_case_and_spaces_are_one_piece_of_evidence() -> None:
    texts = ["a good film", "A good film", "a GOOD film", " a good film", "a good  film", "A Good Film", "a good fun"]
    model = limelight.wrap(lambda asked: np.array([float("good" in one.lower()) for one in asked]), kind="regression")
    own = limelight.evaluate(model, texts, ["leave-one-out"])
    assert [document.get("copy_of") for document in own.documents] == [None, *[0] * 5, None]
    assert not own.summary.claims
    assert "2 texts that count decide nothing" in said(own)
    assert "too short" not in said(own)  # there are no intervals


def test_methods_that_are_copies_are_equal_and_never_told_apart() -> None:
    one = scattered(0.8, 30, 0)
    (pair,) = evaluation({"one": one, "copy": one.copy()}).summary.comparisons
    assert pair.decision.verdict == "equal"
    assert pair.decision.p == 1.0
    assert not pair.decision.told_apart


def test_that_two_of_many_methods_are_equally_good_takes_more_than_of_two() -> None:
    """All claims of equality are corrected together: what is enough for one pair is not enough for one of 45."""
    methods = {f"method {i}": scattered(0.8, 30, 0) + np.random.default_rng(i).normal(0, 0.12, 30) for i in range(10)}
    first, second = "method 1", "method 2"
    alone = {first: methods[first], second: methods[first] + np.random.default_rng(1).normal(0, 0.12, 30)}
    (pair,) = evaluation(alone).summary.comparisons
    assert pair.decision.verdict == "equal"
    among = evaluation({**methods, **alone}).summary.comparisons
    assert next(p for p in among if {p.first, p.second} == {first, second}).decision.verdict == "undecided"


def test_a_method_that_explains_few_texts_takes_none_from_the_others() -> None:
    rare = scattered(0.5, 20, 2)
    rare[3:] = np.nan
    own = evaluation({"good": scattered(0.8, 20, 0), "bad": scattered(0.2, 20, 1), "rare": rare})
    assert [(pair.first, pair.decision.verdict) for pair in own.summary.comparisons] == [("good", "better")]
    assert "because they explain fewer than half of the texts: rare" in said(own)
    (standing,) = [one for one in own.summary.standings("signed") if one.method == "rare"]
    assert standing.decision.verdict == "undecided"
    most = scattered(0.5, 20, 2)
    most[:4] = np.nan
    shared = evaluation({"good": scattered(0.8, 20, 0), "most": most})
    assert shared.summary.comparisons[0].comparison.interval.documents == 16


def test_one_method_is_held_against_chance_alone() -> None:
    own = evaluation({"only": scattered(0.8, 12, 0)})
    assert own.summary.standings("signed")[0].decision.verdict == "better"
    assert own.summary.comparisons == []
    assert "Told apart" not in said(own)


def test_the_ranking_changes_only_where_both_removals_say_so() -> None:
    good, bad = scattered(0.8, 20, 0), scattered(0.6, 20, 1)
    noise = np.random.default_rng(5).normal(0.0, 1.0, size=20)
    noise -= noise.mean()
    turned = evaluation({"good": good, "bad": bad}, {"good": bad, "bad": good})
    assert "the ranking changes: there bad above good by" in said(turned)
    doubtful = evaluation({"good": good, "bad": bad}, {"good": good, "bad": good + 0.01 + noise})
    assert doubtful.summary.standings("signed", "delete")[0].method == "bad"  # the point estimates change places
    assert doubtful.summary.swapped == {"delete": []}
    assert "0 pairs stay told apart of 1, and none changes places; the others are undecided" in said(doubtful)
    same = evaluation({"good": good, "bad": bad})
    assert "1 pair stays told apart of 1, and none changes places." in said(same)


def test_pairs_are_named_the_better_first() -> None:
    gains = {f"m{i}": scattered(0.1 * i, 40, i) for i in range(4)}
    own = evaluation(gains)
    assert all(pair.comparison.value >= 0.0 for pair in own.summary.comparisons)
    for pair in own.summary.comparisons:
        expected = (gains[pair.first] - gains[pair.second]).mean()
        assert pair.comparison.value == pytest.approx(expected, abs=1e-6)
        assert pair.comparison.interval.low <= expected <= pair.comparison.interval.high


@pytest.mark.parametrize(
    ("methods", "texts", "present", "absent"),
    [
        (2, 20, "With 6 methods or fewer and skewed scores it is up to 12 %", "25 %"),
        (2, 20, "which 20 texts may not show, it is up to 60 %", "nothing: a claim"),
        (10, 20, "which 20 texts may not show, it is up to 25 %", "methods or fewer"),
        (18, 20, "which 20 texts may not show, it is up to 10 %", "methods or fewer"),
        (2, 200, "wrong in at most 5 % of evaluations", "may not show"),
    ],
)
def test_the_verdict_says_when_its_claims_do_not_hold(methods: int, texts: int, present: str, absent: str) -> None:
    own = said(evaluation({f"m{i}": scattered(0.05 * i + 0.1, texts, i) for i in range(methods)}))
    assert present in own
    assert absent not in own


def test_limits_that_depend_on_the_methods_say_so() -> None:
    gains = {"good": scattered(0.8, 20, 0), "bad": scattered(0.2, 20, 1)}
    assert "the methods judged here and random ones gave" in said(evaluation(gains, how="found"))
    assert "judged here" not in said(evaluation(gains, how="searched"))
    assert "judged here" not in said(evaluation(gains))


def test_what_was_stored_before_reads_still() -> None:
    """No number of a first copy, no measure of size: as version 0.2 wrote them."""
    own = evaluation({"good": scattered(0.8, 20, 0), "bad": scattered(0.2, 20, 1)})
    stored = own.to_dict()
    assert not any("copy_of" in document for document in stored["documents"])
    again = limelight.Evaluation.from_dict(stored)
    assert again.verdict == own.verdict
