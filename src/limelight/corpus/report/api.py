"""`limelight corpus report`: a page and tables of what a model does with all texts of a corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from limelight.core.arrays import whole_number
from limelight.core.progress import SILENT, Progress
from limelight.corpus.analysis.findings import Findings, find
from limelight.corpus.analysis.words import LEAST_TEXTS
from limelight.corpus.report.csv_tables import TABLES, csv_tables
from limelight.corpus.store.reading import Corpus
from limelight.errors import InputError, shown
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
