"""The tables of a report: what is shown of an evaluation, as text in cells, for page and terminal alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from limelight.evaluation.case import PARTS, part_name
from limelight.evaluation.inference import Interval
from limelight.evaluation.measure import Key, measures
from limelight.evaluation.report.wording import towards
from limelight.evaluation.summary import RANKED, Summary, Table

if TYPE_CHECKING:
    from limelight.evaluation.result import Evaluation

_TITLES: dict[Table, str] = {
    "signed": "Methods with signs, by what {towards}",
    "unsigned": "Methods without signs, by size",
    "absolute": "All methods, by absolute value",
}
NOTHING = "–"


@dataclass(frozen=True)
class Shown:
    """A table: a title, what it means, the heads of its columns, and rows of cells whose first is a name."""

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def scores(evaluation: Evaluation) -> Iterator[Shown]:
    """The primary measure, under each removal."""
    summary = evaluation.summary
    for table, title in _TITLES.items():
        standings = summary.standings(table)
        if not standings:
            continue
        rows = []
        for one in standings:
            others = {
                removal: next((own for own in summary.standings(table, removal) if own.method == one.method), None)
                for removal in summary.removals
            }
            scored = [
                NOTHING if own is None else interval(own.score, _most(summary, removal))
                for removal, own in others.items()
            ]
            claimed = (_against_chance(one.decision.verdict),) if table in RANKED else ()
            rows.append((one.method, *scored, number(one.normalised), *claimed))
        scored_heads = (f"score, {removal}" for removal in summary.removals)
        heads = ("method", *scored_heads, "normalised", *(("against chance",) if table in RANKED else ()))
        yield Shown(title.format(towards=towards(evaluation)), _NOTES[table], heads, tuple(rows))


_NOTES: dict[Table, str] = {
    "signed": "0 is a random order, 1 the best possible order; 95 % intervals over texts.",
    "unsigned": "Words against what is explained are removed as early as those for it, so 1 is out of reach.",
    "absolute": "Methods with and without signs in orders of one kind; nothing is claimed of this table.",
}


def _most(summary: Summary, removal: str) -> str:
    return "≤ " if summary.is_at_most_under(removal) else ""


def _against_chance(verdict: str) -> str:
    return {"equal": "no better"}.get(verdict, verdict)


def comparisons(evaluation: Evaluation) -> Shown | None:
    """Pairs of methods on the primary measure."""
    pairs = evaluation.summary.comparisons
    if not pairs:
        return None
    rows = []
    for pair in pairs:
        decision, needed = pair.decision, pair.decision.texts_needed
        said = {"better": "the first is better", "worse": "the second is better", "equal": "equally good"}.get(
            decision.verdict, "undecided" if needed is None else f"undecided, about {needed:,} texts needed"
        )
        rows.append((f"{pair.first} less {pair.second}", interval(pair.comparison.interval), p_value(decision.p), said))
    note = (
        "Difference of scores on the same texts; p-values are adjusted for all pairs and for all claims about chance; "
        "equally good: the difference is below 0.05."
    )
    return Shown("Methods compared", note, ("pair", "difference", "p", "verdict"), tuple(rows))


def descriptive(evaluation: Evaluation) -> Iterator[Shown]:
    """Everything else: means over texts with their intervals."""
    about = {one.id: one for one in measures()}
    summary = evaluation.summary
    for id in evaluation.about["measures"]:
        measure = about.get(id)
        if measure is None:
            continue
        if id in ("comprehensiveness", "sufficiency"):
            yield from (_curve_table(evaluation, id, measure.summary, removal) for removal in summary.removals)
        elif id == "agreement":
            yield from _pairs_of_methods(evaluation, measure.summary)
        else:
            table = _by_part(evaluation, id, measure.label, measure.summary)
            if table is not None:
                yield table


def _curve_table(evaluation: Evaluation, id: str, note: str, removal: str) -> Shown:
    parts = ("all", *map(part_name, PARTS))
    outputs = list(evaluation.about["outputs"])
    heads = [
        "method",
        *(f"{output}, {part} of words" if part != "all" else output for output in outputs for part in parts),
    ]
    rows = []
    for name, own in [*evaluation.methods.items(), ("random order", None)]:
        place = {"removal": removal}
        if own is not None:
            place |= {"method": name, "order": "towards" if own["signed"] else "absolute"}
        means = [evaluation.summary.mean(Key(id, part, output=o, **place)) for o in outputs for part in parts]
        if any(math.isfinite(mean.value) for mean in means):
            rows.append((name, *map(interval, means)))
    return Shown(f"{id.capitalize()}, words removed by {removal}", f"{note}.", tuple(heads), tuple(rows))


def _by_part(evaluation: Evaluation, id: str, label: str, note: str) -> Shown | None:
    """Rows are methods, columns the parts of a measure under each removal, output and order that it has."""
    own = [key for key in evaluation.keys if key.measure == id]
    columns = list(dict.fromkeys((key.part, key.removal, key.output, key.order) for key in own))
    names = list(dict.fromkeys(key.method for key in own))
    if not columns:
        return None
    rows = []
    for name in names:
        means = [evaluation.summary.mean(Key(id, part, name, "", r, o, order)) for part, r, o, order in columns]
        rows.append((name or "the text itself", *map(interval, means)))
    heads = ("method", *(" · ".join(word for word in column if word) or "value" for column in columns))
    return Shown(label, f"{note}.", heads, tuple(rows))


def _pairs_of_methods(evaluation: Evaluation, note: str) -> Iterator[Shown]:
    own = [key for key in evaluation.keys if key.measure == "agreement"]
    for part in dict.fromkeys(key.part for key in own):
        names = [name for name in evaluation.methods if any(name in (key.method, key.other) for key in own)]
        rows = [(one, *(_agreement(evaluation, part, one, other) for other in names)) for one in names]
        yield Shown(f"Agreement: {part}", f"{note}.", ("method", *names), tuple(rows))


def _agreement(evaluation: Evaluation, part: str, one: str, other: str) -> str:
    if one == other:
        return NOTHING
    for pair in ((one, other), (other, one)):
        key = Key("agreement", part, *pair)
        if evaluation.has(key):
            return interval(evaluation.summary.mean(key))
    return NOTHING


def made(evaluation: Evaluation) -> Shown:
    """How each method was made: what it cost, and how accurate it is."""
    rows = []
    for name, own in evaluation.methods.items():
        error = own.get("error")
        rows.append(
            (
                name,
                "made elsewhere" if own["elsewhere"] else str(own["accuracy"]),
                NOTHING if own.get("samples") is None else f"{own['samples']:,}",
                NOTHING if error is None else f"{100 * error:.1f} %",
                NOTHING if own.get("evaluations") is None else f"{own['evaluations']:,.0f}",
                NOTHING if own.get("removal") is None else str(own["removal"]),
                f"{own.get('texts', 0):,}",
            )
        )
    heads = ("method", "accuracy", "samples", "sampling error", "inputs", "made with removal", "texts")
    note = (
        "Sampling error: the mean standard error of a weight, as a part of the mean absolute weight. Inputs: per text."
    )
    return Shown("How the explanations were made", note, heads, tuple(rows))


def interval(one: Interval, before: str = "") -> str:
    """A value with its interval."""
    if math.isnan(one.value):
        return NOTHING
    if math.isnan(one.low):
        return f"{before}{one.value:.3g}"
    digits = _digits(one.low, one.high, one.value)
    return f"{before}{one.value:.{digits}f} [{one.low:.{digits}f}, {one.high:.{digits}f}]"


def _digits(*values: float) -> int:
    largest = max(abs(value) for value in values)
    return 2 if largest >= 0.1 or largest == 0.0 else min(2 - math.floor(math.log10(largest)), 8)


def number(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.2f}"


def p_value(p: float) -> str:
    return NOTHING if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def all_tables(evaluation: Evaluation) -> Sequence[Shown]:
    """In the order of a report."""
    compared = comparisons(evaluation)
    return [
        *scores(evaluation),
        *([compared] if compared else []),
        *descriptive(evaluation),
        made(evaluation),
    ]
