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

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from limelight.corpus.analysis.comparison import Difference, Differences
from limelight.corpus.analysis.disagreement import PairOfMethods
from limelight.corpus.analysis.findings import Findings
from limelight.corpus.analysis.mistakes import GuiltyWord
from limelight.corpus.analysis.texts import TextLine, text_table
from limelight.corpus.analysis.words import WordLine, WordTable
from limelight.render.csv_table import csv_of, safe_cell

TABLES = ("words", "signs", "methods", "disagreement", "mistakes", "mistake_words", "differences")
TEXTS_WRITTEN = 1000
"""Texts in a table, of those that methods disagree about, or that are wrong."""
_QUESTION = ("method", "target", "against", "level")


def csv_tables(findings: Findings) -> Iterator[tuple[str, bytes]]:
    """The tables that there are, by their names."""
    corpus, summary = findings.corpus, findings.summary
    yield "words", _table(WordLine, _of_questions(own.every for own in findings.words), _QUESTION)
    signs = _of_questions(own.signs for own in findings.words if own.signs is not None)
    yield "signs", _table(WordLine, signs, _QUESTION)
    if findings.pairs:
        yield "methods", _table(PairOfMethods, ((pair.methods, [pair]) for pair in findings.pairs), ("method", "other"))
        disagreed = text_table(corpus, summary, order="disagreement", limit=TEXTS_WRITTEN)
        yield "disagreement", _table(TextLine, [((), disagreed.lines)])
    if findings.accuracy is not None:
        wrong = text_table(corpus, summary, wrong=True, order="confidence", limit=TEXTS_WRITTEN)
        yield "mistakes", _table(TextLine, [((), wrong.lines)])
        guilty = (((method, *mistake), lines) for (method, mistake), lines in findings.guilty.items())
        yield "mistake_words", _table(GuiltyWord, guilty, ("method", "label", "truth"))
    if findings.compared is not None:
        yield "differences", _table(Difference, _of_questions(findings.compared.questions), _QUESTION)


Lines = Iterable[tuple[Sequence[Any], Sequence[Any]]]
"""Lines, behind the cells that all of them begin with."""


def _of_questions(tables: Iterable[WordTable | Differences]) -> Lines:
    return (((*table.question, table.level), table.lines) for table in tables)


def _table(kind: type, groups: Lines, heads: Sequence[str] = ()) -> bytes:
    """A table of lines of one kind; `heads` are those of the cells that lines begin with."""
    names = [own.name for own in fields(kind) if kind is not PairOfMethods or own.name != "methods"]
    rows = (
        [*map(_cell, first), *(_cell(getattr(line, name)) for name in names)] for first, own in groups for line in own
    )
    return csv_of([(*heads, *names), *rows]).encode("utf-8", "backslashreplace")


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
