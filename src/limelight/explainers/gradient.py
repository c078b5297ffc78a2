"""Gradients as explanations (paper, Section 4.1): ∇_{e_t} f of Eq. 12, reduced to one number per position.

The gradient is taken with respect to e_t, the sum of word and position vector.

Integrated gradients (Sundararajan et al., 2017) sum it along the straight line from a baseline.

    φ_t = (e_t - b_t) · ∫_0^1 ∇_{e_t} f(b + x (e - b)) dx

The baseline b has another token in the place of each word. Completeness says Σ_t φ_t = f(e) - f(b): what the
quadrature misses of it is the error that is reported, and the steps are doubled until it is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from limelight.core.arrays import Floats, Integers, whole_number
from limelight.errors import NumericalError, ParameterError, known_name, shown
from limelight.explainers.method import Approximate, Exact, Question, Weights, method
from limelight.explainers.output_game import rounded
from limelight.inputs.features import NOBODY
from limelight.models.interface import (
    Differentiable,
    Direction,
    FoldedView,
    Gradients,
    Integrable,
    PathGradients,
    rounding_of,
)

_VANISHES = (
    "G-avg is zero up to rounding: this model normalises its embeddings, so the coordinates of every gradient cancel; "
    "use g-l2 or gxi"
)

g_avg = method("g-avg", label="G-avg", summary="Mean of the gradient's coordinates", changes=False)
g_l1 = method("g-l1", label="G-l1", summary="L1 norm of the gradient", signed=False)
g_l2 = method("g-l2", label="G-l2", summary="L2 norm of the gradient", signed=False)
gxi = method("gxi", label="G×I", summary="Gradient times input: e_t · ∇_{e_t} f", changes=False)


def _reduced(
    question: Question[Differentiable], reduce: Callable[[Gradients], Floats], gain: Callable[[Gradients], float]
) -> Weights:
    """Weights from one number per position, summed into features.

    `gain`: how far a position's number moves if each coordinate of its gradient is off by 1.
    """
    g = question.view.gradients(question.direction)
    positions = question.per_feature(np.ones(len(g.words)), g.words).max(initial=1.0)
    coordinate = rounding_of(question.view) * float(np.abs(g.gradients).max(initial=0.0))
    return Weights(
        question.per_feature(reduce(g), g.words),
        Exact(),
        evaluations=g.forwards,
        rounding=coordinate * gain(g) * float(positions),
    )


@g_avg.implementation(Differentiable, uses=("output",))
def mean_of_coordinates(question: Question[Differentiable]) -> Weights:
    weights = _reduced(question, lambda g: g.gradients.mean(axis=1), lambda g: 1.0)
    # A constant added to all coordinates of e_t is taken out again by a layer normalisation: the mean is zero then.
    vanishes = np.abs(weights.values).max() <= weights.rounding
    return replace(weights, notices=(_VANISHES,) if vanishes else ())


@g_l1.implementation(Differentiable, uses=("output",))
def l1_norm(question: Question[Differentiable]) -> Weights:
    return _reduced(question, lambda g: np.abs(g.gradients).sum(axis=1), lambda g: float(g.gradients.shape[1]))


@g_l2.implementation(Differentiable, uses=("output",))
def l2_norm(question: Question[Differentiable]) -> Weights:
    return _reduced(
        question, lambda g: np.sqrt((g.gradients**2).sum(axis=1)), lambda g: math.sqrt(g.gradients.shape[1])
    )


@gxi.implementation(Differentiable, uses=("output",))
def times_input(question: Question[Differentiable]) -> Weights:
    return _reduced(
        question,
        lambda g: (g.gradients * g.embeddings).sum(axis=1),
        lambda g: float(np.linalg.norm(g.embeddings, axis=1).max(initial=0.0)),  # coordinates are rounded apart
    )


# ── summed along a line ───────────────────────────────────────────────────────────────────────────────────────────────


Path = Callable[[Floats, Direction], PathGradients]
BASELINES = ("mask", "pad", "zero")
_FIRST_STEPS = 16
_MOST_STEPS = 4096
"""Steps whose nodes take ten seconds and 128 MB; both grow with their square."""
_SEEN = 0.01
"""Relative error that can be seen where weights are shown with two digits."""
_INCOMPLETE = (
    "integrated gradients miss {error:.2g} of what they should add up to, after {nodes} steps: raise max_steps, or "
    "load the model in float32"
)
_LEAST = float(np.finfo(np.float64).tiny)
"""Divisor in the place of 0."""


integrated_gradients = method(
    "integrated-gradients",
    label="IG",
    summary="The gradient summed along the line from a masked text; its parts add up to f(text) - f(masked)",
)


def along_embeddings(
    question: Question[Integrable | FoldedView],
    *,
    baseline: str = "mask",
    tolerance: float = 1e-3,
    max_steps: int = 1024,
    steps: int | None = None,
) -> Weights:
    """Integrate by Gauss and Legendre's rule of `steps` nodes, or of twice as many until completeness holds."""
    path = _path(question, baseline)
    _check_options(tolerance, max_steps, steps)
    end_points = path(np.array([0.0, 1.0]), question.quantity.direction_at)
    ends, forwards = question.quantity.of(end_points.logits), end_points.forwards
    difference = float(ends[1] - ends[0])
    rounding = 2.0 * rounded(end_points.logits, question.quantity, rounding_of(question.view))  # of a difference
    nodes = _FIRST_STEPS if steps is None else steps
    while True:
        points, weights = np.polynomial.legendre.leggauss(nodes)
        line = path((points + 1) / 2, question.quantity.direction_at)
        forwards += line.forwards
        parts = (weights / 2) @ line.slopes
        missing = abs(float(parts.sum()) - difference)
        # Relative to all that is handed out: the difference itself may be close to zero. Both may be, up to rounding.
        whole = max(float(np.abs(parts).sum()), abs(difference))
        error = missing / max(whole, rounding, _LEAST)
        if not math.isfinite(error):
            raise NumericalError(
                f"integrated gradients are not finite after {nodes} steps: check the model's weights, or load it in "
                "float32"
            )
        # What is rounding gets no smaller with more steps.
        if steps is not None or error <= tolerance or missing <= rounding or 2 * nodes > min(max_steps, _MOST_STEPS):
            break
        nodes *= 2
    unmet = steps is None and error > tolerance and missing > rounding
    is_incomplete = unmet or (error > _SEEN and whole > rounding)
    return Weights(
        question.per_feature(parts, line.words),
        Approximate("the integral is a sum over steps; what completeness misses is its error"),
        evaluations=forwards,
        diagnostics={
            "completeness_error": missing,
            "relative_error": error,
            "steps": nodes,
            "baseline_output": float(ends[0]),
            "model_prediction": float(ends[1]),
        },
        rounding=missing + rounding,
        warnings=(_INCOMPLETE.format(error=error, nodes=nodes),) if is_incomplete else (),
    )


integrated_gradients.implementation(Integrable, uses=("output",))(along_embeddings)
integrated_gradients.implementation(FoldedView, name="along_folded_embeddings", uses=("output",))(along_embeddings)


def _check_options(tolerance: float, max_steps: int, steps: int | None) -> None:
    if not 0 < tolerance < math.inf:
        raise ParameterError(f"tolerance must be above 0 and finite: got {shown(tolerance)}")
    whole_number("max_steps", max_steps, 1)
    if steps is not None and whole_number("steps", steps, 1) > _MOST_STEPS:
        raise ParameterError(
            f"steps must be at most {_MOST_STEPS:,}: got {steps}; leave it out to double the steps until tolerance is "
            "met"
        )


def _path(question: Question[Integrable | FoldedView], baseline: str) -> Path:
    """The line on which words move that belong to features; others stay as they are."""
    view, words = question.view, np.flatnonzero(question.features.owners != NOBODY)
    if isinstance(view, Integrable):
        known_name("baseline", baseline, BASELINES)
        return partial(view.path_gradients, baseline, words)
    known_name("baseline for this model", baseline, ("mask",))
    return _folded_path(view, words)


def _folded_path(view: FoldedView, words: Integers) -> Path:
    """Path of the paper's model: scores and values are linear in e_t, so the line in embeddings is one in them.

    d f / dx = (1/K) Σ_heads Σ_t α_t [ (w_t - Σ_s α_s w_s) (s_t - s_t^b) + (w_t - w_t^b) ]
    """
    from limelight.theory.folding import attention_of_scores  # brings torch along, which a list of methods does without

    folded, owned = view.folded(), words + 1
    s0, w0 = folded.scores.copy(), folded.values.copy()
    s0[owned], w0[owned] = folded.removed_scores[owned], folded.removed_values[owned]
    ds, dw = folded.scores - s0, folded.values - w0

    def path(points: Floats, direction: Direction) -> PathGradients:
        logits, slopes = np.empty((len(points), w0.shape[2])), np.empty((len(points), len(words)))
        for i, x in enumerate(points):
            alpha, w = attention_of_scores(s0 + x * ds), w0 + x * dw  # (T, K) and (T, K, C)
            mean = np.einsum("tk,tkc->kc", alpha, w)
            logits[i] = mean.mean(axis=0)
            per_class = (alpha[:, :, None] * ((w - mean) * ds[:, :, None] + dw)).mean(axis=1)
            slopes[i] = (per_class @ direction(logits[i : i + 1])[0])[owned]
        return PathGradients(logits, slopes, words)

    return path
