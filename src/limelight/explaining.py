"""explain() and compare(): from a text to explanations.

text ──▶ model.view(text) ──▶ a method's question ──▶ weights with their accuracy ──▶ Explanation
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, overload

import numpy as np

from limelight.arrays import whole_number
from limelight.document import check_text
from limelight.errors import (
    CapabilityError,
    EmptyTextError,
    InputError,
    NumericalError,
    ParameterError,
    TooLargeError,
    known_name,
    shown,
)
from limelight.explainers.method import (
    Approximate,
    Bounded,
    Exact,
    Method,
    Output,
    Question,
    Sampled,
    Way,
    Weights,
    find,
    unknown_option,
)
from limelight.explainers.method import methods as all_methods
from limelight.explanation import Comparison, Explanation, Prediction
from limelight.features import KINDS, FeatureKind, features_of
from limelight.progress import SILENT, Progress
from limelight.view import Classifier, Perturbable, ReadsMany, Removal, View, probabilities

Chosen = tuple[Method, Way]
T = TypeVar("T")
_SEED_BITS = 128
"""As many as the entropy that NumPy recommends for a seed."""


@overload
def explain(model: Classifier, text: str, method: str = ..., **arguments: Any) -> Explanation: ...


@overload
def explain(model: Classifier, text: Sequence[str], method: str = ..., **arguments: Any) -> list[Explanation]: ...


def explain(
    model: Classifier,
    text: str | Sequence[str],
    method: str = "lime",
    *,
    target: str | None = None,
    features: FeatureKind = "words",
    removal: Removal = "mask",
    output: Output = "logit",
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Explanation | list[Explanation]:
    """Why `model` says of `text` what it says: one weight per word for the label `target` (default: the predicted one).

    `features`: "words" joins all occurrences of a word, "occurrences" keeps them apart. `removal`: how perturbation
    methods take a word out, "mask", "delete" or, where a model can, "attention". `output`: explain the "logit" or the
    "probability". `progress` is told how far the work is, and stops it by raising an exception. The other options are
    the method's own: see limelight.methods().

    A list of texts gives a list of explanations, each as if it had been asked for alone; they are computed together
    where that is faster.
    """
    asked = _Asked(target, features, removal, output, seed, SILENT if progress is None else progress, options)
    check_model(model)
    chosen = find(method)
    if isinstance(text, str):
        return asked.explanations(model.view(text), [chosen])[0]
    return asked.of_many(views(model, _texts(text)), chosen)


def compare(
    model: Classifier,
    text: str,
    methods: Sequence[str] | None = None,
    *,
    target: str | None = None,
    features: FeatureKind = "words",
    removal: Removal = "mask",
    output: Output = "logit",
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Several methods on the same features of a text: a list of their ids, or "all" that apply to the model.

    Default: those of the paper's Figure 1 and the exact values beside them, as far as they apply.

    An option goes to each method that has it; one that no method has is an error.
    """
    asked = _Asked(target, features, removal, output, seed, SILENT if progress is None else progress, options)
    check_model(model)
    everything = isinstance(methods, str) and methods == "all"
    named = None if methods is None or everything else _named(methods)
    check_text(text)
    view = model.view(text)
    chosen = applicable(view, asked.removal, asked.output, asked.features) if everything else named
    return Comparison(tuple(asked.explanations(view, chosen)))


def views(model: Classifier, texts: Sequence[str]) -> list[View]:
    """A view of each text; an error says which text it is about."""
    if isinstance(model, ReadsMany):
        return list(model.views(texts))
    views_of_texts: list[View] = []
    for i, text in enumerate(texts):
        try:
            views_of_texts.append(model.view(text))
        except (EmptyTextError, InputError) as error:
            if type(error) not in (EmptyTextError, InputError):
                raise
            raise type(error)(f"text {i + 1} of {len(texts)}: {error}") from error
    return views_of_texts


def applicable(
    view: View, removal: Removal = "mask", output: Output = "logit", features: FeatureKind = "words"
) -> list[Method]:
    """The methods that have a way for this view."""
    arguments = {"removal": removal, "output": output}
    owned = features_of(view.document, features)
    return [method for method in all_methods() if method.way_for(view, arguments, owned) is not None]


def predict(view: View) -> Prediction:
    """What the model says of the document."""
    words = f"{len(view.document.words):,} words"
    with _within_memory(f"the model needs more memory than there is for a text of {words}: explain a shorter text"):
        logits = np.array(view.logits, dtype=np.float64)
    if not np.isfinite(logits).all():
        raise NumericalError(f"the model's logits are not finite: got {shown(logits.tolist())}; check its weights")
    return Prediction(view.labels[int(logits.argmax())], view.labels, logits, probabilities(logits))


def check_model(model: object) -> None:
    """Say how to get a model that can be explained out of what was given instead."""
    if callable(getattr(model, "view", None)) and not callable(getattr(model, "get_input_embeddings", None)):
        return
    given = f"got {type(model).__name__}"
    if isinstance(model, str | os.PathLike):
        raise InputError(
            f"the model is a name, not a model: {given} {shown(model)}; use limelight.load({shown(os.fspath(model))})"
        )
    if callable(getattr(model, "get_input_embeddings", None)):
        raise InputError(
            f"a Hugging Face model needs its tokenizer to read a text: {given}; use limelight.wrap(model, tokenizer)"
        )
    if callable(model) or callable(getattr(model, "predict_proba", None)):
        raise InputError(
            f"a function has to say what its labels are before it can be explained: {given}; use limelight.wrap(f), "
            "or limelight.wrap(f, labels=[…])"
        )
    raise InputError(f"this is no model: {given}; use limelight.load(…) or limelight.wrap(…)")


def _texts(given: object) -> list[str]:
    """Several texts, each of which is one; an error says which is not."""
    texts = _members(given)
    if texts is None:
        check_text(given)  # what is neither a string nor a list is an error about a text
    texts = texts or []
    for i, text in enumerate(texts):
        try:
            check_text(text)
        except InputError as error:
            raise InputError(f"text {i + 1} of {len(texts)}: {error}") from error
    return texts


def _named(given: object) -> list[Method]:
    if isinstance(given, str):
        name = shown(given)
        raise InputError(f"methods must be a list of method ids: got the string {name}; write methods=[{name}]")
    names = _members(given)
    if names is None:
        raise ParameterError(f'methods must be a list of method ids, or "all": got {shown(given)}')
    if not names:
        raise InputError("methods is empty: name at least one, or leave it out for those of Figure 1")
    return [find(name) for name in names]


def _members(given: object) -> list[Any] | None:
    """What a list, an array or any other ordered collection holds; None for what is no such thing."""
    if isinstance(given, str | bytes | bytearray | memoryview | Mapping | Set):
        return None
    try:
        members = iter(given)  # type: ignore[call-overload]
    except TypeError:
        return None
    return list(members)


def _check_progress(progress: object) -> None:
    events = ("begin", "advance", "end", "say")
    if isinstance(progress, type) or not all(callable(getattr(progress, event, None)) for event in events):
        raise ParameterError(
            f"progress must have {', '.join(events[:-1])} and {events[-1]}, as limelight.Progress has: got "
            f"{shown(progress)}; leave it out to hear nothing"
        )


@dataclass(frozen=True)
class _Asked:
    """What a caller wants to know, whatever the text and the methods."""

    target: str | None
    features: FeatureKind
    removal: Removal
    output: Output
    seed: int
    progress: Progress
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, known in (("removal", get_args(Removal)), ("output", get_args(Output)), ("features", KINDS)):
            kind = "kind of features" if name == "features" else name
            object.__setattr__(self, name, known_name(kind, getattr(self, name), known))
        object.__setattr__(self, "seed", _checked_seed(self.seed))
        _check_progress(self.progress)

    def explanations(self, view: View, methods: Sequence[Method] | None) -> list[Explanation]:
        """One explanation per method; None stands for those that are shown by default."""
        chosen = self._chosen(view, methods)
        prediction = predict(view)
        question = self._question(view, prediction)
        explanations = []
        for method, way in chosen:
            started = time.perf_counter()
            weights = self._computed(method, way, question, way.run)
            seconds = time.perf_counter() - started
            explanations.append(self._explanation(method, way, question, prediction, weights, seconds))
        return explanations

    def of_many(self, views: Sequence[View], method: Method) -> list[Explanation]:
        """One method on many texts, together where its way can do that."""
        if not views:
            return []
        ways = [self._chosen(view, [method])[0][1] for view in views]
        way = ways[0]
        if way.many is None or any(other is not way for other in ways):
            return [explanation for view in views for explanation in self.explanations(view, [method])]
        predictions = [predict(view) for view in views]
        questions = [self._question(view, p) for view, p in zip(views, predictions, strict=True)]
        started = time.perf_counter()
        many, longest = way.many, max(questions, key=lambda question: len(question.features))
        weights = self._computed(method, way, longest, lambda _, **options: many(questions, **options))
        seconds = (time.perf_counter() - started) / len(views)
        return [
            self._explanation(method, way, question, prediction, own, seconds)
            for question, prediction, own in zip(questions, predictions, weights, strict=True)
        ]

    def _chosen(self, view: View, methods: Sequence[Method] | None) -> list[Chosen]:
        if isinstance(view, Perturbable) and self.removal not in view.removals:
            offered = " or ".join(map(repr, view.removals))
            raise CapabilityError(f"this model does not take words out by {self.removal!r}: use {offered}")
        arguments = {"removal": self.removal, "output": self.output}
        features, options = features_of(view.document, self.features), list(self.options)
        if methods is None:
            ways = [(method, method.way_for(view, arguments, features, options)) for method in all_methods()]
            chosen = [(method, way) for method, way in ways if way is not None and way.default]
        else:
            chosen = [(method, method.required_way(view, arguments, features, options)) for method in methods]
        for name in self.options:
            if not any(name in way.options for _, way in chosen):
                raise unknown_option([(method.id, way) for method, way in chosen], name)
        return chosen

    def _computed(self, method: Method, way: Way, question: Question[Any], run: Callable[..., T]) -> T:
        """What a way answers; memory that it does not get becomes an error that says what to lower."""
        options = self._own(way)
        counts = [name for name, value in options.items() if type(value) is int]
        lower = f"lower {' or '.join(counts)}, or " if counts else ""
        try:
            with _within_memory(
                f"method {method.id!r} needs more memory than there is for {len(question.features):,} features"
                f"{_written(options)}: {lower}explain a shorter text"
            ):
                return run(question, **options)
        finally:
            self.progress.end()

    def _own(self, way: Way) -> dict[str, Any]:
        """The options of a way, checked, with its defaults where nothing was given."""
        return {
            name: option.check(self.options[name]) if name in self.options else option.default
            for name, option in way.options.items()
        }

    def _question(self, view: View, prediction: Prediction) -> Question[Any]:
        name = prediction.label if self.target is None else known_name("label", self.target, view.labels)
        return Question(
            view=view,
            document=view.document,
            features=features_of(view.document, self.features),
            target=view.labels.index(name),
            logits=prediction.logits,
            removal=self.removal,
            output=self.output,
            seed=self.seed,
            progress=self.progress,
        )

    def _explanation(
        self,
        method: Method,
        way: Way,
        question: Question[Any],
        prediction: Prediction,
        weights: Weights,
        seconds: float,
    ) -> Explanation:
        if not np.isfinite(weights.values).all():
            raise NumericalError(
                f"method {method.id!r} gave weights that are not finite{_written(self._own(way))}: use less extreme "
                "options, or check the model's weights"
            )
        accuracy = weights.accuracy
        stated: dict[str, Any] = {}
        if isinstance(accuracy, Bounded):
            stated["error"] = accuracy.error
        if isinstance(accuracy, Approximate):
            stated["approximation"] = accuracy.note
        return Explanation(
            text=question.document.text,
            method=method.id,
            label=method.label,
            signed=method.signed,
            target=prediction.labels[question.target],
            features=question.features.names,
            weights=weights.values,
            spans=question.features.spans,
            stderr=accuracy.stderr if isinstance(accuracy, Sampled) else None,
            exact=isinstance(accuracy, Exact | Bounded),
            prediction=prediction,
            seconds=seconds,
            evaluations=weights.evaluations,
            parameters={
                "features": question.features.kind,
                **{name: getattr(question, name) for name in way.uses},
                **self._own(way),
            },
            diagnostics={**stated, **weights.diagnostics},
            notices=(*question.document.notices, *weights.notices),
        )


def _checked_seed(given: object) -> int:
    # NumPy counts its differences of dates among the integers.
    if not isinstance(given, int | np.integer) or isinstance(given, bool | np.timedelta64):
        raise ParameterError(f"seed must be a whole number of at least 0: got {shown(given)}")
    if abs(int(given)) >= 2**_SEED_BITS:
        raise ParameterError(f"seed must be a whole number from 0 to 2**{_SEED_BITS} - 1: got {shown(given)}")
    return whole_number("seed", given, 0)


@contextlib.contextmanager
def _within_memory(message: str) -> Iterator[None]:
    """Memory that a computation inside does not get is a TooLargeError with this message."""
    try:
        yield
    except TooLargeError:
        raise
    except MemoryError as error:
        raise TooLargeError(message) from error
    except RuntimeError as error:
        # torch has an error of its own for a GPU; on a CPU it is a plain RuntimeError.
        if type(error).__name__ != "OutOfMemoryError" and "can't allocate memory" not in str(error):
            raise
        raise TooLargeError(message) from error


def _written(options: Mapping[str, Any]) -> str:
    """Options for a message, behind what they were given to."""
    settings = ", ".join(f"{name}={shown(value)}" for name, value in options.items())
    return f" with {settings}" if settings else ""
