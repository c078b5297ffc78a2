"""The sections and tables of the page: columns of numbers with their bars, words as heads of rows, links to texts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from limelight.corpus.analysis.comparison import Difference, Differences
from limelight.corpus.analysis.findings import Examples, Findings, Wish, Words
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.mistakes import GuiltyWord
from limelight.corpus.analysis.words import WordLine, WordTable
from limelight.corpus.store.reading import Corpus
from limelight.render.html.escaping import isolated, number, safe, shortened
from limelight.render.numbers import Digits, percent
from limelight.render.row_model import SIDES

LONGEST_NAME = 80
"""Characters of a word, or of a text's id."""
_DIGITS = 3
_CLASSES = {
    "example": ' class="still"',
    "for and against": ' class="still"',
    "example here and there": ' class="still"',
    "begins": ' class="begin"',
}
"""Classes of columns by their heads: those that are not sorted by, and those that hold running text."""
AnyWord = TypeVar("AnyWord", WordLine, GuiltyWord, Difference)
AnyTable = TypeVar("AnyTable", Words, WordTable, Differences)


def section(anchor: str, title: str, *body: str | Iterable[str]) -> Iterator[str]:
    """A section of the page; its lines, and lists of lines."""
    yield f'<section id="{anchor}"><h2 class="t1">{title}</h2>'
    for own in body:
        yield from [own] if isinstance(own, str) else own
    yield "</section>"


def parts(
    findings: Findings, asked: Iterable[AnyTable], body: Callable[[Findings, AnyTable], Iterable[str]]
) -> Iterator[str]:
    """The tables of a section, each under its question."""
    for own in asked:
        yield from part(question_title(findings, own.question), body(findings, own))


def part(title: str, body: Iterable[str]) -> Iterator[str]:
    """A part of a section: the page shows one of them at a time."""
    yield f'<div class="part"><h3>{title}</h3>'
    yield from body
    yield "</div>"


def quiet(markup: str) -> str:
    """A paragraph that explains what follows."""
    return f'<p class="quiet">{markup}</p>'


def model_name(corpus: Corpus) -> str:
    """The name of the model of a run."""
    model = corpus.manifest.get("model")
    name = str(model.get("name", "the model")) if isinstance(model, Mapping) else "the model"
    return "the embedded model" if name == "embedded" else name


def text_name(id: str, row: int) -> str:
    """The id of a text; its row where nobody gave it one, and it is the row with a hash of the content."""
    return f"row {row:,}" if re.fullmatch(rf"{row}-[0-9a-f]{{12}}", id) else shortened(id, LONGEST_NAME)


def question_title(findings: Findings, question: Question) -> str:
    """A question as the title of its part."""
    rather = "" if question.against is None else f" rather than {isolated(question.against)}"
    return f"{isolated(question.target)}{rather}, by {isolated(findings.corpus.layout.called(question.method))}"


def interval_name(level: float) -> str:
    """The name of an interval of this level, with as many nines as it takes."""
    percentage = f"{100 * level:.{2 if level < 0.9995 else 4}g} %" if level < 0.999 else f"{100 * level:.2f} %"
    return safe(f"{percentage} interval")


# ── rows and cells ────────────────────────────────────────────────────────────────────────────────────────────────────


def table_of(kind: str, heads: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    """A table that can be sorted and scrolled; heads and rows are markup."""
    cells = "".join(f'<th scope="col"{_CLASSES.get(head, "")}>{head}</th>' for head in heads)
    yield f'<div class="scroll" role="region" aria-label="{kind}" tabindex="0"><table class="list {kind}">'
    yield f"<thead><tr>{cells}</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table></div>"


def word_table(
    kind: str, heads: Sequence[str], lines: Iterable[AnyWord], cells: Callable[[AnyWord], Iterable[str]]
) -> Iterator[str]:
    """A table with a row for each word, which is faint where it is not significant."""
    rows = []
    for line in lines:
        where = "" if line.side is None else f' <small class="quiet">({SIDES[line.side]})</small>'
        name = isolated(shortened(" ".join(line.word.split()) or line.word, LONGEST_NAME))
        look = "name" if line.told or kind == "signs" else "name faint"
        rows.append(f'<tr><th class="{look}" scope="row">{name}{where}</th>{"".join(cells(line))}</tr>')
    yield from table_of(kind, ["word", *heads], rows)


def cell(shown: str, value: float | None = None, note: str = "") -> str:
    """A number as it is written, the value that its column is sorted by, and a note in brackets."""
    sorted_by = "" if value is None or not math.isfinite(value) else repr(value)
    small = f' <small class="quiet">({note})</small>' if note else ""
    return f'<td data-v="{sorted_by}">{shown}{small}</td>'


def count_cell(count: int, note: str = "") -> str:
    """A whole number."""
    return cell(f"{count:,}", count, note)


def percent_cell(value: float, note: str = "") -> str:
    """A fraction in per cent."""
    return cell(safe(percent(value)), value, note)


def ends(low: float, high: float) -> str:
    """The ends of an interval of a fraction."""
    return f"{safe(percent(low))} to {safe(percent(high))}"


class Column:
    """Numbers of one column, as many digits as the largest deserves, with bars and intervals."""

    def __init__(self, values: Sequence[float], highs: Sequence[float] = (), *, signed: bool = True) -> None:
        finite = [abs(own) for own in values if math.isfinite(own)]
        largest = max(finite, default=0.0)
        exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
        self._digits = Digits(max(_DIGITS - exponent, 0) if -4 <= exponent <= 5 else None)
        self._sign = "+" if signed else "-"
        halves = [high - own for own, high in zip(values, highs, strict=False)]
        reach = [abs(own) + half for own, half in zip(values, halves, strict=False) if math.isfinite(half)]
        # One interval that is very wide would leave no room for all others: bars are cut at twice the largest mean.
        self._longest = min(max(reach, default=largest), 2.0 * largest) or 1.0

    def write(self, value: float, sign: str | None = None) -> str:
        """A number with the digits of its column."""
        return number(self._digits.write(value, sign=sign or self._sign)) if math.isfinite(value) else "?"

    def cell(self, value: float, note: str = "") -> str:
        """A number without a bar."""
        return cell(self.write(value), value, note)

    def bar(self, value: float, high: float, hue: str) -> str:
        """A number with its interval, as a bar of this hue."""
        half = high - value
        interval = f";--i:{100 * half / self._longest:.0f}" if math.isfinite(half) else ""
        style = f"--v:{100 * value / self._longest:.0f}{interval}"
        written = f"{self.write(value)} ± {self.write(half, '-')}"
        return f'<td class="{hue} bars" data-v="{value!r}" style="{style}">{written}</td>'


def hue_of(findings: Findings, question: Question, effect: float, *, told: bool) -> str:
    """The letter of a colour: that of the label which an effect speaks for, as in texts; "x" if not significant."""
    layout = findings.corpus.layout
    if not told:
        return "x"
    if not layout.is_signed(question.method):
        return "g"
    if layout.kind == "classes" and len(layout.labels) == 2 and question.target in layout.labels:
        return "b" if (question.target == layout.labels[1]) == (effect >= 0.0) else "o"
    return "b" if effect >= 0.0 else "o"


def link(examples: Examples, wish: Wish, name: str, anchor: str) -> str:
    """A link to a text on this page; where it is not, its row."""
    row = examples.row(wish)
    if row is None:
        return f' <span class="quiet">row {wish.row:,}</span>'
    method = examples.number(wish.question.method)
    return f'<a href="#{anchor}-{row}" data-m="{method}" data-word="{safe(wish.word)}">{name}</a>'
