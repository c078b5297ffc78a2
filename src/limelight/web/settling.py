"""Sampling methods settle in view: what few samples say is shown while more are drawn.

The last explanation of a row is the one that was asked for, number for number: the same call, the same seed. The looks
before it are runs of their own, of a quarter of the samples each: together they cost half as much again at most.
"""

from __future__ import annotations

from collections.abc import Iterator

from limelight.explainers.method import Way
from limelight.explanation import Explanation
from limelight.progress import Progress
from limelight.web.asking import ExplainRequest, Plan

LOOKS = (500, 2_000, 8_000, 32_000)
"""Samples of the looks before the last."""
_COUNT, _UNTIL, _USUAL = "n_samples", "until", 5_000


def settling(plan: Plan, i: int, progress: Progress) -> Iterator[tuple[Explanation, bool]]:
    """Explanations of method i by more and more samples, and whether it is the last; one where nothing is drawn."""
    method = plan.methods[i]
    for fewer in _looks(plan, plan.ways[i]):
        yield plan.asked(i, progress, **{_COUNT: fewer}).explanations(plan.view, [method])[0], False
    yield plan.asked(i, progress).explanations(plan.view, [method])[0], True


def _looks(plan: Plan, way: Way) -> list[int]:
    """Those that are less than half of what is asked for; where it is not known what that is, the first two."""
    request = plan.request
    if not isinstance(request, ExplainRequest) or not request.settle or not way.sampled or _COUNT not in way.options:
        return []
    wanted = plan.options.get(_COUNT)
    if wanted is None:
        wanted = _USUAL
    return [n for n in LOOKS if isinstance(wanted, int) and 2 * n <= wanted]
