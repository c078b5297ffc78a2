"""The words of a corpus beside naive twins: lists of weights, one word at a time."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from corpus.made_by_hand import Text, corpus_of, random_texts, text_of
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.means import FOLDED_NORMAL, Picked, Sums, Values, as_normal, as_student, fraction
from limelight.corpus.analysis.summary import summary_of
from limelight.corpus.analysis.words import STOP_WORDS, WordLine, is_folded
from limelight.errors import InputError, ParameterError, UnknownNameError

TOLERANCE = 1e-12


def naive(texts: Sequence[Text]) -> dict[tuple[Question, str], dict[str, Any]]:
    """For each question and word: its weights, their errors, bounds and signs where told, in Python lists."""
    found: dict[tuple[Question, str], dict[str, Any]] = defaultdict(lambda: defaultdict(list))
    for text in texts:
        for own in text.explanations:
            told = own.significant
            by_word: dict[str, list[int]] = defaultdict(list)
            for j, word in enumerate(own.features):
                by_word[word].append(j)
            for word, places in by_word.items():
                line = found[Question(own.method, own.target, own.against), word]
                line["weights"].append(sum(own.weights[j] for j in places) / len(places))
                errors = [0.0 if own.stderr is None else own.stderr[j] for j in places]
                line["stderr"].append(sum(errors) / len(places))
                line["off"].append(own.diagnostics.get("error", 0.0))
                line["signs"].append(np.sign(sum(np.sign(own.weights[j]) * told[j] for j in places)))
    return found


@pytest.mark.parametrize("shard_size", [1, 4, 100])
def test_all_numbers_of_a_word_are_those_of_its_naive_twin(tmp_path: Path, shard_size: int) -> None:
    texts = random_texts(0)
    corpus = corpus_of(tmp_path / "corpus", texts, shard_size=shard_size)
    twins = naive(texts)
    seen = 0
    for question in corpus.summary.questions:
        table = corpus.words(*question, all_words=True, least_texts=2)
        assert table.texts == sum(
            Question(e.method, e.target, e.against) == question for text in texts for e in text.explanations
        )
        family = [twin for (own, _), twin in twins.items() if own == question and len(twin["weights"]) >= 2]
        assert table.total == len(table.lines) == len(family)
        for line in table.lines:
            _check_line(line, twins[question, line.word], table.level)
            seen += 1
    assert seen > 50


def _check_line(line: WordLine, twin: dict[str, list[float]], level: float) -> None:
    weights, stderr, n = twin["weights"], twin["stderr"], len(twin["weights"])
    mean = sum(weights) / n
    variance = sum((w - mean) ** 2 for w in weights) / (n - 1)
    noise = sum(s**2 for s in stderr) / n
    off = sum(twin["off"]) / n
    assert line.texts == n
    assert line.mean == pytest.approx(mean, abs=TOLERANCE)
    assert line.low + line.high == pytest.approx(2 * mean, abs=1e-9)
    # Student's limit by Wallace's formula: too narrow by 0.01 % at most, and hardly wider with more than two texts.
    exact = stats.t.ppf(0.5 + level / 2, n - 1) * math.sqrt(max(variance, noise) / n) + off
    assert exact * (1 - 1e-4) <= (line.high - line.low) / 2 <= exact * (1.5 if n == 2 else 1.08)
    assert line.sampling == pytest.approx(1.959963984540054 * math.sqrt(noise / n) + off, abs=TOLERANCE)
    absolute = sum(map(abs, weights)) / n
    assert line.absolute == pytest.approx(absolute, abs=TOLERANCE)
    assert line.absolute_low <= absolute - min(FOLDED_NORMAL * sum(stderr) / n, absolute) + TOLERANCE
    assert line.absolute_high >= absolute
    assert line.speaks_for == sum(sign > 0 for sign in twin["signs"])
    assert line.speaks_against == sum(sign < 0 for sign in twin["signs"])
    assert line.largest == pytest.approx(max(weights))
    assert line.smallest == pytest.approx(min(weights))
    assert line.told == (line.low > 0.0 or line.high < 0.0)


def test_examples_are_the_texts_of_the_extremes(tmp_path: Path) -> None:
    values = [0.1, -3.0, 2.0, 0.5, 1.0, 5.0, -0.5]
    corpus = corpus_of(tmp_path / "corpus", [text_of("bad film", {"lime": [w, 1.0]}) for w in values], shard_size=3)
    (line,) = (line for line in corpus.words().lines if line.word == "bad")
    assert (line.largest_row, line.smallest_row) == (6, 2)
    assert (line.largest, line.smallest) == (5.0, -3.0)


def test_a_word_that_has_several_weights_in_a_text_counts_once(tmp_path: Path) -> None:
    texts = [text_of("so bad so bad", {"lime": [1.0, 2.0, 3.0, 4.0]}, kind="occurrences") for _ in range(5)]
    corpus = corpus_of(tmp_path / "corpus", texts)
    (line,) = (line for line in corpus.words().lines if line.word == "bad")
    assert (line.texts, line.mean, line.speaks_for) == (5, 3.0, 5)


def test_the_two_texts_of_a_pair_have_words_of_their_own(tmp_path: Path) -> None:
    texts = [text_of(("slow film", "slow music"), {"lime": [1.0, 2.0, -3.0, 4.0]}) for _ in range(5)]
    corpus = corpus_of(tmp_path / "corpus", texts, pairs=True)
    assert {(line.word, line.side): line.mean for line in corpus.words().lines} == {
        ("slow", 0): 1.0,
        ("film", 0): 2.0,
        ("slow", 1): -3.0,
        ("music", 1): 4.0,
    }


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def simulated(rng: np.random.Generator, centre: Any, texts: int, words: int, between: float, noise: float) -> Sums:
    """Sums of weights whose means over texts like these are known."""
    sums = Sums()
    ids = np.arange(words)
    for row in range(texts):
        weights = centre + rng.normal(0, 1, words) * between + rng.normal(0, 1, words) * noise
        nothing = np.zeros(words)
        sums.add(Values(ids, np.full(words, row), weights, np.full(words, noise), nothing, nothing.astype(np.int64)))
    return sums


@pytest.mark.parametrize(("between", "noise"), [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
def test_intervals_cover_the_mean_over_texts_like_these(between: float, noise: float) -> None:
    words = 4000
    level, means = simulated(np.random.default_rng(1), 50.0, 8, words, between, noise).means(np.arange(words))
    assert means["told"].all()
    assert level == pytest.approx(0.95)
    covered = ((means["low"] <= 50.0) & (means["high"] >= 50.0)).mean()
    # Four standard errors of such a share are 0.014. Sampling error that is known makes intervals a little wider.
    assert 0.94 <= covered <= (0.97 if between else 0.995)


def test_of_the_words_that_are_picked_few_are_noise_and_few_intervals_miss() -> None:
    words, false, missed = 2000, [], []
    centre = np.where(np.arange(words) < 200, 1.0, 0.0)
    for seed in range(10):
        level, means = simulated(np.random.default_rng(seed), centre, 20, words, 1.0, 0.5).means(np.arange(words))
        told = means["told"]
        assert told[:200].sum() > 50
        false.append(told[200:].sum() / told.sum())
        missed.append(((means["low"] > centre) | (means["high"] < centre))[told].mean())
        assert level < 0.999
        np.testing.assert_array_equal(told, (means["low"] > 0.0) | (means["high"] < 0.0))
    assert 0.0 < np.mean(false) < 0.06
    assert np.mean(missed) < 0.06


def test_the_mean_absolute_effect_of_pure_noise_is_not_told_from_zero() -> None:
    _, means = simulated(np.random.default_rng(2), 0.0, 200, 50, 0.0, 1.0).means(np.arange(50))
    assert (means["absolute"] > 0.6).all()
    assert (means["absolute_low"] < 0.1).all()


def test_weights_that_are_alike_by_chance_are_no_more_certain_than_their_errors(tmp_path: Path) -> None:
    texts = [text_of("plot", {"lime": [1.0]}, stderr={"lime": [2.0]}) for _ in range(5)]
    (line,) = corpus_of(tmp_path / "corpus", texts).words().lines
    assert not line.told
    assert line.high - line.mean >= stats.t.ppf(0.975, 4) * 2.0 / math.sqrt(5)


def test_student_by_wallace_is_hardly_ever_too_narrow() -> None:
    freedom = np.array([1.0, 2.0, 3.0, 5.0, 10.0, 100.0])
    for z in (1.5, 1.96, 3.0, 4.5):
        chance = stats.norm.sf(z)
        exact = stats.t.isf(chance, freedom)
        ours = as_student(z, freedom)
        assert (ours >= exact * (1 - 1e-4)).all()
        assert (ours[3:] <= exact[3:] * 1.08).all()
        np.testing.assert_allclose(as_normal(ours, freedom), z)


def test_one_text_alone_has_no_interval() -> None:
    _, means = simulated(np.random.default_rng(3), 100.0, 1, 3, 1.0, 0.5).means(np.arange(3))
    assert not means["told"].any()
    assert np.isinf(means["high"]).all()


def test_what_is_within_its_bound_is_never_told() -> None:
    picked = Picked.of(np.array([1.0, 1.0]), np.array([1e-6, 1e-6]), np.array([2.0, 0.5]), np.array([9.0, 9.0]))
    assert picked.significant.tolist() == [False, True]


def test_shares_are_wilson_s() -> None:
    for k, n in ((0, 5), (3, 10), (7, 7)):
        expected = stats.binomtest(k, n).proportion_ci(0.95, "wilson")
        value, low, high = fraction(np.array([k]), np.array([n]))
        assert (value[0], low[0], high[0]) == pytest.approx((k / n, expected.low, expected.high), abs=1e-9)


# ── which words, in which order ───────────────────────────────────────────────────────────────────────────────────────


def test_stop_words_and_signs_are_folded_away() -> None:
    assert all(map(is_folded, ("the", "The", "it", ".", "...", "?!", "—", "$", "s")))
    assert not any(
        map(is_folded, ("not", "no", "never", "but", "very", "too", "don", "film", "👍", "我", "7/10", "c++"))
    )
    assert all(word == word.lower() for word in STOP_WORDS)


def test_what_is_folded_is_counted(tmp_path: Path) -> None:
    texts = [text_of("the good film .", {"lime": [-1.0, 2.0 + k, 1.0, 0.5]}) for k in range(6)]
    corpus = corpus_of(tmp_path / "corpus", texts)
    table = corpus.words()
    assert [line.word for line in table.lines] == ["good", "film"]
    assert (table.words, table.folded) == (4, 2)
    assert table.folded_share == pytest.approx((1.0 + 0.5) * 6 / (1.5 * 6 + 6 + sum(2.0 + k for k in range(6))))
    assert {line.word for line in corpus.words(all_words=True).lines} == {"the", "good", "film", "."}


def test_words_in_few_texts_are_left_out(tmp_path: Path) -> None:
    texts = [text_of("good film" if k < 3 else "bad film", {"lime": [1.0 + k, 2.0]}) for k in range(9)]
    corpus = corpus_of(tmp_path / "corpus", texts)
    table = corpus.words(least_texts=5)
    assert ({line.word for line in table.lines}, table.rare) == ({"bad", "film"}, 1)
    assert {line.word for line in corpus.words(least_texts=3).lines} == {"good", "bad", "film"}


def test_signs_count_only_where_they_are_told(tmp_path: Path) -> None:
    """A word that is noise in half of its texts has one sign; one that is told both ways has two."""
    texts = []
    for k in range(40):
        flips = 1.0 if k % 2 else -1.0
        weights = [0.01 * flips, 2.0 * flips, 3.0, 3.0, 0.5 * flips]
        texts.append(text_of("noisy plot good film slow", {"lime": weights}, stderr={"lime": [0.5] + [0.01] * 4}))
    lines = corpus_of(tmp_path / "corpus", texts).words(order="signs").lines
    assert [line.word for line in lines] == ["plot", "slow"]
    assert (lines[0].speaks_for, lines[0].speaks_against, lines[0].minority) == (20, 20, 0.5)
    assert 0.3 < lines[0].minority_low < 0.4


def test_a_few_wrong_signs_of_sampled_weights_are_no_change_of_sign(tmp_path: Path) -> None:
    def corpus(stderr: Any, name: str) -> Any:
        values = [1.0] * 198 + [-1.0] * 2
        texts = [text_of("plot", {"lime": [w]}, stderr=stderr) for w in values]
        return corpus_of(tmp_path / name, texts, shard_size=100)

    assert corpus({"lime": [0.01]}, "sampled").words(order="signs").lines == ()
    assert [line.word for line in corpus(None, "exact").words(order="signs").lines] == ["plot"]


def test_order_search_and_pages(tmp_path: Path) -> None:
    words = "alpha beta gamma delta".split()
    weights = [1.0, -2.0, 3.0, -0.5]
    texts = [text_of(" ".join(words), {"lime": [w + 0.01 * k for w in weights]}) for k in range(6)]
    corpus = corpus_of(tmp_path / "corpus", texts)

    def listed(**options: Any) -> list[str]:
        return [line.word for line in corpus.words(**options).lines]

    assert listed(order="effect") == ["gamma", "beta", "alpha", "delta"]
    assert listed(order="for") == ["gamma", "alpha", "delta", "beta"]
    assert listed(order="against") == ["beta", "delta", "alpha", "gamma"]
    assert listed(order="word") == ["alpha", "beta", "delta", "gamma"]
    assert listed(order="effect", offset=1, limit=2) == ["beta", "alpha"]
    table = corpus.words(contains="LT")
    assert ([line.word for line in table.lines], table.total) == (["delta"], 1)
    json.dumps(corpus.words().to_dict(), allow_nan=False)


def test_bad_questions_are_refused(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", random_texts(1, 8))
    with pytest.raises(UnknownNameError, match="unknown method of this corpus 'limey': did you mean 'lime'"):
        corpus.words("limey")
    with pytest.raises(UnknownNameError, match="target of this corpus 'great'"):
        corpus.words("lime", "great")
    with pytest.raises(UnknownNameError, match="order of words"):
        corpus.words(order="up")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="least_texts must be a whole number of at least 1"):
        corpus.words(least_texts=0)
    with pytest.raises(ParameterError, match="contains must be a string"):
        corpus.words(contains=3)  # type: ignore[arg-type]
    failed = corpus_of(tmp_path / "failed", [Text((), error="too long", text="a"), *[]])
    with pytest.raises(InputError, match="no explained text yet"):
        failed.words()


def test_where_there_are_too_many_words_the_rarest_are_dropped_and_it_is_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    texts, true = [], defaultdict(list)
    for _ in range(300):
        words = sorted({f"w{min(int(rng.zipf(1.3)), 5000)}" for _ in range(12)})
        weights = rng.normal(size=len(words))
        for word, weight in zip(words, weights, strict=True):
            true[word].append(weight)
        texts.append(text_of(" ".join(words), {"lime": weights}))
    corpus = corpus_of(tmp_path / "corpus", texts, shard_size=10)
    assert len(true) > 300
    words = summary_of(corpus, most_words=120).words
    question = words.questions[0]
    table = words.table(question, least_texts=1)
    assert len(table.lines) <= 120 + 10 * 12
    late = [line for line in table.lines if line.missed]
    assert late
    for line in table.lines:
        assert line.texts <= len(true[line.word]) <= line.texts + line.missed
        # What is counted are the last ones.
        assert line.mean == pytest.approx(np.mean(true[line.word][-line.texts :]), abs=TOLERANCE)
    every = [line for line in table.lines if not line.missed]
    assert {f"w{k}" for k in range(1, 10)} <= {line.word for line in every}
    assert all(line.texts == len(true[line.word]) for line in every)
