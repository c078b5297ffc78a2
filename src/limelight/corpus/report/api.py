"""`limelight corpus report`: a page and tables of what a model does with all texts of a corpus.

The tables are CSV, for spreadsheets and data frames, with every line, not only those that the page shows:

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
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from limelight.core.arrays import whole_number
from limelight.core.progress import SILENT, Progress
from limelight.corpus.analysis.comparison import Difference, Differences
from limelight.corpus.analysis.disagreement import PairOfMethods
from limelight.corpus.analysis.findings import Findings, find
from limelight.corpus.analysis.mistakes import GuiltyWord
from limelight.corpus.analysis.summary import TextLine, text_table
from limelight.corpus.analysis.words import LEAST_TEXTS, WordLine, WordTable
from limelight.corpus.store.reading import Corpus
from limelight.errors import InputError, shown
from limelight.render.csv_table import csv_of, safe_cell
from limelight.storage.files import reason, replace_folder

PAGE = "report.html"
FOLDER = "report"
"""The folder of a report in that of its corpus, where none is named."""


def report(
    corpus: Corpus,
    out: str | os.PathLike[str] | None = None,
    *,
    against: Corpus | None = None,
    all_words: bool = False,
    least_texts: int = LEAST_TEXTS,
    about: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> tuple[Path, Findings]:
    """Write a report to the folder `out`, the corpus's own by default; its page, and what it says, are returned.

    `against` is another run that this one is compared with. Stop words and punctuation are folded away unless
    `all_words`; words in fewer than `least_texts` texts are left out. `about` is what the footer says.
    """
    from limelight.corpus.report.page.frame import page

    progress = SILENT if progress is None else progress
    whole_number("least_texts", least_texts, 2, ", since the spread of one text is not known")
    folder = corpus.folder / FOLDER if out is None else Path(out)
    _check_is_ours(folder)
    if not corpus.shards():
        raise InputError(f"{corpus.folder} has no explained text yet: let limelight corpus run write some first")
    findings = find(corpus, against, all_words=all_words, least_texts=least_texts, progress=progress)
    if not findings.words:
        raise InputError(
            f"no text of {corpus.folder} could be explained, so there is nothing to report: the column 'error' says why"
        )
    files = {PAGE: page(findings, about or {}).encode(), **{f"{name}.csv": own for name, own in csv_tables(findings)}}
    try:
        replace_folder(folder, files)
    except OSError as error:
        raise InputError(f"cannot write the report to {folder}: {reason(error)}; choose another folder") from error
    return folder / PAGE, findings


def _check_is_ours(folder: Path) -> None:
    """A folder of something else is not replaced."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file, and a report is a folder: choose another place")
    ours = {PAGE, *(f"{name}.csv" for name in TABLES)}
    if foreign := sorted(set(os.listdir(folder)) - ours):
        raise InputError(
            f"{folder} is no report: it holds {shown(foreign[0])}, and a report would replace all of it; choose an "
            "empty folder, or one that does not exist"
        )


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
