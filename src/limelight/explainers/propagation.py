"""Propagation through a transformer in one pass: decomposition, DeepSHAP, AttnLRP.

One forward, and one way back under a method's rules (`models/propagation/rules.py` has the table). Decomposition and
DeepSHAP add up: what they miss of it is their error, and a model that makes them miss more than 1e-4 is refused.
"""

from __future__ import annotations

import numpy as np

from limelight.errors import known_name
from limelight.explainers.gradient import BASELINES
from limelight.explainers.method import Exact, Question, Weights, method
from limelight.explainers.output_game import rounded
from limelight.inputs.features import NOBODY
from limelight.models.interface import Propagating, RulesName, rounding_of

decomposition = method(
    "decomposition",
    label="Decomposition",
    summary="What each word's vector adds to the output, with attention, norms and slopes as they are (DecompX)",
    changes=False,
)
deepshap = method(
    "deepshap",
    label="DeepSHAP",
    summary="DeepSHAP rules for transformers: weights add up to f(text) - f(masked text)",
)
attnlrp = method(
    "attnlrp",
    label="AttnLRP",
    summary="Relevance propagation with attention that responds (Achtibat et al., 2024)",
    changes=False,
)


@decomposition.implementation(Propagating, uses=("output",))
def contributions(question: Question[Propagating]) -> Weights:
    return _weights(question, "decomposition")


@attnlrp.implementation(Propagating, uses=("output",))
def relevance(question: Question[Propagating]) -> Weights:
    return _weights(question, "attnlrp")


@deepshap.implementation(Propagating, uses=("output",))
def slopes(question: Question[Propagating], *, baseline: str = "mask") -> Weights:
    return _weights(question, "deepshap", known_name("baseline", baseline, BASELINES))


def _weights(question: Question[Propagating], rules: RulesName, baseline: str = "zero") -> Weights:
    owners = question.features.owners
    moved = np.flatnonzero(owners != NOBODY)
    found = question.view.propagated(rules, question.quantity, moved, baseline)
    rounding = rounded(question.logits[None], question.quantity, rounding_of(question.view))
    missing = 0.0 if found.missing is None else found.missing
    diagnostics = {"output": float(found.outputs[0])}
    if found.missing is not None:
        diagnostics["completeness_error"] = missing
    if rules == "deepshap":
        diagnostics["baseline_output"] = float(found.outputs[1])
    return Weights(
        question.per_feature(found.weights, found.words),
        Exact(),
        evaluations=found.forwards,
        diagnostics=diagnostics,
        rounding=rounding + missing,
    )
