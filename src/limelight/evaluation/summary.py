"""What the texts of an evaluation say together: scores with intervals, and methods compared.

One measure is primary, named beforehand: comprehensiveness against chance, as a ratio of means over texts, of the
output that is explained, under the removal that methods were made with. Methods with signs are ranked by what speaks
for the target and compared among themselves; those without by size, in a table of their own; and all of them by
absolute value in a third. All claims of the first two tables, about pairs and about chance, are one family
(`limelight.evaluation.inference`), on the texts that all of their methods explain. Everything else is descriptive.

Copies of a text are one text here, of which several things are known: their gains are added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from limelight.core.arrays import Array, Floats, Integers
from limelight.evaluation.case import own_order
from limelight.evaluation.inference import (
    CHANCE,
    METHOD,
    NO_INTERVAL,
    Compared,
    Contest,
    Decision,
    Interval,
    Verdict,
    against,
    contest,
    holm,
    ratio_of_means,
    verdict_of_difference,
)
from limelight.evaluation.limits import HOWS, KNOWN_FROM_BELOW
from limelight.evaluation.measure import (
    ABOVE_CHANCE,
    ABOVE_WORST,
    BEST_ABOVE_CHANCE,
    BEST_ABOVE_WORST,
    BOUND_ABOVE_CHANCE,
    Key,
    measures,
    primary,
)
from limelight.evaluation.result import Evaluation
from limelight.models.interface import Memo
from limelight.statistics.sign_flips import many_means, summed_copies

Table = Literal["signed", "unsigned", "absolute"]
TABLES: tuple[Table, ...] = get_args(Table)
RANKED: tuple[Table, ...] = ("signed", "unsigned")
"""The tables of which claims are made; that of absolute values describes the same methods once more."""
_MOST = 0.5
"""Part of the texts that a method must explain to be compared: else all others would lose theirs."""
_NOTHING = Decision("undecided", False, np.nan, np.nan, None)


@dataclass(frozen=True)
class Standing:
    """One method in one table: 0 is chance, 1 the best possible. `decision` is on being better than chance.

    Undecided in the table of absolute values, of which nothing is claimed.
    """

    method: str
    score: Interval
    decision: Decision
    normalised: float
    """(area - worst) / (best - worst), as a ratio of means."""


@dataclass(frozen=True)
class Sign:
    """The mean part of a method's weight that has the right sign; better or worse than a coin, or undecided."""

    share: float
    verdict: Verdict


class Summary:
    """Computed when it is first asked for."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation, about = evaluation, evaluation.about
        self._memo = Memo()
        self.removal = str(about["removal"])
        """The removal that methods were made with, on which the primary measure rests."""
        self.removals: tuple[str, ...] = tuple(about["removals"])
        self.output = str(about["output"])

    # ── what is asked of it ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def place(self) -> dict[str, str]:
        """The fields of keys that stand for the removal and the output of the explanations."""
        return {"removal": self.removal, "output": self.output}

    def members(self, table: Table) -> list[str]:
        """The methods of a table that have a score."""
        methods = self._evaluation.methods
        wanted = [name for name, own in methods.items() if table == "absolute" or own["signed"] == (table == "signed")]
        return [name for name in wanted if np.isfinite(self._gains(name, table, self.removal)).any()]

    def mean(self, key: Key) -> Interval:
        """The mean over texts of any number."""
        place = self._evaluation.place_of(key)
        mean, low, high = (np.nan,) * 3 if place is None else (column[place] for column in self._means)
        documents = int(np.isfinite(self._evaluation.of(key)).sum())
        method = NO_INTERVAL if np.isnan(low) else METHOD
        return Interval(float(mean), float(low), float(high), 0.95, method, documents)

    def standings(self, table: Table, removal: str | None = None) -> list[Standing]:
        """The methods of a table, the best first."""
        where = self.removal if removal is None else removal

        def ranked() -> list[Standing]:
            found = [self._standing(name, table, where) for name in self.members(table)]
            return sorted(found, key=lambda one: -one.score.value)

        return self._memo.get((table, where), ranked)

    @cached_property
    def comparisons(self) -> list[Compared]:
        """All pairs of the signed table, and all of the unsigned one, the better of a pair first."""
        own = self.contest(self.removal)
        able = set(own.methods)
        ranked = [[one.method for one in self.standings(table) if one.method in able] for table in RANKED]
        return [own.pair(*pair) for names in ranked for pair in combinations(names, 2)]

    @cached_property
    def swapped(self) -> dict[str, list[Compared]]:
        """For each other removal the pairs that are told apart under both, and stand the other way round there."""
        return {
            removal: [there for sign, there in self._under_both(removal) if sign < 0 and there.told_apart]
            for removal in self.removals
            if removal != self.removal
        }

    def kept(self, removal: str) -> tuple[int, int]:
        """How many pairs that are told apart under the primary removal are told so under another, and of how many."""
        both = self._under_both(removal)
        return sum(sign > 0 and there.told_apart for sign, there in both), len(both)

    def _under_both(self, removal: str) -> list[tuple[float, Compared]]:
        """What another removal says of the pairs that are told apart, above 0 where it puts the same method first."""
        able, found = set(self.contest(removal).methods), []
        for pair in self.comparisons:
            if pair.told_apart and {pair.first, pair.second} <= able:
                there = self.contest(removal).pair(pair.first, pair.second)
                found.append((pair.comparison.value * there.comparison.value, there))
        return found

    @property
    def claims(self) -> bool:
        """Whether anything is claimed of pairs or of a method against chance."""
        standings = [one.decision for table in RANKED for one in self.standings(table)]
        return any(one.verdict != "undecided" for one in (*standings, *(pair.decision for pair in self.comparisons)))

    @cached_property
    def signs(self) -> dict[str, Sign]:
        """How much of each method's weight has the right sign: corrected for the number of methods (Holm)."""
        found, coin = {}, 0.0
        for measure in measures():
            if measure.coin is None:
                continue
            coin = measure.coin
            for name in self._evaluation.methods:
                values = self._evaluation.of(measure.key("", name, **self.place))
                known = np.isfinite(values)
                if known.any():
                    sums, counts = self._distinct(known, values, np.ones(len(values)))
                    found[name] = against(sums, counts, coin)
        adjusted = holm([one.p for one in found.values()])
        return {
            name: Sign(one.value + coin, verdict_of_difference(replace(one, p=float(p), p_equal=1.0)).verdict)
            for (name, one), p in zip(found.items(), adjusted, strict=True)
        }

    @property
    def silent(self) -> int:
        """Texts in which no order of the words differs from another, under the primary removal."""
        return int((self._text(BEST_ABOVE_CHANCE, self.removal) <= 0.0).sum())

    @property
    def limits(self) -> dict[str, int]:
        """How the best order is known, under the primary removal: "certified", "enumerated", "searched", "found"."""
        return self._limits(self.removal)

    def _limits(self, removal: str) -> dict[str, int]:
        counts = {how: int(np.isfinite(self._text(how, removal)).sum()) for how in HOWS}
        return {how: count for how, count in counts.items() if count}

    @property
    def is_at_most(self) -> bool:
        """Whether the best possible is known from below only for some texts: scores are at most what they say."""
        return self.is_at_most_under(self.removal)

    def is_at_most_under(self, removal: str) -> bool:
        return not set(KNOWN_FROM_BELOW).isdisjoint(self._limits(removal))

    @property
    def gap(self) -> float:
        """By how much the certified bound exceeds the best order that is known, as a part of what is above chance."""
        bound, best = (self._text(part, self.removal) for part in (BOUND_ABOVE_CHANCE, BEST_ABOVE_CHANCE))
        known = np.isfinite(bound)
        return float(bound[known].sum() / best[known].sum() - 1.0) if known.any() and best[known].sum() > 0 else np.nan

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every mean with its interval, then the scores of the primary measure."""
        counts = np.isfinite(self._evaluation.values).sum(axis=0).tolist()
        for key, texts, value, low, high in zip(self._evaluation.keys, counts, *self._means, strict=True):
            yield {**key._asdict(), "texts": texts, "value": value, "low": low, "high": high}
        for table in TABLES:
            for removal in self.removals:
                for one in self.standings(table, removal):
                    place = {"removal": removal, "output": self.output, "order": _order(table)}
                    key = Key(f"{primary().id} against chance", f"{table} table", one.method, **place)
                    own = one.score
                    yield {
                        **key._asdict(), "texts": own.documents, "value": own.value, "low": own.low, "high": own.high
                    }  # fmt: skip

    def contest(self, removal: str) -> Contest:
        """The methods compared under a removal, on the texts that all of them explain."""
        return self._memo.get(("contest", removal), lambda: self._contest(removal))

    # ── how it is computed ────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _means(self) -> tuple[Floats, Floats, Floats]:
        return many_means(self._evaluation.values, same=self._same)

    def _text(self, part: str, removal: str, method: str = "", order: str = "") -> Floats:
        """What the primary measure says of the texts themselves, or of a method."""
        return self._evaluation.of(primary().key(part, method, removal=removal, output=self.output, order=order))

    def _gains(self, method: str, table: Table, removal: str, part: str = ABOVE_CHANCE) -> Floats:
        return self._text(part, removal, method, _order(table))

    def _room(self, removal: str) -> Floats:
        """How far the best order is above chance; NaN for a text that cannot tell orders apart.

        Such a text, of one word say, would only pretend that more texts agree.
        """
        best = self._text(BEST_ABOVE_CHANCE, removal)
        return np.where(best > 0.0, best, np.nan)

    def _standing(self, method: str, table: Table, removal: str) -> Standing:
        gains, room = self._gains(method, table, removal), self._room(removal)
        known = np.isfinite(gains) & np.isfinite(room)
        if not known.any():  # texts of one word: every order is the best, and chance
            nothing = Interval(np.nan, np.nan, np.nan, 0.95, "none: no order differs from another", 0)
            return Standing(method, nothing, _NOTHING, np.nan)
        counted = self._distinct(known, gains, room)
        score = ratio_of_means(counted[0], counted[1])
        above, width = self._gains(method, table, removal, ABOVE_WORST), self._text(BEST_ABOVE_WORST, removal)
        total = np.nansum(np.where(np.isfinite(above), width, np.nan))
        normalised = float(np.nansum(above) / total) if total > 0 else np.nan
        against_chance = self.contest(removal).found.get((method, CHANCE)) if table in RANKED else None
        return Standing(method, score, against_chance.decision if against_chance else _NOTHING, normalised)

    def _contest(self, removal: str) -> Contest:
        room = self._room(removal)
        counts = np.isfinite(room)
        if not counts.any():
            return Contest({}, 0)
        tables = [{name: self._gains(name, table, removal) for name in self.members(table)} for table in RANKED]
        able = [
            {name: own for name, own in gains.items() if np.isfinite(own)[counts].mean() > _MOST} for gains in tables
        ]
        known = np.all([counts, *(np.isfinite(own) for gains in able for own in gains.values())], axis=0)
        if not any(able) or not known.any():
            return Contest({}, 0)
        columns = [dict(zip(gains, self._distinct(known, *gains.values()), strict=True)) for gains in able if gains]
        return contest(columns, self._distinct(known, room)[0])

    def _distinct(self, known: Array, *columns: Floats) -> list[Floats]:
        """The known values of each column, those of copies of a text added up."""
        same = None if self._same is None else self._same[known]
        return [summed_copies(own[known], same) for own in columns]

    @cached_property
    def _same(self) -> Integers | None:
        """For each text the number of the first one that it is a copy of; None where there are no copies."""
        documents = self._evaluation.documents
        if not any("copy_of" in own for own in documents):
            return None
        return np.array([own.get("copy_of", number) for number, own in enumerate(documents)], dtype=np.int64)


def _order(table: Table) -> str:
    return own_order(table == "signed")
