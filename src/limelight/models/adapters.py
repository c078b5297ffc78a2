"""Models of other libraries, as what limelight can explain: one reader per kind of object that `wrap` is given.

An object is recognised by the name of its class and of the module that this comes from, or by what it can do. Nothing
of another library is imported here.

    transformers.pipeline   its model and its tokenizer, which are explained by all methods
    spaCy                   a function: the categories of a text
    SetFit                  a function: its predict_proba, with the labels of its head
    scikit-learn            a function: predict_proba, or predict of a regression
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from limelight.errors import CapabilityError, InputError, ParameterError, listed, shown
from limelight.models.outputs import Kind, listed_labels

Class = tuple[str, str]
"""The module and the name of a class."""

_PIPELINE: Class = ("transformers.pipelines.base", "Pipeline")
_TEXT_CLASSIFICATION: Class = ("transformers.pipelines.text_classification", "TextClassificationPipeline")
_SPACY: Class = ("spacy.language", "Language")
_TEXTCAT: Class = ("spacy.pipeline.textcat", "TextCategorizer")
_TEXTCAT_MULTILABEL: Class = ("spacy.pipeline.textcat_multilabel", "MultiLabel_TextCategorizer")
_SETFIT: Class = ("setfit.modeling", "SetFitModel")

_OR_A_FUNCTION = "wrap a function from a list of texts to an array of probabilities"


Answering = tuple[Callable[[list[Any]], Any], Sequence[str] | None, Kind | None]
"""A function from texts to rows of numbers, what its columns are called, and their kind; None: not known."""


def _class_of(thing: object, known: Class) -> type | None:
    """The class of that name which a thing is an instance of."""
    return next((c for c in type(thing).__mro__ if (c.__module__, c.__name__) == known), None)


def brings_its_tokenizer(model: object) -> bool:
    """Whether a model reads texts by itself: a tokenizer beside it would not be used."""
    return any(_class_of(model, known) for known in (_PIPELINE, _SPACY, _SETFIT))


def answering(model: Any, labels: Sequence[str] | None, kind: Kind | None, pairs: object) -> Answering:
    """What was given without a tokenizer, as a function."""
    labels = None if labels is None else listed_labels(labels)
    if _class_of(model, _SPACY):
        return _spacy(model, labels, _of_single_texts("a spaCy pipeline", kind, pairs))
    if _class_of(model, _SETFIT):
        return _setfit(model, labels, _of_single_texts("a SetFit model", kind, pairs))
    if isinstance(model, type) and (hasattr(model, "predict_proba") or hasattr(model, "predict")):
        raise ParameterError(f"a model is needed, not the class of one: got {shown(model)}; make an instance of it")
    if callable(getattr(model, "view", None)) and hasattr(model, "predict_logits"):
        raise ParameterError(
            f"this {type(model).__name__} can be explained as it is: give it to limelight.explain; for methods that "
            "remove words alone, wrap(model.predict_proba, labels=model.labels)"
        )
    predict = getattr(model, "predict" if kind == "regression" else "predict_proba", None)
    if predict is not None:
        classes = getattr(model, "classes_", None) if kind != "regression" else None
        return predict, [str(c) for c in classes] if labels is None and classes is not None else labels, kind
    if isinstance(model, torch.nn.Module):
        raise ParameterError(
            f"a {type(model).__name__} reads no texts: give its tokenizer too, wrap(model, tokenizer), or wrap a "
            "function from texts to probabilities"
        )
    if not callable(model):
        raise ParameterError(
            "a function from texts to probabilities is needed, a transformers model with its tokenizer, a "
            "text-classification pipeline, a spaCy pipeline with a text categoriser, a SetFit model or an object with "
            f"predict_proba: got {type(model).__name__} {shown(model)}{_instead(model)}"
        )
    return model, labels, kind


def _instead(model: object) -> str:
    """What to do with an object that is none of those."""
    if isinstance(model, str | os.PathLike):
        return f"; use limelight.load({shown(os.fspath(model))}) for a folder or a name on the hub"
    if callable(getattr(model, "decision_function", None)):
        return (
            "; it has no probabilities: train a CalibratedClassifierCV of it, or explain its numbers, "
            'wrap(model.decision_function, kind="regression")'
        )
    if callable(getattr(model, "predict", None)):
        return '; it has predict alone: say kind="regression" if that gives numbers'
    return ""


def _of_single_texts(owner: str, kind: Kind | None, pairs: object) -> Kind | None:
    """The kind that was given, for an object that reads single texts and gives probabilities."""
    if pairs:
        raise ParameterError(f"{owner} reads single texts: got pairs={shown(pairs)}; leave that out")
    if kind == "regression":
        raise ParameterError(
            f"{owner} gives probabilities: got kind='regression'; leave that out, and explain them by "
            'output="probability"'
        )
    return kind


# ── transformers.pipeline ─────────────────────────────────────────────────────────────────────────────────────────────

_KINDS: dict[str, Kind] = {"softmax": "classes", "sigmoid": "multi-label", "none": "regression"}
"""From the function that a pipeline applies to logits."""
_STEPS = ("preprocess", "_forward", "postprocess")
_READING = ("truncation", "max_length", "padding")
"""What a pipeline may tell its tokenizer; padding changes nothing, since it is hidden from the model."""


def is_pipeline(model: object) -> bool:
    """Whether it is a pipeline of transformers, for any task."""
    return _class_of(model, _PIPELINE) is not None


def pipeline_parts(pipeline: Any, pairs: object) -> tuple[Any, Any, Kind | None, bool, int | None]:
    """The model of a text-classification pipeline, which stays on its device, its tokenizer, the kind of its outputs
    where the configuration does not say it, whether it cuts long texts, and to how many tokens."""
    plain = _class_of(pipeline, _TEXT_CLASSIFICATION)
    name = type(pipeline).__name__
    if plain is None:
        task = getattr(pipeline, "task", "") or name
        raise CapabilityError(
            f"pipelines for text-classification can be explained: got one for {shown(task)} ({name}); {_OR_A_FUNCTION}"
        )
    if own := [step for step in _STEPS if getattr(type(pipeline), step, None) is not getattr(plain, step, None)]:
        raise CapabilityError(
            f"this {name} has steps of its own, which limelight would not run: {listed(own)}; {_OR_A_FUNCTION}, or "
            "leave them out, wrap(pipeline.model, pipeline.tokenizer)"
        )
    if pipeline.tokenizer is None:
        raise CapabilityError(f"this {name} has no tokenizer: give one, wrap(pipeline.model, tokenizer)")
    return pipeline.model, pipeline.tokenizer, _pipeline_kind(pipeline), *_long_texts(pipeline, pairs)


def _pipeline_kind(pipeline: Any) -> Kind | None:
    """What the pipeline makes of logits: as it was told, or a sigmoid of a single one that is no regression."""
    told = _settings(pipeline, "_postprocess_params").get("function_to_apply")
    if told is not None:
        function = str(getattr(told, "value", told))
        if function not in _KINDS:
            raise CapabilityError(
                f"function_to_apply of this pipeline is not known: got {shown(function)}; choose from {listed(_KINDS)}"
            )
        return _KINDS[function]
    config = getattr(pipeline.model, "config", None)
    alone = getattr(config, "num_labels", None) == 1 and getattr(config, "problem_type", None) != "regression"
    return "multi-label" if alone else None


def _long_texts(pipeline: Any, pairs: object) -> tuple[bool, int | None]:
    """Whether the pipeline cuts long texts, and to how many tokens; as transformers understands these settings."""
    settings = _settings(pipeline, "_preprocess_params")
    truncation, max_length = settings.get("truncation"), settings.get("max_length")
    if truncation is None:
        cuts = max_length is not None and settings.get("padding", False) is False
    else:
        cuts = truncation not in (False, "do_not_truncate")
    strategies = (None, True, "longest_first") if pairs else (None, True, "longest_first", "only_first")
    others = {name: value for name, value in settings.items() if name not in _READING}
    if cuts and truncation not in strategies:
        others["truncation"] = truncation
    if cuts and getattr(pipeline.tokenizer, "truncation_side", "right") != "right":
        others["truncation_side"] = pipeline.tokenizer.truncation_side
    if others:
        raise CapabilityError(
            f"this pipeline reads texts as limelight would not: got {shown(others)}; {_OR_A_FUNCTION}, or leave that "
            "out, wrap(pipeline.model, pipeline.tokenizer)"
        )
    return cuts, max_length if cuts else None


def _settings(pipeline: Any, name: str) -> Mapping[str, Any]:
    settings = getattr(pipeline, name, None)
    return settings if isinstance(settings, Mapping) else {}


# ── spaCy ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _spacy(nlp: Any, labels: Sequence[str] | None, kind: Kind | None) -> Answering:
    """The categories that a spaCy pipeline gives a text, in the order of its text categoriser's labels."""
    categorisers = [(name, pipe) for name, pipe in nlp.pipeline if _class_of(pipe, _TEXTCAT)]
    if not categorisers:
        disabled = f" (disabled: {listed(nlp.disabled)})" if nlp.disabled else ""
        raise CapabilityError(
            "a spaCy pipeline needs a textcat or a textcat_multilabel to be explained: it has "
            f"{listed(nlp.pipe_names) or 'no pipes'}{disabled}; add one and train it, or {_OR_A_FUNCTION}"
        )
    if len(categorisers) > 1:
        raise CapabilityError(
            f"this spaCy pipeline has {len(categorisers)} text categorisers, {listed(name for name, _ in categorisers)}"
            ": disable all but one, nlp.select_pipes(disable=[…])"
        )
    name, pipe = categorisers[0]
    categories = tuple(pipe.labels)
    if not categories:
        raise CapabilityError(f"the text categoriser {shown(name)} has no labels: train it first, or add_label")
    if labels is not None and len(labels) != len(categories):
        raise ParameterError(f"labels must name {listed(categories)}, in that order: got {shown(labels)}")
    if kind is None:
        kind = "multi-label" if _class_of(pipe, _TEXTCAT_MULTILABEL) else "classes"
    # A partial has no name in the code: a cache asks for one, which says which of all spaCy pipelines it is of.
    return partial(_categories, nlp, categories), categories if labels is None else labels, kind


def _categories(nlp: Any, categories: Sequence[str], texts: list[str]) -> list[list[float]]:
    """One row per text. spaCy answers 0 for every label where no document of a batch has a token, without asking its
    model: an empty document is asked about beside one that has a token, and its answer does not depend on which."""
    docs = [nlp.make_doc(text) for text in texts]
    empty = [i for i, doc in enumerate(docs) if not len(doc)]
    answers = dict(zip([i for i, doc in enumerate(docs) if len(doc)], nlp.pipe(filter(len, docs)), strict=True))
    if empty:
        nothing, _ = nlp.pipe([docs[empty[0]], nlp.make_doc("a")], batch_size=2)
        answers |= dict.fromkeys(empty, nothing)
    return [[answers[i].cats[category] for category in categories] for i in range(len(docs))]


# ── SetFit ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _setfit(model: Any, labels: Sequence[str] | None, kind: Kind | None) -> Answering:
    multi_label = _is_multi_label(model)
    if kind is None:
        kind = "multi-label" if multi_label else "classes"
    return partial(_chances, model), _setfit_labels(model, multi_label) if labels is None else labels, kind


def _is_multi_label(model: Any) -> bool:
    """What the head says: a model that was loaded again has forgotten its strategy, and one-vs-rest may also mean
    classes that exclude each other."""
    head = model.model_head
    for name in ("multilabel_", "multitarget"):  # of OneVsRestClassifier, of a SetFitHead
        if isinstance(said := getattr(head, name, None), bool):
            return said
    return model.multi_target_strategy is not None or isinstance(getattr(head, "classes_", None), list)


def _setfit_labels(model: Any, multi_label: bool) -> Sequence[str] | None:
    """What the columns of predict_proba are called; the classes of a head are names, or numbers of labels."""
    names, classes = model.labels, getattr(model.model_head, "classes_", None)
    if multi_label or classes is None:
        return list(map(str, names)) if names else None
    if not names or any(isinstance(c, str) for c in classes):
        return [str(c) for c in classes]
    if unnamed := [c for c in classes if not 0 <= int(c) < len(names)]:
        raise ParameterError(
            f"the head of this SetFit model has the class {shown(unnamed[0])}, but its labels are {shown(names)}; give "
            "labels=[…], a name for each class"
        )
    return [str(names[int(c)]) for c in classes]


def _chances(model: Any, texts: list[str]) -> Any:
    """One row per text; of the two numbers that a multi-output head gives for a label, the one that it holds."""
    answer = model.predict_proba(texts)
    if answer.ndim != 3:
        return answer
    if answer.shape[2] != 2:
        raise InputError(
            f"a multi-output SetFit model must say yes or no to each label: got {answer.shape[2]} answers to choose "
            f"from; {_OR_A_FUNCTION} of one of them"
        )
    return answer[:, :, 1]
