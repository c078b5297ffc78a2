"""Explanations made by hand, so that what is shown is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from limelight.attribution.run import in_own_texts
from limelight.explanation.result import Comparison, Explanation, GroupWeights, Prediction
from limelight.explanation.serialization import METHODS_OF_0_1
from limelight.inputs.document import Document
from limelight.inputs.features import Parts, Wanted, features_of
from limelight.models.outputs import Kind, probabilities


def comparison_of(
    text: str | tuple[str, str],
    weights: Sequence[float] | np.ndarray | None = None,
    *,
    methods: Sequence[str] = ("lime",),
    stderr: Sequence[float] | None = None,
    kind: Wanted = "words",
    labels: tuple[str, ...] = ("negative", "positive"),
    logits: tuple[float, ...] | None = None,
    target: str | None = None,
    against: str | None = None,
    model: Kind = "classes",
    parts: Parts = "both",
    notices: tuple[str, ...] = (),
    limit: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    diagnostics: Mapping[str, Any] | None = None,
    evaluations: int | None = None,
) -> Comparison:
    """The same weights for all methods (alternating in sign by default); standard errors for LIME alone."""
    document = Document.read(text, limit)
    features = features_of(document, kind, parts)
    spans, sides = in_own_texts(document, features.spans)
    chosen = np.resize([0.5, -0.25, 0.125], len(features)) if weights is None else np.array(weights, dtype=float)
    assert len(chosen) == len(features), features.names
    scores = np.array(logits if logits is not None else range(len(labels)), dtype=float)
    chances = None if model == "regression" else probabilities(scores, model)
    prediction = Prediction(labels[int(scores.argmax())], labels, scores, chances, model)
    errors = None if stderr is None else np.array(stderr, dtype=float)
    groups = None
    if features.groups is not None:
        outer, own_sides = in_own_texts(document, features.groups.spans)
        sums = chosen @ features.membership
        errors_of_sums = None if errors is None else np.sqrt(errors**2 @ features.membership)
        groups = GroupWeights(features.groups.names, sums, outer, own_sides, errors_of_sums, features.groups.members)
    return Comparison(
        tuple(
            Explanation(
                text=text,
                method=method,
                method_label=METHODS_OF_0_1.get(method, (method, True))[0],
                signed=METHODS_OF_0_1.get(method, (method, True))[1],
                target=target or prediction.label,
                against=against,
                features=features.names,
                weights=chosen,
                spans=spans,
                sides=sides,
                groups=groups,
                stderr=errors if method == "lime" else None,
                exact=method != "lime",
                prediction=prediction,
                seconds=0.0125,
                parameters={"features": features.kind, **(parameters or {})},
                diagnostics=diagnostics or {},
                notices=(*document.notices, *notices),
                evaluations=evaluations,
            )
            for method in methods
        )
    )
