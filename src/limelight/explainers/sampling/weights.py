"""Weights from a sampler that draws until its budget ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import NumericalError
from limelight.explainers.method import Cut, Exact, Question, Sampled, Weights
from limelight.explainers.output_game import NOISE_ALONE, OutputGame
from limelight.explainers.sampling.budget import Budget, Run, draw
from limelight.explainers.sampling.sampler import Estimate, Sampler


def sampled_weights(
    questions: Sequence[Question[Any]],
    game: OutputGame,
    sampler: Sampler,
    budget: Budget,
    described: Callable[[Estimate, Run, int], Weights],
    *,
    usable: int,
    first_check: int,
    step: int | None = None,
    memory: float = 0.0,
    groups: Floats | None = None,
) -> list[Weights]:
    """Weights of questions that one game answers, from one sampler.

    `described` is what the method itself says of a question: values, rounding, settings, and diagnostics and notices
    of its own. Errors, and what the game and the run say, are added here. See `draw` for the other parameters.
    """
    first, d = questions[0], len(questions[0].features)

    def weights_at(run: Run) -> list[Weights]:
        estimate = sampler.estimate(groups)
        if not np.isfinite(estimate.values).all():
            raise NumericalError("the model gave outputs that are not finite: check its weights")
        state = {"complete": True} if estimate.complete else NOISE_ALONE if estimate.noise_alone else {}
        of_groups = estimate.group_stderr
        found = []
        for i in range(len(questions)):
            own = described(estimate, run, i)
            known = {**state, **game.noise_of(i), **run.diagnostics(i), **game.precision(i, d)}
            stderr = estimate.stderr[:, i].copy()
            found.append(
                replace(
                    own,
                    accuracy=Exact() if estimate.complete else Sampled(stderr, freedom=estimate.freedom),
                    diagnostics={**own.diagnostics, **known},
                    evaluations=game.asked,
                    notices=(*game.notices, *own.notices, *run.notices(i)),
                    group_stderr=None if of_groups is None else of_groups[:, i].copy(),
                    warnings=(*game.warnings_of(i), *run.warnings(i)),
                )
            )
        return found

    watch = first.watch if len(questions) == 1 else None
    run = draw(
        sampler,
        budget,
        step=game.step if step is None else step,
        usable=usable,
        first_check=first_check,
        progress=first.progress,
        memory=memory,
        watch=None if watch is None else lambda run: watch(weights_at(run)[0]),
    )
    weights = weights_at(run)
    if run.stopped == "interrupted":
        raise Cut(weights)
    return weights
