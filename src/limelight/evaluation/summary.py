"""What the texts of an evaluation say together: scores with intervals, and methods compared.

One measure is primary, named beforehand: comprehensiveness against chance, as a ratio of means over texts, of the
output that is explained, under the removal that methods were made with. Methods with signs are ranked by what speaks
for the target and compared among themselves; those without by size, in a table of their own; and all of them by
absolute value in a third. All claims of the first two tables, about pairs and about chance, are one family
(`limelight.evaluation.contest`), on the texts that all of their methods explain. Everything else is descriptive.

Copies of a text are one text here, of which several things are known: their gains are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from limelight.core.arrays import Array, Floats, Integers
from limelight.evaluation.contest import Contest, contest, holm, least_texts
from limelight.evaluation.inference import (
    METHOD,
    NO_INTERVAL,
    Comparison,
    Decision,
    Interval,
    Verdict,
    against,
    ratio_of_means,
    verdict_of_difference,
)
from limelight.evaluation.measure import Key
from limelight.statistics.many_means import many_means, summed_copies

if TYPE_CHECKING:
    from limelight.evaluation.result import Evaluation

Table = Literal["signed", "unsigned", "absolute"]
PRIMARY = "comprehensiveness against chance"
RANKED: tuple[Table, ...] = ("signed", "unsigned")
"""The tables of which claims are made; that of absolute values describes the same methods once more."""
COIN = 0.5
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

    @property
    def is_known(self) -> bool:
        """Whether any order of the words differs from another."""
        return not np.isnan(self.score.value)


@dataclass(frozen=True)
class Compared:
    """Two methods of one table on the same texts: the score of the first less that of the second."""

    first: str
    second: str
    comparison: Comparison
    decision: Decision

    @property
    def turned(self) -> Compared:
        """The same pair, named the other way round."""
        return Compared(self.second, self.first, _turned(self.comparison), _turned_decision(self.decision))


@dataclass(frozen=True)
class Sign:
    """The mean part of a method's weight that has the right sign; better or worse than a coin, or undecided."""

    share: float
    verdict: Verdict


@dataclass(frozen=True)
class Contested:
    """The contest under one removal: who takes part in each table, what came out, and on how many texts."""

    names: Mapping[Table, Sequence[str]]
    found: Mapping[Table, Contest]
    texts: int


class Summary:
    """Computed when it is first asked for."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._standings: dict[tuple[str, str], list[Standing]] = {}
        self._contests: dict[str, Contested] = {}

    # ── what is asked of it ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def removal(self) -> str:
        """The removal that methods were made with, on which the primary measure rests."""
        return str(self._evaluation.about["removal"])

    @property
    def removals(self) -> tuple[str, ...]:
        return tuple(self._evaluation.about["removals"])

    @property
    def output(self) -> str:
        return str(self._evaluation.about["output"])

    def members(self, table: Table) -> list[str]:
        """The methods of a table that have a score."""
        methods = self._evaluation.methods
        wanted = [name for name, own in methods.items() if table == "absolute" or own["signed"] == (table == "signed")]
        return [name for name in wanted if np.isfinite(self._numerators(name, table, self.removal)).any()]

    def order_of(self, table: Table) -> str:
        return "towards" if table == "signed" else "absolute"

    def mean(self, key: Key) -> Interval:
        """The mean over texts of any number."""
        mean, low, high = (column[self._column(key)] for column in self._means) if self._has(key) else (np.nan,) * 3
        documents = int(np.isfinite(self._evaluation.of(key)).sum())
        method = NO_INTERVAL if np.isnan(low) else METHOD
        return Interval(float(mean), float(low), float(high), 0.95, method, documents)

    def standings(self, table: Table, removal: str | None = None) -> list[Standing]:
        """The methods of a table, the best first."""
        removal = self.removal if removal is None else removal
        if (table, removal) not in self._standings:
            found = [self._standing(name, table, removal) for name in self.members(table)]
            self._standings[table, removal] = sorted(found, key=lambda one: -one.score.value)
        return self._standings[table, removal]

    @cached_property
    def comparisons(self) -> list[Compared]:
        """All pairs of the signed table, and all of the unsigned one, the better of a pair first."""
        return self.comparisons_under(self.removal)

    def comparisons_under(self, removal: str) -> list[Compared]:
        """The same under any removal, which is a family of its own."""
        contested, pairs = self.contested(removal), []
        for table, own in contested.found.items():
            place = {name: number for number, name in enumerate(contested.names[table])}
            ranked = [one.method for one in self.standings(table, removal) if one.method in place]
            for i, first in enumerate(ranked):
                for second in ranked[i + 1 :]:
                    pairs.append(_compared(first, second, own, place))
        return pairs

    @property
    def least_texts(self) -> int:
        """The fewest texts with which any two of these methods could be told apart."""
        return least_texts([len(names) for names in self.contested(self.removal).names.values()])

    @cached_property
    def swapped(self) -> dict[str, list[Compared]]:
        """For each other removal the pairs that are told apart under both, and stand the other way round there."""
        return {
            removal: [
                there
                for pair, there in self._under_both(removal)
                if there.decision.verdict in ("better", "worse") and pair.comparison.value * there.comparison.value < 0
            ]
            for removal in self.removals
            if removal != self.removal
        }

    def kept(self, removal: str) -> tuple[int, int]:
        """How many pairs that are told apart under the primary removal are told so under another, and of how many."""
        both = self._under_both(removal)
        held = sum(
            there.decision.verdict in ("better", "worse") and pair.comparison.value * there.comparison.value > 0
            for pair, there in both
        )
        return held, len(both)

    def _under_both(self, removal: str) -> list[tuple[Compared, Compared]]:
        """Pairs that are told apart under the primary removal, and what another one says of them."""
        others = {frozenset((one.first, one.second)): one for one in self.comparisons_under(removal)}
        found = []
        for pair in self.comparisons:
            there = others.get(frozenset((pair.first, pair.second)))
            if there is not None and pair.decision.verdict in ("better", "worse"):
                found.append((pair, there if there.first == pair.first else there.turned))
        return found

    @property
    def claims(self) -> bool:
        """Whether anything is claimed of pairs or of a method against chance."""
        standings = [one.decision for table in RANKED for one in self.standings(table)]
        return any(one.verdict != "undecided" for one in (*standings, *(pair.decision for pair in self.comparisons)))

    @cached_property
    def signs(self) -> dict[str, Sign]:
        """How much of each method's weight has the right sign: corrected for the number of methods (Holm)."""
        found = {}
        for name in self._evaluation.methods:
            values = self._evaluation.of(Key("sign", "", name, **self._place))
            known = np.isfinite(values)
            if known.any():
                sums, counts = self._distinct(known, values, np.ones(len(values)))
                found[name] = against(sums, counts, COIN)
        adjusted = holm([one.p for one in found.values()])
        return {
            name: Sign(one.value + COIN, verdict_of_difference(replace(one, p=float(p), p_equal=1.0)).verdict)
            for (name, one), p in zip(found.items(), adjusted, strict=True)
        }

    @property
    def silent(self) -> int:
        """Texts in which no order of the words differs from another, under the primary removal."""
        best = self._evaluation.of(Key("comprehensiveness", "best above chance", **self._place))
        return int((best <= 0.0).sum())

    @property
    def limits(self) -> dict[str, int]:
        """How the best order is known, under the primary removal: "certified", "enumerated", "searched", "found"."""
        return self.limits_under(self.removal)

    def limits_under(self, removal: str) -> dict[str, int]:
        ways = ("certified", "enumerated", "searched", "found")
        keys = {how: Key("comprehensiveness", how, removal=removal, output=self.output) for how in ways}
        counts = {how: int(np.isfinite(self._evaluation.of(key)).sum()) for how, key in keys.items()}
        return {how: count for how, count in counts.items() if count}

    @property
    def is_at_most(self) -> bool:
        """Whether the best possible is known from below only for some texts: scores are at most what they say."""
        return self.is_at_most_under(self.removal)

    def is_at_most_under(self, removal: str) -> bool:
        return bool({"searched", "found"} & set(self.limits_under(removal)))

    @property
    def gap(self) -> float:
        """By how much the certified bound exceeds the best order that is known, as a part of what is above chance."""
        bound = self._evaluation.of(Key("comprehensiveness", "bound above chance", **self._place))
        best = self._evaluation.of(Key("comprehensiveness", "best above chance", **self._place))
        known = np.isfinite(bound)
        return float(bound[known].sum() / best[known].sum() - 1.0) if known.any() and best[known].sum() > 0 else np.nan

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every mean with its interval, then the scores of the primary measure."""
        mean, low, high = self._means
        for i, key in enumerate(self._evaluation.keys):
            count = int(np.isfinite(self._evaluation.values[:, i]).sum())
            yield {**key._asdict(), "texts": count, "value": mean[i], "low": low[i], "high": high[i]}
        for table in ("signed", "unsigned", "absolute"):
            for removal in self.removals:
                for one in self.standings(table, removal):
                    key = Key(PRIMARY, f"{table} table", one.method, "", removal, self.output, self.order_of(table))
                    score = one.score
                    ends = {"texts": score.documents, "value": score.value, "low": score.low, "high": score.high}
                    yield {**key._asdict(), **ends}

    # ── how it is computed ────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _means(self) -> tuple[Floats, Floats, Floats]:
        return many_means(self._evaluation.values, same=self._same)

    def _has(self, key: Key) -> bool:
        return self._evaluation.has(key)

    def _column(self, key: Key) -> int:
        return self._evaluation._places[key]

    @property
    def _place(self) -> dict[str, str]:
        return {"removal": self.removal, "output": self.output}

    def _key(self, part: str, method: str, table: Table, removal: str) -> Key:
        return Key("comprehensiveness", part, method, "", removal, self.output, self.order_of(table))

    def _numerators(self, method: str, table: Table, removal: str) -> Floats:
        return self._evaluation.of(self._key("above chance", method, table, removal))

    def _ratio(self, method: str, table: Table, removal: str) -> tuple[Floats, Floats]:
        """Above chance, and how far above it the best order is; NaN for a text that cannot tell orders apart.

        Such a text, of one word say, would only pretend that more texts agree.
        """
        best = self._evaluation.of(Key("comprehensiveness", "best above chance", removal=removal, output=self.output))
        return self._numerators(method, table, removal), np.where(best > 0.0, best, np.nan)

    def _standing(self, method: str, table: Table, removal: str) -> Standing:
        numerators, denominators = self._ratio(method, table, removal)
        known = np.isfinite(numerators) & np.isfinite(denominators)
        if not known.any():  # texts of one word: every order is the best, and chance
            nothing = Interval(np.nan, np.nan, np.nan, 0.95, "none: no order differs from another", int(known.sum()))
            return Standing(method, nothing, _NOTHING, np.nan)
        gained, room = self._distinct(known, numerators, denominators)
        score = ratio_of_means(gained, room)
        above = self._evaluation.of(self._key("above worst", method, table, removal))
        width = self._evaluation.of(Key("comprehensiveness", "best above worst", removal=removal, output=self.output))
        total = np.nansum(np.where(np.isfinite(above), width, np.nan))
        normalised = float(np.nansum(above) / total) if total > 0 else np.nan
        return Standing(method, score, self._against_chance(method, table, removal), normalised)

    def _against_chance(self, method: str, table: Table, removal: str) -> Decision:
        contested = self.contested(removal) if table in RANKED else None
        if contested is None or method not in contested.names.get(table, ()):
            return _NOTHING
        return contested.found[table].chance[contested.names[table].index(method)][1]

    def contested(self, removal: str) -> Contested:
        """Who is compared under a removal, on the texts that all of them explain."""
        if removal not in self._contests:
            self._contests[removal] = self._contest(removal)
        return self._contests[removal]

    def _contest(self, removal: str) -> Contested:
        gains = {table: {name: self._ratio(name, table, removal) for name in self.members(table)} for table in RANKED}
        able = {
            table: {
                name: own
                for name, (own, room) in methods.items()
                if np.isfinite(own)[np.isfinite(room)].mean() > _MOST  # no text at all: NaN, and nobody
            }
            for table, methods in gains.items()
            if methods and np.isfinite(next(iter(methods.values()))[1]).any()
        }
        able = {table: own for table, own in able.items() if own}
        if not able:
            return Contested({}, {}, 0)
        room = next(iter(gains[next(iter(able))].values()))[1]
        known = np.isfinite(room) & np.all([np.isfinite(own) for of in able.values() for own in of.values()], axis=0)
        names = {table: tuple(own) for table, own in able.items()}
        if not known.any():
            return Contested({}, {}, 0)
        columns = [np.stack(self._distinct(known, *own.values()), axis=1) for own in able.values()]
        (best,) = self._distinct(known, room)
        found = contest(columns, best)
        return Contested(names, dict(zip(names, found, strict=True)), len(best))

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


def _compared(first: str, second: str, own: Contest, place: Mapping[str, int]) -> Compared:
    a, b = place[first], place[second]
    if a < b:
        return Compared(first, second, *own.pairs[a, b])
    comparison, decision = own.pairs[b, a]
    return Compared(first, second, _turned(comparison), _turned_decision(decision))


def _turned(comparison: Comparison) -> Comparison:
    own = comparison.interval
    return replace(comparison, interval=replace(own, value=-own.value, low=-own.high, high=-own.low))


def _turned_decision(decision: Decision) -> Decision:
    if decision.verdict == "better":
        return replace(decision, verdict="worse")
    return replace(decision, verdict="better") if decision.verdict == "worse" else decision
