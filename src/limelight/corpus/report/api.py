"""`limelight corpus report`: a page and tables of what a model does with all texts of a corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.core.arrays import whole_number
from limelight.core.progress import SILENT, Progress
from limelight.corpus.analysis.findings import Findings, find
from limelight.corpus.analysis.texts import TextLine, text_table
from limelight.corpus.analysis.words import LEAST_TEXTS
from limelight.corpus.report.csv_tables import (
    differences_csv,
    mistake_words_csv,
    pairs_csv,
    texts_csv,
    words_csv,
)
from limelight.corpus.store.reading import Corpus
from limelight.errors import InputError, shown
from limelight.storage.files import reason, replace_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = "report.html"
FOLDER = "report"
"""The folder of a report in that of its corpus, where none is named."""
TABLES = ("words", "signs", "methods", "disagreement", "mistakes", "mistake_words", "differences")
TEXTS_WRITTEN = 1000
"""Texts in a table, of those that methods disagree about, or that are wrong."""


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
    files = {PAGE: page(findings, about or {}).encode(), **{f"{name}.csv": own for name, own in _tables(findings)}}
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


def _tables(findings: Findings) -> Iterator[tuple[str, bytes]]:
    yield "words", words_csv([own.every for own in findings.words])
    yield "signs", words_csv([own.signs for own in findings.words if own.signs is not None])
    if findings.pairs:
        yield "methods", pairs_csv(findings.pairs)
        yield "disagreement", texts_csv(_texts(findings, disagreement=True))
    if findings.accuracy is not None:
        yield "mistakes", texts_csv(_texts(findings, disagreement=False))
        yield "mistake_words", mistake_words_csv(findings.guilty)
    if findings.compared is not None:
        yield "differences", differences_csv(findings.compared)


def _texts(findings: Findings, *, disagreement: bool) -> tuple[TextLine, ...]:
    if disagreement:
        return text_table(findings.corpus, findings.summary, order="disagreement", limit=TEXTS_WRITTEN).lines
    return text_table(findings.corpus, findings.summary, wrong=True, order="confidence", limit=TEXTS_WRITTEN).lines
