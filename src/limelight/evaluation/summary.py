"""What the texts of an evaluation say together: scores with intervals, and methods compared.

One measure is primary, named beforehand: comprehensiveness against chance, as a ratio of means over texts, of the
output that is explained, under the removal that methods were made with. Methods with signs are ranked by what speaks
for the target and compared among themselves; those without by size, in a table of their own; and all of them by
absolute value in a third. Comparisons of the first two tables are one family, corrected by Holm's method. Everything
else is descriptive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from limelight.arrays import Floats
from limelight.evaluation.inference import (
    Comparison,
    Decision,
    Interval,
    against,
    paired_difference,
    ratio_of_means,
    verdict_of_difference,
    verdicts_of_differences,
)
from limelight.evaluation.many_means import many_means
from limelight.evaluation.measure import Key

if TYPE_CHECKING:
    from limelight.evaluation.result import Evaluation

Table = Literal["signed", "unsigned", "absolute"]
PRIMARY = "comprehensiveness against chance"
_METHOD = "BCa bootstrap over documents"


@dataclass(frozen=True)
class Standing:
    """One method in one table: 0 is chance, 1 the best possible. `decision` is on being better than chance."""

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


class Summary:
    """Computed when it is first asked for."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._standings: dict[tuple[str, str], list[Standing]] = {}

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
        return Interval(float(mean), float(low), float(high), 0.95, _METHOD, documents)

    def standings(self, table: Table, removal: str | None = None) -> list[Standing]:
        """The methods of a table, the best first."""
        removal = self.removal if removal is None else removal
        if (table, removal) not in self._standings:
            found = [self._standing(name, table, removal) for name in self.members(table)]
            self._standings[table, removal] = sorted(found, key=lambda one: -one.score.value)
        return self._standings[table, removal]

    @cached_property
    def comparisons(self) -> list[Compared]:
        """All pairs of the signed table, and all of the unsigned one: one family for Holm's correction."""
        pairs = [
            (table, first.method, second.method)
            for table in ("signed", "unsigned")
            for first, second in combinations([one for one in self.standings(table) if one.is_known], 2)
        ]
        compared = [
            paired_difference(self._ratio(first, table, self.removal), self._ratio(second, table, self.removal))  # type: ignore[arg-type]
            for table, first, second in pairs
        ]
        decisions = verdicts_of_differences(compared) if compared else []
        return [
            Compared(first, second, comparison, decision)
            for (_, first, second), comparison, decision in zip(pairs, compared, decisions, strict=True)
        ]

    @cached_property
    def swapped(self) -> dict[str, list[Compared]]:
        """For each other removal the pairs that were told apart under the primary one and stand the other way round."""
        changed = {}
        for removal in self.removals:
            if removal == self.removal:
                continue
            scores = {
                one.method: one.score.value
                for table in ("signed", "unsigned")
                for one in self.standings(table, removal)
            }
            changed[removal] = [
                pair
                for pair in self.comparisons
                if pair.decision.told_apart
                and pair.decision.verdict != "equal"
                and (scores[pair.first] - scores[pair.second]) * pair.comparison.value < 0
            ]
        return changed

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
        return many_means(self._evaluation.values)

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
            return Standing(method, nothing, Decision("undecided", False, np.nan, np.nan, None), np.nan)
        score = ratio_of_means(numerators, denominators)
        decision = verdict_of_difference(against(numerators, denominators))
        above = self._evaluation.of(self._key("above worst", method, table, removal))
        width = self._evaluation.of(Key("comprehensiveness", "best above worst", removal=removal, output=self.output))
        total = np.nansum(np.where(np.isfinite(above), width, np.nan))
        return Standing(method, score, decision, float(np.nansum(above) / total) if total > 0 else np.nan)
