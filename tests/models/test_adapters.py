"""What limelight.wrap makes of the objects of other libraries.

transformers is real. spaCy and SetFit are stand-ins, with the names and the answers of the real ones, and the real ones
too where they are installed.
"""

from __future__ import annotations

import gc
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import limelight
from limelight.errors import CapabilityError, InputError, ParameterError
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.huggingface.classifier import HuggingFaceClassifier
from reference.small_transformers import LABELS, small_pair_transformer, small_transformer, tokenizer

TEXT = "The film was great, but it's far too long!"
TRAINING = ("a great film", "a bad film", "what a mess", "great fun")
DOCS = Path(__file__).parents[2] / "docs" / "models.md"


# ── transformers.pipeline ─────────────────────────────────────────────────────────────────────────────────────────────


def pipeline(model: Any = None, own: Any = None, **settings: Any) -> Any:
    if model is None:
        model, own = small_transformer("bert")
    return transformers.pipeline("text-classification", model=model, tokenizer=own, device="cpu", **settings)


def scores(classifier: Any, text: Any) -> dict[str, float]:
    """What the pipeline says itself, of all labels."""
    return {one["label"]: one["score"] for one in classifier(text, top_k=None)}


@pytest.mark.parametrize("function", [None, "softmax", "sigmoid", "none"])
@pytest.mark.parametrize("problem", [None, "multi_label_classification", "regression"])
@pytest.mark.parametrize("labels", [("score",), LABELS])
def test_a_pipeline_is_explained_as_it_answers(
    labels: tuple[str, ...], problem: str | None, function: str | None
) -> None:
    classifier = pipeline(
        *small_transformer("distilbert", labels=labels, problem_type=problem), function_to_apply=function
    )
    if function == "softmax" and len(labels) == 1:
        with pytest.raises(ParameterError, match="kind='classes' needs two labels or more"):
            limelight.wrap(classifier)
        return
    model = limelight.wrap(classifier)
    assert isinstance(model, HuggingFaceClassifier)
    answer = model.predict_logits if model.kind == "regression" else model.predict_proba
    expected = scores(classifier, TEXT)
    np.testing.assert_allclose(answer([TEXT])[0], [expected[label] for label in model.labels], rtol=1e-5)
    assert model.model is classifier.model
    assert model.device == classifier.device


def test_a_pipeline_has_all_methods_and_the_options_of_a_model() -> None:
    classifier = pipeline(top_k=2, batch_size=3, padding=True)
    model = limelight.wrap(classifier, labels=("a", "b", "c"), words=str.split)
    direct = limelight.wrap(classifier.model, classifier.tokenizer, labels=("a", "b", "c"), words=str.split)
    for method in ("integrated-gradients", "rollout", "gxi", "leave-one-out"):
        e = limelight.explain(model, TEXT, method)
        assert e == limelight.explain(direct, TEXT, method)
        assert "it's" in e.features
    assert limelight.wrap(classifier, kind="multi-label").kind == "multi-label"
    assert limelight.wrap(pipeline(function_to_apply="none"), kind="classes").kind == "classes"
    with pytest.raises(ParameterError, match="only a function can take mask: leave that out"):
        limelight.wrap(classifier, mask="_")


def test_a_pipeline_reads_pairs_where_it_is_said_to() -> None:
    classifier = pipeline(*small_pair_transformer("bert"))
    model = limelight.wrap(classifier, pairs=True)
    expected = scores(classifier, {"text": TEXT, "text_pair": "great film"})
    np.testing.assert_allclose(
        model.predict_proba([(TEXT, "great film")])[0], [expected[label] for label in LABELS], rtol=1e-5
    )


@pytest.mark.parametrize(
    ("settings", "read"),
    [
        ({}, None),
        ({"truncation": True}, 48),
        ({"truncation": "longest_first", "max_length": 12}, 12),
        ({"truncation": "only_first", "max_length": 12}, 12),
        ({"max_length": 12}, 12),
        ({"truncation": False, "max_length": 12}, None),
        ({"truncation": "do_not_truncate"}, None),
        ({"max_length": 12, "padding": "max_length"}, None),
    ],
)
def test_a_pipeline_cuts_long_texts_as_it_was_told(settings: dict[str, Any], read: int | None) -> None:
    classifier = pipeline(**settings)
    model = limelight.wrap(classifier)
    long = " ".join([TEXT] * 9)
    if read is None:
        with pytest.raises(InputError, match="tokens but this model reads 48"):
            model.predict_proba([long])
        assert limelight.wrap(classifier, truncate=True).predict_proba([long]).shape == (1, 3)
        return
    expected = scores(classifier, long)
    np.testing.assert_allclose(model.predict_proba([long])[0], [expected[label] for label in LABELS], rtol=1e-5)
    assert model.max_length == read
    assert limelight.wrap(classifier, max_length=20).max_length == 20
    assert limelight.wrap(classifier, window=True).long_texts == "window"


def test_what_a_pipeline_does_and_limelight_would_not_is_refused() -> None:
    class Shouting(transformers.TextClassificationPipeline):
        def preprocess(self, inputs: Any, **settings: Any) -> Any:
            return super().preprocess(inputs.upper(), **settings)

    class Renamed(transformers.TextClassificationPipeline):
        pass

    model, own = small_transformer("bert")
    with pytest.raises(CapabilityError, match=r"this Shouting has steps of its own.*'preprocess'; wrap a function"):
        limelight.wrap(Shouting(model=model, tokenizer=own, device="cpu"))
    assert limelight.wrap(Renamed(model=model, tokenizer=own, device="cpu")).labels == LABELS
    for settings in ({"add_special_tokens": False}, {"truncation": "only_second"}):
        with pytest.raises(CapabilityError, match=f"reads texts as limelight would not: got .*{next(iter(settings))}"):
            limelight.wrap(pipeline(**settings))
    with pytest.raises(CapabilityError, match="only_first"):
        limelight.wrap(pipeline(*small_pair_transformer("bert"), truncation="only_first"), pairs=True)
    left = pipeline(truncation=True)
    left.tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer("wordpiece").backend_tokenizer, truncation_side="left"
    )
    with pytest.raises(CapabilityError, match="'truncation_side': 'left'"):
        limelight.wrap(left)
    odd = pipeline()
    odd._postprocess_params["function_to_apply"] = "tanh"
    with pytest.raises(
        CapabilityError, match=r"function_to_apply of this pipeline is not known: got 'tanh'.*'softmax'"
    ):
        limelight.wrap(odd)


def test_other_pipelines_are_told_so() -> None:
    model, own = small_transformer("bert", labels=("entailment", "neutral", "contradiction"))
    zero_shot = transformers.pipeline("zero-shot-classification", model=model, tokenizer=own, device="cpu")
    with pytest.raises(CapabilityError, match=r"text-classification can be explained.*'zero-shot-classification'"):
        limelight.wrap(zero_shot)
    classifier = pipeline()
    with pytest.raises(ParameterError, match=r"reads texts by itself: got a .*Tokenizer.* too; leave that out"):
        limelight.wrap(classifier, own)
    classifier.tokenizer = None
    with pytest.raises(CapabilityError, match=r"has no tokenizer: give one, wrap\(pipeline.model, tokenizer\)"):
        limelight.wrap(classifier)
    classifier.tokenizer = SlowTokenizer()
    with pytest.raises(CapabilityError, match=r"SlowTokenizer is a slow tokenizer.*load its fast version"):
        limelight.wrap(classifier)
    with pytest.raises(ParameterError, match="model comes first and its tokenizer second: got a BertFor"):
        limelight.wrap(own, model)


class SlowTokenizer:
    is_fast = False

    def __call__(self, text: str) -> Any:
        raise AssertionError("nobody asks it")


# ── spaCy ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def named(module: str) -> Callable[[type], type]:
    """Say that a class comes from another module."""

    def rename(stand_in: type) -> type:
        stand_in.__module__ = module
        return stand_in

    return rename


class Doc:
    """Tokens between spaces, and categories; spaCy makes a token of a space that stands alone."""

    def __init__(self, text: str) -> None:
        spans = [match.span() for match in re.finditer(r"\S+|^ +$", text)]
        self.tokens = [SimpleNamespace(idx=start, text=text[start:end]) for start, end in spans]
        self.cats: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tokens)


@named("spacy.pipeline.textcat")
class TextCategorizer:
    labels: tuple[str, ...] = ("good", "bad")

    def scores(self, doc: Doc) -> list[float]:
        good = 1 / (1 + np.exp(0.5 - sum((token.text == "great") - (token.text == "bad") for token in doc)))
        return [good, 1 - good]

    def predict(self, docs: Sequence[Doc]) -> list[list[float]]:
        if not any(map(len, docs)):
            return [[0.0, 0.0] for _ in docs]
        return [self.scores(doc) for doc in docs]


@named("spacy.pipeline.textcat_multilabel")
class MultiLabel_TextCategorizer(TextCategorizer):
    def scores(self, doc: Doc) -> list[float]:
        return [0.5 * score for score in super().scores(doc)]


@named("spacy.language")
class Language:
    def __init__(self, *pipes: tuple[str, Any], disabled: Sequence[str] = ()) -> None:
        self.pipeline = list(pipes)
        self.disabled = list(disabled)

    @property
    def pipe_names(self) -> list[str]:
        return [name for name, _ in self.pipeline]

    def make_doc(self, text: str) -> Doc:
        return Doc(text)

    def pipe(self, texts: Iterable[str | Doc], batch_size: int = 1000) -> Iterator[Doc]:
        docs = [self.make_doc(text) if isinstance(text, str) else text for text in texts]
        for start in range(0, len(docs), batch_size):
            batch = docs[start : start + batch_size]
            for _, pipe in self.pipeline:
                if isinstance(pipe, TextCategorizer):
                    for doc, row in zip(batch, pipe.predict(batch), strict=True):
                        doc.cats |= dict(zip(pipe.labels, row, strict=True))
            yield from batch

    def to_bytes(self, exclude: Sequence[str] = ()) -> bytes:
        return repr(vars(self)).encode()


class English(Language):
    """As spaCy's languages are."""


def stand_in_nlp(name: str) -> Any:
    return English((name, MultiLabel_TextCategorizer() if name == "textcat_multilabel" else TextCategorizer()))


def real_nlp(name: str) -> Any:
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe(name)
    cats = [{"good": float("great" in text), "bad": float("great" not in text)} for text in TRAINING]
    examples = [Example.from_dict(nlp.make_doc(text), {"cats": cat}) for text, cat in zip(TRAINING, cats, strict=True)]
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    return nlp


@pytest.fixture(params=[stand_in_nlp, real_nlp], ids=["stand-in", "real"])
def make_nlp(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "kind"), [("textcat", "classes"), ("textcat_multilabel", "multi-label")])
def test_a_spacy_pipeline_is_explained_by_its_categories(make_nlp: Callable[[str], Any], name: str, kind: str) -> None:
    nlp = make_nlp(name)
    model = limelight.wrap(nlp)
    before = nlp.pipe_names, list(nlp.disabled), nlp.to_bytes(exclude=["vocab", "tokenizer"])
    assert isinstance(model, BlackBoxClassifier)
    assert (model.kind, set(model.labels)) == (kind, {"good", "bad"})
    texts = ["a great film", "a bad film", "what a mess"]
    expected = [[doc.cats[label] for label in model.labels] for doc in nlp.pipe(texts)]
    np.testing.assert_allclose(model.predict_proba(texts), expected, rtol=1e-6)
    e = limelight.explain(model, "a great film", "leave-one-out", target="good", output="probability")
    without = next(iter(nlp.pipe(["a [UNK] film"]))).cats["good"]
    good = expected[0][model.labels.index("good")]
    assert dict(zip(e.features, e.weights, strict=True))["great"] == pytest.approx(good - without, rel=1e-4)
    assert (nlp.pipe_names, list(nlp.disabled), nlp.to_bytes(exclude=["vocab", "tokenizer"])) == before


@pytest.mark.parametrize("name", ["textcat", "textcat_multilabel"])
def test_an_empty_text_has_the_answer_of_spacys_model(make_nlp: Callable[[str], Any], name: str) -> None:
    """Alone, a document without tokens gets 0 for every label."""
    nlp = make_nlp(name)
    model = limelight.wrap(nlp)
    assert set(next(iter(nlp.pipe([""]))).cats.values()) == {0.0}
    within = [doc.cats for doc in nlp.pipe(["great", "", "a"])][1]
    expected = [within[label] for label in model.labels]
    assert min(expected) > 0
    for texts in ([""], ["", "a great film", ""], ["bad", ""], [""] * 3):
        for row in model.predict_proba(texts)[[not text for text in texts]]:
            np.testing.assert_allclose(row, expected, rtol=1e-5)
    e = limelight.explain(model, "great", "shapley", target="good", removal="delete", output="probability")
    full = next(iter(nlp.pipe(["great"]))).cats["good"]
    assert e.weights.sum() == pytest.approx(full - within["good"], rel=1e-4)


def test_words_may_be_spacys_tokens(make_nlp: Callable[[str], Any]) -> None:
    nlp = make_nlp("textcat")
    model = limelight.wrap(nlp, words=nlp.make_doc)
    tokens = [token.text.lower() for token in nlp.make_doc("We can't. great-ish")]
    e = limelight.explain(model, "We can't. great-ish", "leave-one-out", features="occurrences")
    assert [name.lower() for name in e.features] == tokens


def test_the_answers_of_a_spacy_pipeline_are_kept_under_a_name_alone(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match='say which function it is by name="…"'):
        limelight.wrap(stand_in_nlp("textcat"), cache=tmp_path / "answers")
    model = limelight.wrap(stand_in_nlp("textcat"), cache=tmp_path / "answers", name="films")
    model.predict_proba(["great", "great", "bad"])
    assert model.asked == 2


def test_a_spacy_pipeline_that_categorises_nothing_is_told_so() -> None:
    textcat, empty = TextCategorizer(), TextCategorizer()
    empty.labels = ()
    for nlp, message in (
        (Language(("tagger", object()), ("ner", object())), "it has 'tagger', 'ner'; add one and train it, or wrap"),
        (Language(disabled=["textcat"]), r"it has no pipes \(disabled: 'textcat'\)"),
        (Language(("a", textcat), ("b", textcat)), r"has 2 text categorisers, 'a', 'b': disable all but one"),
        (Language(("textcat", empty)), "the text categoriser 'textcat' has no labels: train it"),
    ):
        with pytest.raises(CapabilityError, match=message):
            limelight.wrap(nlp)
    nlp = Language(("textcat", textcat))
    for arguments, message in (
        ({"labels": ["a"]}, "labels must name 'good', 'bad', in that order: got"),
        ({"labels": 2}, "labels must be a list of names: got 2"),
        ({"pairs": True}, "a spaCy pipeline reads single texts: got pairs=True"),
        ({"kind": "regression"}, "a spaCy pipeline gives probabilities: got kind='regression'"),
        ({"truncate": True}, "can take truncate"),
        ({"tokenizer": tokenizer("wordpiece")}, "a Language reads texts by itself"),
    ):
        with pytest.raises(ParameterError, match=message):
            limelight.wrap(nlp, **arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown kind ''"):
        limelight.wrap(nlp, kind="")  # type: ignore[arg-type]
    assert limelight.wrap(nlp, labels=["gut", "schlecht"]).labels == ("gut", "schlecht")


# ── SetFit ────────────────────────────────────────────────────────────────────────────────────────────────────────────

TAGS = [[1, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]]


@named("setfit.modeling")
class SetFitModel:
    """A body that counts words, and a head of scikit-learn."""

    def __init__(
        self, model_head: Any, multi_target_strategy: str | None = None, labels: list[str] | None = None
    ) -> None:
        self.model_head, self.multi_target_strategy, self.labels = model_head, multi_target_strategy, labels

    def fit(self, texts: Sequence[str], answers: Any) -> SetFitModel:
        self.body = CountVectorizer().fit(texts)
        self.model_head.fit(self.body.transform(texts), answers)
        return self

    def predict_proba(self, inputs: list[str]) -> torch.Tensor:
        chances = self.model_head.predict_proba(self.body.transform(inputs))
        return torch.from_numpy(np.stack(chances, axis=1) if isinstance(chances, list) else chances)

    def predict(self, inputs: list[str]) -> torch.Tensor:
        return torch.from_numpy(self.model_head.predict(self.body.transform(inputs)))


def stand_in_setfit(head: Any, answers: Any, **settings: Any) -> Any:
    return SetFitModel(head, **settings).fit(TRAINING, answers)


def real_setfit(head: Any, answers: Any, **settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its imports
        setfit = pytest.importorskip("setfit")
    model = setfit.SetFitModel(sentence_transformer(), head, **settings)
    model.fit(list(TRAINING), answers, num_epochs=1)
    return model


def sentence_transformer() -> Any:
    """A tiny random one, of a configuration."""
    import sentence_transformers

    own = tokenizer("wordpiece")

    class Body(torch.nn.Module):
        """The mean of random vectors of tokens, as a module of a SentenceTransformer."""

        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.vectors = torch.nn.Embedding(len(own), 8)

        def tokenize(self, texts: list[str], **settings: Any) -> dict[str, torch.Tensor]:
            return dict(own(texts, padding=True, return_tensors="pt"))

        preprocess = tokenize

        def forward(self, features: dict[str, Any], **settings: Any) -> dict[str, Any]:
            kept = features["attention_mask"].unsqueeze(-1)
            summed = (self.vectors(features["input_ids"]) * kept).sum(1)
            return {**features, "sentence_embedding": summed / kept.sum(1)}

    return sentence_transformers.SentenceTransformer(modules=[Body()], device="cpu")


@pytest.fixture(params=[stand_in_setfit, real_setfit], ids=["stand-in", "real"])
def make_setfit(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("answers", "given", "expected"),
    [
        (["good", "bad", "bad", "good"], None, ("bad", "good")),
        ([1, 0, 0, 1], ["bad", "good"], ("bad", "good")),
        ([2, 0, 0, 2], ["bad", "fair", "good"], ("bad", "good")),  # nothing was fair in training
        ([7, 3, 3, 7], None, ("3", "7")),
    ],
)
def test_a_setfit_model_has_the_labels_of_its_head(
    make_setfit: Callable[..., Any], answers: list[Any], given: list[str] | None, expected: tuple[str, ...]
) -> None:
    setfit = make_setfit(LogisticRegression(), answers, labels=given)
    model = limelight.wrap(setfit)
    assert (model.kind, model.labels) == ("classes", expected)
    rows = np.asarray(setfit.predict_proba(list(TRAINING)))
    np.testing.assert_allclose(model.predict_proba(TRAINING), rows, rtol=1e-5)
    assert limelight.wrap(setfit, labels=("x", "y")).labels == ("x", "y")
    e = limelight.explain(model, "a great film", "leave-one-out", target=expected[1], output="probability")
    whole, without = np.asarray(setfit.predict_proba(["a great film", "a [UNK] film"]))[:, 1]
    assert dict(zip(e.features, e.weights, strict=True))["great"] == pytest.approx(whole - without, abs=1e-6)


@pytest.mark.parametrize("forgotten", [False, True], ids=["told", "loaded again"])
@pytest.mark.parametrize(
    ("strategy", "of_many"),
    [
        ("one-vs-rest", OneVsRestClassifier),
        ("multi-output", MultiOutputClassifier),
        ("classifier-chain", ClassifierChain),
    ],
)
def test_a_setfit_model_of_several_targets_is_multi_label(
    make_setfit: Callable[..., Any], strategy: str, of_many: Any, forgotten: bool
) -> None:
    """A model that was saved and loaded does not know its strategy any more; its head does."""
    names = ["new", "red", "big"]
    setfit = make_setfit(of_many(LogisticRegression()), TAGS, multi_target_strategy=strategy, labels=names)
    if forgotten:
        setfit.multi_target_strategy = None
    model = limelight.wrap(setfit)
    assert (model.kind, model.labels) == ("multi-label", tuple(names))
    rows = np.asarray(setfit.predict_proba(list(TRAINING)))
    held = rows[:, :, 1] if strategy == "multi-output" else rows
    np.testing.assert_allclose(model.predict_proba(TRAINING), held, rtol=1e-5)
    np.testing.assert_array_equal(held > 0.5, np.asarray(setfit.predict(list(TRAINING))) == 1)


def test_of_a_head_that_says_nothing_the_strategy_is_believed() -> None:
    class Head:
        def fit(self, *given: Any) -> None: ...

        def predict_proba(self, counts: Any) -> Any:
            return np.full((counts.shape[0], 2), 0.75)

    assert limelight.wrap(stand_in_setfit(Head(), None, multi_target_strategy="one-vs-rest")).kind == "multi-label"
    assert limelight.wrap(stand_in_setfit(Head(), None), labels=("a", "b")).kind == "classes"


def test_one_against_the_rest_may_also_mean_classes(make_setfit: Callable[..., Any]) -> None:
    head = OneVsRestClassifier(LogisticRegression())
    setfit = make_setfit(head, ["a", "b", "c", "a"], multi_target_strategy="one-vs-rest")
    model = limelight.wrap(setfit)
    assert (model.kind, model.labels) == ("classes", ("a", "b", "c"))
    np.testing.assert_allclose(model.predict_proba(TRAINING).sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("multitarget", [False, True])
def test_a_head_of_torch_says_what_it_is(multitarget: bool) -> None:
    class Head(torch.nn.Linear):
        def predict_proba(self, counts: Any) -> torch.Tensor:
            logits = self(torch.tensor(counts.toarray(), dtype=torch.float32))
            return logits.sigmoid() if multitarget else logits.softmax(1)

        def fit(self, *given: Any) -> None: ...

    class WithTorch(SetFitModel):  # type: ignore[misc, valid-type]
        def predict_proba(self, inputs: list[str]) -> torch.Tensor:
            return self.model_head.predict_proba(self.body.transform(inputs))

    head = Head(6, 3)
    head.multitarget = multitarget  # type: ignore[assignment]
    setfit = WithTorch(head).fit(TRAINING, None)
    assert len(setfit.body.vocabulary_) == head.in_features
    model = limelight.wrap(setfit)
    word = "label" if multitarget else "class"
    assert model.kind == ("multi-label" if multitarget else "classes")
    assert model.labels == tuple(f"{word} {i}" for i in range(3))
    np.testing.assert_allclose(model.predict_proba(TRAINING), setfit.predict_proba(list(TRAINING)).detach(), rtol=1e-6)


def test_a_setfit_model_that_does_not_fit_is_told_so(tmp_path: Path) -> None:
    numbered = stand_in_setfit(LogisticRegression(), [2, 0, 0, 2], labels=["bad", "good"])
    with pytest.raises(ParameterError, match=r"has the class .*2.*, but its labels are \['bad', 'good'\]; give labels"):
        limelight.wrap(numbered)
    several = stand_in_setfit(MultiOutputClassifier(LogisticRegression()), [[0, 2], [1, 1], [2, 0], [0, 1]])
    with pytest.raises(InputError, match="must say yes or no to each label: got 3 answers"):
        limelight.wrap(several, labels=["a", "b"]).predict_proba(["film"])
    setfit = stand_in_setfit(LogisticRegression(), [1, 0, 0, 1])
    for arguments, message in (
        ({"pairs": True}, "a SetFit model reads single texts: got pairs=True"),
        ({"kind": "regression"}, "a SetFit model gives probabilities"),
        ({"cache": tmp_path / "answers"}, 'say which function it is by name="…"'),
        ({"tokenizer": tokenizer("wordpiece")}, "a SetFitModel reads texts by itself"),
    ):
        with pytest.raises(ParameterError, match=message):
            limelight.wrap(setfit, **arguments)


# ── functions and objects ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_function_may_return_tensors_with_gradients(dtype: torch.dtype) -> None:
    layer = torch.nn.Linear(2, 2).to(dtype)
    graphs: list[weakref.ref[Any]] = []

    def chances(texts: list[str]) -> torch.Tensor:
        counts = torch.tensor([[float(text.count("e")), float(text.count("o"))] for text in texts]).to(dtype)
        answer = layer(counts).float().softmax(dim=1)
        assert answer.requires_grad
        graphs.append(weakref.ref(answer))
        return answer

    model = limelight.wrap(chances, labels=("no", "yes"))
    e = limelight.explain(model, TEXT, "shapley", n_samples=100)
    plain = limelight.wrap(lambda texts: chances(texts).detach().numpy(), labels=("no", "yes"))
    np.testing.assert_array_equal(e.weights, limelight.explain(plain, TEXT, "shapley", n_samples=100).weights)
    gc.collect()
    assert graphs
    assert not any(graph() is not None for graph in graphs)
    assert layer.weight.grad is None
    assert torch.is_grad_enabled()


def test_what_is_no_model_is_told_what_is() -> None:
    own = limelight.load()
    vectors = make_pipeline(CountVectorizer(), LinearSVC()).fit(TRAINING, [1, 0, 0, 1])
    for given, message in (
        (3, r"a spaCy pipeline with a text categoriser, a SetFit model or an object with predict_proba: got int 3"),
        (None, "got NoneType None"),
        ("my-bert", r"got str 'my-bert'; use limelight.load\('my-bert'\) for a folder"),
        (Path("my-bert"), r"use limelight.load\('my-bert'\)"),
        (LogisticRegression, "not the class of one: got .*LogisticRegression.*; make an instance of it"),
        (vectors, r'it has no probabilities.*wrap\(model.decision_function, kind="regression"\)'),
        (SimpleNamespace(predict=len), 'it has predict alone: say kind="regression"'),
        (own, "can be explained as it is: give it to limelight.explain"),
        (limelight.wrap(own.predict_proba, labels=own.labels), "this BlackBoxClassifier can be explained as it is"),
        (limelight.wrap(*small_transformer("bert")), "this HuggingFaceClassifier can be explained as it is"),
    ):
        with pytest.raises(ParameterError, match=message):
            limelight.wrap(given)
    numbers = limelight.wrap(vectors.decision_function, kind="regression")
    np.testing.assert_array_equal(numbers.predict_logits(TRAINING)[:, 0], vectors.decision_function(TRAINING))


def test_a_class_that_merely_has_the_name_is_a_function() -> None:
    class SetFitModel:
        def __call__(self, texts: list[str]) -> list[list[float]]:
            return [[0.25, 0.75] for _ in texts]

    assert limelight.wrap(SetFitModel()).predict_proba(["film"]).tolist() == [[0.25, 0.75]]


def test_no_library_is_imported_to_recognise_its_objects() -> None:
    import subprocess

    code = (
        "import sys, limelight\n"
        "limelight.wrap(lambda texts: [[0.5, 0.5] for _ in texts])\n"
        "print(*{'transformers', 'spacy', 'setfit', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


# ── docs/models.md ────────────────────────────────────────────────────────────────────────────────────────────────────

SECTIONS = re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", DOCS.read_text("utf-8"), re.M)
EXAMPLES = [(head, code) for head, text in SECTIONS for code in re.findall(r"```python\n((?:.*\n)*?)```", text)]


@pytest.mark.parametrize(("heading", "code"), EXAMPLES, ids=[heading for heading, _ in EXAMPLES])
def test_examples_run_as_they_are_written(
    heading: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in re.findall(r"^(?:import|from) (spacy|setfit)\b", code, re.M):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its imports
            pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    model, own = small_transformer("bert")
    model.save_pretrained("my-bert")
    own.save_pretrained("my-bert")
    if "my-setfit" in code:
        import setfit

        trained = real_setfit(LogisticRegression(), [1, 0, 0, 1], labels=["bad", "good"])
        monkeypatch.setattr(setfit.SetFitModel, "from_pretrained", lambda name: trained)
    exec(compile(code, str(DOCS), "exec"), {})  # noqa: S102


def test_every_kind_of_model_has_an_example() -> None:
    rows = re.findall(r"^\| .*`limelight\.(?:load|wrap)\(.*\|$", DOCS.read_text("utf-8"), re.M)
    assert len({heading for heading, _ in EXAMPLES}) == len(rows) == 9
