"""The tables of a report as CSV, for spreadsheets and data frames: every line, not only those that the page shows.

words.csv           the words of each question, with mean effects and intervals
signs.csv           those whose sign differs between texts, what matters most first
methods.csv         how far each two methods disagree, over all texts
disagreement.csv    the texts that methods disagree about most
mistakes.csv        the texts that the model is wrong about, those that it is surest of first
mistake_words.csv   the words that led to each kind of mistake
differences.csv     with another run: the words whose mean effect differs

A cell that could be run as a formula gets an apostrophe in front, as in all tables of limelight.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from limelight.corpus.analysis.comparison import Compared, Difference
from limelight.corpus.analysis.disagreement import PairOfMethods
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.mistakes import GuiltyWord, Mistake
from limelight.corpus.analysis.texts import TextLine
from limelight.corpus.analysis.words import WordLine, WordTable
from limelight.render.csv_table import safe_cell

_QUESTION = ("method", "target", "against")


def words_csv(tables: Iterable[WordTable]) -> bytes:
    """All lines of tables of words."""
    lines = [(table, line) for table in tables for line in table.lines]
    return _written(
        [*_QUESTION, "level", *_names(WordLine)],
        ([*_asked(table.question), table.level, *_values(line)] for table, line in lines),
    )


def pairs_csv(pairs: Sequence[PairOfMethods]) -> bytes:
    """How far methods disagree."""
    heads = ["method", "other", *_names(PairOfMethods)[1:]]
    return _written(heads, ([*pair.methods, *_values(pair)[1:]] for pair in pairs))


def texts_csv(lines: Sequence[TextLine]) -> bytes:
    """Texts, with how they begin."""
    return _written(_names(TextLine), (_values(line) for line in lines))


def mistake_words_csv(guilty: Mapping[tuple[str, Mistake], Sequence[GuiltyWord]]) -> bytes:
    """The words that led to mistakes."""
    rows = ([method, *mistake, *_values(line)] for (method, mistake), lines in guilty.items() for line in lines)
    return _written(["method", "label", "truth", *_names(GuiltyWord)], rows)


def differences_csv(compared: Compared) -> bytes:
    """The words of two runs."""
    return _written(
        [*_QUESTION, "level", *_names(Difference)],
        (
            [*_asked(table.question), table.level, *_values(line)]
            for table in compared.questions
            for line in table.lines
        ),
    )


def _names(kind: Any) -> list[str]:
    return [own.name for own in fields(kind)]


def _values(line: Any) -> list[Any]:
    return [getattr(line, name) for name in _names(line)]


def _asked(question: Question) -> list[Any]:
    return list(question)


def _written(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return page.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    """Numbers to their last digit; empty what is not known."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return value
    return safe_cell(" ".join(map(str, value)) if isinstance(value, tuple) else str(value))
