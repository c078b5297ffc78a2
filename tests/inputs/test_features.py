"""Features: which words belong together, where they stand, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limelight
from conftest import small_model
from limelight.errors import InputError, LimelightError, ParameterError, UnknownNameError
from limelight.inputs.document import Document
from limelight.inputs.features import NOBODY, Features, checked_kind, divided_words, features_of
from limelight.inputs.words import words_by

TEXT = 'The film was great, but too long. It is a very good end!  "Not bad," it said.'


def words_of(features: Features, document: Document) -> list[list[str]]:
    return [[document.words[i].form for i in own] for own in features.owned]


def consistent(document: Document, features: Features) -> None:
    """What holds for all features of any text."""
    owned = [i for own in features.owned for i in own]
    assert len(owned) == len(set(owned))
    for j, own in enumerate(features.owned):
        assert own, "a feature without words"
        assert all(features.owners[i] == j for i in own)
        for i in own:
            word = document.words[i]
            assert any(start <= word.start and word.end <= end for start, end in features.spans[j])
    assert all(features.owners[i] == NOBODY for i in set(range(len(document.words))) - set(owned))
    if features.groups is not None:
        assert sorted(j for own in features.groups.members for j in own) == list(range(len(features)))


@given(st.text(alphabet="ab ,.!?\n<br/>'(é我", min_size=1, max_size=60))
@pytest.mark.parametrize(
    "kind", ["words", "occurrences", "sentences", "phrases", ("sentences", "words"), ("phrases", "occurrences")]
)
def test_every_word_of_any_text_belongs_to_one_feature(kind: Any, text: str) -> None:
    try:
        document = Document.read(text)
    except LimelightError:
        return
    features = features_of(document, kind)
    consistent(document, features)
    assert (features.owners != NOBODY).all()


def test_sentences_and_phrases() -> None:
    document = Document.read(TEXT)
    sentences = features_of(document, "sentences")
    assert sentences.names == (
        "The film was great, but too long.",
        "It is a very good end!",
        '"Not bad," it said.',
    )
    assert [document.text[a:b] for ((a, b),) in sentences.spans][1] == "It is a very good end!"
    phrases = features_of(document, "phrases")
    assert phrases.names[:2] == ("The film was great,", "but too long.")
    consistent(document, phrases)


def test_two_levels_hold_words_within_each_sentence() -> None:
    document = Document.read("Good film. Good end, good end.")
    features = features_of(document, ("sentences", "words"))
    assert features.names == ("good", "film", ".", "good", "end", ",", ".")
    assert features.groups is not None
    assert features.groups.names == ("Good film.", "Good end, good end.")
    assert features.groups.members == ((0, 1, 2), (3, 4, 5, 6))
    assert features.kind == "words in sentences"
    np.testing.assert_array_equal(features.membership, [[1, 0]] * 3 + [[0, 1]] * 4)
    consistent(document, features)


def test_spans_own_the_words_that_they_cover_and_leave_the_rest() -> None:
    document = Document.read(TEXT)
    features = features_of(document, [(13, 18), (0, 8)])
    assert words_of(features, document) == [["great"], ["the", "film"]]
    assert features.spans == (((13, 18),), ((0, 8),))
    assert features.names == ("great", "The film")
    consistent(document, features)
    by_function = features_of(document, lambda text: [(text.index("great"), text.index("great") + 5)])
    assert words_of(by_function, document) == [["great"]]
    levels = features_of(document, ([(0, 8), (13, 18)], "words"))
    assert levels.names == ("the", "film", "great")
    consistent(document, levels)


def test_phrases_within_spans_stand_inside_them() -> None:
    """The phrase "The film was great," reaches beyond both spans: what is removed is what is shown."""
    document = Document.read(TEXT)
    features = features_of(document, ([(0, 8), (9, 33)], "phrases"))
    assert features.names == ("The film", "was great,", "but too long.")
    assert [document.text[a:b] for ((a, b),) in features.spans] == list(features.names)
    assert words_of(features, document) == [["the", "film"], ["was", "great", ","], ["but", "too", "long", "."]]
    consistent(document, features)


def test_words_that_belong_to_no_inner_feature_are_refused() -> None:
    """A rule of one's own for words: "great, but" is one, and a phrase ends within it."""

    def rule(text: str) -> list[tuple[int, int]]:
        return [(0, 3), (4, 8), (9, 12), (13, 23), (24, 27), (28, 32)]

    text = "The film was great, but too long."
    document = Document.read(text, rule=lambda text: words_by(rule, text))
    assert features_of(document, ("sentences", "words")).names[3] == "great, but"
    with pytest.raises(
        InputError, match="1 words of the outer spans belong to no inner feature, because phrases cross"
    ):
        features_of(document, ("sentences", "phrases"))


def test_words_that_a_span_cuts_are_divided() -> None:
    document = Document.read("unbelievable end")
    assert divided_words(document, [(0, 12)]) is None
    words = divided_words(document, [(0, 2), (2, 9)])
    assert words is not None
    assert [(word.form, word.start, word.end) for word in words] == [
        ("un", 0, 2),
        ("believa", 2, 9),
        ("ble", 9, 12),
        ("end", 13, 16),
    ]
    with pytest.raises(InputError, match=r"cuts the word 'great' at 4, and this model reads whole words"):
        limelight.explain(small_model(), "the great film", "gxi", features=[(4, 6)])


@pytest.mark.parametrize(
    ("features", "error", "said"),
    [
        ([(0, 8), (4, 12)], InputError, r"the spans \(0, 8\) and \(4, 12\) overlap"),
        ([(0, 800)], InputError, r"0 <= start < end <= 77"),
        ([(-1, 8)], InputError, "a span is a pair"),
        ([(8, 8)], InputError, "a span is a pair"),
        ([(8, 3)], InputError, "a span is a pair"),
        ([(0, 3.0)], InputError, "a span is a pair"),
        ([(False, True)], InputError, "a span is a pair"),
        ([3], InputError, "got 3"),
        (["The"], InputError, "got 'The'"),
        ([(3, 4)], InputError, r"the span \(3, 4\) holds no word"),
        ([], InputError, "no span holds a word"),
        (lambda text: None, InputError, "must return a list of"),
        (lambda text: 3, InputError, "must return a list of"),
        (lambda text: [(0, 10**9)], InputError, "a span is a pair"),
        (lambda text: 1 / 0, InputError, "the function for features failed .*ZeroDivisionError"),
        (lambda text: iter(lambda: (0, 3), None), InputError, "overlap"),
        ("letters", UnknownNameError, "unknown kind of features 'letters'"),
        (("words", "sentences"), UnknownNameError, "outer level"),
        (("sentences", "sentences"), UnknownNameError, "inner level"),
        (("phrases", "phrases"), InputError, "two levels must differ"),
        (("sentences", "letters"), UnknownNameError, "inner level"),
        (None, ParameterError, "features must be one of"),
        (3, ParameterError, "features must be one of"),
        (b"words", ParameterError, "features must be one of"),
        ({"words": 1}, ParameterError, "features must be one of"),
    ],
)
def test_what_is_no_feature_is_refused(features: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        limelight.explain(small_model(), TEXT, "gxi", features=features)


def test_an_endless_function_ends() -> None:
    def endless(text: str) -> Any:
        i = 0
        while True:
            yield (i, i + 1)
            i += 1

    with pytest.raises(InputError, match="a span is a pair"):
        limelight.explain(small_model(), TEXT, "gxi", features=endless)


def test_spans_given_once_serve_many_texts() -> None:
    """A generator would be used up by the first."""
    model, spans = small_model(), ((start, start + 3) for start in (0,))
    both = limelight.explain(model, ["the film", "the end"], "gxi", features=spans)
    assert [e.features for e in both] == [("the",), ("the",)]


# ── pairs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_texts_of_a_pair_do_not_share_features() -> None:
    document = Document.read(("Good film. Good.", "good end"))
    assert document.given == ("Good film. Good.", "good end")
    features = features_of(document, "words")
    assert features.names == ("good", "film", ".", "good", "end")
    assert [document.text[a:b] for spans in features.spans for a, b in spans].count("good") == 1
    second = features_of(document, "words", "second")
    assert second.names == ("good", "end")
    assert (second.owners[:5] == NOBODY).all()
    assert features_of(document, "sentences").names == ("Good film.", "Good.", "good end")
    spans = features_of(document, [[(0, 4)], [(5, 8)]])
    assert spans.names == ("Good", "end")
    with pytest.raises(InputError, match="two lists, one for each text"):
        features_of(document, [(0, 4)])
    with pytest.raises(InputError, match="the second text of the pair has no words"):
        features_of(Document.read(("good", "")), "words", "second")
    with pytest.raises(InputError, match="is for pairs of texts"):
        features_of(Document.read("good"), "words", "second")


def test_a_pair_given_to_a_model_of_single_texts_is_refused() -> None:
    model = small_model()
    for text in (("a film", "an end"), [("a film", "an end")]):
        with pytest.raises(InputError, match="this model reads single texts, and this is a pair"):
            limelight.explain(model, text, "gxi")
    with pytest.raises(InputError, match="this model reads single texts"):
        limelight.compare(model, ("a film", "an end"), ["gxi"])


def test_kinds_are_checked_before_any_text_is_read() -> None:
    assert checked_kind(("sentences", "words")) == ("sentences", "words")
    assert checked_kind(np.array([[0, 3]])) is not None


# ── every method, stored and shown ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["sentences", "phrases", ("sentences", "words"), [(0, 8), (13, 18)]])
def test_every_method_gives_weights_to_any_features(kind: Any) -> None:
    model, options = small_model(), {"n_samples": 60}
    comparison = limelight.compare(model, TEXT, "all", features=kind, **options)
    assert len(comparison) >= 14
    for e in comparison:
        assert np.isfinite(e.weights).all()
        assert e.parameters["features"] in ("sentences", "phrases", "words in sentences", "spans")
        if e.groups is not None:
            sums = [e.weights[list(own)].sum() for own in e.groups.members]
            np.testing.assert_allclose(e.groups.weights, sums, rtol=0, atol=1e-12)
            assert (e.groups.stderr is None) == (e.stderr is None)
    again = limelight.Comparison.from_dict(json.loads(json.dumps(comparison.to_dict(), allow_nan=False)))
    assert again == comparison
    assert "great" in comparison.to_html()


def test_attention_and_norms_of_a_sentence_are_sums_over_its_words() -> None:
    model = small_model()
    for method in ("alpha-avg", "alpha-max", "rollout", "g-avg", "g-l1", "g-l2", "gxi", "integrated-gradients"):
        words = limelight.explain(model, TEXT, method, features="occurrences", target="positive")
        sentences = limelight.explain(model, TEXT, method, features="sentences", target="positive")
        for ((start, end),), weight in zip(sentences.spans, sentences.weights, strict=True):
            inside = [w for ((a, b),), w in zip(words.spans, words.weights, strict=True) if start <= a and b <= end]
            assert weight == pytest.approx(sum(inside), abs=1e-9)


def test_integrated_gradients_move_only_what_belongs_to_features() -> None:
    """Completeness speaks of the text with these words masked, and no others."""
    model, text = small_model(), "the film was great, but too long"
    e = limelight.explain(model, text, "integrated-gradients", features=[(0, 8), (13, 18)], target="positive", steps=64)
    ends = model.predict_logits(["[UNK] [UNK] was [UNK], but too long", text])[:, 2]
    assert e.weights.sum() == pytest.approx(ends[1] - ends[0], abs=1e-6)
