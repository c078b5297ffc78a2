"""The evaluation view: the verdict of an evaluation's folder, its tables and its curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limelight.core.sanitize import visible
from limelight.evaluation.curves import curves_of
from limelight.evaluation.measure import measures
from limelight.evaluation.report.tables import all_tables
from limelight.evaluation.result import Evaluation
from limelight.evaluation.run_folder import read_evaluation
from limelight.explanation.serialization import numbers_written


def evaluation_view(folder: Path) -> dict[str, Any]:
    """All that is shown of it: computed once, when the server starts."""
    return described(read_evaluation(folder))


def described(evaluation: Evaluation) -> dict[str, Any]:
    """Sentences, tables of cells, and curves with their bands."""
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
