"""Two runs compared, beside naive twins and SciPy's tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from corpus.made_by_hand import Text, corpus_of, random_texts, text_of
from limelight.corpus.analysis.comparison import compare
from limelight.errors import InputError

WORDS = "plot film music actor slow".split()


def shifted(seed: int, shift: Any, count: int = 30, **more: Any) -> list[Text]:
    """Texts of the same words, whose weights have the means `shift`."""
    rng = np.random.default_rng(seed)
    return [text_of(" ".join(WORDS), {"lime": rng.normal(size=5) + shift}, **more) for _ in range(count)]


def weights_of(texts: list[Text], word: str) -> np.ndarray:
    return np.array([t.explanations[0].weights[t.explanations[0].features.index(word)] for t in texts])


def test_the_same_texts_are_compared_with_themselves(tmp_path: Path) -> None:
    shift = np.array([2.0, 0.0, 0.0, -2.0, 0.0])
    first, second = shifted(0, 5.0), shifted(1, 5.0 + shift)
    one = corpus_of(tmp_path / "one", first, shard_size=4)
    two = corpus_of(tmp_path / "two", second, shard_size=7)
    found = compare(one, two)
    assert (found.paired, found.texts, found.other_target) == (True, 30, 0)
    (table,) = found.questions
    p = [stats.ttest_rel(weights_of(second, line.word), weights_of(first, line.word)).pvalue for line in table.lines]
    assert [line.told for line in table.lines] == (stats.false_discovery_control(p) <= 0.05).tolist()
    assert {"plot", "actor"} <= {line.word for line in table.lines if line.told} < set(WORDS)
    for line in table.lines:
        a, b = weights_of(first, line.word), weights_of(second, line.word)
        assert line.difference == pytest.approx((b - a).mean())
        assert (line.first, line.second) == pytest.approx((a.mean(), b.mean()))
        half = stats.t.ppf(0.5 + table.level / 2, 29) * (b - a).std(ddof=1) / np.sqrt(30)
        assert line.high - line.difference == pytest.approx(half, rel=1e-3)
        assert line.told == (line.low > 0.0 or line.high < 0.0)
    json.dumps(table.to_dict(), allow_nan=False)


def test_different_texts_are_compared_by_welch(tmp_path: Path) -> None:
    shift = np.array([2.0, 0.0, 0.0, -2.0, 0.0])
    first, second = shifted(0, 5.0), shifted(1, 5.0 + shift, count=18)
    one = corpus_of(tmp_path / "one", first)
    two = corpus_of(tmp_path / "two", second, data="other")
    found = compare(one, two)
    assert not found.paired
    (table,) = found.questions
    assert {"plot", "actor"} <= {line.word for line in table.lines if line.told} < set(WORDS)
    for line in table.lines:
        test = stats.ttest_ind(weights_of(second, line.word), weights_of(first, line.word), equal_var=False)
        ends = test.confidence_interval(table.level)
        assert (line.low, line.high) == pytest.approx((ends.low, ends.high), rel=1e-3)
        assert (line.texts, line.other_texts) == (30, 18)


def test_two_halves_of_the_same_are_not_told_apart(tmp_path: Path) -> None:
    """Of many words none differs: one of twenty such comparisons may say that one does."""
    wrong = 0
    for seed in range(20):
        halves = [
            corpus_of(tmp_path / f"{seed}-{part}", shifted(2 * seed + part, 3.0, count=12), data=str(part))
            for part in (0, 1)
        ]
        wrong += any(line.told for table in compare(*halves).questions for line in table.lines)
    assert wrong <= 4


def test_sampling_error_is_in_the_interval(tmp_path: Path) -> None:
    """Weights that are alike by chance do not make an interval that is narrower than their errors."""
    noisy = [text_of("plot film", {"lime": [1.0, 2.0]}, stderr={"lime": [1.0, 1.0]}) for _ in range(6)]
    exact = [text_of("plot film", {"lime": [1.5, 2.5]}) for _ in range(6)]
    (table,) = compare(corpus_of(tmp_path / "one", noisy), corpus_of(tmp_path / "two", exact)).questions
    assert not any(line.told for line in table.lines)
    assert all(line.high - line.low > 1.0 for line in table.lines)


def test_texts_that_were_asked_about_another_label_are_counted(tmp_path: Path) -> None:
    same = shifted(0, 5.0, count=6)
    changed = [*shifted(1, 5.0, count=4), *shifted(2, 5.0, count=2, logits=(1.0, 0.0))]
    found = compare(corpus_of(tmp_path / "one", same), corpus_of(tmp_path / "two", changed))
    assert (found.texts, found.other_target) == (4, 2)


def test_words_of_different_cuts_are_matched_by_name(tmp_path: Path) -> None:
    """A text may have other words in the other run, as with another model's rule for them."""
    first = [text_of("plot film", {"lime": [1.0, 2.0]}) for _ in range(5)]
    second = [text_of("film music", {"lime": [3.0, 4.0]}) for _ in range(5)]
    (table,) = compare(corpus_of(tmp_path / "one", first), corpus_of(tmp_path / "two", second)).questions
    assert [(line.word, line.difference) for line in table.lines] == [("film", 1.0)]


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    one = corpus_of(tmp_path / "one", shifted(0, 1.0, count=3))
    with pytest.raises(InputError, match="compared with itself"):
        compare(one, one)
    other = {"labels": ("spam", "ham"), "logits": (0.0, 1.0)}
    spam = corpus_of(tmp_path / "spam", shifted(0, 1.0, count=3, **other), labels=("spam", "ham"))
    with pytest.raises(InputError, match="no label in common"):
        compare(one, spam)
    shapley = corpus_of(tmp_path / "shapley", [text_of("plot", {"shapley": [1.0]})])
    with pytest.raises(InputError, match="no method in common"):
        compare(one, shapley)
    chances = corpus_of(tmp_path / "chances", shifted(0, 1.0, count=3), asked={"output": "probability"})
    with pytest.raises(InputError, match=r"output is None in .* and 'probability' in"):
        compare(one, chances)
    negative = corpus_of(tmp_path / "negative", shifted(0, 1.0, count=3, logits=(1.0, 0.0)))
    with pytest.raises(InputError, match="no question in common"):
        compare(one, negative)


def test_failed_texts_do_not_matter(tmp_path: Path) -> None:
    texts = random_texts(4, 10)
    failed = [Text((), error="too long", text="x") if k == 3 else text for k, text in enumerate(texts)]
    found = compare(corpus_of(tmp_path / "one", texts), corpus_of(tmp_path / "two", failed, shard_size=3))
    assert found.texts == 9
    assert all(line.difference == 0.0 for table in found.questions for line in table.lines)
