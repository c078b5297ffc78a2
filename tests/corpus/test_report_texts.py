"""Texts of a corpus: where methods disagree, where the model is wrong, and the table of them, beside naive twins."""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from corpus.made_by_hand import Text, corpus_of, random_texts, text_of
from limelight.corpus.analysis.disagreement import disagreement, noise_of
from limelight.corpus.analysis.mistakes import NO_LABEL, Mistake
from limelight.corpus.report.api import report
from limelight.corpus.report.page.tables import text_name
from limelight.corpus.running.source import own_id
from limelight.errors import ParameterError, UnknownNameError


def naive_disagreement(text: Text) -> tuple[float, tuple[str, str]] | None:
    """The largest of what is seen, by loops."""
    found = []
    for one, other in combinations(text.explanations, 2):
        signed = one.signed and other.signed
        a = [w if signed else abs(w) for w in one.weights]
        b = [w if signed else abs(w) for w in other.weights]
        total, other_total = sum(map(abs, a)), sum(map(abs, b))
        apart = sum(abs(x / total - y / other_total) for x, y in zip(a, b, strict=True)) / 2
        found.append((apart, (one.method, other.method)))
    return max(found) if found else None


def test_disagreement_is_what_its_naive_twin_says(tmp_path: Path) -> None:
    texts = [
        Text(
            tuple(e for e in text.explanations if e.method != "lime"),
            text.truth,
            text=text.text,
        )
        for text in random_texts(7, 20)
    ]
    texts = [Text(tuple(_without_bound(e) for e in text.explanations), text.truth, text=text.text) for text in texts]
    corpus = corpus_of(tmp_path / "corpus", texts, shard_size=6)
    lines = {line.row: line for line in corpus.texts(order="disagreement", limit=100).lines}
    assert len(lines) == 20
    twins = [naive_disagreement(text) for text in texts]
    for row, twin in enumerate(twins, start=1):
        assert twin is not None
        assert lines[row].disagreement == pytest.approx(twin[0], abs=1e-6)
        assert lines[row].at_least == pytest.approx(twin[0], abs=1e-6)
        assert lines[row].methods == twin[1]
    order = [line.row for line in corpus.texts(order="disagreement", limit=100).lines]
    assert order == sorted(order, key=lambda row: -lines[row].at_least)
    (pair,) = corpus.summary.pairs
    assert pair.mean == pytest.approx(np.mean([twin[0] for twin in twins if twin]))
    assert pair.low < pair.mean < pair.high
    assert pair.contradicted is None  # one of them has no signs


def _without_bound(explanation: object) -> object:
    from corpus.made_by_hand import _changed

    return _changed(explanation, diagnostics={})  # type: ignore[arg-type]


def test_methods_agree_or_not() -> None:
    one = np.array([1.0, -2.0, 0.0])
    assert disagreement(one, 3 * one, 0.0, signed=True) == (0.0, 0.0)
    assert disagreement(one, -one, 0.0, signed=True)[0] == pytest.approx(1.0)
    assert disagreement(one, -one, 0.0, signed=False)[0] == 0.0
    assert disagreement(one, np.array([0.0, 0.0, 5.0]), 0.3, signed=True) == pytest.approx((1.0, 0.7))
    assert math.isnan(disagreement(one, np.zeros(3), 0.0, signed=True)[0])


def test_errors_of_the_weights_are_allowed_for() -> None:
    """At least so much is true, in nearly all draws; also where one method is nothing but noise."""
    rng = np.random.default_rng(0)
    exact = rng.normal(size=40)
    for truth, scale in ((exact + rng.normal(size=40), 0.2), (exact, 0.3), (np.full(40, 1e-9), 1.0)):
        true, _ = disagreement(exact, truth, 0.0, signed=True)
        held = []
        for _ in range(300):
            seen = truth + scale * rng.normal(size=40)
            stderr = np.full(40, scale)
            noise = noise_of(seen, stderr, np.zeros(40))
            held.append(disagreement(exact, seen, noise, signed=True)[1] <= true)
        assert np.mean(held) >= 0.97


def test_texts_where_a_word_is_told_both_ways_are_counted(tmp_path: Path) -> None:
    both = {"lime": [1.0, 2.0], "shapley": [-1.0, 2.0]}
    same = {"lime": [1.0, 2.0], "shapley": [0.5, 2.0]}
    unsure = {"lime": [[5.0], [0.01]], "shapley": [[0.01], [0.01]]}
    texts = [text_of("bad film", both), text_of("bad film", same)]
    texts.append(text_of("bad film", both, stderr={"lime": unsure["lime"][0] + unsure["lime"][1]}))
    corpus = corpus_of(tmp_path / "corpus", texts)
    (pair,) = corpus.summary.pairs
    assert (pair.texts, pair.contradicted) == (3, 1)


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_words_that_led_to_mistakes_are_those_of_their_naive_twin(tmp_path: Path) -> None:
    texts = random_texts(3, 60)
    corpus = corpus_of(tmp_path / "corpus", texts, shard_size=7)
    mistakes = corpus.summary.mistakes
    labelled = [text for text in texts if text.truth is not None]
    wrong = [text for text in labelled if text.explanations[0].prediction.label != text.truth]
    assert mistakes.accuracy is not None
    assert (mistakes.accuracy.labelled, mistakes.accuracy.wrong) == (len(labelled), len(wrong))
    for confusion in mistakes.confusions():
        label, truth = confusion.mistake
        own = [text for text in wrong if (text.explanations[0].prediction.label, text.truth) == (label, truth)]
        called = [text for text in labelled if text.explanations[0].prediction.label == label]
        assert (confusion.texts, confusion.of) == (len(own), len(called))
        assert mistakes.methods(confusion.mistake) == ["lime", "shapley"]  # the third gives no signs
        for method in ("lime", "shapley"):
            lines = mistakes.words(method, confusion.mistake, all_words=True, least_texts=2)
            assert len(lines) >= 4
            for line in lines:
                explained = [e for text in own for e in text.explanations if e.method == method]
                pushes = [float(e.weights[e.features.index(line.word)]) for e in explained if line.word in e.features]
                held = [text for text in called if line.word in text.explanations[0].features]
                assert (line.texts, line.of) == (len(pushes), len(held))
                assert line.push == pytest.approx(np.mean(pushes))
                assert line.total == pytest.approx(np.sum(pushes))
                assert line.push > 0.0
                assert line.rate == pytest.approx(len(pushes) / len(held))
                assert line.rate_low <= line.rate <= line.rate_high


def test_what_speaks_against_the_truth_led_to_the_mistake_too(tmp_path: Path) -> None:
    """All texts are asked about "positive": of one that is wrongly called negative, weights below 0 did it."""
    weights = {"lime": [-2.0, 0.5]}
    texts = [text_of("awful film", weights, truth="positive", logits=(1.0, 0.0), target="positive") for _ in range(5)]
    corpus = corpus_of(tmp_path / "corpus", texts)
    mistake = Mistake("negative", "positive")
    (line,) = corpus.summary.mistakes.words("lime", mistake)
    assert (line.word, line.push, line.total) == ("awful", 2.0, 10.0)


def test_a_regression_makes_no_mistakes_of_this_kind(tmp_path: Path) -> None:
    texts = [text_of("good film", {"lime": [1.0, 2.0]}, labels=("stars",), logits=(3.0,), model="regression")] * 3
    corpus = corpus_of(tmp_path / "corpus", texts, labels=("stars",), kind="regression")
    assert corpus.summary.mistakes.accuracy is None
    assert corpus.texts(wrong=True).total == 0


def test_of_labels_that_do_not_exclude_each_other_one_of_those_given_is_right(tmp_path: Path) -> None:
    more = {"labels": ("toxic", "insult"), "logits": (2.0, 1.0), "model": "multi-label"}
    texts = [text_of("you fool", {"lime": [1.0, 2.0]}, truth=truth, **more) for truth in ("toxic", "insult")]
    corpus = corpus_of(tmp_path / "corpus", texts, labels=("toxic", "insult"), kind="multi-label")
    assert corpus.texts(wrong=True).total == 0
    assert corpus.texts(wrong=False).total == 2


def test_a_text_that_is_given_no_label_is_not_called_by_the_likeliest(tmp_path: Path) -> None:
    more = {"labels": ("toxic", "insult"), "logits": (-1.0, -2.0), "model": "multi-label"}
    texts = [text_of("you fool", {"lime": [-3.0, 2.0]}, truth=truth, **more) for truth in ["toxic", "insult"] * 6]
    corpus = corpus_of(tmp_path / "corpus", texts, labels=("toxic", "insult"), kind="multi-label")
    mistakes = corpus.summary.mistakes
    found = {own.mistake: (own.texts, own.of) for own in mistakes.confusions()}
    assert found == {Mistake(NO_LABEL, "insult"): (6, 12), Mistake(NO_LABEL, "toxic"): (6, 12)}
    (guilty,) = mistakes.words("lime", Mistake(NO_LABEL, "toxic"), all_words=True)
    assert (guilty.word, guilty.push) == ("you", 3.0)  # it speaks against the true label, which was explained
    page = report(corpus)[0].read_text()
    assert "no label" in page


# ── the table ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_texts_by_all_filters(tmp_path: Path) -> None:
    texts = [*random_texts(5, 25), Text((), "positive", "the text is too long", "x")]
    corpus = corpus_of(tmp_path / "corpus", texts, shard_size=4)

    def rows(**filters: object) -> list[int]:
        return [line.row for line in corpus.texts(limit=100, **filters).lines]  # type: ignore[arg-type]

    def naive(passes: object) -> list[int]:
        return [row for row, text in enumerate(texts, start=1) if text.explanations and passes(text)]  # type: ignore[operator]

    assert rows() == list(range(1, 27))
    assert rows(wrong=True) == naive(lambda t: t.truth is not None and t.truth != t.explanations[0].prediction.label)
    assert rows(wrong=False) == naive(lambda t: t.truth == t.explanations[0].prediction.label)
    assert rows(label="positive") == naive(lambda t: t.explanations[0].prediction.label == "positive")
    assert rows(contains="Music") == naive(lambda t: "music" in t.explanations[0].features)
    assert rows(failed=True) == [26]
    assert rows(truth="positive", failed=False) == naive(lambda t: t.truth == "positive")
    assert 26 not in rows(order="disagreement")
    sure = [line.confidence for line in corpus.texts(order="confidence", limit=25).lines]
    assert sure == sorted(sure, reverse=True)
    least = sorted(line.at_least for line in corpus.texts(order="disagreement", limit=100).lines)
    assert len(rows(disagreement=least[10])) == 15
    failed = corpus.texts(failed=True).lines[0]
    assert (failed.error, failed.label, failed.wrong, failed.beginning) == ("the text is too long", None, None, "")


def test_pages_of_texts_are_plain_values(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", random_texts(6, 12), shard_size=5)
    table = corpus.texts(offset=4, limit=3)
    assert ([line.row for line in table.lines], table.total) == ([5, 6, 7], 12)
    first = json.loads(json.dumps(table.to_dict(), allow_nan=False))["lines"][0]
    assert first["id"] == "text 5"
    assert first["beginning"]
    assert corpus.texts(offset=100).lines == ()


def test_bad_filters_are_refused(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", random_texts(6, 4))
    with pytest.raises(UnknownNameError, match="label 'great'"):
        corpus.texts(label="great")
    with pytest.raises(ParameterError, match="disagreement is the least of it"):
        corpus.texts(disagreement=2.0)
    with pytest.raises(ParameterError, match="limit must be a whole number of at least 1"):
        corpus.texts(limit=0)
    with pytest.raises(ParameterError, match="contains must be a word"):
        corpus.texts(contains="")
    with pytest.raises(UnknownNameError, match="order of texts"):
        corpus.texts(order="size")  # type: ignore[arg-type]


def test_told_is_that_of_each_explanation(tmp_path: Path) -> None:
    """The signs that are counted are those which views colour."""
    texts = random_texts(8, 10)
    corpus = corpus_of(tmp_path / "corpus", texts)
    counted = sum(
        line.speaks_for + line.speaks_against
        for question in corpus.summary.questions
        for line in corpus.words(*question, all_words=True, least_texts=1).lines
    )
    assert counted == sum(int(e.significant.sum()) for text in texts for e in text.explanations)


def test_a_text_without_an_id_of_its_own_is_called_by_its_row() -> None:
    assert text_name(own_id(12, "fine"), 12) == "row 12"
    assert text_name("review 7", 12) == "review 7"
