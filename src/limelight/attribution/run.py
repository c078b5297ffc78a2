"""From resolved requests to explanations: methods run alone or together, and interrupts leave those that are done.

`explained` makes an explanation of weights: places in the text, what is stated of the accuracy, and the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from limelight.attribution.request import Chosen, Resolved, within_memory
from limelight.core.progress import Watching
from limelight.errors import CapabilityError, Interrupted, NumericalError, shown
from limelight.explainers.exact import exact_weights_of_several
from limelight.explainers.method import (
    Accuracy,
    Approximate,
    Bounded,
    Cut,
    Exact,
    Implementation,
    Method,
    Question,
    Sampled,
    Weights,
)
from limelight.explanation.reliability import little_for_all, moves_little, remarks_on_fit, verdict, with_little_effect
from limelight.explanation.result import Explanation, GroupWeights, Prediction
from limelight.inputs.document import Document, Span
from limelight.inputs.features import NOBODY, Features, Parts
from limelight.models.interface import facts_of

T = TypeVar("T")
_SECONDS = "seconds"
"""The option of methods that draw for some time."""
_LEAST_SECONDS = 1e-3


def explanations(resolved: Resolved) -> list[Explanation]:
    """One explanation per method and label."""
    found: list[Explanation] = []
    for chosen in _sharing_time(resolved.chosen):
        try:
            found += _of_text(chosen, resolved)
        except CapabilityError:
            if resolved.named:  # a method that nobody named is shown where the model can do it
                raise
        except Interrupted as cut:
            raise Interrupted([*found, *cut.explanations]) from None
        except KeyboardInterrupt:
            if not found:
                raise
            raise Interrupted(found) from None
    return little_for_all(found)


def explanations_of_texts(texts: Sequence[Resolved]) -> list[list[Explanation]]:
    """One method on several texts, together where one implementation can do that: for each text one per label."""
    chosen = [own.chosen[0] for own in texts]
    if texts and chosen[0].implementation.run_many is not None and _is_same(chosen):
        return explanations_of_many(texts)[0]
    return [explanations(own) for own in texts]


def explanations_of_many(texts: Sequence[Resolved], memory_bytes: int | None = None) -> list[list[list[Explanation]]]:
    """For each method, and for each text, an explanation per label; what methods can share is computed once.

    All texts are resolved for the same methods. `memory_bytes`: how much many texts may take on a GPU; by default a
    fraction of what is free.
    """
    per_method = list(zip(*(own.chosen for own in texts), strict=True))
    by_size = [own[0] for own in per_method if own[0].implementation.by_size is not None and _is_same(own)]
    if any(question.features.groups is not None for own in texts for question in own.questions):
        by_size = []
    shared = dict(zip((own.method.id for own in by_size), _by_size(by_size, texts, memory_bytes), strict=True))
    return [shared[own[0].method.id] if own[0].method.id in shared else _of_texts(own, texts) for own in per_method]


def _is_same(chosen: Sequence[Chosen]) -> bool:
    return all(own.implementation is chosen[0].implementation for own in chosen)


def _of_texts(chosen: Sequence[Chosen], texts: Sequence[Resolved]) -> list[list[Explanation]]:
    """One method on several texts, together where one implementation of it can do that."""
    run_many = chosen[0].implementation.run_many
    if run_many is None or not _is_same(chosen):
        return [_of_text(own, text) for own, text in zip(chosen, texts, strict=True)]
    return _per_text(_explained(chosen[0], _posed(texts), run_many), texts)


def _of_text(chosen: Chosen, text: Resolved) -> list[Explanation]:
    """One method on one text: one run of the model answers questions about several labels where it can."""
    if len(text.questions) > 1 and chosen.implementation.run_many is not None:
        return _of_texts([chosen], [text])[0]
    run = chosen.implementation.run
    return [
        _explained(chosen, [(_watched(chosen, q, text), text)], lambda one, **options: [run(one[0], **options)])[0]
        for q in text.questions
    ]


def _by_size(
    chosen: Sequence[Chosen], texts: Sequence[Resolved], memory_bytes: int | None
) -> list[list[list[Explanation]]]:
    """Methods whose weights follow from means by size: one pass over each text gives them all."""
    if not chosen:
        return []
    posed = _posed(texts)
    rules = [own.implementation.by_size(**own.options) for own in chosen if own.implementation.by_size is not None]
    started = time.perf_counter()
    weights = _computed(
        chosen[0], posed, lambda questions, **_: exact_weights_of_several(questions, rules, memory_bytes)
    )
    seconds = (time.perf_counter() - started) / len(posed) / len(chosen)
    return [_per_text(_made(one, posed, own, seconds), texts) for one, own in zip(chosen, weights, strict=True)]


def _per_text(found: Sequence[Explanation], texts: Sequence[Resolved]) -> list[list[Explanation]]:
    answers = iter(found)
    return [[next(answers) for _ in own.questions] for own in texts]


Posed = Sequence[tuple[Question[Any], Resolved]]
"""Questions, each with the text that it is about."""


def _posed(texts: Sequence[Resolved]) -> Posed:
    return [(question, own) for own in texts for question in own.questions]


def _explained(chosen: Chosen, posed: Posed, run_many: Callable[..., Sequence[Weights]]) -> list[Explanation]:
    """The explanation of each question, from one run; an interrupt carries those of the questions that are done."""
    started = time.perf_counter()
    try:
        weights = _computed(chosen, posed, run_many)
    except Cut as cut:
        seconds = (time.perf_counter() - started) / max(len(cut.weights), 1)
        raise Interrupted(_made(chosen, posed[: len(cut.weights)], cut.weights, seconds)) from None
    return _made(chosen, posed, weights, (time.perf_counter() - started) / len(posed))


def _made(chosen: Chosen, posed: Posed, weights: Sequence[Weights], seconds: float) -> list[Explanation]:
    method, implementation, options = chosen.method, chosen.implementation, chosen.options
    return [
        explained(method, implementation, question, own.prediction, given, seconds, own.request.parts, options)
        for (question, own), given in zip(posed, weights, strict=True)
    ]


def _computed(chosen: Chosen, posed: Posed, run: Callable[..., T]) -> T:
    """The answer of an implementation; memory that it does not get becomes an error that says what to lower."""
    questions = [question for question, _ in posed]
    longest = max(len(question.features) for question in questions)
    counts = [name for name, value in chosen.options.items() if type(value) is int]
    lower = f"lower {' or '.join(counts)}, or " if counts else ""
    try:
        with within_memory(
            f"method {chosen.method.id!r} needs more memory than there is for {longest:,} features"
            f"{written(chosen.options)}: {lower}explain a shorter text"
        ):
            return run(questions, **chosen.options)
    finally:
        questions[0].progress.end()


def _watched(chosen: Chosen, question: Question[Any], text: Resolved) -> Question[Any]:
    """A question that shows explanations from fewer samples to a progress that watches them."""
    progress, started = question.progress, time.perf_counter()
    if not isinstance(progress, Watching):
        return question

    def watch(weights: Weights) -> None:
        progress.seen(_made(chosen, [(question, text)], [weights], time.perf_counter() - started)[0])

    return replace(question, watch=watch)


def _sharing_time(chosen: Sequence[Chosen]) -> Iterator[Chosen]:
    """Each method in its turn: those that draw share the seconds, and one that needs less leaves more to the others."""
    timed = [_SECONDS in own.options for own in chosen]
    given = next((own.options[_SECONDS] for own, draws in zip(chosen, timed, strict=True) if draws), None)
    if sum(timed) < 2 or given is None or not given > 0.0:
        yield from chosen
        return
    left = float(given)
    for i, own in enumerate(chosen):
        if not timed[i]:
            yield own
            continue
        started = time.monotonic()
        yield replace(own, options={**own.options, _SECONDS: max(left, _LEAST_SECONDS) / sum(timed[i:])})
        left -= time.monotonic() - started


def explained(
    method: Method,
    implementation: Implementation,
    question: Question[Any],
    prediction: Prediction,
    weights: Weights,
    seconds: float,
    parts: Parts,
    options: Mapping[str, Any],
) -> Explanation:
    """The explanation made of an implementation's answer; `parts` and `options` are those of the request."""
    if not np.isfinite(weights.values).all():
        raise NumericalError(
            f"method {method.id!r} gave weights that are not finite{written(options)}: use less extreme "
            "options, or check the model's weights"
        )
    accuracy = _accuracy(weights, question.view)
    stated: dict[str, Any] = {"rounding": float(weights.rounding)}
    if isinstance(accuracy, Bounded):
        stated["error"] = accuracy.error
    if isinstance(accuracy, Approximate):
        stated["approximation"] = accuracy.note
    if isinstance(accuracy, Sampled) and accuracy.freedom is not None:
        stated["freedom"] = accuracy.freedom
    document, quantity, facts = question.document, question.quantity, facts_of(question.view)
    spans, sides = in_own_texts(document, question.features.spans)
    notes = facts.notes(quantity.output)
    if unknown := facts.unknown_words():
        stated["unknown"] = _made_of(unknown, question.features)
        known = f"{len(unknown):,} of the {len(document.words):,} words"
        notes = (*notes, f"the model does not know {known}, and reads all of them as one and the same")
    fit = remarks_on_fit(weights.diagnostics.get("r2"))
    explanation = Explanation(
        text=document.given,
        method=method.id,
        method_label=method.label,
        signed=method.signed,
        target=prediction.labels[quantity.target],
        against=None if quantity.against is None else prediction.labels[quantity.against],
        features=question.features.names,
        weights=weights.values,
        spans=spans,
        sides=sides,
        groups=_groups(question, weights),
        stderr=accuracy.stderr if isinstance(accuracy, Sampled) else None,
        exact=isinstance(accuracy, Exact | Bounded),
        prediction=prediction,
        seconds=seconds,
        evaluations=weights.evaluations,
        parameters={
            "features": question.features.kind,
            **({} if parts == "both" else {"parts": parts}),
            **{name: getattr(question, name) for name in implementation.uses},
            **_as_it_came_to_be(options, weights.settings),
        },
        diagnostics={**stated, **weights.diagnostics},
        notices=tuple(dict.fromkeys([*document.notices, *notes, *fit, *weights.notices])),
    )
    explanation = explanation.stating(warnings=verdict(explanation, weights.warnings))
    return with_little_effect(explanation) if method.changes and moves_little(explanation) else explanation


def _accuracy(weights: Weights, view: object) -> Accuracy:
    """The accuracy of weights, none of which is exact where the model has noise that the method did not measure."""
    if not facts_of(view).repeats_itself and not isinstance(weights.accuracy, Sampled):
        return Approximate("the model does not repeat itself: these are the weights of one of its answers")
    return weights.accuracy


def _as_it_came_to_be(options: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options that repeat a computation: those that it chose itself have its values, or are left out where None."""
    joined = {**options, **settings}
    return {name: value for name, value in joined.items() if name not in settings or value is not None}


def _made_of(words: frozenset[int], features: Features) -> list[int]:
    """The features that own no other words than these."""
    others = np.ones(len(features.owners), dtype=bool)
    others[list(words)] = False
    owners = features.owners[others]
    has_others = np.bincount(owners[owners != NOBODY], minlength=len(features)) > 0
    return list(np.flatnonzero(~has_others).tolist())


def in_own_texts(
    document: Document, spans: Sequence[tuple[Span, ...]]
) -> tuple[tuple[tuple[Span, ...], ...], tuple[int, ...] | None]:
    """Spans as places in the text that they stand in, and which text of a pair that is for each feature."""
    if document.second is None:
        return tuple(spans), None
    sides = [document.side_of(own[0][0]) for own in spans]
    starts = [document.sides[side][0] for side in sides]
    own = tuple(tuple((a - start, b - start) for a, b in places) for places, start in zip(spans, starts, strict=True))
    return own, tuple(sides)


def _groups(question: Question[Any], weights: Weights) -> GroupWeights | None:
    """The outer of two levels: a group weighs what its features weigh together."""
    groups, membership = question.features.groups, question.features.membership
    if groups is None or membership is None:
        return None
    stderr = None
    if isinstance(weights.accuracy, Sampled):
        unknown = np.full(len(groups.names), np.nan)
        stderr = unknown if weights.group_stderr is None else weights.group_stderr
    spans, sides = in_own_texts(question.document, groups.spans)
    return GroupWeights(groups.names, weights.values @ membership, spans, sides, stderr, groups.members)


def written(options: Mapping[str, Any]) -> str:
    """Options for a message, behind what they were given to."""
    settings = ", ".join(f"{name}={shown(value)}" for name, value in options.items())
    return f" with {settings}" if settings else ""
