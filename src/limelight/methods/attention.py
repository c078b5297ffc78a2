"""Attention as an explanation (paper, Section 3): how much [CLS] looks at each word, over the K heads."""

from __future__ import annotations

from limelight.methods.registry import Outcome, Request, method


@method(
    "alpha-avg",
    label="α-avg",
    summary="Attention from [CLS], mean over the heads (Eq. 10)",
    needs=("attention",),
    signed=False,
)
def alpha_avg(request: Request) -> Outcome:
    attentions = request.model.attentions(request.document)
    return Outcome(request.per_feature(attentions.weights.mean(axis=0), attentions.words))


@method(
    "alpha-max",
    label="α-max",
    summary="Attention from [CLS], maximum over the heads (Eq. 11)",
    needs=("attention",),
    signed=False,
)
def alpha_max(request: Request) -> Outcome:
    attentions = request.model.attentions(request.document)
    return Outcome(request.per_feature(attentions.weights.max(axis=0), attentions.words))
