"""Inference from a sample of documents: intervals of a score, differences, and what cannot be decided yet.

A score is a ratio of means over documents, Σ numerators / Σ denominators (a plain mean has denominators of 1). Its
interval and p-values come from flipped signs of documents (`limelight.statistics.sign_flips`): an interval holds the
values that the flips do not reject, so the two never disagree. Fewer than six documents give neither.

"Equal" is a claim of its own, by two one-sided tests: the difference is smaller than a margin. What is neither
different nor equal is undecided, and `texts_needed` says about how many documents would decide it.

Many claims at once are made by a contest. Chance takes part in it as a method that gains nothing on any text. So
"better than chance" and "better than another method" are claims of one family (`limelight.statistics.closed_range`),
which holds at most one false claim in 5 % of evaluations as long as a text's difference is as likely to be turned
round. All claims of equality are corrected together by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Literal

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import ParameterError
from limelight.statistics.closed_range import adjusted_pairs, factor
from limelight.statistics.sign_flips import FLIPS, ends, flipped_sums

MARGIN = 0.05
"""A difference of scores below this is none in practice."""
POWER = 0.8
"""The chance with which `texts_needed` documents decide, if the truth is what was seen."""
TIE = 1e-9
"""Rounding, as a fraction of all that documents say."""
METHOD = "flipped signs of documents"
LEAST = 6
"""Documents below which nothing is claimed: five that all say the same do so by chance in 6 % of cases."""
NO_INTERVAL = "none: too few documents"
_NORMAL = NormalDist()

Verdict = Literal["better", "worse", "equal", "undecided"]


@dataclass(frozen=True)
class Interval:
    """A value with an interval that covers the truth with the chance `level`. NaN ends: nothing can be said."""

    value: float
    low: float
    high: float
    level: float
    method: str
    documents: int

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Comparison:
    """A score less another one, or less a constant, and what the documents say of it.

    `p` is two-sided, for no difference; `p_equal` is for a difference of the margin or more.
    """

    interval: Interval
    p: float
    p_equal: float
    standard_error: float
    margin: float

    @property
    def value(self) -> float:
        return self.interval.value


@dataclass(frozen=True)
class Decision:
    """The claim about a comparison. `told_apart`: the sign of the difference is known, also where it is so small
    that both are equal in practice. `texts_needed`: about how many documents would decide, where it is undecided."""

    verdict: Verdict
    told_apart: bool
    p: float
    p_equal: float
    texts_needed: int | None


# ── intervals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def ratio_of_means(
    numerators: Floats, denominators: Floats, level: float = 0.95, seed: int = 0, flips: int = FLIPS
) -> Interval:
    """Σ numerators / Σ denominators over documents; those without both numbers (NaN) are left out."""
    return against(numerators, denominators, level=level, seed=seed, flips=flips).interval


def against(
    numerators: Floats,
    denominators: Floats,
    constant: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
    margin: float = MARGIN,
    flips: int = FLIPS,
) -> Comparison:
    """A ratio of means less a constant: 0 is chance for a score that is normalised so."""
    if not math.isfinite(constant):
        raise ParameterError(f"the constant that a score is compared with must be finite: got {constant!r}")
    if not (math.isfinite(margin) and margin > 0.0):
        raise ParameterError(f"the margin of equivalence must be above 0: got {margin!r}")
    if not 0.0 < level < 1.0:
        raise ParameterError(f"the level of an interval lies between 0 and 1: got {level!r}")
    own, room = _documents(numerators, denominators)
    if not len(own):
        nothing = Interval(math.nan, math.nan, math.nan, level, NO_INTERVAL, 0)
        return Comparison(nothing, math.nan, math.nan, math.nan, margin)
    return compared((own - constant * room)[:, None], room, level, seed, margin, flips)[0]


def compared(
    differences: Floats, room: Floats, level: float = 0.95, seed: int = 0, margin: float = MARGIN, flips: int = FLIPS
) -> list[Comparison]:
    """Many differences of numerators (documents, m) with the same denominators (documents,), each by itself."""
    documents = len(differences)
    low, high = ends(differences, np.broadcast_to(room[:, None], differences.shape), level, seed, flips)
    values, errors = differences.sum(axis=0) / room.sum(), _errors(differences, room)
    sums = flipped_sums(np.concatenate([differences, room[:, None]], axis=1), seed, flips)
    beyond = margin * sums[:, -1]
    found = []
    for j in range(differences.shape[1]):
        own = np.ascontiguousarray(sums[:, j])
        tie = TIE * float(np.abs(differences[:, j]).sum() + margin * room.sum())
        interval = Interval(
            value=float(values[j]),
            low=float(low[j]),
            high=float(high[j]),
            level=level,
            method=NO_INTERVAL if math.isnan(low[j]) else METHOD,
            documents=documents,
        )
        p_equal = max(_share_reaching(beyond - own, tie), _share_reaching(beyond + own, tie))
        found.append(Comparison(interval, _share_reaching(np.abs(own), tie), p_equal, float(errors[j]), margin))
    return found


def _share_reaching(flipped: Floats, tie: float) -> float:
    """The share of flips that reach what was seen, the first of them."""
    return float((flipped >= flipped[0] - tie).mean())


def _errors(differences: Floats, room: Floats) -> Floats:
    """Standard errors to first order, from what each document adds; 0 where all say the same, NaN for one document."""
    n = len(room)
    if n < 2:
        return np.full(differences.shape[1], np.nan)
    rest = differences - differences.sum(axis=0) / room.sum() * room[:, None]
    errors = np.sqrt((rest**2).sum(axis=0) * n / (n - 1)) / room.sum()
    nothing = TIE * np.abs(differences).max(axis=0) * n / room.sum()
    return np.where(errors > nothing, errors, 0.0)


def _documents(numerators: Floats, denominators: Floats) -> tuple[Floats, Floats]:
    """The documents that have both numbers."""
    own, room = (np.asarray(one, dtype=np.float64) for one in (numerators, denominators))
    if wrong := [one.shape for one in (own, room) if one.ndim != 1]:
        raise ParameterError(f"values must be one number per document: got an array of shape {wrong[0]}")
    if len(own) != len(room):
        raise ParameterError(
            f"numerators and denominators must be of the same documents: got {len(own)} and {len(room)} of them"
        )
    if np.isinf([own, room]).any():
        raise ParameterError("a value of a document is infinite: leave the document out, or say NaN")
    known = ~(np.isnan(own) | np.isnan(room))
    own, room = own[known], room[known]
    if not (room > 0.0).all():
        raise ParameterError(f"the denominators of a ratio of means must be above 0: got {room.min():g}")
    return own, room


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def verdict_of_difference(
    comparison: Comparison, alpha: float = 0.05, pays: float = 1.0, pays_equal: float = 1.0, least: int = LEAST
) -> Decision:
    """The claim of one comparison. Its p-values count as they are.

    `pays`, `pays_equal`: by how much p-values were multiplied because there are other claims, and `least`: the fewest
    texts with which anything can be told apart. They only make `texts_needed` larger.
    """
    if not 0.0 < alpha < 0.5:
        raise ParameterError(f"alpha must lie between 0 and 0.5: got {alpha!r}")
    enough = comparison.interval.documents >= LEAST
    told_apart = enough and comparison.p <= alpha
    verdict: Verdict = "undecided"
    if enough and comparison.p_equal <= alpha:
        verdict = "equal"
    elif told_apart:
        verdict = "better" if comparison.value > 0.0 else "worse"
    is_open = verdict == "undecided"
    needed = texts_needed(comparison, alpha / pays, alpha / pays_equal, least) if is_open else None
    return Decision(verdict, told_apart, comparison.p, comparison.p_equal, needed)


def texts_needed(
    comparison: Comparison, alpha: float = 0.05, alpha_equal: float | None = None, least: int = LEAST
) -> int | None:
    """Number of documents, about, that decide with the chance POWER if the difference is the one that was seen.

    The standard error falls as 1/sqrt(N). Either the difference is told from 0, or it is shown to be below the margin:
    what needs fewer documents counts. None where the documents have no spread to judge by.
    """
    documents, error, size = comparison.interval.documents, comparison.standard_error, abs(comparison.value)
    if not (math.isfinite(error) and math.isfinite(size) and error > 0.0):
        return None
    room = comparison.margin - size
    factors = []
    if size > 0.0:
        factors.append((_NORMAL.inv_cdf(1.0 - alpha / 2.0) + _NORMAL.inv_cdf(POWER)) * error / size)
    if room > 0.0:
        # Both one-sided tests must succeed: near a difference of 0 each may fail half as often.
        either = (1.0 - POWER) / 2.0 if size < error else 1.0 - POWER
        one_sided = alpha if alpha_equal is None else alpha_equal
        factors.append((_NORMAL.inv_cdf(1.0 - one_sided) + _NORMAL.inv_cdf(1.0 - either)) * error / room)
    return max(documents + 1, least, math.ceil(documents * min(factors) ** 2))


# ── many claims at once ───────────────────────────────────────────────────────────────────────────────────────────────


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
