"""Folders that a server was started with: the tables and texts of a corpus, and an evaluation.

A request names a row of the corpus, never a file.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pydantic import Field

from limelight.core.sanitize import visible
from limelight.corpus import Corpus
from limelight.corpus import open as open_corpus
from limelight.corpus.analysis.summary import TextOrder, documents_at
from limelight.corpus.analysis.words import WordOrder
from limelight.errors import InputError, shown
from limelight.evaluation.measure import measures
from limelight.evaluation.report.curves import curves_of
from limelight.evaluation.report.tables import all_tables
from limelight.evaluation.run_folder import read_evaluation
from limelight.explanation.result import Comparison
from limelight.explanation.serialization import numbers_written
from limelight.web.requests import Body


class TextsRequest(Body):
    """A page of the table of texts."""

    wrong: bool | None = None
    label: str | None = None
    truth: str | None = None
    disagreement: float | None = Field(None, description="the least that two methods disagree by, from 0 to 1")
    contains: str | None = Field(None, description="a word that has a weight in the text")
    order: TextOrder = "row"
    offset: int = Field(0, ge=0)
    limit: int = Field(50, ge=1, le=200)


class WordsRequest(Body):
    """A page of the table of words."""

    method: str | None = None
    target: str | None = None
    against: str | None = None
    order: WordOrder = "effect"
    contains: str | None = None
    all_words: bool = False
    offset: int = Field(0, ge=0)
    limit: int = Field(50, ge=1, le=200)


class RowRequest(Body):
    """One text of the corpus."""

    row: int


class ServedCorpus:
    """A corpus that is open; what its tables need is computed once, by the first who asks."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus, self._lock = corpus, threading.Lock()

    @classmethod
    def read(cls, folder: Path) -> ServedCorpus:
        return cls(open_corpus(folder))

    def described(self) -> dict[str, Any]:
        """The corpus, and what can be asked of it."""
        corpus = self._corpus
        with self._lock:
            questions = [own._asdict() for own in corpus.summary.questions]
        return {
            "documents": corpus.n_documents,
            "complete": corpus.is_complete,
            "methods": list(corpus.methods),
            "labels": [{"name": label, "shown": visible(label)} for label in corpus.labels],
            "questions": questions,
            "keeps_texts": corpus.layout.keep_text,
        }

    def texts(self, request: TextsRequest) -> dict[str, Any]:
        with self._lock:
            table = self._corpus.texts(**request.model_dump()).to_dict()
        lines = [{k: visible(v) if isinstance(v, str) else v for k, v in line.items()} for line in table["lines"]]
        return {"asked": request.model_dump(), **table, "lines": lines}

    def words(self, request: WordsRequest) -> dict[str, Any]:
        with self._lock:
            table = self._corpus.words(**request.model_dump()).to_dict()
        lines = [{**line, "shown": visible(line["word"])} for line in table["lines"]]
        return {"asked": request.model_dump(), **table, "lines": lines}

    def text(self, request: RowRequest) -> dict[str, Any]:
        """One text; the comparison is None where nothing could be explained."""
        with self._lock:
            found = documents_at(self._corpus, [request.row]).get(request.row)
        if found is None:
            raise InputError(f"the corpus has no row {shown(request.row)}: choose one from its table")
        first = found.explanations[0] if found.explanations else None
        return {
            "asked": request.model_dump(),
            "id": visible(found.id),
            "truth": found.truth,
            "text": None if first is None else first.text if isinstance(first.text, str) else list(first.text),
            "kept": self._corpus.layout.keep_text,
            "comparison": None if first is None else Comparison(found.explanations).to_dict(),
            "errors": {method: visible(error) for method, error in found.errors.items()},
        }


def evaluation_view(folder: Path) -> dict[str, Any]:
    """Everything that is shown of an evaluation, computed once: sentences, tables of cells, and curves with bands."""
    evaluation = read_evaluation(folder)
    removal = evaluation.summary.removal
    return {
        "texts": len(evaluation),
        "verdict": [visible(sentence) for sentence in evaluation.verdict],
        "tables": [
            {
                "title": visible(table.title),
                "note": visible(table.note),
                "heads": [visible(head) for head in table.heads],
                "rows": [[visible(cell) for cell in row] for row in table.rows],
            }
            for table in all_tables(evaluation)
        ],
        "curves": [
            {
                "title": f"{measure.curve.title}, {removal}",
                "curves": [
                    {
                        "name": visible(curve.name),
                        "kind": curve.kind,
                        "parts": numbers_written(curve.parts),
                        "mean": numbers_written(curve.mean),
                        "low": numbers_written(curve.low),
                        "high": numbers_written(curve.high),
                    }
                    for curve in found
                ],
            }
            for measure in measures()
            if measure.curve is not None and (found := curves_of(evaluation, measure, removal))
        ],
    }
