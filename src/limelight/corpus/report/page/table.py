"""The tables of the page: columns of numbers with their bars, words as heads of rows, links to texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from limelight.corpus.analysis.examples import Examples, Wish
from limelight.corpus.analysis.findings import Findings, wish_of
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.words import WordLine
from limelight.render.html.escaping import isolated, number, safe, shortened
from limelight.render.numbers import Digits
from limelight.render.row_model import SIDES

LONGEST_NAME = 80
"""Characters of a word, or of a text's id."""
_DIGITS = 3
_LOOKS = {
    "example": ' class="still"',
    "for and against": ' class="still"',
    "example here and there": ' class="still"',
    "begins": ' class="begin"',
}
"""Classes of columns by their heads: those that are not sorted by, and those that hold running text."""


def table_of(kind: str, heads: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    """A table that can be sorted and scrolled; heads and rows are markup."""
    cells = "".join(f'<th scope="col"{_LOOKS.get(head, "")}>{head}</th>' for head in heads)
    yield f'<div class="scroll" role="region" aria-label="{kind}" tabindex="0"><table class="list {kind}">'
    yield f"<thead><tr>{cells}</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table></div>"


def word_row(word: str, side: int | None, cells: Sequence[str], *, faint: bool = False) -> str:
    """The line of a word, which is faint where nothing was told of it."""
    where = "" if side is None else f' <small class="quiet">({SIDES[side]})</small>'
    name = isolated(shortened(" ".join(word.split()) or word, LONGEST_NAME))
    look = "name faint" if faint else "name"
    return f'<tr><th class="{look}" scope="row">{name}{where}</th>{"".join(cells)}</tr>'


class Column:
    """Numbers of one column, as many digits as the largest deserves, with bars and intervals."""

    def __init__(self, values: Sequence[float], half_widths: Sequence[float]) -> None:
        finite = [abs(own) for own in values if math.isfinite(own)]
        largest = max(finite, default=0.0)
        exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
        self._digits = Digits(max(_DIGITS - exponent, 0) if -4 <= exponent <= 5 else None)
        reach = [abs(own) + half for own, half in zip(values, half_widths, strict=False) if math.isfinite(half)]
        # One interval that is very wide would leave no room for all others: bars are cut at twice the largest mean.
        self._longest = min(max(reach, default=largest), 2.0 * largest) or 1.0

    def write(self, value: float, *, signed: bool) -> str:
        return number(self._digits.write(value, sign="+" if signed else "-")) if math.isfinite(value) else "?"

    def cell(self, value: float, half: float, hue: str, *, signed: bool) -> str:
        interval = f";--i:{100 * half / self._longest:.0f}" if math.isfinite(half) else ""
        bar = f"--v:{100 * value / self._longest:.0f}{interval}"
        return (
            f'<td class="{hue} bars" data-v="{value!r}" style="{bar}">{self.write(value, signed=signed)} '
            f"± {self.write(half, signed=False)}</td>"
        )


def hue_of(findings: Findings, question: Question, effect: float) -> str:
    """The letter of a colour: that of the label which an effect speaks for, as in texts."""
    layout = findings.corpus.layout
    if not findings.corpus.layout.is_signed(question.method):
        return "g"
    if layout.kind == "classes" and len(layout.labels) == 2 and question.target in layout.labels:
        return "b" if (question.target == layout.labels[1]) == (effect >= 0.0) else "o"
    return "b" if effect >= 0.0 else "o"


def absolute_cell(column: Column, line: WordLine) -> str:
    mean, low, high = (
        column.write(own, signed=False) for own in (line.absolute, line.absolute_low, line.absolute_high)
    )
    return f'<td data-v="{line.absolute!r}">{mean} <small class="quiet">({low} to {high})</small></td>'


def texts_cell(line: WordLine) -> str:
    missed = f' <small class="quiet">(up to {line.texts + line.missed:,})</small>' if line.missed else ""
    return f'<td data-v="{line.texts}">{line.texts:,}{missed}</td>'


def links_cell(examples: Examples, question: Question, line: WordLine, signs: Sequence[int], anchor: str) -> str:
    names = {1: "for", -1: "against", 0: "text"}
    links = (
        link(examples, wish_of(question, line, sign), names[sign] if len(signs) > 1 else "text", anchor)
        for sign in signs
    )
    return f"<td>{''.join(links)}</td>"


def link(examples: Examples, wish: Wish, name: str, anchor: str) -> str:
    """To a text on this page; where it is not, its row."""
    row = examples.row(wish)
    if row is None:
        return f' <span class="quiet">row {wish.row:,}</span>'
    method = examples.number(wish.question.method)
    return f'<a href="#{anchor}-{row}" data-m="{method}" data-word="{safe(wish.word)}">{name}</a>'
