"""Explanations made by hand, so that what is shown is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from limelight.document import Document
from limelight.explanation import Comparison, Explanation, Prediction
from limelight.features import features_of
from limelight.stored import METHODS_OF_0_1


def comparison_of(
    text: str,
    weights: Sequence[float] | np.ndarray | None = None,
    *,
    methods: Sequence[str] = ("lime",),
    stderr: Sequence[float] | None = None,
    kind: str = "words",
    labels: tuple[str, ...] = ("negative", "positive"),
    logits: tuple[float, ...] | None = None,
    target: str | None = None,
    notices: tuple[str, ...] = (),
    limit: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    diagnostics: Mapping[str, Any] | None = None,
    evaluations: int | None = None,
) -> Comparison:
    """The same weights for all methods (alternating in sign by default); standard errors for LIME alone."""
    document = Document.read(text, limit)
    features = features_of(document, kind)
    chosen = np.resize([0.5, -0.25, 0.125], len(features)) if weights is None else np.array(weights, dtype=float)
    assert len(chosen) == len(features), features.names
    scores = np.array(logits if logits is not None else range(len(labels)), dtype=float)
    chances = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    prediction = Prediction(labels[int(scores.argmax())], labels, scores, chances)
    return Comparison(
        tuple(
            Explanation(
                text=text,
                method=method,
                label=METHODS_OF_0_1.get(method, (method, True))[0],
                signed=METHODS_OF_0_1.get(method, (method, True))[1],
                target=target or prediction.label,
                features=features.names,
                weights=chosen,
                spans=features.spans,
                stderr=np.array(stderr, dtype=float) if method == "lime" and stderr is not None else None,
                exact=method != "lime",
                prediction=prediction,
                seconds=0.0125,
                parameters={"features": kind, **(parameters or {})},
                diagnostics=diagnostics or {},
                notices=(*document.notices, *notices),
                evaluations=evaluations,
            )
            for method in methods
        )
    )
