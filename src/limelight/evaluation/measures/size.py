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

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.core.threads import one_thread
from limelight.evaluation.case import Case
from limelight.evaluation.measure import Measure, Score, score
from limelight.evaluation.report.numbers import PAIRS_NAMED, interval
from limelight.evaluation.result import Evaluation
from limelight.models.interface import Removal
from limelight.theory.removal_rankings import all_coalitions, sets_removing_first
from limelight.theory.subsets import means_by_word

SLOPE, EXPLAINED = "slope", "variance explained"
WRONG_SIZE = 4 / 3
"""Weights whose sums are off by more than a third on average are named."""


def random_sets(case: Case) -> None:
    if case.signed:
        case.want_random()


def of_methods(case: Case) -> Iterator[Score]:
    if not case.signed or case.d < 2:
        return
    for removal in case.removals:
        kept, chances = _sets(case, removal)
        changes = case.whole[case.output] - case.quantity(case.output).of(case.answers[removal](kept))
        if float(np.ptp(changes)) <= case.rounding(case.output):
            continue
        kept_means = _exact_means(case) if case.has_exact_chance(removal, case.output) else None
        for entry in case.signed:
            if not np.abs(entry.weights).sum() > 0.0:
                continue
            slope, explained = line((~kept).astype(np.float64) @ entry.weights, changes, chances)
            if kept_means is not None:
                slope = exact_slope(entry.weights, *kept_means)
            place = {"method": entry.name, "removal": removal, "output": case.output}
            yield score(SLOPE, slope, **place)
            yield score(EXPLAINED, explained, **place)


def wrong_sizes(evaluation: Evaluation) -> Iterator[str]:
    """Methods whose weights are plainly too small or too large; a description, which a ranking cannot give."""
    summary, off = evaluation.summary, []
    for name in evaluation.methods:
        slope = summary.mean(size.key(SLOPE, name, **summary.place))
        # Weights that have nothing to do with the change have a slope of 0, and no size that could be wrong.
        if slope.low > WRONG_SIZE or 0.0 < slope.low <= slope.high < 1.0 / WRONG_SIZE:
            off.append(f"{interval(slope)} times as far as the weights of {name} add up to")
    if off:
        more = f" and {len(off) - PAIRS_NAMED} more methods" if len(off) > PAIRS_NAMED else ""
        yield (
            f"Removing words moves the output {', '.join(off[:PAIRS_NAMED])}{more}: these weights have the wrong size."
        )


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
    """Sets of kept words (n, d), and the chance of each."""
    if case.is_enumerated(removal):
        kept = all_coalitions(case.d)[:-1]  # the last one removes nothing
        counts = np.bincount(kept.sum(axis=1), minlength=case.d)
        return kept, 1.0 / (counts[kept.sum(axis=1)] * case.d)
    kept = np.concatenate([sets_removing_first(ranking, case.steps[1:]) for ranking in case.random_rankings])
    return kept, np.full(len(kept), 1.0 / len(kept))


def _exact_means(case: Case) -> tuple[float, Floats]:
    """E[f] and E[f; word kept] of a single attention layer, over sets whose size is uniform from 1 to d."""
    with one_thread():
        return means_by_word(case.ratio_game(case.output), 0)


size = Measure(
    "size",
    label="Size of weights",
    summary="Change of the output when random words are removed, against the sum of their weights: slope 1 is right",
    wants=random_sets,
    scores=(of_methods,),
    says=("after pairs", wrong_sizes),
)
