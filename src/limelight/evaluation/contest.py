"""Methods and chance in one contest: which differ, which are equal in practice, all of it right together.

Chance takes part as a method that gains nothing on any text. So "better than chance" and "better than another method"
are claims of one family (`limelight.statistics.closed_range`), which holds at most one false claim in 5 % of
evaluations as long as a text's difference is as likely to be turned round. "Equal in practice" is a claim of its own,
by two one-sided tests (`limelight.evaluation.inference`); all such claims are corrected together by Holm's method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import ParameterError
from limelight.evaluation.inference import LEAST, Comparison, Decision, Verdict, compared, verdict_of_difference
from limelight.statistics.closed_range import adjusted_pairs, factor
from limelight.statistics.sign_flips import FLIPS

ALPHA = 0.05
CHANCE = ""
"""The name under which chance takes part."""
_FLIPS_PER_CLAIM = 50
"""So that a share of one flip stays below 5 % after the correction of all claims of equality."""
_TURNED: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True)
class Compared:
    """Two methods on the texts that all methods explain. The decision's p-values are adjusted for all claims.

    `comparison` is of the first less the second, and not adjusted.
    """

    first: str
    second: str
    comparison: Comparison
    decision: Decision

    @property
    def told_apart(self) -> bool:
        return self.decision.verdict in _TURNED

    @property
    def turned(self) -> Compared:
        """The same pair, named the other way round."""
        own, verdict = self.comparison.interval, self.decision.verdict
        return Compared(
            self.second,
            self.first,
            replace(self.comparison, interval=replace(own, value=-own.value, low=-own.high, high=-own.low)),
            replace(self.decision, verdict=_TURNED.get(verdict, verdict)),
        )


@dataclass(frozen=True)
class Contest:
    """All pairs of each table's methods and each method beside chance, on so many texts.

    `least`: the fewest texts with which any two of these methods could be told apart.
    """

    found: Mapping[tuple[str, str], Compared]
    texts: int
    least: int = LEAST

    @property
    def methods(self) -> list[str]:
        return [first for first, second in self.found if second == CHANCE]

    def pair(self, first: str, second: str) -> Compared:
        return self.found[first, second] if (first, second) in self.found else self.found[second, first].turned


def contest(tables: Sequence[Mapping[str, Floats]], room: Floats) -> Contest:
    """Compare methods, given by what each gains (texts,) on the same texts; `room` (texts,) is what can be gained.

    Methods of different tables are not compared.
    """
    with_chance = [{**gains, CHANCE: np.zeros(len(room))} for gains in tables]
    pairs = [(gains, pair) for gains in with_chance for pair in combinations(gains, 2)]
    total = sum(map(len, with_chance))
    flips = max(FLIPS, _FLIPS_PER_CLAIM * len(pairs))
    differences = np.stack([gains[first] - gains[second] for gains, (first, second) in pairs], axis=1)
    seen = compared(differences, room, flips=flips)
    equal = holm([one.p_equal for one in seen])
    adjusted = adjusted_pairs([np.stack(list(gains.values()), axis=1) for gains in with_chance])
    p_values = np.concatenate([own[np.triu_indices(len(own), k=1)] for own in adjusted])
    least = least_texts([len(gains) for gains in tables])
    found = {}
    for (_, pair), one, p, p_equal in zip(pairs, seen, p_values, equal, strict=True):
        own = replace(one, p=float(p), p_equal=float(p_equal))
        found[pair] = Compared(*pair, one, verdict_of_difference(own, ALPHA, factor(2, total), len(pairs), least))
    return Contest(found, len(room), least)


def least_texts(tables: Sequence[int]) -> int:
    """The smallest number of texts with which anything can be claimed of any pair of so many methods per table."""
    total, texts = sum(tables) + len(tables), LEAST
    while 2.0 ** (1 - texts) * factor(2, total) > ALPHA:
        texts += 1
    return texts


def holm(p: Sequence[float] | Floats) -> Floats:
    """P-values adjusted so that all claims below a level are right together with the chance 1 - level (Holm 1979).

    The smallest is multiplied by the number of claims m, the next by m - 1, and so on; none falls below the one before.
    A NaN is no claim, and stays.
    """
    given = np.asarray(p, dtype=np.float64)
    if given.ndim != 1:
        raise ParameterError(f"p-values must be a list of numbers: got an array of shape {given.shape}")
    claims = np.flatnonzero(~np.isnan(given))
    if ((given[claims] < 0.0) | (given[claims] > 1.0)).any():
        raise ParameterError(f"p-values lie between 0 and 1: got {given.tolist()}")
    order = claims[np.argsort(given[claims], kind="stable")]
    adjusted = given.copy()
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1)))
    return adjusted
