"""From weights to an Explanation: places in the text, what is stated of the accuracy, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from limelight.errors import NumericalError, shown
from limelight.explainers.method import (
    Accuracy,
    Approximate,
    Bounded,
    Exact,
    Implementation,
    Method,
    Question,
    Sampled,
    Weights,
)
from limelight.explanation.reliability import moves_little, remarks_on_fit, verdict, with_little_effect
from limelight.explanation.result import Explanation, GroupWeights, Prediction
from limelight.inputs.document import Document, Span
from limelight.inputs.features import NOBODY, Features, Parts
from limelight.models.interface import facts_of


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
