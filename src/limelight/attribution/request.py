"""What a caller asks, whatever the text and the methods: from arguments to questions, from weights to explanations."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

import numpy as np

from limelight.attribution.assemble import explained, written
from limelight.core.arrays import whole_number
from limelight.core.progress import Progress, Watching
from limelight.errors import (
    CapabilityError,
    InputError,
    Interrupted,
    NumericalError,
    ParameterError,
    TooLargeError,
    known_name,
    shown,
)
from limelight.explainers.exact import BY_SIZE, exact_weights_of_several
from limelight.explainers.method import (
    Conditions,
    Cut,
    Implementation,
    Method,
    Question,
    Weights,
    defaults,
    unknown_option,
)
from limelight.explainers.method import methods as all_methods
from limelight.explanation.reliability import little_for_all
from limelight.explanation.result import Explanation, Prediction
from limelight.inputs.features import Features, Parts, Wanted, checked_kind, divided_words, features_of
from limelight.models.interface import Divisible, KnowsReasons, Perturbable, Removal, View
from limelight.models.outputs import Output, Quantity, probabilities

Chosen = tuple[Method, Implementation]
T = TypeVar("T")
_SECONDS = "seconds"
"""The option of methods that draw for some time."""
_LEAST_SECONDS = 1e-3
_SEED_BITS = 128
"""As many as the entropy that NumPy recommends for a seed."""


Target = str | tuple[str, str]
"""A label, or one label and the one that it is compared with."""
ALL = "all"
"""The target that stands for every label."""


def predict(view: View) -> Prediction:
    """What the model says of the document."""
    words = f"{len(view.document.words):,} words"
    with _within_memory(f"the model needs more memory than there is for a text of {words}: explain a shorter text"):
        logits = np.array(view.logits, dtype=np.float64)
    if not np.isfinite(logits).all():
        raise NumericalError(f"the model's logits are not finite: got {shown(logits.tolist())}; check its weights")
    chances = None if view.kind == "regression" else probabilities(logits, view.kind)
    return Prediction(view.labels[int(logits.argmax())], view.labels, logits, chances, view.kind)


def _check_progress(progress: object) -> None:
    events = ("begin", "advance", "end", "say")
    if isinstance(progress, type) or not all(callable(getattr(progress, event, None)) for event in events):
        raise ParameterError(
            f"progress must have {', '.join(events[:-1])} and {events[-1]}, as limelight.Progress has: got "
            f"{shown(progress)}; leave it out to hear nothing"
        )


@dataclass(frozen=True)
class Prepared:
    """A text that was read: what the model says of it, and the questions about it, one per quantity."""

    prediction: Prediction
    questions: list[Question[Any]]

    @property
    def view(self) -> View:
        view: View = self.questions[0].view
        return view

    @property
    def features(self) -> Features:
        return self.questions[0].features


@dataclass(frozen=True)
class Request:
    """What a caller wants to know, whatever the text and the methods."""

    target: Target | None
    features: Wanted
    removal: Removal
    output: Output | None
    parts: Parts
    seed: int
    progress: Progress
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, known in (("removal", get_args(Removal)), ("parts", get_args(Parts))):
            object.__setattr__(self, name, known_name(name, getattr(self, name), known))
        if self.output is not None:
            object.__setattr__(self, "output", known_name("output", self.output, get_args(Output)))
        object.__setattr__(self, "features", checked_kind(self.features))
        object.__setattr__(self, "seed", _checked_seed(self.seed))
        _check_progress(self.progress)

    def wants_all(self, labels: Sequence[str]) -> bool:
        """Whether every label is asked for; one that is called so is that label."""
        return isinstance(self.target, str) and self.target == ALL and ALL not in labels

    def applicable(self, view: View) -> list[Method]:
        """The methods that have an implementation for this view."""
        view, features = self._featured(view)
        conditions = self._conditions(view)
        return [method for method in all_methods() if method.implementation_for(view, conditions, features) is not None]

    def explanations(self, view: View, methods: Sequence[Method] | None) -> list[Explanation]:
        """One explanation per method and quantity; None stands for the methods that are shown by default."""
        view, features = self._featured(view)
        chosen = self._chosen(view, features, methods)
        prediction = predict(view)
        questions = self._questions(view, features, prediction)
        explanations: list[Explanation] = []
        for asked, (method, implementation) in self._sharing_time(chosen):
            try:
                explanations += asked._answered(method, implementation, questions, prediction)
            except CapabilityError:
                if methods is not None:  # what nobody named is shown where the model can do it
                    raise
            except Interrupted as cut:
                raise Interrupted([*explanations, *cut.explanations]) from None
            except KeyboardInterrupt:
                if not explanations:
                    raise
                raise Interrupted(explanations) from None
        return little_for_all(explanations)

    def _sharing_time(self, chosen: Sequence[Chosen]) -> Iterator[tuple[Request, Chosen]]:
        """Each method with what is asked of it: those that draw share the seconds, and who needs less leaves more."""
        timed = [_SECONDS in implementation.options for _, implementation in chosen]
        given = self.options.get(_SECONDS)
        if sum(timed) < 2 or not isinstance(given, int | float) or not given > 0.0:
            yield from ((self, own) for own in chosen)
            return
        left = float(given)
        for i, own in enumerate(chosen):
            if not timed[i]:
                yield self, own
                continue
            started = time.monotonic()
            yield replace(self, options={**self.options, _SECONDS: max(left, _LEAST_SECONDS) / sum(timed[i:])}), own
            left -= time.monotonic() - started

    def of_many(self, views: Sequence[View], method: Method) -> list[list[Explanation]]:
        """One method on many texts, together where it can do that: for each text an explanation per quantity."""
        if not views:
            return []
        featured = [self._featured(view) for view in views]
        implementations = [self._chosen(view, features, [method])[0][1] for view, features in featured]
        if implementations[0].many is None or any(other is not implementations[0] for other in implementations):
            return [self.explanations(view, [method]) for view in views]
        return self.of_prepared([self._prepared(*own, self.seed) for own in featured], [method])[0]

    def prepared(self, view: View, seed: int) -> Prepared:
        """A text with its features, its prediction and the questions about it, for several methods to share."""
        return self._prepared(*self._featured(view), seed)

    def _prepared(self, view: View, features: Features, seed: int) -> Prepared:
        prediction = predict(view)
        questions = self._questions(view, features, prediction)
        return Prepared(prediction, [replace(question, seed=seed) for question in questions])

    def of_prepared(
        self,
        texts: Sequence[Prepared],
        methods: Sequence[Method],
        memory_bytes: int | None = None,
        beside: Sequence[Method] = (),
    ) -> list[list[list[Explanation]]]:
        """For each method, and for each text, an explanation per quantity; what methods can share is computed once.

        `memory_bytes`: how much many texts may take on a GPU; by default a share of what is free. `beside`: methods
        that may have the options which these do not.
        """
        chosen = [self._chosen(own.view, own.features, methods, beside) for own in texts]
        implementations = [[own[i][1] for own in chosen] for i in range(len(methods))]
        together = [
            i for i, own in enumerate(implementations) if own and own[0].many in BY_SIZE and len(set(map(id, own))) == 1
        ]
        shared = (
            self._by_size([(methods[i], implementations[i][0]) for i in together], texts, memory_bytes)
            if together
            else []
        )
        answers = dict(zip(together, shared, strict=True))
        return [
            answers[i] if i in answers else self._of_many(method, implementations[i], texts)
            for i, method in enumerate(methods)
        ]

    def _by_size(
        self, chosen: Sequence[Chosen], texts: Sequence[Prepared], memory_bytes: int | None
    ) -> list[list[list[Explanation]]]:
        """The methods whose weights follow from means by size: one pass over each text gives them all."""
        questions = [question for own in texts for question in own.questions]
        if any(question.features.groups is not None for question in questions):
            return [self._of_many(method, [implementation] * len(texts), texts) for method, implementation in chosen]
        rules = [
            BY_SIZE[implementation.many](**self._own(implementation))
            for _, implementation in chosen
            if implementation.many is not None
        ]
        started = time.perf_counter()
        longest = max(questions, key=lambda question: len(question.features))
        weights = self._computed(
            *chosen[0], longest, lambda _, **options: exact_weights_of_several(questions, rules, memory_bytes)
        )
        seconds = (time.perf_counter() - started) / len(questions) / len(chosen)
        return [
            self._explained(method, implementation, texts, own, seconds)
            for (method, implementation), own in zip(chosen, weights, strict=True)
        ]

    def _of_many(
        self, method: Method, implementations: Sequence[Implementation], texts: Sequence[Prepared]
    ) -> list[list[Explanation]]:
        if (
            not implementations
            or implementations[0].many is None
            or any(other is not implementations[0] for other in implementations)
        ):
            return [
                self._answered(method, implementation, own.questions, own.prediction)
                for implementation, own in zip(implementations, texts, strict=True)
            ]
        with self._kept_if_cut(
            method, implementations[0], [(question, own.prediction) for own in texts for question in own.questions]
        ):
            weights, seconds = self._together(
                method, implementations[0], [question for own in texts for question in own.questions]
            )
        return self._explained(method, implementations[0], texts, weights, seconds)

    @contextlib.contextmanager
    def _kept_if_cut(
        self, method: Method, implementation: Implementation, asked: Sequence[tuple[Question[Any], Prediction]]
    ) -> Iterator[None]:
        """Where an implementation inside is interrupted, what it has is explained and goes along with the interrupt."""
        started = time.perf_counter()
        try:
            yield
        except Cut as cut:
            seconds = (time.perf_counter() - started) / max(len(cut.weights), 1)
            found = [
                self._explanation(method, implementation, question, prediction, weights, seconds)
                for (question, prediction), weights in zip(asked, cut.weights, strict=False)
            ]
            raise Interrupted(found) from None

    def _explained(
        self,
        method: Method,
        implementation: Implementation,
        texts: Sequence[Prepared],
        weights: Sequence[Weights],
        seconds: float,
    ) -> list[list[Explanation]]:
        answers = iter(weights)
        return [
            [
                self._explanation(method, implementation, question, own.prediction, next(answers), seconds)
                for question in own.questions
            ]
            for own in texts
        ]

    def _answered(
        self, method: Method, implementation: Implementation, questions: Sequence[Question[Any]], prediction: Prediction
    ) -> list[Explanation]:
        """One method on one text: what one run of the model tells of several quantities is asked for once."""
        if len(questions) > 1 and implementation.many is not None:
            with self._kept_if_cut(method, implementation, [(question, prediction) for question in questions]):
                weights, seconds = self._together(method, implementation, questions)
            return [
                self._explanation(method, implementation, question, prediction, own, seconds)
                for question, own in zip(questions, weights, strict=True)
            ]
        explanations = []
        for question in questions:
            started = time.perf_counter()
            watched = replace(question, watch=self._watch(method, implementation, question, prediction))
            with self._kept_if_cut(method, implementation, [(question, prediction)]):
                own = self._computed(method, implementation, watched, implementation.run)
            seconds = time.perf_counter() - started
            explanations.append(self._explanation(method, implementation, question, prediction, own, seconds))
        return explanations

    def _watch(
        self, method: Method, implementation: Implementation, question: Question[Any], prediction: Prediction
    ) -> Callable[[Weights], None] | None:
        """What shows explanations from fewer samples to a progress that watches them."""
        progress, started = self.progress, time.perf_counter()
        if not isinstance(progress, Watching):
            return None

        def watch(weights: Weights) -> None:
            seconds = time.perf_counter() - started
            progress.seen(self._explanation(method, implementation, question, prediction, weights, seconds))

        return watch

    def _together(
        self, method: Method, implementation: Implementation, questions: Sequence[Question[Any]]
    ) -> tuple[list[Weights], float]:
        """All questions in one go, and the mean time of one."""
        assert implementation.many is not None
        many, longest = implementation.many, max(questions, key=lambda question: len(question.features))
        started = time.perf_counter()
        weights = self._computed(method, implementation, longest, lambda _, **options: many(questions, **options))
        return weights, (time.perf_counter() - started) / len(questions)

    # ── what is asked of one text ─────────────────────────────────────────────────────────────────────────────────

    def _featured(self, view: View) -> tuple[View, Features]:
        """The features that were asked for, and a view whose words they do not cut."""
        words = divided_words(view.document, self.features)
        if words is not None:
            if not isinstance(view, Divisible):
                cut = next(word for word in view.document.words if word not in words)
                raise InputError(
                    f"a span cuts the word {shown(view.document.text[cut.start : cut.end])} at {cut.start}, and this "
                    "model reads whole words: let spans begin and end between words"
                )
            view = view.divided(words)
        return view, features_of(view.document, self.features, self.parts)

    def _conditions(self, view: View) -> Conditions:
        output = self._output(view)
        return Conditions(self.removal, output, Quantity(len(view.labels), 0, None, output, view.kind).is_linear)

    def _output(self, view: View) -> Output:
        if self.output is None:
            return view.outputs[0]
        if self.output not in view.outputs:
            raise CapabilityError(
                f"a {view.kind} model has no output {self.output!r}: use {' or '.join(map(repr, view.outputs))}"
            )
        return self.output

    def _chosen(
        self, view: View, features: Features, methods: Sequence[Method] | None, beside: Sequence[Method] = ()
    ) -> list[Chosen]:
        if isinstance(view, Perturbable) and self.removal not in view.removals:
            offered = " or ".join(map(repr, view.removals))
            why = view.reason_against(self.removal) if isinstance(view, KnowsReasons) else ""
            raise CapabilityError(f"this model does not take words out by {self.removal!r}{why}: use {offered}")
        conditions, options = self._conditions(view), list(self.options)
        if methods is None:
            chosen = defaults(view, conditions, features, options)
        else:
            chosen = [
                (method, method.required_implementation(view, conditions, features, options)) for method in methods
            ]
        for name in self.options:
            others = (implementation for method in beside for implementation in method.implementations)
            if not any(
                name in implementation.options
                for implementation in (*(implementation for _, implementation in chosen), *others)
            ):
                raise unknown_option([(method.id, implementation) for method, implementation in chosen], name)
        return chosen

    def _questions(self, view: View, features: Features, prediction: Prediction) -> list[Question[Any]]:
        output = self._output(view)
        return [
            Question(
                view=view,
                document=view.document,
                features=features,
                quantity=Quantity(len(view.labels), target, against, output, view.kind),
                logits=prediction.logits,
                removal=self.removal,
                seed=self.seed,
                progress=self.progress,
            )
            for target, against in self._targets(view.labels, prediction)
        ]

    def _targets(self, labels: Sequence[str], prediction: Prediction) -> list[tuple[int, int | None]]:
        """The labels that are asked about, each with the one that it is compared with."""
        if self.target is None:
            return [(labels.index(prediction.label), None)]
        if self.wants_all(labels):
            return [(label, None) for label in range(len(labels))]
        if isinstance(self.target, tuple | list):
            if len(self.target) != 2:
                raise ParameterError(f"target must be a label, two labels, or 'all': got {shown(self.target)}")
            target, against = (labels.index(known_name("label", name, labels)) for name in self.target)
            if target == against:
                raise InputError(f"the target {shown(self.target)} compares a label with itself: name two labels")
            return [(target, against)]
        return [(labels.index(known_name("label", self.target, labels)), None)]

    # ── weights, and what is made of them ─────────────────────────────────────────────────────────────────────────

    def _computed(
        self, method: Method, implementation: Implementation, question: Question[Any], run: Callable[..., T]
    ) -> T:
        """What an implementation answers; memory that it does not get becomes an error that says what to lower."""
        options = self._own(implementation)
        counts = [name for name, value in options.items() if type(value) is int]
        lower = f"lower {' or '.join(counts)}, or " if counts else ""
        try:
            with _within_memory(
                f"method {method.id!r} needs more memory than there is for {len(question.features):,} features"
                f"{written(options)}: {lower}explain a shorter text"
            ):
                return run(question, **options)
        finally:
            self.progress.end()

    def _own(self, implementation: Implementation) -> dict[str, Any]:
        """The options of an implementation, checked, with its defaults where nothing was given."""
        return {
            name: option.check(self.options[name]) if name in self.options else option.default
            for name, option in implementation.options.items()
        }

    def _explanation(
        self,
        method: Method,
        implementation: Implementation,
        question: Question[Any],
        prediction: Prediction,
        weights: Weights,
        seconds: float,
    ) -> Explanation:
        return explained(
            method, implementation, question, prediction, weights, seconds, self.parts, self._own(implementation)
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
