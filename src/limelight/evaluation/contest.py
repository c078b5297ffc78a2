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
from limelight.evaluation.inference import LEAST, MARGIN, Comparison, Decision, compared, verdict_of_difference
from limelight.statistics.closed_range import adjusted_pairs, factor
from limelight.statistics.sign_flips import FLIPS

ALPHA = 0.05
_FLIPS_PER_CLAIM = 50
"""So that a share of one flip stays below 5 % after the correction of all claims of equality."""
Judged = tuple[Comparison, Decision]
"""How two methods compare on their own texts, and what may be claimed beside all other claims."""


@dataclass(frozen=True)
class Contest:
    """One table's methods by number: each pair (a, b), a before b, and each method against chance."""

    pairs: Mapping[tuple[int, int], Judged]
    chance: Sequence[Judged]


def contest(
    tables: Sequence[Floats], room: Floats, margin: float = MARGIN, seed: int = 0, alpha: float = ALPHA
) -> list[Contest]:
    """Each table (texts, K) of what methods gain, on the same texts, of which `room` (texts,) says what can be gained.

    Methods of different tables are not compared.
    """
    with_chance = [np.concatenate([values, np.zeros((len(values), 1))], axis=1) for values in tables]
    pairs = [list(combinations(range(values.shape[1]), 2)) for values in with_chance]
    claims, total = sum(map(len, pairs)), sum(values.shape[1] for values in with_chance)
    flips = max(FLIPS, _FLIPS_PER_CLAIM * claims)
    differences = [values[:, a] - values[:, b] for values, own in zip(with_chance, pairs, strict=True) for a, b in own]
    seen = compared(np.stack(differences, axis=1), room, seed=seed, margin=margin, flips=flips)
    equal = holm([one.p_equal for one in seen])
    least = least_texts([values.shape[1] for values in tables], alpha)
    found, start = [], 0
    for p, own in zip(adjusted_pairs(with_chance, seed), pairs, strict=True):
        judged = {}
        for place, (a, b) in enumerate(own, start):
            adjusted = replace(seen[place], p=float(p[a, b]), p_equal=float(equal[place]))
            judged[a, b] = (seen[place], verdict_of_difference(adjusted, alpha, factor(2, total), claims, least))
        start += len(own)
        chance = len(p) - 1
        found.append(
            Contest(
                {ab: one for ab, one in judged.items() if ab[1] != chance},
                [judged[a, chance] for a in range(chance)],
            )
        )
    return found


def least_texts(tables: Sequence[int], alpha: float = ALPHA) -> int:
    """The smallest number of texts with which anything can be claimed of any pair of so many methods per table."""
    total, texts = sum(tables) + len(tables), LEAST
    while 2.0 ** (1 - texts) * factor(2, total) > alpha:
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
