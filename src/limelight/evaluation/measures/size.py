"""Size: whether weights are as large as what removing words does.

Random sets of words are removed, their number uniform from 1 to all, and the change of the output, f(text) - f(text
without the set), is regressed on the sum of the set's weights. The slope is 1 where weights have the right size, 2
where they are half of what they should be, and 0 where they have nothing to do with the change. The variance explained
is the squared correlation: how well a sum of these weights can do if all are multiplied by the best number. An order of
words sees no size at all.

With few words, where all sets were asked about, both are exact. On a single attention layer the slope is exact when
words are masked: the covariance with the sum needs the mean output with and without each word only, which is known for
each number of removed words. Elsewhere the sets are the beginnings of the random orders that chance is taken from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.evaluation.case import Case
from limelight.evaluation.measure import Score, measure
from limelight.evaluation.shared_answers import without_first
from limelight.models.interface import Removal
from limelight.theory.removal_rankings import all_coalitions

SLOPE, EXPLAINED = "slope", "variance explained"

size = measure(
    "size",
    label="Size of weights",
    summary="Change of the output when random words are removed, against the sum of their weights: slope 1 is right",
)


@size.wants
def random_sets(case: Case) -> None:
    if any(judged.signed for judged in case.judged.values()):
        for drawn in case.random_orders:
            case.want_curves(drawn, kept=False)


@size.scores
def of_methods(case: Case) -> Iterator[Score]:
    signed = [judged for judged in case.judged.values() if judged.signed]
    if not signed or case.d < 2:
        return
    for removal in case.removals:
        kept, chances = _sets(case, removal)
        changes = case.whole[case.output] - case.quantity(case.output).of(case.answers[removal](kept))
        if float(np.ptp(changes)) <= case.rounding(case.output):
            continue
        is_exact = case.has_exact_chance(removal, case.output)
        kept_means = _exact_means(case) if is_exact else None
        for judged in signed:
            if not np.abs(judged.weights).sum() > 0.0:
                continue
            sums = (~kept).astype(np.float64) @ judged.weights
            slope, explained = line(sums, changes, chances)
            if kept_means is not None:
                slope = exact_slope(judged.weights, *kept_means)
            place = {"method": judged.name, "removal": removal, "output": case.output}
            yield Score(case.key("size", SLOPE, **place), slope)
            yield Score(case.key("size", EXPLAINED, **place), explained)


def line(sums: Floats, changes: Floats, chances: Floats) -> tuple[float, float]:
    """The slope of changes on sums, drawn with these chances, and their squared correlation; NaN without a spread."""
    x, y = sums - chances @ sums, changes - chances @ changes
    of_sums, of_changes, both = chances @ (x * x), chances @ (y * y), chances @ (x * y)
    if not of_sums > 0.0:
        return np.nan, np.nan
    return float(both / of_sums), float(both**2 / (of_sums * of_changes))


def exact_slope(weights: Floats, mean: float, kept: Floats) -> float:
    """The slope from E[f] and from E[f where a word is kept, 0 where not] of each word; sizes uniform from 1 to d."""
    d, total, squares = len(weights), float(weights.sum()), float((weights**2).sum())
    one = (d + 1) / (2 * d)  # a word is removed
    two = (d + 1) / (3 * d)  # two given words are: the mean of s (s - 1) / (d (d - 1))
    spread = squares * one + (total**2 - squares) * two - (total * one) ** 2
    together = float(weights @ (mean - kept)) - mean * total * one
    return -together / spread if spread > 0.0 else np.nan


def _sets(case: Case, removal: Removal) -> tuple[Coalitions, Floats]:
    """What is kept (n, d), and with which chance."""
    if case.is_enumerated(removal):
        kept = all_coalitions(case.d)[:-1]  # the last one removes nothing
        counts = np.bincount(kept.sum(axis=1), minlength=case.d)
        return kept, 1.0 / (counts[kept.sum(axis=1)] * case.d)
    kept = np.concatenate([without_first(order, case.steps[1:]) for order in case.random_orders])
    return kept, np.full(len(kept), 1.0 / len(kept))


def _exact_means(case: Case) -> tuple[float, Floats]:
    """Of a single attention layer, over sets whose size is uniform from 1 to d: E[f], and E[f; word kept]."""
    return cast(tuple[float, Floats], case.once("means with and without words", lambda: _means(case)))


def _means(case: Case) -> tuple[float, Floats]:
    from limelight.core.threads import one_thread
    from limelight.evaluation.limits import ratio_game
    from limelight.theory.subsets import means_by_word

    with one_thread():
        return means_by_word(ratio_game(case, case.output), 0)
