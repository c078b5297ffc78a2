"""LIME for text (paper, Section 5.1), with the semantics of the official implementation and an error for each weight.

Sampling: s uniform in 1..d features are removed, uniformly among the subsets of that size; the first sample is the
document itself. Weights: π = exp(-(1 - cos)² / 2ν²), where the cosine similarity of a sample with s removed features to
the document is sqrt(1 - s/d) (Eq. 15). Surrogate: weighted ridge regression with an unpenalised intercept (Eq. 16).

By default samples are drawn where they tell most, and the number that they estimate does not depend on how many are
drawn: it is the regression of 5,000 official samples (`ridge_samples`), against which the document and the ridge are
weighed. `lime-limit` is the same number without sampling (docs/theory.md, Section 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Literal, cast

import numpy as np

from limelight.core.arrays import Coalitions, Floats, whole_number
from limelight.core.memory import check_memory
from limelight.core.threads import one_thread
from limelight.errors import ParameterError
from limelight.explainers.exact import BySize, implement_by_size, weights_by_size
from limelight.explainers.lime_on_device import LimeSettings, lime_on_device
from limelight.explainers.method import Question, Sampled, Weights, method
from limelight.explainers.output_game import (
    OutputGame,
    asked_together,
    by_game,
    left_of_rounding,
    narrowed,
)
from limelight.explainers.sampling.budget import Budget, Run, in_turn, sampled_weights
from limelight.explainers.sampling.designs import blocks, sample_coalitions
from limelight.explainers.sampling.lime_sampler import RIDGE_SAMPLES, LimeEstimate, LimeSampler, check_kernel
from limelight.explainers.sampling.nondeterminism import shared_beyond_own
from limelight.explainers.sampling.sampler import Estimate
from limelight.explainers.sampling.standard_errors import few
from limelight.explainers.surrogate import (
    LEAST_WEIGHT,
    NO_RIDGE,
    Surrogate,
    fit_surrogate,
    normal_equations,
    solution,
    tells_errors,
    too_narrow,
)
from limelight.models.interface import ROUNDING, FoldedView, Perturbable, RatioView, Removal, game_of
from limelight.statistics.stability import samples_for_stable_top
from limelight.theory import values as theory
from limelight.theory.lime_kernel import kernel_by_size
from limelight.theory.moments import DEFAULT_TOLERANCE

_BYTES_PER_SAMPLE = 64
"""Size, weight, output and residual of a sample, and copies of them."""
_CHECKED_PER_WORD = 4
"""Samples per word before which nothing is said to be stable."""
_PASSES_THROUGH = (
    "{n} samples cannot tell {d} words apart: without a ridge the fit passes through all of them, and its R² says "
    "nothing; use more samples"
)
_LOGITS_AT_ONCE = 2**24
"""Numbers that a model may answer with in one call: 128 MB. All samples are one call up to 3,000 classes."""

lime = method("lime", label="LIME", summary="Local linear surrogate, fitted on samples with words removed (Eq. 16)")
lime_limit = method(
    "lime-limit",
    label="LIME, unsampled",
    summary="LIME's weights without sampling: its regression of 5,000 samples, in expectation",
)


@lime.implementation_of_many(Perturbable, uses=("removal", "output", "seed"))
def sampled(
    questions: Sequence[Question[Perturbable]],
    *,
    n_samples: int | None = None,
    until: Literal["stable"] | float | None = None,
    seconds: float | None = None,
    kernel_width: float = 0.25,
    ridge: float = 1.0,
    sampling: Literal["efficient", "official"] = "efficient",
    original_first: bool = True,
    ridge_samples: float | None = None,
) -> list[Weights]:
    """LIME by sampling. `sampling`: where samples tell most, or as the official implementation draws and weighs them.

    `ridge_samples`: the regression of so many official samples is estimated, 5,000 by default, however many are drawn;
    `math.inf` leaves out the ridge and the document. With sampling="official" it is that of the samples drawn.

    `n_samples`: 5,000, or 100,000 at most where `until` or `seconds` end the run. By default a model that is not
    limelight's own is asked 256 to 5,000 times, until no standard error is above 5 % of the largest weight or the five
    strongest words are stable. `until`: "stable", when these five and their signs are stable, or a fraction of the
    largest weight that no standard error is to exceed.
    """
    budget = Budget.of(n_samples, until, seconds, questions[0].view)
    settings = LimeSettings(budget.limit, kernel_width, ridge, original_first)
    estimand = RIDGE_SAMPLES if ridge_samples is None else ridge_samples
    check_options(settings, estimand)
    if sampling == "efficient":
        return in_turn(by_game(questions), lambda group: _efficient(group, budget, settings, estimand))
    if ridge_samples not in (None, settings.n_samples):
        raise ParameterError(
            "ridge_samples does not go with sampling='official', whose ridge is weighed against the samples that are "
            "drawn: use sampling='efficient', or n_samples alone"
        )
    if until is not None or seconds is not None:
        raise ParameterError("until and seconds do not go with sampling='official': use sampling='efficient'")
    if not all(map(_lives_on_gpu, questions)):
        return [weights for group in by_game(questions) for weights in _official(group, settings)]
    seeds, folded = [question.seed for question in questions], cast(Sequence[Question[FoldedView]], questions)
    n, evaluations = settings.n_samples, settings.n_samples + (not settings.original_first)
    questions[0].progress.begin("asking the model", len(questions) * n)
    return [
        _weights(fit, 0, float(model_prediction[0]), ROUNDING * float(fit.largest[0]), n, settings.ridge, evaluations)
        for fit, model_prediction in lime_on_device(folded, seeds, (questions[0].removal,), settings)
    ]


def _lives_on_gpu(question: Question[Perturbable]) -> bool:
    """A single attention layer on a GPU is drawn, answered and fitted there."""
    view = question.view
    on_gpu = isinstance(view, FoldedView) and not view.device.startswith("cpu")
    return on_gpu and question.quantity.is_linear and question.features.groups is None


def _efficient(
    questions: Sequence[Question[Perturbable]], budget: Budget, settings: LimeSettings, ridge_samples: float
) -> list[Weights]:
    """Draw samples where the kernel weighs: the same number is estimated, with a smaller error."""
    if not settings.original_first:
        raise ParameterError("original_first=False is official LIME's: use it with sampling='official'")
    first, d, ridge = questions[0], len(questions[0].features), settings.ridge
    check_samples(d, settings.n_samples)
    check_kernel(d, ridge_samples, settings.kernel_width)
    game, size = asked_together(questions, min(settings.n_samples + 1, 2 ** min(d, 60))), _rows_at_once(first)

    def ask(kept: Coalitions) -> Floats:
        return np.concatenate([game(kept[rows]) for rows in blocks(len(kept), size)])

    sampler = LimeSampler(ask, d, first.seed, settings.kernel_width, ridge, lambda: game.noise, ridge_samples)

    def described(estimate: Estimate, run: Run, i: int) -> Weights:
        assert isinstance(estimate, LimeEstimate)
        of_document, rounding = float(sampler.of_document[i]), float(game.rounding[i])
        weights = _weights(estimate.surrogate, i, of_document, rounding, run.n, ridge)
        return replace(
            weights,
            diagnostics={**weights.diagnostics, **({"stable_top": None} if sampler.is_complete else {})},
            notices=() if estimate.complete else weights.notices,
            settings={**weights.settings, "ridge_samples": ridge_samples},
        )

    return sampled_weights(
        questions,
        game,
        sampler,
        budget,
        described,
        usable=d + 2,
        first_check=_CHECKED_PER_WORD * d,
        memory=budget.limit * (d + _BYTES_PER_SAMPLE),
        groups=first.features.membership,
    )


def _official(questions: Sequence[Question[Perturbable]], settings: LimeSettings) -> list[Weights]:
    """Draw and weigh samples as official LIME does: the same samples, and so the same matrix, for all questions."""
    first, d, n, ridge = questions[0], len(questions[0].features), settings.n_samples, settings.ridge
    check_samples(d, n)
    kept = sample_coalitions(d, n, np.random.default_rng(first.seed), settings.original_first)
    weights = _checked_kernel_weights(kept, settings.kernel_width)  # before the model is asked
    game = asked_together(questions, n)
    outputs = np.concatenate([game(kept[rows]) for rows in blocks(n, _rows_at_once(first))])
    with one_thread():
        of_document = outputs[0] if settings.original_first else game(np.ones((1, d), dtype=bool))[0]
        shared = None if game.noise is None else game.noise.over_rows(shared_beyond_own(kept))
        fit = fit_surrogate(kept, outputs, weights, ridge, first.features.membership, shared)
    found = [
        _weights(fit, i, float(of_document[i]), float(game.rounding[i]), n, ridge, game.asked)
        for i in range(len(questions))
    ]
    return [
        replace(
            weights,
            diagnostics={**weights.diagnostics, **game.noise_of(i), **game.precision(i, d)},
            notices=(*game.notices, *weights.notices),
            warnings=game.warnings_of(i),
        )
        for i, weights in enumerate(found)
    ]


def _weights(
    fit: Surrogate, i: int, model_prediction: float, rounding: float, n_samples: int, ridge: float, evaluations: int = 0
) -> Weights:
    """Weights of output i of a fit of one run: arrays (d, m) and (m,). `rounding` is that of the outputs."""
    coefficients, stderr = fit.coefficients[:, i].copy(), fit.stderr[:, i].copy()
    d, of_groups = len(coefficients), None if fit.group_stderr is None else fit.group_stderr[:, i].copy()
    varies = bool(fit.scatter[i] > rounding)
    if fit.scatter[i] > 0.0 and not tells_errors(n_samples, d, ridge):
        stderr, of_groups = np.full_like(stderr, np.nan), None if of_groups is None else np.full_like(of_groups, np.nan)
    return Weights(
        coefficients,
        Sampled(stderr, freedom=few(fit.effective[:, i])),
        diagnostics={
            "intercept": float(fit.intercept[i]),
            "r2": float(fit.r2[i]) if varies else None,  # of what does not vary there is no fraction
            "surrogate_prediction": float(fit.prediction[i]),
            "model_prediction": model_prediction,
            "stable_top": _stable_top(coefficients, stderr, n_samples),
        },
        evaluations=evaluations,
        notices=() if n_samples > d + 1 or ridge > NO_RIDGE else (_PASSES_THROUGH.format(n=n_samples, d=d),),
        group_stderr=of_groups,
        rounding=rounding * float(fit.gain) * (left_of_rounding(n_samples, d) if varies else 1.0),
        settings={"n_samples": n_samples, "until": None, "seconds": None, "ridge_samples": n_samples},
    )


def sampled_coefficients(
    question: Question[Perturbable], seed: int, removals: Sequence[Removal], settings: LimeSettings, runs: int
) -> Floats:
    """The coefficients of several runs under each removal, without errors: (removals, runs, d).

    Removals share the coalitions, and so the regression's matrix.
    """
    question = narrowed(question)
    d = len(question.features)
    check_samples(d, settings.n_samples)
    games = [
        OutputGame(game_of(question.view, question.features, removal), [question.quantity]) for removal in removals
    ]
    rng, coefficients = np.random.default_rng(seed), np.empty((len(removals), runs, d))
    for run in range(runs):
        kept = sample_coalitions(d, settings.n_samples, rng, settings.original_first)
        weights = _checked_kernel_weights(kept, settings.kernel_width)
        outputs = np.concatenate([game(kept) for game in games], axis=1)
        with one_thread():
            equations = normal_equations(kept, outputs, weights, settings.ridge)
            coefficients[:, run] = solution(equations).T
    return coefficients


def kernel_weights(kept: Coalitions, kernel_width: float) -> Floats:
    """π of each coalition (n, d)."""
    d = kept.shape[1]
    return kernel_by_size(d, kernel_width)[d - kept.sum(axis=1)]


def _checked_kernel_weights(kept: Coalitions, kernel_width: float) -> Floats:
    """π of each coalition, where they leave anything to fit."""
    weights = kernel_weights(kept, kernel_width)
    others = float(weights[~kept.all(axis=1)].sum())
    if others < LEAST_WEIGHT:
        raise too_narrow(weights, others, kept.shape[1], kernel_width)
    return weights


def check_samples(d: int, n_samples: int) -> None:
    """Refuse what memory cannot hold: coalitions, a few numbers for each, and the regression's matrices."""
    advice = "ask for fewer samples" if n_samples > d else "explain a shorter text, or distinct words"
    needed = n_samples * (d + _BYTES_PER_SAMPLE) + 4 * 8 * d * d
    check_memory(needed, f"LIME with n_samples={n_samples} and {d} features", advice)


def _rows_at_once(question: Question[Perturbable]) -> int:
    return max(1, _LOGITS_AT_ONCE // len(question.logits))


def _stable_top(
    weights: Floats, stderr: Floats, n_samples: int, k: int = 5, level: float = 0.95
) -> dict[str, float | int | None] | None:
    """How many samples would give the same k strongest words in 95 % of runs; None where two weights are tied.

    Nothing can be said where there are no others: k words are always the same k words.
    """
    if len(weights) <= k or np.isnan(stderr).any():
        return None
    needed = samples_for_stable_top(weights, stderr, n_samples, k, level)
    return {"k": k, "level": level, "n_samples": int(needed) if math.isfinite(needed) else None}


def check_options(settings: LimeSettings, ridge_samples: float = RIDGE_SAMPLES) -> None:
    """Say what is wrong before any work is done."""
    whole_number("n_samples", settings.n_samples, 2)
    kernel_width, ridge = settings.kernel_width, settings.ridge
    theory.check_real(kernel_width=kernel_width, ridge=ridge, ridge_samples=ridge_samples)
    if not ridge_samples >= 2:
        raise ParameterError(f"ridge_samples must be 2 or more (official LIME draws 5,000): got {ridge_samples!r}")
    if not kernel_width > 0:
        raise ParameterError(f"kernel_width must be above 0 (the paper's ν, 0.25 by default): got {kernel_width!r}")
    if not 0 <= ridge < math.inf:
        raise ParameterError(f"ridge must be 0 or more, and finite: got {ridge!r}")


def _by_size(*, n_samples: float, kernel_width: float, ridge: float, precision: float) -> BySize:
    @cache
    def design(d: int) -> theory.LimeDesign:
        return theory.LimeDesign.of(d, n_samples, kernel_width, ridge)

    return BySize(
        lambda d: design(d).size_weights,
        lambda moments, row: design(moments.n_features).solve(moments, row),
        precision,
    )


def exact(
    question: Question[RatioView | FoldedView],
    *,
    n_samples: float = 5000,
    kernel_width: float = 0.25,
    ridge: float = 1.0,
    precision: float = DEFAULT_TOLERANCE,
) -> Weights:
    options = {"n_samples": n_samples, "kernel_width": kernel_width, "ridge": ridge, "precision": precision}
    return weights_by_size(question, _by_size(**options))


implement_by_size(lime_limit, _by_size, exact)
