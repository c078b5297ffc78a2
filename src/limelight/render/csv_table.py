"""Explanations as CSV: one row per text, method, label and feature, for spreadsheets and data frames.

    id             of the text: its row, or what its id column holds; empty for a single text
    method         the method's id
    label          the label that is explained; of a regression the name of its number
    against        the label that it is compared with, where it was asked why the one rather than the other
    output         the number that is explained: logit, log-odds, probability or value; empty where there is no choice
    level          "feature", or "group" for the outer of two levels
    feature        the word, sentence or phrase
    side           1 or 2: the text of a pair that it stands in; else empty
    start, end     where it first stands in that text, in characters from 0
    weight         how much it speaks for the label
    low, high      the ends of its interval; empty where nothing was sampled
    told           1 where the weight is distinguishable from zero, else 0
    unknown        1 where the model does not know the word, else 0
    speaks_for     the label that the word speaks for; empty where it is none in particular, or not told

A cell that begins with = + - @ (also in full width), a tab or a line break could be run as a formula: it gets an
apostrophe in front. Characters that act instead of being seen are replaced by pictures of them.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator

from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation
from limelight.explanation.wording import spoken_for
from limelight.render.row_model import Order, levels_of

COLUMNS = tuple(
    "id method label against output level feature side start end weight low high told unknown speaks_for".split()
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
Id = int | str | None


def header() -> str:
    return csv_of([list(COLUMNS)])


def table_rows(id: Id, explanations: Iterable[Explanation], top: int | None, order: Order | None) -> str:
    """The rows of one text."""
    name = id if isinstance(id, int) else safe_cell(id)
    return csv_of([[name, *row] for explanation in explanations for row in _rows(explanation, top, order or "text")])


def csv_of(rows: Iterable[Iterable[object]]) -> str:
    """Rows of cells as CSV."""
    page = io.StringIO()
    csv.writer(page, lineterminator="\r\n").writerows(rows)
    return page.getvalue()


def safe_cell(value: str | None) -> str:
    """A cell that no spreadsheet runs, whatever a stranger has written."""
    text = value or ""
    return ("'" if text.startswith(_FORMULA) else "") + visible(text)


def _rows(explanation: Explanation, top: int | None, order: Order) -> Iterator[list[object]]:
    output = str(explanation.parameters.get("output", ""))
    common = [safe_cell(own) for own in (explanation.method, explanation.target, explanation.against, output)]
    for level in levels_of(explanation):
        weights, name = level.weights, "feature" if level.weights is explanation else "group"
        for j in level.ordered(order, top):
            weight, half = float(weights.weights[j]), float(level.half_widths[j])
            spoken = spoken_for(explanation, j) if name == "feature" and level.significant[j] else None
            yield [
                *common,
                name,
                safe_cell(weights.features[j]),
                "" if weights.sides is None else weights.sides[j] + 1,
                *min(weights.spans[j], default=("", "")),
                *map(_number, (weight, weight - half, weight + half)),
                int(level.significant[j]),
                int(j in level.unknown),
                safe_cell(spoken),
            ]


def _number(value: float) -> str:
    """A number with all its digits; empty for NaN."""
    return "" if math.isnan(value) else repr(value)
