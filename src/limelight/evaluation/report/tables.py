"""The tables of a report: what is shown of an evaluation, as text in cells, for page and terminal alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from limelight.evaluation.case import PARTS, own_order, part_name
from limelight.evaluation.measure import ALL, Measure, measures
from limelight.evaluation.report.numbers import NOTHING, cell, number, p_value, towards
from limelight.evaluation.result import Evaluation
from limelight.evaluation.summary import RANKED, TABLES, Table

_TITLES: dict[Table, str] = {
    "signed": "Methods with signs, by what {towards}",
    "unsigned": "Methods without signs, by size",
    "absolute": "All methods, by absolute value",
}
_NOTES: dict[Table, str] = {
    "signed": "0 is a random order, 1 the best possible order; 95 % intervals over texts.",
    "unsigned": "Words against what is explained are removed as early as those for it, so 1 is out of reach.",
    "absolute": "Methods with and without signs in orders of one kind; nothing is claimed of this table.",
}


@dataclass(frozen=True)
class Shown:
    """A table: a title, what it means, the heads of its columns, and rows of cells whose first is a name."""

    title: str
    note: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def all_tables(evaluation: Evaluation) -> list[Shown]:
    """All tables in the order of a report."""
    return [*scores(evaluation), *comparisons(evaluation), *descriptive(evaluation), made(evaluation)]


def scores(evaluation: Evaluation) -> Iterator[Shown]:
    """The primary measure, under each removal."""
    summary = evaluation.summary
    for table in TABLES:
        is_ranked, rows = table in RANKED, []
        of_removals = [
            ("≤ " if summary.is_at_most_under(removal) else "", {one.method: one for one in own})
            for removal in summary.removals
            if (own := summary.standings(table, removal)) is not None
        ]
        for one in summary.standings(table):
            scored = [cell(own[one.method].score, most) if one.method in own else NOTHING for most, own in of_removals]
            verdict = one.decision.verdict
            claimed = ("no better" if verdict == "equal" else verdict,) if is_ranked else ()
            rows.append((one.method, *scored, number(one.normalised), *claimed))
        if rows:
            claimed_head = ("against chance",) if is_ranked else ()
            heads = ("method", *(f"score, {removal}" for removal in summary.removals), "normalised", *claimed_head)
            yield Shown(_TITLES[table].format(towards=towards(evaluation)), _NOTES[table], heads, rows)


def comparisons(evaluation: Evaluation) -> Iterator[Shown]:
    """Pairs of methods on the primary measure."""
    rows = []
    for pair in evaluation.summary.comparisons:
        decision, needed = pair.decision, pair.decision.texts_needed
        said = {"better": "the first is better", "worse": "the second is better", "equal": "equally good"}.get(
            decision.verdict, "undecided" if needed is None else f"undecided, about {needed:,} texts needed"
        )
        rows.append((f"{pair.first} less {pair.second}", cell(pair.comparison.interval), p_value(decision.p), said))
    note = (
        "Difference of scores on the same texts; p-values are adjusted for all pairs and for all claims about chance; "
        "equally good: the difference is below 0.05."
    )
    if rows:
        yield Shown("Methods compared", note, ("pair", "difference", "p", "verdict"), rows)


def descriptive(evaluation: Evaluation) -> Iterator[Shown]:
    """Means over texts of all measures, with their intervals."""
    known = {one.id: one for one in measures()}
    for measure in (known[id] for id in evaluation.about["measures"] if id in known):
        if measure.curve is not None:
            yield from (_curve_table(evaluation, measure, removal) for removal in evaluation.summary.removals)
        elif measure.pairs:
            yield from _pairs_of_methods(evaluation, measure)
        else:
            yield from _by_part(evaluation, measure)


def _curve_table(evaluation: Evaluation, measure: Measure, removal: str) -> Shown:
    places = [
        (output, part) for output in evaluation.about["outputs"] for part in (ALL, *map(part_name, PARTS))
    ]  # fmt: skip
    rows = []
    for name, own in [*evaluation.methods.items(), ("random order", None)]:
        whose = {} if own is None else {"method": name, "order": own_order(own["signed"])}
        means = [
            evaluation.summary.mean(measure.key(part, removal=removal, output=output, **whose))
            for output, part in places
        ]
        if any(math.isfinite(mean.value) for mean in means):
            rows.append((name, *map(cell, means)))
    heads = ("method", *(output if part == ALL else f"{output}, {part} of words" for output, part in places))
    return Shown(f"{measure.label}, words removed by {removal}", f"{measure.summary}.", heads, rows)


def _by_part(evaluation: Evaluation, measure: Measure) -> Iterator[Shown]:
    """Rows are methods, columns the parts of a measure under each removal, output and order that it has."""
    own = [key for key in evaluation.keys if key.measure == measure.id]
    columns = list(dict.fromkeys(key._replace(method="") for key in own))
    rows = [
        (name or "the text itself", *(cell(evaluation.summary.mean(key._replace(method=name))) for key in columns))
        for name in dict.fromkeys(key.method for key in own)
    ]
    heads = (" · ".join(filter(None, (key.part, key.removal, key.output, key.order))) or "value" for key in columns)
    if columns:
        yield Shown(measure.label, f"{measure.summary}.", ("method", *heads), rows)


def _pairs_of_methods(evaluation: Evaluation, measure: Measure) -> Iterator[Shown]:
    """Rows and columns are methods."""
    own = {key[1:4]: cell(evaluation.summary.mean(key)) for key in evaluation.keys if key.measure == measure.id}
    compared = set(chain.from_iterable(pair for _, *pair in own))
    names = [name for name in evaluation.methods if name in compared]
    for part in dict.fromkeys(part for part, *_ in own):
        rows = [
            (one, *(own.get((part, one, other), own.get((part, other, one), NOTHING)) for other in names))
            for one in names
        ]
        yield Shown(f"{measure.label}: {part}", f"{measure.summary}.", ("method", *names), rows)


def made(evaluation: Evaluation) -> Shown:
    """The cost and the accuracy of each method."""
    rows = [
        (
            name,
            "made elsewhere" if own["elsewhere"] else str(own["accuracy"]),
            _or_nothing(own.get("samples"), "{:,}"),
            _or_nothing(own.get("error"), "{:.1%}").replace("%", " %"),
            _or_nothing(own.get("evaluations"), "{:,.0f}"),
            _or_nothing(own.get("removal"), "{}"),
            f"{own.get('texts', 0):,}",
        )
        for name, own in evaluation.methods.items()
    ]
    heads = ("method", "accuracy", "samples", "sampling error", "inputs", "made with removal", "texts")
    note = (
        "Sampling error: the mean standard error of a weight, as a part of the mean absolute weight. Inputs: per text."
    )
    return Shown("How the explanations were made", note, heads, rows)


def _or_nothing(value: object, written: str) -> str:
    return NOTHING if value is None else written.format(value)
