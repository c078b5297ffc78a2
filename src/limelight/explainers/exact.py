"""Exact values: what LIME and sampled Shapley values approach, without sampling (docs/theory.md).

They exist for a model that is a ratio game when features are masked, and for its logits.
"""

from __future__ import annotations

import numpy as np

from limelight.explainers.method import Outcome, Request, method
from limelight.theory import values as theory
from limelight.theory.moments import DEFAULT_TOLERANCE
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import ExactValues

MASKED_LOGIT = {"removal": "mask", "output": "logit"}


def _game(request: Request) -> RatioGame:
    game: RatioGame = request.model.ratio_game(request.document, request.features)
    return game


def _outcome(found: ExactValues) -> Outcome:
    """`error` bounds the distance of each weight from the exact one: quadrature and rounding."""
    diagnostics: dict[str, float | int] = {"error": found.error, "nodes": found.nodes}
    if found.intercept is not None:
        diagnostics["intercept"] = found.intercept
    return Outcome(found.values, None, diagnostics)


@method(
    "lime-limit",
    label="LIME, exact",
    summary="LIME's weights without sampling noise: its regression on the expected design",
    needs=("ratio game",),
    only=MASKED_LOGIT,
    uses=("removal", "output"),
    default=True,
)
def lime_limit(
    request: Request,
    *,
    n_samples: float = 5000,
    kernel_width: float = 0.25,
    ridge: float = 1.0,
    precision: float = DEFAULT_TOLERANCE,
) -> Outcome:
    return _outcome(theory.lime_limit(_game(request), request.target, n_samples, kernel_width, ridge, precision))


@method(
    "shapley",
    label="Shapley",
    summary="Shapley values: they sum to f(text) - f(everything masked). Sampled where a model is no ratio game",
    needs=("ratio game",),
    only=MASKED_LOGIT,
    uses=("removal", "output"),
    default=True,
)
def shapley(request: Request, *, precision: float = DEFAULT_TOLERANCE) -> Outcome:
    return _outcome(theory.shapley(_game(request), request.target, precision))


@method(
    "banzhaf",
    label="Banzhaf",
    summary="Exact Banzhaf values: the mean effect of a word when each other one is kept or not by a fair coin",
    needs=("ratio game",),
    only=MASKED_LOGIT,
    uses=("removal", "output"),
)
def banzhaf(request: Request, *, precision: float = DEFAULT_TOLERANCE) -> Outcome:
    return _outcome(theory.banzhaf(_game(request), request.target, precision))


@method(
    "leave-one-out",
    label="Leave one out",
    summary="What the output loses when one word is removed",
    needs=("perturbation",),
    uses=("removal", "output"),
)
def leave_one_out(request: Request) -> Outcome:
    d = len(request.features)
    everything_then_one_out = np.vstack([np.ones((1, d), dtype=bool), ~np.eye(d, dtype=bool)])
    outputs = request.game()(everything_then_one_out)
    return Outcome(outputs[0] - outputs[1:], None, {"intercept": float(outputs[0])})
