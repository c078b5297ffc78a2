"""How long a sampler goes on: for a number of samples, for some seconds, or until its answer is settled.

Samples are asked for in steps of fixed length, whatever ends the run, so that the same total gives the same bytes: a
run that was ended by the clock or by Ctrl-C is repeated by `n_samples` alone. Whether the answer is settled is looked
at when the number of samples has doubled, and where the clock or Ctrl-C ends the run, which know nothing of the answer;
the chance of a wrong claim, 5 %, is divided among all looks there may be.
"""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from limelight.core.arrays import whole_number
from limelight.core.progress import Progress
from limelight.errors import ParameterError, shown
from limelight.explainers.method import Cut, Question, Weights
from limelight.explainers.sampling.estimate import Estimate, Sampler
from limelight.statistics.stability import Settled, settled

DEFAULT_SAMPLES = 5000
MOST_SAMPLES = 100_000
"""Where a run ends that nothing else has ended, unless n_samples says so."""
LEVEL = 0.05
_FIRST_LOOK = 512
_LONG = 30.0
"""Seconds that are announced."""

Group = TypeVar("Group")
Until = Literal["stable"] | float | None
Stopped = Literal["samples", "complete", "settled", "tied", "limit", "time", "interrupted", "drawing"]
"""What ended a run; one that goes on is drawing."""


@dataclass(frozen=True)
class Plan:
    """What ends a run: `limit` samples; before, what `until` names, or `seconds`."""

    limit: int
    until: Until = None
    seconds: float | None = None

    @classmethod
    def of(cls, n_samples: int | None, until: Until, seconds: float | None) -> Plan:
        """From a method's options, checked."""
        if until is not None and until != "stable" and not (isinstance(until, float | int) and 0.0 < until < 1.0):
            raise ParameterError(
                "until must be 'stable', or a part of the largest weight between 0 and 1, such as 0.02: got "
                f"{shown(until)}"
            )
        if seconds is not None and not seconds > 0.0:
            raise ParameterError(f"seconds must be a number above 0: got {shown(seconds)}")
        otherwise = DEFAULT_SAMPLES if until is None and seconds is None else MOST_SAMPLES
        return cls(otherwise if n_samples is None else whole_number("n_samples", n_samples, 2), until, seconds)

    @property
    def is_open(self) -> bool:
        """Whether anything but the number of samples may end it."""
        return self.until is not None or self.seconds is not None


@dataclass(frozen=True)
class Run:
    """Why a run ended, after how many samples, and what was settled of each output at the last look."""

    stopped: Stopped
    n: int
    plan: Plan
    per_output: tuple[Settled, ...] = ()

    def diagnostics(self, i: int) -> dict[str, Any]:
        """What is to be stored of output i; nothing of a run that went as it was told to."""
        if not self.was_cut:
            return {}
        found = self._found(i)
        return {
            "stopped": self._state(i),
            "until": self.plan.until,
            "seconds": self.plan.seconds,
            **({} if found is None else {"settled": list(found.words)}),
        }

    def _found(self, i: int) -> Settled | None:
        return self.per_output[i] if self.per_output else None

    def _state(self, i: int) -> str:
        found = self._found(i)
        return self.stopped if found is None or found.state == "open" else found.state

    def notices(self, i: int) -> tuple[str, ...]:
        """Why it ended, in words."""
        state, drawn, found = self._state(i), f"{self.n:,} samples", self._found(i)
        if state == "drawing":
            return (f"{drawn} so far",)
        if state == "interrupted":
            return (f"interrupted after {drawn} of {self.plan.limit:,}",)
        if not self.plan.is_open:
            return ()
        if state == "settled" and found is not None:
            return (f"settled after {drawn}: the {found.of} strongest and their signs, at 95 %",)
        if state == "settled":
            return (f"settled after {drawn}: no standard error is above {self.plan.until:g} of the largest weight",)
        if state == "tied" and found is not None:
            rest = f"{len(found.words)} of the {found.of} strongest are settled, the rest as good as equal to others"
            return (f"tied after {drawn}: {rest} (less than 5 % of the largest weight apart)",)
        if state == "complete":
            return ("every combination of features was asked: nothing is left to chance",)
        if self.plan.until is None:
            return (f"stopped after {self.plan.seconds:g} seconds, with {drawn}",) if state == "time" else ()
        return ()

    def warnings(self, i: int) -> tuple[str, ...]:
        """What was asked for and not reached."""
        state, found = self._state(i), self._found(i)
        if self.plan.until is None or state not in ("limit", "time", "interrupted"):
            return ()
        by = {"limit": "at the limit of", "time": "by the clock after", "interrupted": "by an interrupt after"}[state]
        if found is not None:
            reached = f"{len(found.words)} of the {found.of} strongest are"
        elif self.plan.until == "stable":
            reached = "nothing is"
        else:
            reached = "the standard errors are not"
        more = "give it more samples or time" if state == "limit" else "give it more time"
        return (f"stopped {by} {self.n:,} samples, when {reached} settled: {more}",)

    @property
    def was_cut(self) -> bool:
        """Whether anything but the number of samples may have ended it."""
        return self.plan.is_open or self.stopped in ("interrupted", "drawing")

    def handed_over(self, weights: list[Weights]) -> list[Weights]:
        """The weights of this run, or what an interrupt left of them."""
        if self.stopped == "interrupted":
            raise Cut(weights)
        return weights


def in_turn(groups: Iterable[Group], answered: Callable[[Group], list[Weights]]) -> list[Weights]:
    """The weights of one group of questions after the other; an interrupt leaves those that are there."""
    weights: list[Weights] = []
    for group in groups:
        try:
            weights += answered(group)
        except Cut as cut:
            raise Cut([*weights, *cut.weights]) from None
        except KeyboardInterrupt:
            if not weights:
                raise
            raise Cut(weights) from None
    return weights


def draw_on(
    sampler: Sampler,
    plan: Plan,
    *,
    step: int,
    usable: int,
    first_look: int,
    progress: Progress,
    memory: float = 0.0,
    watch: Callable[[Run], None] | None = None,
) -> Run:
    """Samples until the plan is met.

    Neither the clock nor an interrupt can end it before there are `usable` samples; an interrupt is then an interrupt
    and no more. `memory`: bytes that all samples take. `watch` is told at each look that does not end the run.
    """
    started = time.monotonic()
    looks = _looks(plan, max(first_look, _FIRST_LOOK), step) if plan.until is not None or watch is not None else set()
    per_output: tuple[Settled, ...] = ()
    stopped: Stopped = "limit" if plan.is_open else "samples"
    longest, level, seen = 0.0, LEVEL / (len(looks) + 1), 0
    try:
        for n in _steps(sampler, plan, step):
            begun = time.monotonic()
            sampler.extend(n)
            longest = max(longest, time.monotonic() - begun)
            if sampler.is_complete:
                sampler.extend(min(plan.limit, max(n, DEFAULT_SAMPLES)) if plan.is_open else plan.limit)
                stopped = "complete"
                break
            if n == step:
                _announce(progress, plan, longest, n, memory)
            if n in looks:
                (per_output, is_done), seen = _look(sampler, plan.until, level), sampler.n
                progress.advance(0, _told(per_output))
                if is_done:
                    stopped = "settled"
                    break
                if watch is not None and n < plan.limit:
                    watch(Run("drawing", sampler.n, plan, per_output))
            goes_on = plan.seconds is None or n == plan.limit or n < usable
            if not goes_on and time.monotonic() - started + longest > (plan.seconds or 0.0):
                stopped = "time"
                break
    except KeyboardInterrupt:
        if sampler.n < usable:
            raise
        stopped = "interrupted"
    if stopped in ("time", "interrupted") and seen < sampler.n >= first_look:
        per_output, is_done = _look(sampler, plan.until, level)
        stopped = "settled" if is_done and stopped == "time" else stopped
    return Run(stopped, sampler.n, plan, per_output)


def watching(
    questions: Sequence[Question[Any]], answers: Callable[[Run], list[Weights]]
) -> Callable[[Run], None] | None:
    """What tells the asker of a single question how far its answer is; None where nobody watches."""
    tell = questions[0].watch if len(questions) == 1 else None
    return None if tell is None else lambda done: tell(answers(done)[0])


def _steps(sampler: Sampler, plan: Plan, step: int) -> list[int]:
    """Totals at which a run may end. Where all coalitions are asked anyway, or are hardly more than a step, one."""
    if sampler.coalitions <= (min(4 * step, plan.limit) if plan.is_open else plan.limit):
        return [plan.limit]
    return _totals(plan.limit, step)


def _totals(limit: int, step: int) -> list[int]:
    """Multiples of a step that doubles whenever a total has: at least 16 of them make it up. The limit ends them."""
    totals, n = [], step
    while n < limit:
        totals.append(n)
        n += step * 2 ** max(0, (n // (16 * step)).bit_length() - 1)
    return [*totals, limit]


def _looks(plan: Plan, first: int, step: int) -> set[int]:
    """Totals at which it is seen whether the answer is settled: about doubled from one to the next, and the limit."""
    totals, looks, n = _totals(plan.limit, step), {plan.limit}, first
    while n < plan.limit:
        looks.add(totals[bisect.bisect_left(totals, n)])
        n *= 2
    return looks


def _look(sampler: Sampler, until: Until, level: float) -> tuple[tuple[Settled, ...], bool]:
    """What is settled of each output, and whether all is."""
    if until is None:
        return (), False
    estimate = sampler.estimate()
    outputs = range(estimate.values.shape[1])
    if until != "stable":
        assert isinstance(until, float | int)
        return (), all(_is_precise(estimate, i, float(until)) for i in outputs)
    found = tuple(settled(estimate.values[:, i], estimate.covariance(i), level) for i in outputs)
    return found, all(own.state != "open" for own in found)


def _is_precise(estimate: Estimate, i: int, part: float) -> bool:
    return bool(estimate.stderr[:, i].max(initial=0.0) <= part * np.abs(estimate.values[:, i]).max(initial=0.0))


def _told(found: Sequence[Settled]) -> str:
    """What is settled so far, for a bar."""
    return f"{min(len(own.words) for own in found)} of {found[0].of} settled" if found else ""


def _announce(progress: Progress, plan: Plan, seconds: float, n: int, memory: float) -> None:
    """What a long run will take, once the first step has shown it."""
    expected = seconds * plan.limit / max(n, 1)
    if expected < _LONG:
        return
    most = "up to " if plan.is_open else ""
    length = min(expected, plan.seconds or math.inf)
    took = f"{length:,.0f} seconds" if length < 120 else f"{length / 60:,.0f} minutes"
    progress.say(f"{most}{plan.limit:,} inputs for the model, {most}about {took}, {memory / 2**20:,.0f} MiB")
