"""Weights from a sampler, which stops after a number of samples, after some seconds, or when its answer is stable.

Samples are drawn in steps of fixed length, whatever ends the run, so that the same total gives the same bytes: a run
that was ended by the clock or by Ctrl-C is repeated by `n_samples` alone. Interim checks see whether the answer is
stable: when the number of samples has doubled, and where the clock or Ctrl-C ends the run, which know nothing of the
answer. The chance of a wrong claim, 5 %, is divided among all checks there may be.

A model that takes its time is asked as often as its answer needs where nothing else is requested: until no standard
error is above 5 % of the largest weight or the five strongest words are stable, 256 to 5,000 times. That is checked at
nine totals, each √2 times the one before.
"""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from limelight.core.arrays import Floats, whole_number
from limelight.core.progress import Progress
from limelight.errors import NumericalError, ParameterError, shown
from limelight.explainers.method import Cut, Exact, Question, Sampled, Weights
from limelight.explainers.output_game import NOISE_ALONE, OutputGame
from limelight.explainers.sampling.sampler import Estimate, Sampler
from limelight.models.interface import STEP, facts_of
from limelight.statistics.stability import Settled, settled

DEFAULT_SAMPLES = 5000
MOST_SAMPLES = 100_000
"""Samples at which a run ends that nothing else has ended, unless n_samples says so."""
LEVEL = 0.05
PRECISE = 0.05
"""Fraction of the largest weight that no standard error exceeds where a run ends by itself."""
_WORTH = 4.0
"""Times its samples that a run until stable may go on for, beyond the default, to tell apart what seems tied."""
_FIRST_CHECK = 512
_LONG = 30.0
"""Seconds from which the length of a run is announced."""

Group = TypeVar("Group")
Until = Literal["stable"] | float | None
Stopped = Literal["samples", "complete", "settled", "tied", "limit", "time", "interrupted", "drawing"]
"""Reason why a run ended; one that goes on is drawing."""


@dataclass(frozen=True)
class Budget:
    """Limits of a run: `limit` samples; before that, what `until` names, or `seconds`.

    `ends_itself`: the run ends where its answer is precise or stable, as nothing was requested of it. `thrifty`: a run
    until stable calls words tied where going on would cost more than the default to no purpose.
    """

    limit: int
    until: Until = None
    seconds: float | None = None
    ends_itself: bool = False
    thrifty: bool = False

    @classmethod
    def of(cls, n_samples: int | None, until: Until, seconds: float | None, view: object = None) -> Budget:
        """Budget from a method's options, checked; without a view, or for one that is cheap, it does not end itself."""
        if until is not None and until != "stable" and not (isinstance(until, float | int) and 0.0 < until < 1.0):
            raise ParameterError(
                "until must be 'stable', or a fraction of the largest weight between 0 and 1, such as 0.02: got "
                f"{shown(until)}"
            )
        if seconds is not None and not seconds > 0.0:
            raise ParameterError(f"seconds must be a number above 0: got {shown(seconds)}")
        otherwise = DEFAULT_SAMPLES if until is None and seconds is None else MOST_SAMPLES
        limit = otherwise if n_samples is None else whole_number("n_samples", n_samples, 2)
        slow = view is not None and not facts_of(view).cheap
        ends_itself = slow and n_samples is None and until is None and seconds is None
        return cls(limit, until, seconds, ends_itself, thrifty=slow and until == "stable")

    @property
    def is_open(self) -> bool:
        """Whether anything but the number of samples may end the run."""
        return self.until is not None or self.seconds is not None or self.ends_itself

    def totals(self, step: int) -> list[int]:
        """Totals at which a run may end: multiples of a step that doubles whenever a total has, and the limit.

        At least 16 steps make up a total before the step doubles.
        """
        totals, n = [], step
        while n < self.limit:
            totals.append(n)
            n += step * 2 ** max(0, (n // (16 * step)).bit_length() - 1)
        return [*totals, self.limit]

    def checks(self, first: int, step: int) -> set[int]:
        """Totals of the interim checks: about doubled from one to the next, or times √2; and the limit."""
        totals, checks, n = self.totals(step), {self.limit}, float(first)
        while n < self.limit:
            checks.add(totals[bisect.bisect_left(totals, n)])
            n *= math.sqrt(2.0) if self.ends_itself else 2.0
        return checks


@dataclass(frozen=True)
class Run:
    """Why a run ended, after how many samples, and what was stable of each output at the last check."""

    stopped: Stopped
    n: int
    budget: Budget
    per_output: tuple[Settled, ...] = ()

    @property
    def was_cut(self) -> bool:
        """Whether anything but the number of samples may have ended the run."""
        return self.budget.is_open or self.stopped in ("interrupted", "drawing")

    def diagnostics(self, i: int) -> dict[str, Any]:
        """Diagnostics of output i; nothing where the number of samples alone ended the run."""
        if not self.was_cut:
            return {}
        state, found = self._state(i)
        words = {} if found is None else {"settled": list(found.words)}
        return {"stopped": state, "until": self.budget.until, "seconds": self.budget.seconds, **words}

    def _state(self, i: int) -> tuple[str, Settled | None]:
        found = self.per_output[i] if self.per_output else None
        if found is None or found.state == "open":
            return self.stopped, None if self.stopped == "settled" else found  # precise, though not stable
        return found.state, found

    def notices(self, i: int) -> tuple[str, ...]:
        """Why the run ended, in words."""
        (state, found), drawn, until = self._state(i), f"{self.n:,} samples", self.budget.until
        if state == "drawing":
            return (f"{drawn} so far",)
        if state == "interrupted":
            return (f"interrupted after {drawn} of {self.budget.limit:,}",)
        if not self.budget.is_open:
            return ()
        if state == "settled" and found is not None:
            return (f"stable after {drawn}: the {found.of} strongest and their signs, at 95 %",)
        if state == "settled":
            if until is None:
                return (f"precise after {drawn}: no standard error is above {100 * PRECISE:g} % of the largest weight",)
            return (f"stable after {drawn}: no standard error is above {until:g} of the largest weight",)
        if state == "tied" and found is not None:
            rest = f"{len(found.words)} of the {found.of} strongest are stable, the rest as good as equal to others"
            return (f"tied after {drawn}: {rest} (less than {found.apart} % of the largest weight apart)",)
        if state == "complete":
            return ("every combination of features was asked: nothing is left to chance",)
        if state == "time" and until is None:
            return (f"stopped after {self.budget.seconds:g} seconds, with {drawn}",)
        if state == "samples" and found is not None:
            return (f"{drawn}, the most by default: {len(found.words)} of the {found.of} strongest are stable",)
        return ()

    def warnings(self, i: int) -> tuple[str, ...]:
        """Warnings that say what was requested and not reached."""
        state, found = self._state(i)
        if self.budget.until is None or state not in ("limit", "time", "interrupted"):
            return ()
        by = {"limit": "at the limit of", "time": "by the clock after", "interrupted": "by an interrupt after"}[state]
        if found is not None:
            reached = f"{len(found.words)} of the {found.of} strongest are stable"
        elif self.budget.until == "stable":
            reached = "nothing is stable"
        else:
            reached = f"a standard error is above {self.budget.until:g} of the largest weight"
        more = "give it more samples or time" if state == "limit" else "give it more time"
        return (f"stopped {by} {self.n:,} samples, when {reached}: {more}",)


def sampled_weights(
    questions: Sequence[Question[Any]],
    game: OutputGame,
    sampler: Sampler,
    budget: Budget,
    described: Callable[[Estimate, Run, int], Weights],
    *,
    usable: int,
    first_check: int,
    least_step: int = 0,
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
        # A run that ends itself is checked at the same totals on every device.
        step=max(min(game.step, STEP) if budget.ends_itself else game.step, least_step),
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


def in_turn(groups: Iterable[Group], weights_of: Callable[[Group], list[Weights]]) -> list[Weights]:
    """Weights of one group of questions after the other; an interrupt leaves those that are there."""
    weights: list[Weights] = []
    for group in groups:
        try:
            weights += weights_of(group)
        except Cut as cut:
            raise Cut([*weights, *cut.weights]) from None
        except KeyboardInterrupt:
            if not weights:
                raise
            raise Cut(weights) from None
    return weights


def draw(
    sampler: Sampler,
    budget: Budget,
    *,
    step: int,
    usable: int,
    first_check: int,
    progress: Progress,
    memory: float = 0.0,
    watch: Callable[[Run], None] | None = None,
) -> Run:
    """Draw samples until the budget ends the run.

    Neither the clock nor an interrupt can end it before there are `usable` samples; an interrupt is then an interrupt
    and no more. `memory`: bytes that all samples take. `watch` is called at each interim check that does not end it.
    """
    started, checked = time.monotonic(), budget.until is not None or budget.ends_itself or watch is not None
    checks = budget.checks(max(first_check, STEP if budget.ends_itself else _FIRST_CHECK), step) if checked else set()
    per_output: tuple[Settled, ...] = ()
    stopped: Stopped = "limit" if budget.is_open and not budget.ends_itself else "samples"
    longest, level, seen = 0.0, LEVEL / (len(checks) + 1), 0
    # Where all coalitions are asked anyway, or are hardly more than a step, there is one step.
    at_once = sampler.coalitions <= (min(4 * step, budget.limit) if budget.is_open else budget.limit)
    try:
        for n in [budget.limit] if at_once else budget.totals(step):
            begun = time.monotonic()
            sampler.extend(n)
            longest = max(longest, time.monotonic() - begun)
            if sampler.is_complete:
                sampler.extend(min(budget.limit, max(n, DEFAULT_SAMPLES)) if budget.is_open else budget.limit)
                stopped = "complete"
                break
            if n == step:
                _announce(progress, budget, longest, n, memory)
            if n in checks:
                (per_output, is_stable), seen = _checked(sampler, budget, level), sampler.n
                if per_output:
                    least = min(len(own.words) for own in per_output)
                    progress.advance(0, f"{least} of {per_output[0].of} stable")
                else:
                    progress.advance(0, "")
                if is_stable:
                    stopped = "settled"
                    break
                if watch is not None and n < budget.limit:
                    watch(Run("drawing", sampler.n, budget, per_output))
            goes_on = budget.seconds is None or n == budget.limit or n < usable
            if not goes_on and time.monotonic() - started + longest > (budget.seconds or 0.0):
                stopped = "time"
                break
    except KeyboardInterrupt:
        if sampler.n < usable:
            raise
        stopped = "interrupted"
    if stopped in ("time", "interrupted") and seen < sampler.n >= first_check:
        per_output, is_stable = _checked(sampler, budget, level)
        stopped = "settled" if is_stable and stopped == "time" else stopped
    return Run(stopped, sampler.n, budget, per_output)


def _checked(sampler: Sampler, budget: Budget, level: float) -> tuple[tuple[Settled, ...], bool]:
    """Interim check: what is stable of each output, and whether all is, or is precise where a run ends itself."""
    if budget.until is None and not budget.ends_itself:
        return (), False
    estimate, part = sampler.estimate(), PRECISE if budget.ends_itself else budget.until
    precise = np.zeros(estimate.values.shape[1], dtype=bool)
    if isinstance(part, float | int):
        largest = np.abs(estimate.values).max(axis=0, initial=0.0)
        precise = estimate.stderr.max(axis=0, initial=0.0) <= part * largest
        if budget.ends_itself:
            precise &= largest > 0.0  # samples that are all alike say nothing of a rare one
        if precise.all() or not budget.ends_itself:
            return (), bool(precise.all())
    times = None
    if budget.thrifty and 2 * sampler.n > DEFAULT_SAMPLES:  # the next check is beyond the default: is it worth it?
        times = 1.0 if sampler.n <= DEFAULT_SAMPLES else _WORTH
    found = tuple(
        settled(estimate.values[:, i], estimate.covariance(i), level, times=times) for i in range(len(precise))
    )
    return found, all(own.state != "open" or is_precise for own, is_precise in zip(found, precise, strict=True))


def _announce(progress: Progress, budget: Budget, seconds: float, n: int, memory: float) -> None:
    """Say what a long run will take, once the first step has shown it."""
    expected = seconds * budget.limit / max(n, 1)
    if expected < _LONG:
        return
    most = "up to " if budget.is_open else ""
    length = min(expected, budget.seconds or math.inf)
    took = f"{length:,.0f} seconds" if length < 120 else f"{length / 60:,.0f} minutes"
    progress.say(f"{most}{budget.limit:,} inputs for the model, {most}about {took}, {memory / 2**20:,.0f} MiB")
