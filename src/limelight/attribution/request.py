"""A request about a text: its arguments, checked, and everything that follows from them and from a model's view.

`Request.resolve` is the only place that chooses the output, the features, the labels, the implementation of each method
and its options. `explain`, `compare`, the corpus, evaluations, the page and the contract all ask by a `Resolved`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from limelight.core.arrays import Floats, whole_number
from limelight.core.progress import SILENT, Progress
from limelight.errors import (
    CapabilityError,
    InputError,
    NumericalError,
    ParameterError,
    TooLargeError,
    UnknownNameError,
    known_name,
    shown,
)
from limelight.explainers.method import Conditions, Implementation, Method, Question, defaults, methods
from limelight.explanation.result import Prediction
from limelight.inputs.features import Features, Parts, Wanted, checked_kind, divided_words, features_of
from limelight.models.interface import Divisible, Perturbable, Removal, View, facts_of
from limelight.models.outputs import Output, Quantity, probabilities

_SEED_BITS = 128
"""As many as the entropy that NumPy recommends for a seed."""
Target = str | tuple[str, str]
"""A label, or one label and the one that it is compared with."""
ALL = "all"
"""The target that stands for every label."""


@dataclass(frozen=True)
class Chosen:
    """A method, the implementation of it that applies, and the options that this runs with."""

    method: Method
    implementation: Implementation
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Resolved:
    """A request about one text with all that was chosen for it, ready to run: see `run.py`.

    There is one question per label or pair of labels. `skipped`: methods that do not apply, with the reason. `named`:
    whether the caller named the methods.
    """

    request: Request
    view: View
    features: Features
    prediction: Prediction
    questions: tuple[Question[Any], ...]
    chosen: tuple[Chosen, ...]
    skipped: Mapping[str, CapabilityError] = field(default_factory=dict)
    named: bool = True

    def only(self, id: str) -> Resolved:
        """One of the methods; one that was skipped raises the reason."""
        if id in self.skipped:
            raise self.skipped[id]
        return replace(self, chosen=tuple(own for own in self.chosen if own.method.id == id), skipped={})

    def asking(self, *, view: View | None = None, **changes: Any) -> Resolved:
        """Questions with another seed or progress, or through another view of the text; nothing is resolved again."""
        view = self.view if view is None else view
        return replace(self, view=view, questions=tuple(replace(q, view=view, **changes) for q in self.questions))

    def with_options(self, **options: Any) -> Resolved:
        """Other values of options for the implementations that have them."""
        chosen = [
            replace(own, options=checked_options(own.implementation, {**own.options, **options})) for own in self.chosen
        ]
        return replace(self, chosen=tuple(chosen))


@dataclass(frozen=True)
class Request:
    """The arguments of `explain`, whatever the text and the methods; `options` go to each method that has them."""

    target: Target | None = None
    features: Wanted = "words"
    removal: Removal = "mask"
    output: Output | None = None
    parts: Parts = "both"
    seed: int = 0
    progress: Progress = SILENT
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
        """Whether every label is asked for; one that is called "all" is that label."""
        return isinstance(self.target, str) and self.target == ALL and ALL not in labels

    def resolve(
        self,
        view: View,
        methods: Sequence[Method] | None = None,
        *,
        skip: bool = False,
        spare: Collection[str] = (),
    ) -> Resolved:
        """Choose output, features, labels, implementations and options for one text.

        `methods`: None stands for those that are shown by default. `skip`: a method that does not apply is listed with
        the reason instead of raising it. `spare`: options that may be given although no chosen implementation has them.
        """
        view, features = self._featured(view)
        if isinstance(view, Perturbable) and self.removal not in view.removals:
            raise _no_removal(view, self.removal)
        conditions, options = self._conditions(view), list(self.options)
        skipped: dict[str, CapabilityError] = {}
        if methods is None:
            chosen = defaults(view, conditions, features, options)
        else:
            chosen = []
            for method in methods:
                try:
                    chosen.append((method, method.required_implementation(view, conditions, features, options)))
                except CapabilityError as error:
                    if not skip:
                        raise
                    skipped[method.id] = error
        self.check_options(chosen, spare)
        prediction = predict(view)
        question = Question(
            view=view,
            document=view.document,
            features=features,
            quantity=Quantity(len(view.labels), 0, None, conditions.output, view.kind),
            logits=prediction.logits,
            removal=self.removal,
            seed=self.seed,
            progress=self.progress,
        )
        return Resolved(
            request=self,
            view=view,
            features=features,
            prediction=prediction,
            questions=tuple(
                replace(question, quantity=replace(question.quantity, target=target, against=against))
                for target, against in self._targets(view.labels, prediction)
            ),
            chosen=tuple(Chosen(own, used, checked_options(used, self.options)) for own, used in chosen),
            skipped=skipped,
            named=methods is not None,
        )

    def applicable(self, view: View) -> list[Method]:
        """The methods that have an implementation for this view."""
        view, features = self._featured(view)
        conditions = self._conditions(view)
        return [own for own in methods() if own.implementation_for(view, conditions, features) is not None]

    def check_options(self, chosen: Sequence[tuple[Method, Implementation]], spare: Collection[str] = ()) -> None:
        """Refuse an option that none of these implementations has."""
        known = {option for _, implementation in chosen for option in implementation.options}
        for name in self.options:
            if name not in known and name not in spare:
                ids = ", ".join(dict.fromkeys(method.id for method, _ in chosen))
                raise UnknownNameError(f"option for {ids}", name, sorted(known))

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
        output = view.outputs[0] if self.output is None else self.output
        if output not in view.outputs:
            raise CapabilityError(
                f"a {view.kind} model has no output {output!r}: use {' or '.join(map(repr, view.outputs))}"
            )
        return Conditions(self.removal, output, Quantity(len(view.labels), 0, None, output, view.kind).is_linear)

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


def checked_options(implementation: Implementation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of an implementation, checked, with its defaults where nothing was given."""
    return {
        name: option.check(given[name]) if name in given else option.default
        for name, option in implementation.options.items()
    }


def check_removal(view: View, removal: Removal) -> Perturbable:
    """The view, if it takes words out in this way."""
    if isinstance(view, Perturbable) and removal in view.removals:
        return view
    raise _no_removal(view, removal)


def _no_removal(view: View, removal: Removal) -> CapabilityError:
    offered = " or ".join(map(repr, view.removals)) if isinstance(view, Perturbable) else "no removal"
    why = facts_of(view).reason_against(removal)
    return CapabilityError(f"this model does not take words out by {shown(removal)}{why}: use {offered}")


def predict(view: View) -> Prediction:
    """The model's prediction for the document."""
    words = f"{len(view.document.words):,} words"
    with within_memory(f"the model needs more memory than there is for a text of {words}: explain a shorter text"):
        logits = np.array(view.logits, dtype=np.float64)
    if not np.isfinite(logits).all():
        raise NumericalError(f"the model's logits are not finite: got {shown(logits.tolist())}; check its weights")
    return prediction_of(view, logits)


def prediction_of(view: View, logits: Floats) -> Prediction:
    """A prediction from logits (C,) of the document or of a part of it."""
    chances = None if view.kind == "regression" else probabilities(logits, view.kind)
    return Prediction(view.labels[int(logits.argmax())], view.labels, logits, chances, view.kind)


@contextlib.contextmanager
def within_memory(message: str) -> Iterator[None]:
    """Turn a failed allocation inside into a TooLargeError with this message."""
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


def _check_progress(progress: object) -> None:
    events = ("begin", "advance", "end", "say")
    if isinstance(progress, type) or not all(callable(getattr(progress, event, None)) for event in events):
        raise ParameterError(
            f"progress must have {', '.join(events[:-1])} and {events[-1]}, as limelight.Progress has: got "
            f"{shown(progress)}; leave it out to hear nothing"
        )


def _checked_seed(given: object) -> int:
    # NumPy counts its differences of dates among the integers.
    if not isinstance(given, int | np.integer) or isinstance(given, bool | np.timedelta64):
        raise ParameterError(f"seed must be a whole number of at least 0: got {shown(given)}")
    if abs(int(given)) >= 2**_SEED_BITS:
        raise ParameterError(f"seed must be a whole number from 0 to 2**{_SEED_BITS} - 1: got {shown(given)}")
    return whole_number("seed", given, 0)
