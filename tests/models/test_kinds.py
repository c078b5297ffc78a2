"""Transformers whose labels exclude no other, and those that give numbers: no softmax anywhere."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import limelight
from limelight.attribution.request import Request
from limelight.errors import CapabilityError, InputError, ParameterError, UnknownNameError
from limelight.explanation.result import Explanation
from limelight.inputs.features import features_of
from limelight.models.huggingface.classifier import HuggingFaceClassifier
from limelight.testing import CHECKS
from reference.small_transformers import small_transformer

pytestmark = pytest.mark.filterwarnings("ignore::limelight.errors.ExplanationWarning")
TEXT = 'It\'s "great", but the film is far too long.<br />The film!'
MULTI = {"problem_type": "multi_label_classification"}
NUMBERS = {"problem_type": "regression"}
SAME = 1e-12
ROUNDED = 1e-9  # float64: a game asks for the same inputs in other batches
LINEAR = ("lime", "shapley", "leave-one-out", "integrated-gradients", "g-avg", "gxi")
FLAT = ("g-avg", "targets")  # behind a layer normalisation it is zero for every target


def wrapped(labels: tuple[str, ...] = ("happy", "angry", "sad"), **settings: Any) -> HuggingFaceClassifier:
    """In float64; `kind` goes to wrap, all else into the configuration."""
    kind = settings.pop("kind", None)
    model, own = small_transformer("bert", labels=labels, **settings)
    classifier = limelight.wrap(model.double(), own, kind=kind)
    assert isinstance(classifier, HuggingFaceClassifier)
    return classifier


def bare(classifier: HuggingFaceClassifier, text: str) -> torch.Tensor:
    with torch.no_grad():
        logits: torch.Tensor = classifier.model(**classifier.tokenizer(text, return_tensors="pt")).logits[0]
    return logits


def options(method: str, n_samples: int = 60) -> dict[str, Any]:
    return {"n_samples": n_samples} if method in ("lime", "shapley") else {}


METHODS = [method.id for method in Request().applicable(wrapped(**MULTI).view("a film"))]


# ── which kind a model is of ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("labels", "problem", "given", "kind"),
    [
        (3, None, None, "classes"),
        (3, "single_label_classification", None, "classes"),
        (3, "multi_label_classification", None, "multi-label"),
        (1, "multi_label_classification", None, "multi-label"),
        (1, None, None, "regression"),
        (1, "regression", None, "regression"),
        (3, "regression", None, "regression"),
        (1, None, "multi-label", "multi-label"),
        (3, "regression", "classes", "classes"),
        (3, "multi_label_classification", "regression", "regression"),
        (2, None, "multi-label", "multi-label"),
    ],
)
def test_the_kind_is_that_of_the_configuration_unless_it_is_given(
    labels: int, problem: str | None, given: Any, kind: str
) -> None:
    classifier = wrapped(tuple("abc"[:labels]), problem_type=problem, kind=given)
    assert classifier.kind == classifier.view(TEXT).kind == kind
    assert classifier.labels == tuple("abc"[:labels])
    e = limelight.explain(classifier, TEXT, "leave-one-out")
    assert e.prediction.kind == kind
    assert e.parameters["output"] == ("value" if kind == "regression" else "logit")
    assert (kind == "classes") != (kind in repr(classifier))


def test_kinds_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"kind='classes' needs two labels or more, and this Bert\w+ has 1: use"):
        wrapped(("score",), kind="classes")
    for wrong in ("multilabel", "softmax", 3, ""):
        with pytest.raises(
            UnknownNameError, match=r"unknown kind .*choose from 'classes', 'multi-label', 'regression'"
        ):
            wrapped(kind=wrong)
    with pytest.raises(ParameterError, match="1 labels are needed"):
        limelight.wrap(*small_transformer("bert", labels=("a",)), labels=("a", "b"))
    model, own = small_transformer("bert")
    model.config.id2label = {}
    with pytest.raises(CapabilityError, match="has no labels"):
        limelight.wrap(model, own)


# ── multi-label ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_probabilities_of_a_multi_label_model_are_sigmoids() -> None:
    classifier = wrapped(**MULTI)
    expected = torch.stack([torch.sigmoid(bare(classifier, text)) for text in (TEXT, "bad")]).numpy()
    found = classifier.predict_proba([TEXT, "bad"])
    np.testing.assert_allclose(found, expected, atol=ROUNDED)
    assert np.abs(found.sum(axis=1) - 1).min() > 1e-3
    e = limelight.explain(classifier, TEXT, "gxi")
    np.testing.assert_allclose(e.prediction.probabilities, expected[0], atol=ROUNDED)


@pytest.mark.parametrize("method", METHODS)
def test_log_odds_of_a_label_that_excludes_no_other_are_its_logit(method: str) -> None:
    """log p - log(1 - p) of a sigmoid is what went into it."""
    classifier = wrapped(**MULTI)
    chances = classifier.predict_proba([TEXT])
    np.testing.assert_allclose(np.log(chances / (1 - chances)), classifier.predict_logits([TEXT]), atol=ROUNDED)
    logit, odds = (
        limelight.explain(classifier, TEXT, method, target="angry", output=output, **options(method))
        for output in ("logit", "log-odds")
    )
    np.testing.assert_allclose(odds.weights, logit.weights, atol=SAME)
    assert np.abs(logit.weights).max() > 1e-3 or method == "g-avg"


@pytest.mark.parametrize("removal", ["mask", "delete", "attention"])
def test_each_probability_is_explained_by_itself(removal: Any) -> None:
    classifier = wrapped(**MULTI)
    view = classifier.view(TEXT)
    features = features_of(view.document, "words")
    logits = view.game(features, removal)(~np.eye(len(features), dtype=bool))
    for c, label in enumerate(classifier.labels):
        e = limelight.explain(classifier, TEXT, "leave-one-out", target=label, removal=removal, output="probability")
        expected = (
            torch.sigmoid(bare(classifier, TEXT))[c].item() - torch.sigmoid(torch.from_numpy(logits[:, c])).numpy()
        )
        np.testing.assert_allclose(e.weights, expected, atol=ROUNDED)


def test_gradients_of_a_sigmoid() -> None:
    """d p / d logit = p (1 - p), whatever the other labels are."""
    classifier = wrapped(**MULTI)
    p = torch.sigmoid(bare(classifier, TEXT))[1].item()
    logit, chance = (
        limelight.explain(classifier, TEXT, "gxi", target="angry", output=output) for output in ("logit", "probability")
    )
    np.testing.assert_allclose(chance.weights, p * (1 - p) * logit.weights, atol=SAME)


def test_one_logit_behind_a_sigmoid() -> None:
    classifier = wrapped(("toxic",), kind="multi-label")
    expected = torch.sigmoid(bare(classifier, TEXT)).numpy()
    np.testing.assert_allclose(classifier.predict_proba([TEXT])[0], expected, atol=ROUNDED)
    for method in METHODS:
        for output in classifier.view(TEXT).outputs:
            e = limelight.explain(classifier, TEXT, method, output=output, **options(method))
            assert e.target == "toxic"
            assert np.isfinite(e.weights).all()


# ── regression ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("labels", [("stars",), ("length", "depth")])
def test_a_regression_has_values_and_no_probabilities(labels: tuple[str, ...]) -> None:
    classifier = wrapped(labels, **NUMBERS)
    np.testing.assert_allclose(classifier.predict_logits([TEXT])[0], bare(classifier, TEXT).numpy(), atol=ROUNDED)
    with pytest.raises(CapabilityError, match="this model is a regression: its outputs are numbers, and no probab"):
        classifier.predict_proba([TEXT])
    view = classifier.view(TEXT)
    features = features_of(view.document, "words")
    without = view.game(features, "mask")(~np.eye(len(features), dtype=bool))
    for c, label in enumerate(labels):
        e = limelight.explain(classifier, TEXT, "leave-one-out", target=label)
        np.testing.assert_allclose(e.weights, view.logits[c] - without[:, c], atol=ROUNDED)
        assert e.prediction.probabilities is None
        assert Explanation.from_dict(json.loads(json.dumps(e.to_dict(), allow_nan=False))) == e
    for output in ("logit", "log-odds", "probability"):
        with pytest.raises(CapabilityError, match=f"a regression model has no output '{output}': use 'value'"):
            limelight.explain(classifier, TEXT, "leave-one-out", output=output)  # type: ignore[call-overload]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_explains_a_number(method: str) -> None:
    """The value of a regression is what the logit of the same weights is."""
    number, label = wrapped(("stars",), **NUMBERS), wrapped(("stars",), kind="multi-label")
    value, logit = (limelight.explain(model, TEXT, method, **options(method)) for model in (number, label))
    np.testing.assert_allclose(value.weights, logit.weights, atol=SAME)
    for show in (value.to_html, value.__repr__):
        assert "stars" in show()


# ── contrasts, all labels, the contract ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("settings", [MULTI, NUMBERS])
@pytest.mark.parametrize("method", METHODS)
def test_contrasts_are_differences(method: str, settings: dict[str, Any]) -> None:
    """Of samples that do not look at the output to know what to sample (docs/questions.md)."""
    classifier = wrapped(**settings)
    plain = {"lime": {"sampling": "official"}, "shapley": {"estimator": "permutations"}}.get(method, {})
    one, other, contrast = (
        limelight.explain(classifier, TEXT, method, target=target, **options(method), **plain)
        for target in ("happy", "sad", ("happy", "sad"))
    )
    assert (contrast.target, contrast.against) == ("happy", "sad")
    if method in LINEAR:
        scale = np.abs(one.weights).max() + np.abs(other.weights).max()
        close = 1e-3 if method == "integrated-gradients" else SAME  # its steps follow the output
        np.testing.assert_allclose(contrast.weights, one.weights - other.weights, atol=close * max(1.0, scale))


@pytest.mark.parametrize("settings", [MULTI, NUMBERS])
def test_all_labels_at_once_are_each_by_itself(settings: dict[str, Any]) -> None:
    classifier = wrapped(**settings)
    for method in METHODS:
        every = limelight.explain(classifier, TEXT, method, target="all", **options(method))
        assert [e.target for e in every] == list(classifier.labels)
        for e in every:
            alone = limelight.explain(classifier, TEXT, method, target=e.target, **options(method))
            np.testing.assert_allclose(e.weights, alone.weights, atol=SAME)


@pytest.mark.parametrize(
    ("method", "check"), [(method, check) for method in METHODS for check in CHECKS if (method, check) != FLAT]
)
def test_every_method_keeps_the_contract_for_a_multi_label_model(method: str, check: str) -> None:
    model, own = small_transformer("bert", labels=("happy", "angry"), **MULTI)
    CHECKS[check](method, limelight.wrap(model, own, truncate=True), options(method))


# ── words that a user divides ─────────────────────────────────────────────────────────────────────────────────────────


def test_words_are_those_of_the_given_rule() -> None:
    model, own = small_transformer("bert")
    classifier = limelight.wrap(model.double(), own, words=str.split)
    e = limelight.explain(classifier, "It's great, isn't it?", "leave-one-out", target="positive")
    assert e.features == ("it's", "great,", "isn't", "it?")
    kept = ["It's great, isn't it?", "[MASK] great, isn't it?", "It's [MASK] isn't it?"]
    full, *without = classifier.predict_logits(kept)[:, 2]
    np.testing.assert_allclose(e.weights[:2], full - np.array(without), atol=ROUNDED)
    with pytest.raises(ParameterError, match="words must be a function that divides a text into words: got 'split'"):
        limelight.wrap(model, own, words="split")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        limelight.wrap(model, own, words=lambda text: None).view("a film")  # type: ignore[arg-type,return-value]


def test_every_language_has_words() -> None:
    thai = "ภาพยนตร์ดีมาก"
    e = limelight.explain(limelight.wrap(*small_transformer("roberta")), thai, "leave-one-out", features="occurrences")
    assert len(e.features) > 1
    assert "".join(e.features) == thai


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta-v2"])
def test_a_divided_view_is_the_same_text(family: str) -> None:
    model, own = small_transformer(family)
    classifier = limelight.wrap(model.double(), own)
    assert isinstance(classifier, HuggingFaceClassifier)
    text = "unbelievably good films"
    view = classifier.view(text)
    words = tuple(word for one in view.document.words for word in halves(one))
    divided = view.divided(words)
    assert divided.document.words == words
    assert divided.logits.tobytes() == view.logits.tobytes()
    (window,), (whole,) = divided.windows, view.windows
    assert window.ids.tolist() == whole.ids.tolist()
    offsets = own(text, return_offsets_mapping=True)["offset_mapping"]
    for t, (start, end) in enumerate(offsets):
        expected = [i for i, word in enumerate(words) if word.start < end and start < word.end]
        assert window.words[window.positions == t].tolist() == expected
    # What its halves weigh in a method that sums over tokens is what the word weighs.
    pieces = [[(word.start, word.end)] for word in words]
    e = limelight.explain(classifier, text, "gxi", features=[span for (span,) in pieces], target="positive")
    joined = limelight.explain(classifier, text, "gxi", features="occurrences", target="positive")
    np.testing.assert_allclose(e.weights.reshape(-1, 2).sum(axis=1), joined.weights, atol=SAME)


def halves(word: Any) -> tuple[Any, Any]:
    middle = (word.start + word.end) // 2
    cut = middle - word.start
    return type(word)(word.form[:cut], word.start, middle), type(word)(word.form[cut:], middle, word.end)


def test_a_divided_view_of_a_cut_text_has_no_words_beyond() -> None:
    model, own = small_transformer("bert")
    classifier = limelight.wrap(model, own, truncate=True, max_length=8)
    assert isinstance(classifier, HuggingFaceClassifier)
    view = classifier.view("zzqx unbelievably good films and many more")
    assert view.document.notices
    last = view.document.words[-1]
    seen = max(own(view.document.text, return_offsets_mapping=True)["offset_mapping"][t][1] for t in range(1, 7))
    assert last.start < seen
    divided = view.divided((*view.document.words[:-1], *halves(last)))
    assert divided.document.notices == view.document.notices
    assert all(word.start < seen for word in divided.document.words)
    assert all((divided.windows[0].words == i).any() for i in range(len(divided.document.words)))
