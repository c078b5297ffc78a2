"""The plain sentence: it names the label that the model gives, and only words that are shown to matter."""

from __future__ import annotations

from typing import Any

import pytest

from limelight.render.sentence import plain_sentence, sentence
from render.samples import comparison_of

THREE = ("negative", "neutral", "positive")
SAID: list[tuple[dict[str, Any], str]] = [
    ({"weights": [0.9, -0.4, 0.1]}, "positive, mainly because of *bad*; *great* speaks against it"),
    ({"weights": [0.9, -1.4, 0.1]}, "positive, mainly because of *bad*; *great* speaks more strongly against it"),
    ({"weights": [0.9, -0.1, 0.5]}, "positive, mainly because of *bad* and *movie*"),
    ({"weights": [-0.9, -0.5, 0.0]}, "positive, although *bad* and *great* speak against it"),
    ({"weights": [0.0, 0.0, 0.0]}, "positive; no word is distinguishable from zero"),
    (
        {"weights": [0.9, 0.5, 0.1], "stderr": [1.0, 1.0, 1.0], "methods": ("lime",)},
        "positive; no word is distinguishable from zero",
    ),
    (
        {"weights": [0.9, 0.5, 0.1], "methods": ("rollout",)},
        "positive; *bad* and *great* have the largest weights, for no side",
    ),
    ({"weights": [0.9, 0.0, 0.0], "methods": ("rollout",)}, "positive; *bad* has the largest weight, for no side"),
    (
        {"weights": [0.9, -0.5, 0.0], "target": "negative"},
        "positive: *bad* speaks for negative; *great* speaks against it",
    ),
    ({"weights": [0.9, 0.5, 0.0], "target": "negative"}, "positive: *bad* and *great* speak for negative"),
    (
        {"weights": [0.9, -0.5, 0.0], "labels": THREE, "target": "positive", "against": "neutral"},
        "positive rather than neutral, mainly because of *bad*; *great* speaks against it",
    ),
    (
        {"weights": [0.9, -0.5, 0.0], "labels": THREE, "target": "neutral", "against": "negative"},
        "positive: *bad* speaks for neutral rather than negative; *great* speaks against it",
    ),
    (
        {"weights": [0.9, -0.5, 0.0], "labels": ("stars",), "logits": (3.5,), "model": "regression"},
        "stars 3.5: *bad* raises it; *great* lowers it",
    ),
    (
        {"weights": [0.9, -0.5, 0.0], "labels": ("toxic",), "logits": (-3.0,), "model": "multi-label"},
        "not toxic: *bad* speaks for toxic; *great* speaks against it",
    ),
    (
        {"weights": [0.9, -0.5, 0.0], "labels": ("toxic", "threat"), "logits": (3.0, 2.0), "model": "multi-label"},
        "toxic, mainly because of *bad*; *great* speaks against it",
    ),
    (
        {"weights": [0.9, -0.5, 0.0], "diagnostics": {"barely_moves": True}},
        "positive; all words together barely change this",
    ),
]


@pytest.mark.parametrize(("asked", "said"), SAID)
def test_the_sentence_names_the_label_and_the_words_that_decide_it(asked: dict[str, Any], said: str) -> None:
    assert plain_sentence(comparison_of("bad great movie", **{"methods": ("shapley",), **asked})[0]) == said


def test_many_words_of_like_weight_are_not_called_the_main_reason() -> None:
    text = " ".join(f"word{i}" for i in range(20))
    said = plain_sentence(comparison_of(text, [0.1] * 20, methods=("shapley",))[0])
    assert said == "positive, because of many words, first of all *word0*, *word1* and *word2*"


def test_a_word_that_occurs_twice_is_named_once() -> None:
    explanation = comparison_of("bad bad film", [0.5, 0.4, 0.3], methods=("shapley",), kind="occurrences")[0]
    assert plain_sentence(explanation) == "positive, mainly because of *bad* and *film*"


def test_parts_know_their_feature_and_nothing_in_them_acts() -> None:
    explanation = comparison_of("bad\u202e film", [0.9, 0.5], methods=("shapley",), labels=("no", "\x1b[1myes"))[0]
    parts = sentence(explanation)
    assert [part.feature for part in parts if part.feature is not None] == [0, 1]
    assert [part.is_label for part in parts][:1] == [True]
    assert not {"\x1b", "\u202e"} & set(plain_sentence(explanation))
